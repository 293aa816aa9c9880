"""What stands out in the costs of an account: odd days, and what a budget would have said of the
past. Runs inside `scope.reading`."""

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from uuid import UUID

from accounting.domain import anomalies as rules
from accounting.domain import budgets, forecast
from accounting.domain.anomalies import Anomaly
from accounting.domain.budgets import Alerts, Period, Span
from accounting.domain.replay import Fired, replay
from accounting.queries.budgets import Ground, costs_by_day, first_days

MINIMUM_UNITS = 1000
"""Smallest units of the currency that a day must be off by: ten euros, a thousand yen."""
REPLAYED = {Period.MONTH: 3, Period.QUARTER: 2, Period.YEAR: 1, Period.RANGE: 1}
REPLAYED_DAYS_MAX = 366


def odd_days(
    organization_id: UUID, account_id: UUID, here: Ground, *, first: date, end: date
) -> list[Anomaly]:
    """The odd ones among the whole days of a stretch, for an account with all below it."""
    window = (account_id, first - timedelta(days=rules.BASE_DAYS), end)
    (costs,) = costs_by_day(organization_id, [window], places=here.places)
    return rules.anomalies(
        {day: cost.daily for day, cost in costs.items()},
        first=first,
        end=max(first, min(end, here.today)),
        since=first_days(organization_id, [account_id]).get(account_id),
        minimum=Decimal(MINIMUM_UNITS).scaleb(-here.places),
    )


@dataclass(frozen=True, slots=True)
class Replayed:
    """A past period: what it cost, and which alerts it would have raised."""

    span: Span
    spent: Decimal
    known: bool
    fired: tuple[Fired, ...]


def would_have_fired(
    organization_id: UUID,
    account_id: UUID,
    here: Ground,
    *,
    period: Period,
    range_: Span | None,
    amount: Decimal,
    alerts: Alerts,
) -> list[Replayed]:
    """The last periods by a budget, the latest first: three months, two quarters or a year, the
    running one among them; of a range as many days before it, at most a year."""
    spans = _past_spans(period, range_, here.today)
    first = min(span.first for span in spans) - timedelta(days=forecast.HISTORY_DAYS)
    window = (account_id, first, max(span.end for span in spans))
    (costs,) = costs_by_day(organization_id, [window], places=here.places)
    since = first_days(organization_id, [account_id]).get(account_id)
    return [
        Replayed(
            span,
            forecast.spent_in(costs, span),
            since is not None and since < span.end,
            tuple(
                replay(
                    costs,
                    span,
                    amount=amount,
                    alerts=alerts,
                    since=since,
                    until=here.today,
                    places=here.places,
                )
            ),
        )
        for span in spans
    ]


def _past_spans(period: Period, range_: Span | None, today: date) -> list[Span]:
    if range_ is not None:
        end = min(range_.first, today)
        return [Span(end - timedelta(days=min(range_.days, REPLAYED_DAYS_MAX)), end)]
    spans = [budgets.span_of(period, today)]
    while len(spans) < REPLAYED[period]:
        before = budgets.span_before(period, spans[-1])
        if before is None:
            break
        spans.append(before)
    return spans
