"""Budgets and where they stand. All run inside `scope.reading` or a command.

Everything is judged as of the instant up to which costs are drawn (`accounting.cost_days`), so
figures, forecast and page say the same, however late a worker is.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from accounting.domain import budgets, forecast, money, splitting
from accounting.domain.budgets import Alerts, BurnRule, Figures, Period, Span
from accounting.domain.forecast import Cost, Forecast
from ledger.errors import NotFound
from ledger.sql import server_cursor

LIST_MAX = 200
VERSIONS_SHOWN = 100
ALERTS_SHOWN = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetRow:
    """A budget; see `accounting.models.Budget`."""

    id: UUID
    account_id: UUID
    account: str
    name: str
    period: Period
    starts_on: date
    ends_on: date | None
    ended_on: date | None

    @property
    def range(self) -> Span | None:
        """The days of a budget for a range."""
        return None if self.ends_on is None else Span(self.starts_on, self.ends_on)

    def span(self, today: date) -> Span:
        """The period that counts: today's; the first, where none has begun; the last, where the
        budget has ended."""
        day = max(self.starts_on, today)
        if self.ended_on is not None:
            day = min(day, max(self.starts_on, self.ended_on - timedelta(days=1)))
        return budgets.span_of(self.period, day, range_=self.range)

    def stands(self, today: date) -> bool:
        """Whether it still counts for anything."""
        return self.ended_on is None or today < self.ended_on


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionRow:
    """Amount and alerts of the periods that begin on `effective_from` or later."""

    effective_from: date
    amount: Decimal
    alerts: Alerts
    set_at: datetime
    set_by: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AlertRow:
    """An alert that fired; `over_at` None: its figure is still up."""

    id: UUID
    budget_id: UUID
    period_start: date
    kind: str
    rule: str
    figure: Decimal
    amount: Decimal
    spent: Decimal
    forecast: Decimal | None
    fired_at: datetime
    over_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Where and when budgets are judged.

    Attributes:
        at: up to when costs are drawn; None: they never were.
    """

    zone: ZoneInfo
    currency: str
    places: int
    at: datetime | None
    today: date

    @property
    def rest_of_today(self) -> Fraction:
        """The part of today that is still to come."""
        if self.at is None:
            return Fraction(1)
        start = splitting.start_of_day(self.today, self.zone)
        end = splitting.start_of_day(self.today + timedelta(days=1), self.zone)
        return Fraction(splitting.microseconds(self.at, end), splitting.microseconds(start, end))


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A budget in one of its periods.

    Attributes:
        costs: by day, of the period and the weeks before today.
        since: the first day that ever cost something.
    """

    row: BudgetRow
    version: VersionRow
    span: Span
    figures: Figures
    forecast: Forecast
    state: str
    costs: Mapping[date, Cost]
    since: date | None


def ground(organization_id: UUID, *, now: datetime) -> Ground:
    """Load what budgets are judged by."""
    with server_cursor() as cursor:
        currency, zone_name, at = cursor.execute(
            "SELECT o.currency, o.time_zone, (SELECT c.until FROM accounting_costmonth c "
            "WHERE c.organization_id = o.id ORDER BY c.month DESC LIMIT 1) "
            "FROM tenancy_organization o WHERE o.id = %b",
            (organization_id,),
        ).fetchone()
    zone = ZoneInfo(zone_name)
    return Ground(
        zone=zone,
        currency=currency,
        places=money.minor_places(currency),
        at=at,
        today=splitting.day_of(now if at is None else at, zone),
    )


def at_clock(here: Ground, now: datetime) -> Ground:
    """The same with the day that it is, whatever costs are known."""
    return replace(here, today=splitting.day_of(now, here.zone))


_ROW = "b.id, b.account_id, a.name AS account, b.name, b.period, b.starts_on, b.ends_on, b.ended_on"
_FROM = (
    "accounting_budget b JOIN tenancy_account a "
    "ON a.organization_id = b.organization_id AND a.id = b.account_id"
)
_NAMES = ("id", "account_id", "account", "name", "period", "starts_on", "ends_on", "ended_on")
_LIST = f"""
SELECT {_ROW} FROM {_FROM}
WHERE b.organization_id = %(organization)b
    AND (%(tops)b::uuid[] IS NULL OR a.ancestors && %(tops)b::uuid[])
    AND (%(under)b::uuid IS NULL OR a.ancestors @> ARRAY[%(under)b::uuid])
    AND (%(period)b::text IS NULL OR b.period = %(period)b)
    AND (%(ended)b OR b.ended_on IS NULL OR b.ended_on > %(today)b)
    AND (NOT %(alerted)b OR EXISTS (
        SELECT FROM accounting_budgetalert x
        WHERE x.organization_id = b.organization_id AND x.budget_id = b.id AND x.over_at IS NULL
            AND x.period_start >= CASE b.period WHEN 'range' THEN b.starts_on
                ELSE date_trunc(b.period, %(today)b::timestamp)::date END))
    AND (%(before)b::uuid IS NULL OR b.id < %(before)b)
ORDER BY b.id DESC LIMIT %(limit)b
"""


def budget_rows(
    organization_id: UUID,
    *,
    today: date,
    tops: Collection[UUID] | None = None,
    under: UUID | None = None,
    period: str | None = None,
    ended: bool = False,
    alerted: bool = False,
    before: UUID | None = None,
    limit: int = LIST_MAX,
) -> list[BudgetRow]:
    """Budgets, the newest first.

    Args:
        tops: of these accounts and what is below them only; None: of all.
        under: of this account and what is below it only.
        ended: with those that ended.
        alerted: only those with an alert in their period now that is not over.
        before: only older ones than this.
    """
    with server_cursor() as cursor:
        rows = cursor.execute(
            _LIST,
            {
                "organization": organization_id,
                "tops": None if tops is None else list(tops),
                "under": under,
                "period": period,
                "ended": ended,
                "alerted": alerted,
                "today": today,
                "before": before,
                "limit": min(limit, LIST_MAX),
            },
        ).fetchall()
    return [_row(row) for row in rows]


def budget_row(organization_id: UUID, budget_id: UUID) -> BudgetRow:
    """One budget.

    Raises:
        NotFound: `budget_unknown`.
    """
    with server_cursor() as cursor:
        row = cursor.execute(
            f"SELECT {_ROW} FROM {_FROM} WHERE b.organization_id = %b AND b.id = %b",
            (organization_id, budget_id),
        ).fetchone()
    if row is None:
        raise NotFound("budget_unknown", "There is no such budget.", field="budget")
    return _row(row)


def budgets_of(
    organization_id: UUID, account_ids: Collection[UUID], *, today: date
) -> list[BudgetRow]:
    """The budgets of accounts that stand, each account's own."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT {_ROW} FROM {_FROM} WHERE b.organization_id = %b AND b.account_id = ANY (%b) "
            "AND (b.ended_on IS NULL OR b.ended_on > %b) ORDER BY b.id LIMIT %b",
            (organization_id, list(account_ids), today, LIST_MAX),
        ).fetchall()
    return [_row(row) for row in rows]


def _row(row: tuple) -> BudgetRow:
    values = dict(zip(_NAMES, row, strict=True))
    return BudgetRow(**values | {"period": Period(values["period"])})


def versions(
    organization_id: UUID, budget_ids: Collection[UUID], *, places: int
) -> dict[UUID, list[VersionRow]]:
    """What holds for budgets from when on, ascending."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT budget_id, effective_from, amount, spent, forecast, burn::text, set_at, "
            "set_by, reason FROM accounting_budgetversion WHERE organization_id = %b "
            "AND budget_id = ANY (%b) ORDER BY budget_id, effective_from",
            (organization_id, list(budget_ids)),
        ).fetchall()
    found: dict[UUID, list[VersionRow]] = defaultdict(list)
    for budget_id, since, amount, spent, coming, burn, at, by, reason in rows:
        rules = tuple(
            BurnRule(long_days=long, short_days=short, factor=Decimal(factor))
            for long, short, factor in msgspec.json.decode(burn)
        )
        found[budget_id].append(
            VersionRow(
                effective_from=since,
                amount=amount.quantize(Decimal(1).scaleb(-places)),
                alerts=Alerts(spent=tuple(spent), forecast=tuple(coming), burn=rules),
                set_at=at,
                set_by=by,
                reason=reason,
            )
        )
    return found


def version_for(rows: Sequence[VersionRow], span: Span) -> VersionRow:
    """What holds for a period."""
    return next((one for one in reversed(rows) if one.effective_from <= span.first), rows[0])


def alerts_of(
    organization_id: UUID,
    budget_ids: Collection[UUID],
    *,
    since: date | None = None,
    limit: int | None = ALERTS_SHOWN,
) -> list[AlertRow]:
    """Alerts that fired, the latest first.

    Args:
        since: of periods that began then or later.
        limit: None: all.
    """
    names = tuple(AlertRow.__dataclass_fields__)
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT {', '.join(names)} FROM accounting_budgetalert WHERE organization_id = %b "
            "AND budget_id = ANY (%b) AND (%b::date IS NULL OR period_start >= %b) "
            "ORDER BY fired_at DESC, id DESC LIMIT %b",
            (organization_id, list(budget_ids), since, since, limit),
        ).fetchall()
    return [AlertRow(**dict(zip(names, row, strict=True))) for row in rows]


_COSTS = """
SELECT w.n, c.day, c.usage, c.idle, c.other
FROM unnest(%b::uuid[], %b::date[], %b::date[]) WITH ORDINALITY AS w(account_id, first, until, n)
JOIN accounting_costday c ON c.organization_id = %b AND c.account_id = w.account_id
    AND c.day >= w.first AND c.day < w.until
"""


def costs_by_day(
    organization_id: UUID, windows: Sequence[tuple[UUID, date, date]], *, places: int
) -> list[dict[date, Cost]]:
    """What each day cost accounts with all below them.

    Args:
        windows: account, first day and the day after the last, half-open.
    """
    found: list[dict[date, Cost]] = [{} for _ in windows]
    if not windows:
        return found
    columns = [list(column) for column in zip(*windows, strict=True)]
    scale = Decimal(1).scaleb(-places)
    with server_cursor() as cursor:
        rows = cursor.execute(_COSTS, (*columns, organization_id)).fetchall()
    for n, day, *amounts in rows:
        found[n - 1][day] = Cost(*(amount.quantize(scale) for amount in amounts))
    return found


_SINCE = """
SELECT w.account_id, f.day FROM unnest(%b::uuid[]) AS w(account_id)
CROSS JOIN LATERAL (SELECT c.day FROM accounting_costday c WHERE c.organization_id = %b
    AND c.account_id = w.account_id ORDER BY c.day LIMIT 1) f
"""


def first_days(organization_id: UUID, account_ids: Iterable[UUID]) -> dict[UUID, date]:
    """The first day that ever cost something, of accounts that have one."""
    with server_cursor() as cursor:
        return dict(cursor.execute(_SINCE, (list(set(account_ids)), organization_id)).fetchall())


def standings(
    organization_id: UUID,
    rows: Sequence[BudgetRow],
    here: Ground,
    *,
    spans: Sequence[Span] | None = None,
    days_before: int = forecast.HISTORY_DAYS,
) -> list[Standing]:
    """Where budgets stand, in a fixed number of queries.

    Args:
        spans: the period of each; None: the one that counts now.
        days_before: how many days before today to load, beside the period.
    """
    if not rows:
        return []
    spans = [row.span(here.today) for row in rows] if spans is None else spans
    known = versions(organization_id, {row.id for row in rows}, places=here.places)
    since = first_days(organization_id, [row.account_id for row in rows])
    until = here.today + timedelta(days=1)
    windows = [
        (
            row.account_id,
            min(span.first, here.today - timedelta(days=days_before)),
            max(span.end, until),
        )
        for row, span in zip(rows, spans, strict=True)
    ]
    costs = costs_by_day(organization_id, windows, places=here.places)
    return [
        standing(
            row, version_for(known[row.id], span), span, of_days, here, since.get(row.account_id)
        )
        for row, span, of_days in zip(rows, spans, costs, strict=True)
    ]


def standing(
    row: BudgetRow,
    version: VersionRow,
    span: Span,
    costs: Mapping[date, Cost],
    here: Ground,
    since: date | None,
) -> Standing:
    """Where one budget stands, of costs that are loaded."""
    coming = forecast.forecast(
        costs,
        span,
        today=here.today,
        rest_of_today=here.rest_of_today,
        since=since,
        places=here.places,
    )
    daily = {day: cost.daily for day, cost in costs.items()}
    figures = Figures(
        amount=version.amount,
        spent=forecast.spent_in(costs, span),
        forecast=coming.amount,
        burns=budgets.burns(
            daily, span, amount=version.amount, today=here.today, alerts=version.alerts
        ),
    )
    return Standing(
        row=row,
        version=version,
        span=span,
        figures=figures,
        forecast=coming,
        state=budgets.state(figures, span, today=here.today),
        costs=costs,
        since=since,
    )
