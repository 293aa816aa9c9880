"""Which reminder of an end is due: the most urgent of 14, 3 and 1 days. Pure."""

from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

STEPS: Final = (1, 3, 14)
AHEAD_DAYS: Final = STEPS[-1]


def due_step(ends_at: datetime, *, since: datetime, now: datetime) -> int | None:
    """The smallest step that has begun, in days before the end; None before the first.

    A step whose day lay before `since`, when the end was told, is not due: nobody needs to hear
    twice on one day that a quota given for two days ends in less than three.
    """
    if now >= ends_at:
        return None
    for step in STEPS:
        if since <= ends_at - timedelta(days=step) <= now:
            return step
    return None


def in_days(at: datetime, *, now: datetime, zone: ZoneInfo) -> str:
    """`today`, `tomorrow` or `in 3 days`, by the organization's calendar."""
    days = (at.astimezone(zone).date() - now.astimezone(zone).date()).days
    return {0: "today", 1: "tomorrow"}.get(days, f"in {days} days")
