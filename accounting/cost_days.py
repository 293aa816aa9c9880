"""What each day cost each account with all that was below it, drawn from the month's statements.

A table of costs by day is what budgets, forecasts and marks on charts read: a few hundred rows
for an account, whatever number of records is behind them. Each line of a month is split over its
days by largest remainder, so the days add up to the statements, open or closed, to the cent. What
is of a whole month (discounts, credits, adjustments) stands on its last day so far. What is missing
to a commitment is charged when the month closes, and not before.

The table follows from what is kept elsewhere and is drawn again whenever that may have changed, so
no event tells of it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from uuid import UUID
from zoneinfo import ZoneInfo

from accounting import month_figures, statement_month, statement_rating
from accounting.domain import lines, money, splitting, statements
from accounting.domain.lines import Guarantee, Key, Kind, Line
from accounting.domain.rating import Unrated
from accounting.month_figures import MonthParts
from accounting.queries import showback
from accounting.queries import statements as queries
from accounting.statement_guarantees import daily_guarantees
from accounting.statement_rating import Ground
from ledger.sql import server_cursor

MONTHS_BACK = 13
REDRAWN_AFTER = timedelta(days=1)
"""An open month that is over is drawn again after this, and whenever use of it came."""
SCALE = 4
COLUMNS = {Kind.USAGE: 0, Kind.IDLE: 1, Kind.LENDING: 1}
_OTHER = 2

Amounts = dict[tuple[UUID, date], list[int]]
"""By account and day: use, idle, other, in ten-thousandths."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Up to when a month's costs are known, and whether its figures were drawn as well."""

    month: date
    drawn_at: datetime
    until: datetime
    closed: bool
    figures: bool


_DRAWN = """
SELECT c.month, c.drawn_at, c.until, c.closed, EXISTS (
    SELECT FROM accounting_monthfigures f WHERE f.organization_id = c.organization_id
        AND f.month = c.month AND f.closed = c.closed)
FROM accounting_costmonth c WHERE c.organization_id = %b
"""


def drawn(organization_id: UUID) -> dict[date, Drawn]:
    """The months whose costs are drawn."""
    with server_cursor() as cursor:
        rows = cursor.execute(_DRAWN, (organization_id,)).fetchall()
    return {row[0]: Drawn(*row) for row in rows}


_SINCE = """
SELECT (SELECT time_zone FROM tenancy_organization WHERE id = %(organization)b),
    min(first_started_at) FROM accounting_usagebatch WHERE organization_id = %(organization)b
"""
_NEWS = """
SELECT min(first_started_at) FROM accounting_usagebatch
WHERE organization_id = %b AND recorded_at >= %b
"""


def due_months(organization_id: UUID, *, now: datetime) -> list[date]:
    """The months to draw now, oldest first: this one, and of the thirteen before those that use
    came for, that closed, or that are open and were not looked at for a day."""
    with server_cursor() as cursor:
        zone_name, since = cursor.execute(_SINCE, {"organization": organization_id}).fetchone()
        if since is None:
            return []
        done = drawn(organization_id)
        closed = {one.month for one in queries.closes(organization_id) if one.state == "closed"}
        zone = ZoneInfo(zone_name)
        this = splitting.day_of(now, zone).replace(day=1)
        month = max(splitting.day_of(since, zone).replace(day=1), _months_before(this))
        found = []
        while month <= this:
            row = done.get(month)
            if row is None or _is_due(cursor, organization_id, row, zone, closed, now):
                found.append(month)
            month = statements.month_after(month)
    return found


def _is_due(
    cursor, organization_id: UUID, row: Drawn, zone: ZoneInfo, closed: set[date], now: datetime
) -> bool:
    if row.closed:
        return not row.figures
    end = statements.month_of(row.month, zone).end
    if row.until < end or row.month in closed or now - row.drawn_at >= REDRAWN_AFTER:
        return True
    since = row.drawn_at - queries.CLOCKS_APART
    first = cursor.execute(_NEWS, (organization_id, since)).fetchone()[0]
    return first is not None and first < end


def _months_before(month: date) -> date:
    for _ in range(MONTHS_BACK):
        month = statements.month_before(month)
    return month


_WRITE = """
WITH new AS (
    SELECT * FROM unnest(%(accounts)b::uuid[], %(days)b::date[], %(usage)b::numeric[],
        %(idle)b::numeric[], %(other)b::numeric[]) AS n(account_id, day, usage, idle, other)
), gone AS (
    DELETE FROM accounting_costday c
    WHERE c.organization_id = %(organization)b AND c.day >= %(first)b AND c.day < %(end)b
        AND NOT EXISTS (SELECT FROM new n WHERE n.account_id = c.account_id AND n.day = c.day)
)
INSERT INTO accounting_costday AS c (organization_id, account_id, day, usage, idle, other)
SELECT %(organization)b, n.account_id, n.day, n.usage, n.idle, n.other FROM new n
ON CONFLICT (organization_id, account_id, day) DO UPDATE SET
    usage = excluded.usage, idle = excluded.idle, other = excluded.other
WHERE (c.usage, c.idle, c.other) IS DISTINCT FROM (excluded.usage, excluded.idle, excluded.other)
"""
_MARK = """
INSERT INTO accounting_costmonth (organization_id, month, drawn_at, until, closed)
VALUES (%b, %b, %b, %b, %b)
ON CONFLICT (organization_id, month) DO UPDATE SET
    drawn_at = excluded.drawn_at, until = excluded.until, closed = excluded.closed
"""


def draw(organization_id: UUID, month: date, *, now: datetime) -> int:
    """Draw a month's costs by day; returns how many rows it has. Rows that stay the same are not
    written again. Runs in a command that holds the lock.

    Raises:
        Invalid: `month_malformed`.
    """
    here = statement_rating.ground(organization_id, month, now=now)
    close = queries.close(organization_id, month)
    closed = close is not None and close.state == "closed"
    parts, days = month_days(here, closed=closed)
    found = by_account(days)
    month_figures.draw(here, parts, closed=closed, now=now)
    keys = sorted(found)
    columns = [[Decimal(found[key][n]).scaleb(-SCALE) for key in keys] for n in range(3)]
    with server_cursor() as cursor:
        cursor.execute(
            _WRITE,
            {
                "organization": organization_id,
                "first": month,
                "end": statements.month_after(month),
                "accounts": [account for account, _ in keys],
                "days": [day for _, day in keys],
                "usage": columns[0],
                "idle": columns[1],
                "other": columns[2],
            },
        )
        cursor.execute(_MARK, (organization_id, month, now, here.until, closed))
    return len(keys)


DayAmounts = Mapping[date, Decimal]


def month_days(
    here: Ground, *, closed: bool
) -> tuple[MonthParts, Iterable[tuple[Line, DayAmounts]]]:
    """A month, and each of its lines with its amount by day; commitments have no days before the
    month is closed."""
    daily = daily_guarantees(here)
    weights = _idle_weights(daily)
    month, guarantees = here.month.first, _summed(daily)
    unrated: Sequence[Unrated] = ()
    missing: list[Line] = []
    if closed:
        stored = queries.stored_lines(here.organization_id, month, places=here.places)
        charged = [one.line for one in stored]
        parts = showback.stored_parts(here.organization_id, month, stored, ("day",))
    else:
        use = statement_rating.month_use(here, details=("day",))
        unrated = use.rating.unrated
        charged = statement_month.rated_lines(here, use.lines, guarantees)
        charged += queries.credits_of(here)
        missing = queries.commitments_of(here, charged)
        groups = zip(use.rating.lines, use.lines, strict=True)
        parts = {line.key: use.parts[one.group] for one, line in groups}
    for key, details in parts.items():
        weights[key] = {detail[0]: amount for detail, amount in details.items()}
    whole = MonthParts(lines=[*charged, *missing], guarantees=guarantees, unrated=unrated)
    return whole, _by_day(here, charged, weights)


def _by_day(
    here: Ground, charged: Iterable[Line], weights: Mapping[Key, Mapping[date, Decimal]]
) -> Iterable[tuple[Line, DayAmounts]]:
    last = _last_day(here)
    for line in charged:
        of_days = {} if line.adjusts else weights.get(line.key, {})
        yield line, lines.parts(line.amount, of_days or {last: Decimal(1)}, places=here.places)


def by_account(found: Iterable[tuple[Line, DayAmounts]]) -> Amounts:
    """Amounts of each account and all that was below it, by day. What an account has is its own
    and that of those below, so the root has everything."""
    own: dict[tuple[tuple[UUID, ...], date], list[int]] = defaultdict(lambda: [0, 0, 0])
    for line, days in found:
        column = _OTHER if line.adjusts else COLUMNS.get(line.key.kind, _OTHER)
        for day, amount in days.items():
            own[line.key.above, day][column] += int(amount.scaleb(SCALE, money.EXACT))
    whole: Amounts = defaultdict(lambda: [0, 0, 0])
    for (above, day), amounts in own.items():
        if not any(amounts):
            continue
        for account in above:
            sums = whole[account, day]
            for column, amount in enumerate(amounts):
                sums[column] += amount
    return dict(whole)


def _last_day(here: Ground) -> date:
    """The last day of the month so far; of one that has not begun its first."""
    if here.until <= here.month.start:
        return here.month.first
    return splitting.day_of(here.until - timedelta(microseconds=1), here.zone)


def _idle_weights(
    daily: Iterable[tuple[date | None, Guarantee]],
) -> dict[Key, dict[date, Decimal]]:
    """By what a line of idle guarantees or lending is for: how much lay idle or was lent a day."""
    found: dict[Key, dict[date, Decimal]] = defaultdict(dict)
    for day, one in daily:
        for kind, unit_seconds in ((Kind.IDLE, one.idle), (Kind.LENDING, one.lent)):
            if unit_seconds and day is not None:
                have = found[lines.key_of(one, kind)]
                amount = money.rounded(unit_seconds, lines.QUANTITY_PLACES)
                have[day] = have.get(day, Decimal(0)) + amount
    return found


def _summed(daily: Iterable[tuple[date | None, Guarantee]]) -> list[Guarantee]:
    found: dict[Key, Guarantee] = {}
    for _, one in daily:
        key = lines.key_of(one, Kind.IDLE)
        have = found.get(key)
        found[key] = one if have is None else _added(have, one)
    return list(found.values())


def _added(one: Guarantee, more: Guarantee) -> Guarantee:
    sums: dict[str, Fraction] = {
        name: getattr(one, name) + getattr(more, name) for name in ("promised", "idle", "lent")
    }
    return replace(one, **sums)
