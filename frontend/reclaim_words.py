"""Use it or lose it in words: stages, and what comes next. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from frontend.numbers import duration
from preemption.reclaim_loading import PoolRule

STAGES: Final = {
    "watched": ("Watched", "would leave", "Idle; leads were told, nothing was taken yet."),
    "demoted": ("Demoted", "left", "The idle part left the guarantee; it may still be restored."),
    "justified": ("Justified", "stay idle", "Idle with an approved reason; nothing is taken."),
    "restored": ("Restored", "came back", "The units are guaranteed again."),
    "returned": ("Returned", "did not come back", "The units are the account's above, or free."),
    "cleared": ("Used again", "stay", "Was watched, and is used again."),
}
"""Title of a stage, what its idle units do, and what it means."""
LEFT_ALONE: Final = {
    "temporary": "It is temporary and ends by itself, so no rule looks at it.",
    "exempt": "It is exempt: by the rule, or because it serves jobs of class P0.",
    "unknown": "Its use is not known, so nothing is judged.",
}


class Standing(Protocol):
    """What was last said about a guarantee."""

    state: str
    at: datetime
    guarantee: int
    guarantee_now: int | None
    due_at: datetime | None
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Next:
    """What happens next; `at`: when, at the earliest; None: that is not fixed."""

    text: str
    at: datetime | None = None


def after(it: Standing, rule: PoolRule, *, now: datetime) -> Next:
    """What follows what was last said of a guarantee, if it is used as it is."""
    match it.state:
        case "demoted":
            if it.until is not None and now < it.until:
                return Next("Restoring ends; the next review decides", it.until)
            return Next("The next review decides")
        case "restored" | "returned" if it.until is not None and now < it.until:
            return _unless_off(rule, "Judged anew", it.until)
        case "justified" if it.until is not None and now < it.until:
            return _unless_off(rule, "The reason ends; judged anew", it.until)
        case "justified":
            return _unless_off(rule, "Watched again if still idle", _watch_from(it, rule))
        case "watched" if it.guarantee_now != it.guarantee:
            return _unless_off(rule, "Judged anew: the guarantee was changed")
        case "watched":
            return _unless_off(rule, "Demoted if still idle", it.due_at)
    return _unless_off(rule, "Watched again if idle")


def lines_of(pool_rule: PoolRule) -> list[tuple[str, str]]:
    """A rule as pairs of a term and its value."""
    rule = pool_rule.rule
    return [
        ("Threshold", share(rule.threshold)),
        ("Window", duration(rule.window_seconds)),
        ("Watched after", duration(rule.watch_seconds)),
        ("Used again from", share(rule.threshold + rule.clear_margin)),
        ("Cooldown", duration(rule.cooldown_seconds)),
        ("Gaps bridged up to", duration(rule.gap_seconds_max)),
        ("Unknown time at most", duration(rule.unknown_seconds_max)),
    ]


def length(seconds: int) -> str:
    """A length of time that a rule sets."""
    return duration(seconds)


def share(value: Any) -> str:
    """A fraction that a rule sets, with the digits that it has: 20 %, 12.5 %."""
    return f"{float(value) * 100:.6g}\N{NO-BREAK SPACE}%"


def _unless_off(rule: PoolRule, text: str, at: datetime | None = None) -> Next:
    return Next(text, at) if rule.enabled else Next("Nothing: the pool's rule is off")


def _watch_from(it: Standing, rule: PoolRule) -> datetime | None:
    return None if it.until is None else it.until + timedelta(seconds=rule.rule.watch_seconds)
