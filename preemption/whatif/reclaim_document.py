"""The question of `manage.py whatif reclaim`: a validated document as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from ledger import document_fields as fields
from ledger.errors import Invalid
from preemption.domain.reclaim import (
    SECONDS_MAX,
    Decided,
    Justification,
    QuotaHistory,
    ReclaimRule,
)
from preemption.domain.series import UNITS_MAX, UseSeries
from preemption.whatif.preempt_document import PRICE_MAX, flag, moment, whole_or

VALUES_MAX = 1_000_000
INTERVALS_MAX = 10_000
HOURS_MAX = SECONDS_MAX // 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`price` per unit-hour, for what idleness costs."""

    quota: QuotaHistory
    rule: ReclaimRule
    price: Decimal


def read(document: bytes) -> Question:
    """Decode and check everything; nothing is computed from a document with a fault.

    Raises:
        Invalid: `whatif_invalid` with the place in `field`.
    """
    found = fields.record(
        fields.decode(document),
        "",
        required=("quota", "use"),
        optional=("rule", "maintenance", "justifications", "decisions"),
    )
    quota = fields.record(
        found["quota"],
        "quota",
        required=("guaranteed",),
        optional=("account", "pool", "judged_from", "exempt", "price"),
    )
    for name in ("account", "pool"):
        if quota.get(name) is not None:
            fields.name(quota[name], f"quota.{name}")
    since = quota.get("judged_from")
    return Question(
        quota=QuotaHistory(
            guarantee=fields.whole(quota["guaranteed"], "quota.guaranteed", low=0, high=UNITS_MAX),
            use=_use(found["use"]),
            judged_from=None if since is None else whole_moment(since, "quota.judged_from"),
            is_exempt=flag(quota, "exempt", "quota", or_else=False),
            maintenance=_intervals(found, "maintenance"),
            justifications=[
                Justification(start=start, end=end)
                for start, end in _intervals(found, "justifications")
            ],
            decisions=_decisions(found.get("decisions")),
        ),
        rule=_rule({} if found.get("rule") is None else found["rule"]),
        price=fields.amount(quota.get("price", 0), "quota.price", high=PRICE_MAX),
    )


def whole_moment(value: Any, place: str) -> datetime:
    """An instant without a fraction of a second: what guarantees are judged on."""
    found = moment(value, place)
    if found.microsecond:
        raise fields.refuse(place, "must be a whole second")
    return found


def _use(value: Any) -> UseSeries:
    if isinstance(value, dict) and "samples" in value:
        return _samples(value)
    entry = fields.record(
        value, "use", required=("start", "units"), optional=("step_seconds", "samples")
    )
    start = int(whole_moment(entry["start"], "use.start").timestamp())
    step = whole_or(entry, "step_seconds", "use", 3600, low=1, high=86_400)
    units = [
        None if each is None else fields.whole(each, place, low=0, high=UNITS_MAX)
        for place, each in fields.entries(entry["units"], "use.units", count_max=VALUES_MAX)
    ]
    return UseSeries.hourly(start, units, step_seconds=step)


def _samples(value: Any) -> UseSeries:
    entry = fields.record(
        value, "use", required=("samples", "until"), optional=("hold_seconds", "start", "units")
    )
    for name in ("start", "units"):
        if name in entry:
            raise fields.refuse(f"use.{name}", "is for a series in steps; samples have their own")
    until = int(whole_moment(entry["until"], "use.until").timestamp())
    hold = whole_or(entry, "hold_seconds", "use", 3600, low=1, high=SECONDS_MAX)
    samples: list[tuple[int, int | None]] = []
    for place, line in fields.entries(entry["samples"], "use.samples", count_max=VALUES_MAX):
        line = fields.record(line, place, required=("at", "units"))
        at = int(whole_moment(line["at"], f"{place}.at").timestamp())
        if samples and at <= samples[-1][0]:
            raise fields.refuse(f"{place}.at", "is not after the sample before it")
        if at >= until:
            raise fields.refuse(f"{place}.at", "is not before `use.until`")
        units = line["units"]
        samples.append(
            (
                at,
                None
                if units is None
                else fields.whole(units, f"{place}.units", low=0, high=UNITS_MAX),
            )
        )
    return UseSeries.instants(samples, until=until, hold_seconds=hold)


def _intervals(found: Mapping[str, Any], name: str) -> list[tuple[datetime, datetime]]:
    value = [] if found.get(name) is None else found[name]
    intervals = []
    for place, entry in fields.entries(value, name, count_max=INTERVALS_MAX):
        entry = fields.record(entry, place, required=("start", "end"))
        start = whole_moment(entry["start"], f"{place}.start")
        end = whole_moment(entry["end"], f"{place}.end")
        if end <= start:
            raise fields.refuse(f"{place}.end", "is not after the start")
        intervals.append((start, end))
    return intervals


def _decisions(value: Any) -> list[Decided]:
    found = []
    for place, entry in fields.entries(
        [] if value is None else value, "decisions", count_max=INTERVALS_MAX
    ):
        entry = fields.record(entry, place, required=("at", "decision"))
        decision = entry["decision"]
        if decision not in ("restore", "return"):
            raise fields.refuse(
                f"{place}.decision", f"must be one of restore, return, not {decision!r}"
            )
        found.append(Decided(at=whole_moment(entry["at"], f"{place}.at"), decision=decision))
    return found


_PERCENTS = {
    "threshold_percent": "threshold",
    "clear_margin_percent": "clear_margin",
}
_HOURS = {
    "window_hours": "window_seconds",
    "cooldown_hours": "cooldown_seconds",
    "unknown_hours_max": "unknown_seconds_max",
    "justification_hours_max": "justification_seconds_max",
}


def _rule(value: Any) -> ReclaimRule:
    entry = fields.record(
        value,
        "rule",
        required=(),
        optional=(*_PERCENTS, *_HOURS, "watch_hours", "gap_seconds_max"),
    )
    given: dict[str, Any] = {}
    for name, field in _PERCENTS.items():
        if entry.get(name) is not None:
            given[field] = Fraction(fields.amount(entry[name], f"rule.{name}", high=100)) / 100
    for name, field in _HOURS.items():
        if entry.get(name) is not None:
            low = 1 if name == "window_hours" else 0
            hours = fields.whole(entry[name], f"rule.{name}", low=low, high=HOURS_MAX)
            given[field] = hours * 3600
    window = given.get("window_seconds", ReclaimRule().window_seconds)
    if entry.get("watch_hours") is not None:
        hours = fields.whole(entry["watch_hours"], "rule.watch_hours", low=1, high=window // 3600)
        given["watch_part"] = Fraction(hours * 3600, window)
    if entry.get("gap_seconds_max") is not None:
        given["gap_seconds_max"] = fields.whole(
            entry["gap_seconds_max"], "rule.gap_seconds_max", low=0, high=SECONDS_MAX
        )
    try:
        return ReclaimRule(**given)
    except Invalid as error:
        raise fields.refuse(f"rule.{error.field}", error.detail) from error
