"""What the demo's jobs tell of their work with their signs of life. Pure.

Most are as busy as their records say. On each cluster one notebook was left behind some hours ago,
and one job hangs: it holds its memory, and its steps do not count on.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final, Literal

from accounting.importers.record import ImportedRecord
from quota.wire import HeartbeatMessage

Oddity = Literal["left", "hangs"]

LEFT_HOURS: Final = timedelta(hours=6)
HANGS_HOURS: Final = timedelta(hours=3)
AGE_MIN: Final = timedelta(hours=8)
STEPS_PER_HOUR: Final = 1_200


def odd_ones(records: Iterable[ImportedRecord], *, now: datetime) -> dict[str, Oddity]:
    """The keys of one job that was left behind and one that hangs, of those that run at `now`."""
    running = sorted(
        (one.start, one.key, one.labels["class"])
        for one in records
        if one.end is None and one.start <= now - AGE_MIN and one.memory_gb and one.units > 1
    )
    found: dict[str, Oddity] = {}
    for oddity, classes in (("left", ("P2", "P3")), ("hangs", ("P3", "P1"))):
        for _, key, job_class in reversed(running):
            if job_class in classes and key not in found:
                found[key] = oddity
                break
    return found


def beat(
    record: ImportedRecord, odd: Mapping[str, Oddity], *, at: datetime, now: datetime
) -> HeartbeatMessage:
    """A job's sign of life at an instant; what its record does not know is not told."""
    if record.compute_util is None:
        return HeartbeatMessage(key=record.key)
    oddity = odd.get(record.key)
    busy, alive_at = record.compute_util, at
    if oddity == "left" and at > now - LEFT_HOURS:
        busy = 0.03
    if oddity == "hangs" and at > now - HANGS_HOURS:
        busy, alive_at = 0.01, now - HANGS_HOURS
    hours = (alive_at - record.start) / timedelta(hours=1)
    return HeartbeatMessage(
        key=record.key,
        compute_util=busy,
        memory_gb=record.memory_gb,
        progress=max(0, int(hours * STEPS_PER_HOUR)),
    )
