"""Figures of months with many lines, drawn once, for pages that must not read the lines.

A month is large when it has very many records or lines, or when a closed month that something came
late for has. Its figures are drawn with its costs by day, from the same lines: closed ones once,
open ones by the hour. Every sum is of lines that are rounded, so figures add up to the statements.
Runs in the command that draws the costs. Like them, figures follow from what is kept elsewhere, so
no event tells of them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

from accounting import statement_rating
from accounting.domain import comparison, lines, money, statements
from accounting.domain.lines import Guarantee, Kind, Line
from accounting.domain.rating import Unrated
from accounting.queries import showback
from accounting.queries import statements as queries
from accounting.queries.expected import untold_lines
from accounting.statement_rating import Ground, Weights
from ledger.sql import server_cursor

LARGE_RECORDS = 200_000
LARGE_LINES = 2_000
PROMISED, UNUSED, ENDED, UNRATED = "promised", "unused", "ended", "unrated"
MEASURED = ("compute_known", "compute_busy", "productive_known", "productive_busy")
QUANTITIES = (PROMISED, UNUSED, ENDED, *MEASURED, UNRATED)
OF_USE = (Kind.USAGE, Kind.IDLE, Kind.LENDING, Kind.DISCOUNT)
ROWS_AT_ONCE = 5_000
_NOTHING = (0, Decimal(0), Decimal(0), Decimal(0), Decimal(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthParts:
    """A month's lines, with all that is in its figures besides.

    Attributes:
        lines: as its statements have or would have them.
        guarantees: what became of each.
        unrated: use without a price.
    """

    lines: Sequence[Line]
    guarantees: Sequence[Guarantee]
    unrated: Sequence[Unrated] = ()


_RECORDS = """
SELECT coalesce(sum(rows - rejected), 0) FROM accounting_usagebatch
WHERE organization_id = %b AND first_started_at < %b AND last_started_at >= %b
"""


def records_of(organization_id: UUID, month: statements.Month) -> int:
    """How many records came in batches of a month: at least as many as are of it."""
    with server_cursor() as cursor:
        values = (organization_id, month.end, month.start)
        return int(cursor.execute(_RECORDS, values).fetchone()[0])


def draw(here: Ground, parts: MonthParts, *, closed: bool, now: datetime) -> bool:
    """Draw a month's figures if it is large; whether it is."""
    late_months, late = ([], []) if closed else untold_lines(here, now=now)
    large = len(parts.lines) >= LARGE_LINES or _many_records(here, late_months)
    _forget(here)
    if large:
        sums = _Sums(here)
        sums.add_lines(parts.lines, _bare(here, parts.lines, closed=closed))
        sums.add_quantities(parts)
        found = _accounts(here, parts, late)
        _write("accounting_monthsum", _SUM_TYPES, here, now, sums.rows())
        _write("accounting_monthaccount", _ACCOUNT_TYPES, here, now, found)
    values = (now, here.until, closed, large, len(parts.unrated), late_months)
    with server_cursor() as cursor:
        cursor.execute(_MARK, (here.organization_id, here.month.first, *values))
    return large


def _many_records(here: Ground, late_months: Iterable[date]) -> bool:
    months = [here.month, *(statements.month_of(one, here.zone) for one in late_months)]
    return any(records_of(here.organization_id, one) >= LARGE_RECORDS for one in months)


def untagged(line: Line, weights: Weights, *, at: int, places: int) -> Decimal:
    """What the part of a line of use without a project is charged.

    Args:
        at: where in the details of its parts the project is.
    """
    bare = {detail for detail in weights if detail[at] is None}
    if line.adjusts or not bare:
        return Decimal(0)
    if len(bare) == len(weights):
        return line.amount
    shares = lines.parts(line.amount, weights, places=places)
    return money.total([shares[detail] for detail in bare])


def _bare(here: Ground, charged: Iterable[Line], *, closed: bool) -> dict[Any, Decimal]:
    """By key of a line of use: what of it has no project."""
    if closed:
        month = here.month.first
        stored = queries.stored_lines(here.organization_id, month, places=here.places)
        parts = showback.stored_parts(here.organization_id, month, stored, ("project",))
    else:
        use = statement_rating.month_use(here, details=("project",))
        groups = zip(use.rating.lines, use.lines, strict=True)
        parts = {line.key: use.parts[one.group] for one, line in groups}
    return {
        line.key: untagged(line, parts.get(line.key, {}), at=0, places=here.places)
        for line in charged
        if line.kind == Kind.USAGE
    }


class _Sums:
    """Adds up lines and quantities, by account alone and with what is below."""

    def __init__(self, here: Ground) -> None:
        self._here = here
        self._own: dict[tuple, tuple] = {}
        self._whole: dict[tuple, tuple] = {}

    def add_lines(self, charged: Iterable[Line], bare: Mapping[Any, Decimal]) -> None:
        for line in charged:
            key = line.key
            without = Decimal(0) if line.adjusts else bare.get(key, Decimal(0))
            place = (str(line.kind), key.pool, key.flavor, key.tier, None)
            amounts = (1, line.unit_seconds, line.amount, line.list_amount, without)
            _add(self._own, (key.above, place), amounts)
        for (above, place), amounts in self._own.items():
            self._below(above, place, amounts)

    def add_quantities(self, parts: MonthParts) -> None:
        for one in parts.guarantees:
            for kind, value in ((PROMISED, one.promised), (UNUSED, one.idle)):
                exact = money.rounded(value, lines.QUANTITY_PLACES)
                self._quantity(one.above, (kind, one.pool, None, None, None), exact)
        for above, pool, tier, *values in _ended(self._here):
            for kind, value in zip((ENDED, *MEASURED), values, strict=True):
                self._quantity(tuple(above), (kind, pool, None, tier, None), value)
        for use in parts.unrated:
            group: Any = use.group
            place = (UNRATED, group.pool, group.flavor, group.tier, use.why)
            amounts = (1, use.unit_seconds, Decimal(0), Decimal(0), Decimal(0))
            _add(self._own, (group.account[1], place), amounts)

    def _quantity(self, above: tuple, place: tuple, value: Decimal) -> None:
        self._below(above, place, (0, value, Decimal(0), Decimal(0), Decimal(0)))

    def _below(self, above: tuple, place: tuple, amounts: tuple) -> None:
        for account, parent in zip(above, (None, *above), strict=False):
            _add(self._whole, (account, parent, place), amounts)

    def rows(self) -> Iterator[tuple]:
        """As _SUM_TYPES."""
        numbers: dict[Any, int] = defaultdict(int)
        for (above, place), amounts in self._own.items():
            numbers[above[-1]] += 1
            yield (above[-1], numbers[above[-1]], False, None, above, *place, *amounts)
        for (account, parent, place), amounts in self._whole.items():
            numbers[account] += 1
            yield (account, numbers[account], True, parent, None, *place, *amounts)


def _add(sums: dict[Any, tuple], key: Any, amounts: tuple) -> None:
    have = sums.get(key, _NOTHING)
    added = [money.EXACT.add(one, more) for one, more in zip(have[1:], amounts[1:], strict=True)]
    sums[key] = (have[0] + amounts[0], *added)


_ENDED_SQL = """
SELECT a.ancestors, e.pool_id, e.tier, e.seconds, e.compute_known, e.compute_busy,
    e.productive_known, e.productive_busy
FROM (
    SELECT u.account_id, u.pool_id, u.tier, sum(u.unit_seconds) AS seconds,
        sum(u.compute_known) AS compute_known, sum(u.compute_busy) AS compute_busy,
        sum(u.productive_known) AS productive_known, sum(u.productive_busy) AS productive_busy
    FROM accounting_usageday u
    WHERE u.organization_id = %b AND u.day BETWEEN %b AND %b GROUP BY 1, 2, 3
) e JOIN tenancy_account a ON a.organization_id = %b AND a.id = e.account_id
"""


def _ended(here: Ground) -> list[tuple]:
    """Use that ended, where accounts hang now: path, pool, tier and sums."""
    first = here.month.first
    last = statements.month_after(first) - timedelta(days=1)
    values = (here.organization_id, first, last, here.organization_id)
    with server_cursor() as cursor:
        rows = cursor.execute(_ENDED_SQL, values).fetchall()
    names = statement_rating.TIER_NAMES
    return [(above, pool, names[tier], *values) for above, pool, tier, *values in rows]


_PRODUCTIVE = """
SELECT u.account_id, sum(u.unit_seconds * f.weight), sum(u.productive_known * f.weight),
    sum(u.productive_busy * f.weight)
FROM accounting_usageday u
JOIN quota_pool p ON p.organization_id = u.organization_id AND p.id = u.pool_id
JOIN quota_flavor f ON f.organization_id = p.organization_id AND f.id = p.flavor_id
WHERE u.organization_id = %b AND u.day BETWEEN %b AND %b GROUP BY 1
"""


def _accounts(here: Ground, parts: MonthParts, late: Sequence[Line]) -> Iterator[tuple]:
    """As _ACCOUNT_TYPES, of every account with a line, a promise or an expected adjustment at or
    below it."""
    paths: dict[Any, tuple] = {}
    sums: dict[Any, dict[str, Any]] = defaultdict(lambda: defaultdict(Decimal))
    promises: dict[Any, tuple[Fraction, Fraction]] = {}
    costs: dict[Any, dict[Kind, Decimal]] = defaultdict(dict)
    for one in parts.guarantees:
        paths[one.account] = one.above
        promised, unused = promises.get(one.account, (Fraction(0), Fraction(0)))
        promises[one.account] = (promised + one.promised, unused + one.idle)
    for line in parts.lines:
        account, above = line.key.account, line.key.above
        _more(sums[account], lines=1, amount=line.amount)
        for one in above:
            _more(sums[one], whole_lines=1)
        if line.kind in OF_USE:
            paths[account] = above
            have = costs[account]
            have[line.kind] = money.EXACT.add(have.get(line.kind, Decimal(0)), line.amount)
    for line in late:
        for one in line.key.above:
            _more(sums[one], expected_lines=1, expected=line.amount)
    first = here.month.first
    last = statements.month_after(first) - timedelta(days=1)
    with server_cursor() as cursor:
        rows = cursor.execute(_PRODUCTIVE, (here.organization_id, first, last)).fetchall()
    hours = {account: comparison.productive_hours(*values) for account, *values in rows}
    for account in {**sums, **paths}:
        have, spent = sums[account], costs.get(account, {})
        above = paths.get(account) or here.trees[-1].get(account, (account,))
        yield (
            *(account, above, account in paths, have["lines"], have["amount"], have["whole_lines"]),
            comparison.used_share(*promises.get(account, (Fraction(0), Fraction(0)))),
            comparison.idle_share(spent),
            comparison.productive_cost(spent, hours.get(account)),
            *(have["expected_lines"], have["expected"]),
        )


def _more(sums: dict[str, Any], **amounts: Any) -> None:
    for name, amount in amounts.items():
        sums[name] = money.EXACT.add(sums[name], amount)


_SUM_TYPES = {
    "account_id": "uuid",
    "row_no": "integer",
    "whole": "boolean",
    "parent_id": "uuid",
    "above": "uuid[]",
    "kind": "text",
    "pool_id": "uuid",
    "flavor_id": "uuid",
    "tier": "text",
    "note": "text",
    "lines": "integer",
    "unit_seconds": "numeric",
    "amount": "numeric",
    "list_amount": "numeric",
    "untagged": "numeric",
}
_ACCOUNT_TYPES = {
    "account_id": "uuid",
    "above": "uuid[]",
    "is_team": "boolean",
    "lines": "integer",
    "amount": "numeric",
    "whole_lines": "integer",
    "utilization": "numeric",
    "idle_share": "numeric",
    "productive_cost": "numeric",
    "expected_lines": "integer",
    "expected": "numeric",
}
_MARK = """
INSERT INTO accounting_monthfigures
    (organization_id, month, drawn_at, until, closed, large, unrated, late_months)
VALUES (%b, %b, %b, %b, %b, %b, %b, %b)
ON CONFLICT (organization_id, month) DO UPDATE SET drawn_at = excluded.drawn_at,
    until = excluded.until, closed = excluded.closed, large = excluded.large,
    unrated = excluded.unrated, late_months = excluded.late_months
"""


def _forget(here: Ground) -> None:
    """Take out rows of drawings that no page begins with any more."""
    with server_cursor() as cursor:
        for table in ("monthsum", "monthaccount"):
            cursor.execute(
                f"DELETE FROM accounting_{table} WHERE organization_id = %(o)b AND month = %(m)b "
                "AND drawn_at IS DISTINCT FROM (SELECT drawn_at FROM accounting_monthfigures "
                "WHERE organization_id = %(o)b AND month = %(m)b)",
                {"o": here.organization_id, "m": here.month.first},
            )


def _write(
    table: str, types: Mapping[str, str], here: Ground, now: datetime, rows: Iterable[tuple]
) -> None:
    columns = ", ".join(types)
    values = ", ".join(f"n.{name}::{type_}" for name, type_ in types.items())
    arrays = ", ".join(
        f"%b::{'text' if type_ == 'uuid[]' else type_}[]" for type_ in types.values()
    )
    statement = (
        f"INSERT INTO {table} (organization_id, month, drawn_at, {columns}) "
        f"SELECT %b, %b, %b, {values} FROM unnest({arrays}) AS n({columns})"
    )
    place = (here.organization_id, here.month.first, now)
    found = list(rows)
    with server_cursor() as cursor:
        for first in range(0, len(found), ROWS_AT_ONCE):
            block = zip(*found[first : first + ROWS_AT_ONCE], strict=True)
            sent = [
                _sent(column, type_) for column, type_ in zip(block, types.values(), strict=True)
            ]
            cursor.execute(statement, (*place, *sent))


def _sent(column: Sequence[Any], type_: str) -> list[Any]:
    """A column as it travels: arrays of arrays as text, since their lengths differ."""
    if type_ == "uuid[]":
        return [None if one is None else "{" + ",".join(map(str, one)) + "}" for one in column]
    if type_ == "integer":
        return [int(one) for one in column]
    return list(column)
