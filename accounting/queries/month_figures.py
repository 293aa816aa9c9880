"""Reads the figures that `accounting.month_figures` has drawn of large months. Runs inside
`scope.reading`, in a few questions that read no line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from accounting import statement_rating
from accounting.domain import money, statements
from accounting.domain.lines import Kind
from accounting.domain.rating import Group, Unrated
from accounting.domain.statements import Month, State, Totals
from accounting.month_figures import ENDED, LARGE_LINES, MEASURED, PROMISED, UNRATED, UNUSED
from accounting.queries import statements as queries
from accounting.queries.showback import WHOLE, Cell, Lump
from accounting.queries.usage import Measured
from accounting.statement_rating import DETAILS, Ground
from ledger.sql import server_cursor

UNRATED_SHOWN = 20
_KINDS = tuple(str(kind) for kind in Kind)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedUse:
    """Use that ended, of a pool and tier, in unit-seconds, and what was measured of it."""

    all_seconds: Decimal
    compute: Measured
    productive: Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """A large month of an account, in place of a `Showback`.

    Attributes:
        as_of: when they were drawn. Nothing on a page of them is newer.
        until: the instant up to which the month counts in them.
        lumps: what its lines add up to by kind, pool, flavor and tier.
        used: by pool, unit-seconds promised and used of guarantees.
        ended: by pool and tier.
        late_months: closed months that something came late for.
    """

    ground: Ground
    account: UUID
    state: State
    as_of: datetime
    until: datetime
    lumps: tuple[Lump, ...]
    used: Mapping[UUID, tuple[Decimal, Decimal]]
    ended: Mapping[tuple[UUID, str], EndedUse]
    unrated_count: int
    late_months: tuple[date, ...]
    digest: str | None
    accepted: tuple[str, ...] = ()

    @property
    def month(self) -> Month:
        """The month that it is."""
        return self.ground.month

    @property
    def total(self) -> Totals:
        """What the lines add up to."""
        return Totals(
            sum(one.lines for one in self.lumps),
            money.total([one.amount for one in self.lumps]),
            money.total([one.list_amount for one in self.lumps]),
        )


_DRAWN = """
SELECT f.drawn_at, f.until, f.closed, f.unrated, f.late_months, a.whole_lines
FROM accounting_monthfigures f LEFT JOIN accounting_monthaccount a
    ON a.organization_id = f.organization_id AND a.month = f.month
    AND a.drawn_at = f.drawn_at AND a.account_id = %b
WHERE f.organization_id = %b AND f.month = %b AND f.large
"""


def figures(
    organization_id: UUID, account: UUID, first: date, *, now: datetime, least_lines: int = 0
) -> Figures | None:
    """An account's month, if it is large and drawn as what it is, open or closed.

    Args:
        least_lines: not, if it has fewer lines with all that is below.

    Raises:
        Invalid: `month_malformed`.
    """
    with server_cursor() as cursor:
        row = cursor.execute(_DRAWN, (account, organization_id, first)).fetchone()
    if row is None or (row[5] or 0) < least_lines:
        return None
    close = queries.close(organization_id, first)
    state: State = "open" if close is None else close.state
    drawn_at, until, closed, unrated, late_months, _ = row
    if closed != (state == "closed"):
        return None
    here = statement_rating.ground(organization_id, first, now=now if closed else until)
    lumps, used, ended = _sums(here, account, drawn_at)
    return Figures(
        ground=here,
        account=account,
        state=state,
        as_of=drawn_at,
        until=until,
        lumps=tuple(lumps),
        used=used,
        ended=ended,
        unrated_count=unrated,
        late_months=tuple(late_months),
        digest=close.digest if close is not None else None,
        accepted=() if close is None or not closed else tuple(close.accepted),
    )


def wide_figures(
    organization_id: UUID, account: UUID, first: date, *, now: datetime, by: Sequence[str]
) -> Figures | None:
    """The same of an account with so many lines that its pages do not read them; not where it is to
    be told apart by what only its use can tell."""
    if set(by) & set(DETAILS):
        return None
    return figures(organization_id, account, first, now=now, least_lines=LARGE_LINES)


_SUMS = """
SELECT kind, pool_id, flavor_id, tier, sum(lines)::integer, sum(unit_seconds), sum(amount),
    sum(list_amount)
FROM accounting_monthsum
WHERE organization_id = %b AND month = %b AND drawn_at = %b AND account_id = %b AND whole
GROUP BY 1, 2, 3, 4
"""


def _sums(here: Ground, account: UUID, drawn_at: datetime):
    """Lumps, guarantees by pool, and use that ended."""
    place = (here.organization_id, here.month.first, drawn_at, account)
    with server_cursor() as cursor:
        rows = cursor.execute(_SUMS, place).fetchall()
    lumps = []
    quantities: dict[str, dict[Any, Decimal]] = {
        name: {} for name in (PROMISED, UNUSED, ENDED, *MEASURED)
    }
    for kind, pool, flavor, tier, count, unit_seconds, amount, listed in rows:
        if kind in quantities:
            key = pool if kind in (PROMISED, UNUSED) else (pool, tier)
            quantities[kind][key] = unit_seconds
        else:
            amounts = (queries.plain(one, here.places) for one in (amount, listed))
            lumps.append(Lump(Kind(kind), pool, flavor, tier, count, unit_seconds, *amounts))
    used = {
        pool: (promised, promised - quantities[UNUSED].get(pool, Decimal(0)))
        for pool, promised in quantities[PROMISED].items()
    }
    ended = {
        key: EndedUse(
            all_seconds=seconds,
            compute=Measured(*(quantities[name][key] for name in MEASURED[:2])),
            productive=Measured(*(quantities[name][key] for name in MEASURED[2:])),
        )
        for key, seconds in quantities[ENDED].items()
    }
    return lumps, used, ended


_UNRATED = """
SELECT account_id, above, pool_id, flavor_id, tier, note, unit_seconds FROM accounting_monthsum
WHERE organization_id = %b AND month = %b AND drawn_at = %b AND NOT whole AND kind = %b
    AND above @> ARRAY[%b::uuid]
ORDER BY unit_seconds DESC, account_id LIMIT %b
"""


def unrated(found: Figures) -> list[Unrated]:
    """The most use without a price."""
    values = (*_place(found), UNRATED, found.account, UNRATED_SHOWN)
    with server_cursor() as cursor:
        rows = cursor.execute(_UNRATED, values).fetchall()
    return [
        Unrated(
            Group(
                bucket=found.month.first,
                account=(account, tuple(above)),
                pool=pool,
                flavor=flavor,
                tier=tier,
                grade=None,
                version=None,
            ),
            unit_seconds,
            why,
        )
        for account, above, pool, flavor, tier, why, unit_seconds in rows
    ]


def _place(found: Figures) -> tuple:
    return found.ground.organization_id, found.month.first, found.as_of


@dataclass(frozen=True, slots=True)
class Below:
    """What an account right below another is charged with everything below it; the other one for
    its own lines."""

    account: UUID
    amount: Decimal
    idle: Decimal
    untagged: Decimal


_BELOW = """
SELECT account_id, sum(amount), coalesce(sum(amount) FILTER (WHERE kind = 'idle'), 0),
    sum(untagged)
FROM (
    SELECT account_id, kind, amount, untagged FROM accounting_monthsum
    WHERE organization_id = %(o)b AND month = %(m)b AND drawn_at = %(d)b AND whole
        AND parent_id = %(account)b AND kind = ANY (%(kinds)b)
    UNION ALL
    SELECT account_id, kind, amount, untagged FROM accounting_monthsum
    WHERE organization_id = %(o)b AND month = %(m)b AND drawn_at = %(d)b AND NOT whole
        AND account_id = %(account)b AND kind = ANY (%(kinds)b)
) b GROUP BY 1
"""


def below(found: Figures) -> list[Below]:
    """The accounts right below."""
    with server_cursor() as cursor:
        rows = cursor.execute(_BELOW, _named(found)).fetchall()
    places = found.ground.places
    return [
        Below(account, *(queries.plain(amount, places) for amount in amounts))
        for account, *amounts in rows
    ]


def _named(found: Figures) -> dict[str, Any]:
    organization_id, month, drawn_at = _place(found)
    return {
        "o": organization_id,
        "m": month,
        "d": drawn_at,
        "account": found.account,
        "kinds": list(_KINDS),
    }


_OWN = """
SELECT account_id, amount FROM accounting_monthaccount
WHERE organization_id = %(o)b AND month = %(m)b AND drawn_at = %(d)b AND lines > 0
"""
_MOVERS = """
WITH now AS (SELECT account_id, amount FROM accounting_monthaccount
    WHERE organization_id = %(o)b AND month = %(m)b AND drawn_at = %(d)b),
before AS (SELECT account_id, amount FROM accounting_monthaccount
    WHERE organization_id = %(o)b AND month = %(m_before)b AND drawn_at = %(d_before)b)
SELECT account_id, coalesce(now.amount, 0), coalesce(before.amount, 0)
FROM now FULL JOIN before USING (account_id)
WHERE coalesce(now.amount, 0) <> coalesce(before.amount, 0)
ORDER BY abs(coalesce(now.amount, 0) - coalesce(before.amount, 0)) DESC, account_id LIMIT %(limit)b
"""


def own_amounts(found: Figures) -> dict[Any, Decimal]:
    """What the own lines of each account of the organization add up to."""
    with server_cursor() as cursor:
        rows = cursor.execute(_OWN, _named(found)).fetchall()
    return {account: queries.plain(amount, found.ground.places) for account, amount in rows}


def moved_most(
    found: Figures, before: Figures, *, limit: int
) -> list[tuple[UUID, Decimal, Decimal]]:
    """Accounts whose own lines differ most between two months: now, and before."""
    values = _named(found) | {
        "m_before": before.month.first,
        "d_before": before.as_of,
        "limit": limit,
    }
    with server_cursor() as cursor:
        rows = cursor.execute(_MOVERS, values).fetchall()
    places = found.ground.places
    return [(id_, queries.plain(now, places), queries.plain(was, places)) for id_, now, was in rows]


_DIMENSIONS = {
    "pool": "s.pool_id::text",
    "tier": "s.tier",
    "kind": "s.kind",
    "account": "s.account_id::text",
}
_CELLS = """
SELECT {columns}, sum(s.unit_seconds), sum(s.amount), count(*) OVER ()
FROM accounting_monthsum s
WHERE s.organization_id = %(o)b AND s.month = %(m)b AND s.drawn_at = %(d)b
    AND s.kind = ANY (%(kinds)b) AND {which}
GROUP BY {numbers} ORDER BY sum(s.amount) DESC, {numbers} LIMIT %(limit)b
"""
_NEXT_TO = "(s.whole AND s.parent_id = %(account)b OR NOT s.whole AND s.account_id = %(account)b)"
_ALL_BELOW = "NOT s.whole AND s.above @> ARRAY[%(account)b::uuid]"
_TEAM_BELOW = (
    "coalesce(s.above[array_position(s.above, %(account)b::uuid) + 1], %(account)b::uuid)::text"
)


def cells(
    found: Figures, dimensions: Sequence[str], names: Mapping[Any, str], *, limit: int
) -> tuple[list[Cell], int]:
    """A month by one or two dimensions that its lines tell, the largest amounts first, and how many
    groups there are in all."""
    deep = "account" in dimensions
    texts = _DIMENSIONS | {"team": _TEAM_BELOW if deep else "s.account_id::text"}
    statement = _CELLS.format(
        columns=", ".join(texts[name] for name in dimensions),
        numbers=", ".join(str(n + 1) for n in range(len(dimensions))),
        which=_ALL_BELOW if deep else _NEXT_TO,
    )
    with server_cursor() as cursor:
        rows = cursor.execute(statement, _named(found) | {"limit": limit}).fetchall()
    result = [
        Cell(
            tuple(
                _named_value(name, value, names)
                for name, value in zip(dimensions, values, strict=True)
            ),
            unit_seconds,
            queries.plain(amount, found.ground.places),
        )
        for *values, unit_seconds, amount, _ in rows
    ]
    result.sort(key=lambda cell: (-cell.amount, tuple(map(str, cell.values))))
    return result, rows[0][-1] if rows else 0


def _named_value(dimension: str, value: str | None, names: Mapping[Any, str]) -> str:
    if value is None:
        return WHOLE
    if dimension in ("tier", "kind"):
        return value
    return names.get(UUID(value), value)


_LINES = f"""
SELECT {queries.LINE_COLUMNS} FROM accounting_statementline
WHERE organization_id = %b AND month = %b AND above @> ARRAY[%b::uuid]
ORDER BY abs(amount) DESC, chunk, line_no LIMIT %b
"""


def largest_lines(found: Figures, *, limit: int) -> list:
    """The lines of a closed month with the largest amounts; none of an open one, whose lines are
    not kept."""
    if found.state != "closed":
        return []
    values = (found.ground.organization_id, found.month.first, found.account, limit)
    with server_cursor() as cursor:
        rows = cursor.execute(_LINES, values).fetchall()
    return [queries.line_of(row, found.ground.places) for row in rows]


_EXPECTED = """
SELECT expected_lines, expected FROM accounting_monthaccount
WHERE organization_id = %b AND month = %b AND drawn_at = %b AND account_id = %b
"""


@dataclass(frozen=True, slots=True)
class ExpectedSum:
    """What adjustments an account would get if the month closed now, as drawn at an instant."""

    count: int
    amount: Decimal
    months: tuple[date, ...]
    as_of: datetime
    lines: tuple[()] = ()


def expected_sum(organization_id: UUID, account: UUID, first: date, places: int):
    """The expected adjustments of a large month that is open; None: it is not drawn."""
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT drawn_at, late_months FROM accounting_monthfigures "
            "WHERE organization_id = %b AND month = %b AND large AND NOT closed",
            (organization_id, first),
        ).fetchone()
        if row is None:
            return None
        drawn_at, months = row
        have = cursor.execute(_EXPECTED, (organization_id, first, drawn_at, account)).fetchone()
    count, amount = have or (0, Decimal(0))
    return ExpectedSum(count, queries.plain(amount, places), tuple(months), drawn_at)


_TEAMS = """
SELECT account_id, above, utilization, idle_share, productive_cost
FROM accounting_monthaccount
WHERE organization_id = %b AND month = %b AND drawn_at = %b AND is_team
"""


_USE_BY_DAY = """
SELECT c.day, c.usage FROM accounting_costday c JOIN accounting_costmonth m
    ON m.organization_id = c.organization_id AND m.month = %(m)b AND m.drawn_at = %(d)b
WHERE c.organization_id = %(o)b AND c.account_id = %(account)b AND c.day >= %(m)b
    AND c.day < %(end)b AND c.usage <> 0
"""


def use_by_day(found: Figures) -> dict[date, Decimal]:
    """What use cost by day, of all pools together. Nothing, should it have been drawn anew since
    `found` was read: pages do not mix ages."""
    values = _named(found) | {"end": statements.month_after(found.month.first)}
    with server_cursor() as cursor:
        rows = cursor.execute(_USE_BY_DAY, values).fetchall()
    return {day: queries.plain(amount, found.ground.places) for day, amount in rows}


def team_rows(found: Figures) -> list[tuple]:
    """What a comparison is made from: one row of each team."""
    with server_cursor() as cursor:
        return cursor.execute(_TEAMS, _place(found)).fetchall()
