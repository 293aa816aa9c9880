"""What detections are called on pages, and their evidence in words. Pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from frontend.numbers import ago, amount, duration, moment, percent, several, units
from preemption.detection_queries import DetectionRow

KINDS: Final = {
    "idle": ("Idle", "Runs, and its compute is hardly used."),
    "zombie": ("Zombie", "Holds memory, does not compute and does not get on."),
    "surge": ("Surge", "An account uses a multiple of its own usual day."),
}
"""Title of a kind, and what it means."""
STATES: Final = {
    "current": "open or acknowledged",
    "open": "open",
    "acknowledged": "acknowledged",
    "acted": "released",
    "cleared": "cleared",
    "all": "all",
}
_WHY: Final = {
    "over": "it is no longer so",
    "ended": "the job has ended",
    "unknown": "nothing was told any more",
    "worse": "it became a zombie",
    "off": "this is not looked for any more",
    "released": "it was released",
}


@dataclass(frozen=True, slots=True)
class Line:
    """A detection in a table. `subject`: the job, or None for an account's use."""

    row: DetectionRow
    title: str
    evidence: str
    state: str
    beside: str


def line(row: DetectionRow, *, now: datetime, zone: ZoneInfo) -> Line:
    """A row with its words."""
    return Line(
        row=row,
        title=KINDS[row.kind][0],
        evidence=evidence(row, zone=zone),
        state="released" if row.state == "acted" else row.state,
        beside=_beside(row, now=now, zone=zone),
    )


def evidence(row: DetectionRow, *, zone: ZoneInfo) -> str:
    """Figures, period and threshold in a sentence."""
    if row.use is not None:
        use = row.use
        return (
            f"{amount(use.consumed / 3600)} unit-h on {use.day}: {float(use.times):.1f} times the "
            f"usual {amount(float(use.median) / 3600)}, found from {use.factor} times on"
        )
    work = row.work
    if work is None:
        return ""
    busy = f"{percent(work.compute_util)} busy, below {percent(work.below)}"
    if row.kind == "zombie":
        memory = f"{amount(work.memory_gb)} GB held, " if work.memory_gb is not None else ""
        return (
            f"{memory}{busy}; no progress since {moment(row.since, zone)}, allowed are "
            f"{duration(work.limit_seconds)}"
        )
    length = (work.until - row.since).total_seconds()
    return (
        f"{busy}, for {duration(length)} since {moment(row.since, zone)}; allowed are "
        f"{duration(work.limit_seconds)}"
    )


def held(row: DetectionRow) -> str:
    """Of what the units are."""
    return several(row.units) if row.use is None else f"{units(row.units)} more"


def why(row: DetectionRow) -> str:
    """What closed it."""
    return _WHY.get(row.why, row.why)


def _beside(row: DetectionRow, *, now: datetime, zone: ZoneInfo) -> str:
    if row.closed_at is not None:
        by = f" by {row.by}: {row.reason}" if row.state == "acted" else f": {why(row)}"
        return f"{ago(row.closed_at, now)}{by}"
    if row.state == "acknowledged":
        until = f", quiet until {moment(row.quiet_until, zone)}" if row.quiet_until else ""
        return f"by {row.by}{until}: {row.reason}"
    return f"found {ago(row.found_at, now)}"
