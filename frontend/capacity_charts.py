"""A pool over time as charts with their tables: where every unit was, and use by day and tier."""

from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any, Final
from zoneinfo import ZoneInfo

from accounting.queries.pool_by_tier import TierDay
from frontend import parameters
from frontend.capacity import Picture, picture
from frontend.charts import Chart, bars, layout
from frontend.numbers import amount, units
from quota.domain.values import TIERS
from quota.queries.capacity import NOTHING, Held
from quota.queries.capacity_over_time import Moment

SPANS: Final = {"day": timedelta(hours=1), "week": timedelta(hours=6)}
"""How far a look back goes, and its steps."""
_LENGTHS: Final = {"day": timedelta(days=1), "week": timedelta(days=7)}

# As the strip of static/css/app.css: color, opacity, pattern.
_LOOKS: Final = {
    "used": ("--series-0", 1.0, ""),
    "lent": ("--series-1", 1.0, "/"),
    "above": ("--series-3", 1.0, "x"),
    "spot": ("--series-2", 1.0, "."),
    "aside": ("--series-4", 0.6, "-"),
    "idle": ("--series-0", 0.35, ""),
    "free": ("--bs-secondary-bg", 1.0, ""),
    "margin": ("--series-7", 0.45, ""),
    "out": ("--series-7", 1.0, "\\"),
}
_TIER_LOOKS: Final = {"guaranteed": "used", "borrowed": "lent", "spot": "spot"}


def instants(span: str, *, now: datetime) -> list[datetime]:
    """Full steps of the span, and now. A step of the minute of now would be told like it."""
    step, length = SPANS[span], _LENGTHS[span]
    last = now.replace(minute=0, second=0, microsecond=0)
    before = now.replace(second=0, microsecond=0)
    count = length // step
    return [*(last - step * n for n in range(count, -1, -1) if last - step * n < before), now]


def over_time(moments: Sequence[Moment], *, zone: ZoneInfo, aside: Held = NOTHING) -> Chart:
    """Every unit at every instant: bars that are as high as the pool is large.

    Args:
        aside: set aside for jobs at the last instant, now. What was in the past is not kept: those
            units stand where they would be without (idle or free).
    """
    last = len(moments) - 1
    pictures = [
        picture(one.pool, one.promise, one.held, aside if at == last else NOTHING)
        for at, one in enumerate(moments)
    ]
    labels = _clock(moments, zone, "%Y-%m-%d %H:%M")
    kinds = [
        part
        for number, part in enumerate(pictures[-1].parts if pictures else ())
        if any(one.parts[number].units for one in pictures)
    ]
    # Instants as names: the last step, up to now, is shorter and would make all bars narrow.
    ticks = _clock(moments, zone, "%H:%M<br>%b %d")
    data = [
        _bars(part.kind, part.title, ticks, [one.units(part.kind) for one in pictures])
        for part in kinds
    ]
    look = layout(y_title="units", barmode="stack", bargap=0.08, height=340)
    look["xaxis"] |= {"type": "category", "nticks": 5, "tickangle": 0}
    rows = tuple(
        (label, (*(units(one.units(part.kind)) for part in kinds), units(one.total)))
        for label, one in zip(reversed(labels), reversed(pictures), strict=True)
    )
    return Chart(
        name="pool-over-time",
        title="Every unit over time",
        summary=_said(labels, pictures),
        figure={"data": data, "layout": look},
        columns=(*(part.title for part in kinds), "Together"),
        rows=rows,
    )


def _clock(moments: Sequence[Moment], zone: ZoneInfo, form: str) -> list[str]:
    """A name of its own for each instant: the hour that comes twice in autumn says which it is.

    Bars of one name would stand on each other, and the pool would look twice as large.
    """
    local = [one.at.astimezone(zone) for one in moments]
    named = Counter(at.strftime(form) for at in local)
    return [at.strftime(form if named[at.strftime(form)] == 1 else f"{form} %Z") for at in local]


def by_tier(
    use: Sequence[TierDay], *, since: date, until: date, now: datetime, zone: ZoneInfo
) -> Chart:
    """Mean units in use by day and tier, from the records of use."""
    days = [since + timedelta(days=n) for n in range((until - since).days + 1)]
    found = {(one.day, one.tier): float(one.unit_seconds) for one in use}
    mean = {
        (day, tier): found.get((day, tier), 0.0) / _seconds(day, now=now, zone=zone)
        for day in days
        for tier in TIERS
    }
    tiers = [tier for tier in TIERS if any(mean[day, tier] for day in days)]
    labels = [day.isoformat() for day in days]
    data = [
        _bars(
            _TIER_LOOKS[tier],
            tier.capitalize(),
            labels,
            [round(mean[day, tier], 2) for day in days],
        )
        for tier in tiers
    ]
    rows = tuple(
        (day.isoformat(), tuple(amount(mean[day, tier]) for tier in tiers))
        for day in reversed(days)
    )
    busiest = max(days, key=lambda day: sum(mean[day, tier] for tier in TIERS))
    total = sum(mean[busiest, tier] for tier in TIERS)
    summary = (
        f"From {days[0]} to {days[-1]}; most on {busiest}, {amount(total)} units on average."
        if tiers
        else f"No use from {days[0]} to {days[-1]}."
    )
    return Chart(
        name="pool-by-tier",
        title="Units in use by day and tier",
        summary=summary,
        figure={"data": data, "layout": layout(y_title="mean units", barmode="stack", bargap=0.25)},
        columns=tuple(tier.capitalize() for tier in tiers),
        rows=rows,
    )


def _seconds(day: date, *, now: datetime, zone: ZoneInfo) -> float:
    """Length of a day of the zone, of today so far."""
    start = parameters.start_of(day, zone)
    end = min(parameters.start_of(day + timedelta(days=1), zone), now)
    return max(1.0, (end - start).total_seconds())


def _bars(kind: str, title: str, x: list[str], y: Sequence[float]) -> dict[str, Any]:
    color, opacity, shape = _LOOKS[kind]
    found = bars(title, x, y, look=(color, shape), hover="%{y:,.4~g}")
    return found | {"opacity": opacity}


def _said(labels: list[str], pictures: list[Picture]) -> str:
    if not pictures:
        return "The pool was not open then."
    busy = [one.units("used") + one.units("lent") + one.units("above") for one in pictures]
    by_right = max(busy)
    idle = max(one.units("idle") for one in pictures)
    return (
        f"From {labels[0]} to {labels[-1]}: at most {by_right:,} units in use by right, and at "
        f"most {idle:,} guaranteed ones idle. Each bar adds up to the whole pool."
    )
