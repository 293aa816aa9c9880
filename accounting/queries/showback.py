"""A month of an account, with all that was below it, as its people are shown it. Runs inside
`scope.reading`.

A closed month is read from its stored lines; an open one is computed, and is preliminary. Drilling
down splits each line by what it consists of, by largest remainder, so every table adds up to the
statement (docs/user/showback.md).
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Protocol
from uuid import UUID

from accounting import statement_month, statement_rating
from accounting.domain import lines, money, statements
from accounting.domain.lines import Key, Kind, Line
from accounting.domain.rating import Unrated
from accounting.domain.statements import Month, State
from accounting.queries import statements as queries
from accounting.statement_rating import DETAILS, Ground, Weights
from ledger.errors import Invalid
from ledger.sql import server_cursor

DIMENSIONS = ("team", "account", "pool", "tier", "kind", *DETAILS)
DEPTH_MAX = 2
WHOLE = "not told apart"
COLUMNS = {"day": "p.day", "person": "p.person_id"}


@dataclass(frozen=True, slots=True)
class Lump:
    """Lines of a month that are of one kind, pool, flavor and tier, added up."""

    kind: Kind
    pool: UUID | None
    flavor: UUID | None
    tier: str | None
    lines: int
    unit_seconds: Decimal
    amount: Decimal
    list_amount: Decimal


class Lumped(Protocol):
    """A month of an account whose lines are added up: a `Showback`, or drawn figures."""

    @property
    def ground(self) -> Ground:
        """What the month stands on."""

    @property
    def lumps(self) -> tuple[Lump, ...]:
        """What the lines add up to by kind, pool, flavor and tier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Showback:
    """A month of an account.

    Attributes:
        parts: of lines of usage, unit-seconds by `details`, in that order.
        unrated: use without a price, of an open month.
        accepted: codes of what was odd about a closed month and accepted.
        used: by pool, unit-seconds promised and used of guarantees, where that is known.
    """

    ground: Ground
    account: UUID
    state: State
    lines: tuple[Line, ...]
    parts: Mapping[Key, Weights]
    details: tuple[str, ...]
    unrated: tuple[Unrated, ...]
    used: Mapping[UUID, tuple[Decimal, Decimal]]
    digest: str | None
    accepted: tuple[str, ...] = ()
    as_of: None = None

    @property
    def month(self) -> Month:
        """The month that it is."""
        return self.ground.month

    @property
    def unrated_count(self) -> int:
        """How many amounts of use have no price."""
        return len(self.unrated)

    @property
    def lumps(self) -> tuple[Lump, ...]:
        """What the lines add up to by kind, pool, flavor and tier."""
        sums: dict[tuple, list] = {}
        for line in self.lines:
            key = (line.kind, line.key.pool, line.key.flavor, line.key.tier)
            have = sums.setdefault(key, [0, Decimal(0), Decimal(0), Decimal(0)])
            have[0] += 1
            values = (line.unit_seconds, line.amount, line.list_amount)
            for n, value in enumerate(values, start=1):
                have[n] = money.EXACT.add(have[n], value)
        return tuple(Lump(*key, *have) for key, have in sums.items())

    @property
    def total(self) -> statements.Totals:
        """What the lines add up to."""
        return statements.totals(self.lines)


@dataclass(frozen=True, slots=True)
class Cell:
    """A group of a drill-down: values of its dimensions as names, and what it adds up to. None is
    use without the tag; WHOLE is what cannot be told apart so: a credit by its pool, say."""

    values: tuple[str | None, ...]
    unit_seconds: Decimal
    amount: Decimal


@dataclass(frozen=True, slots=True)
class Change:
    """A line against last month's; `by_use` and `by_price` add up to the difference.

    by_use = (use now - use before) x price before; by_price is the rest. Both are None where there
    is nothing to divide.
    """

    kind: Kind
    pool: UUID | None
    tier: str | None
    now: Decimal
    before: Decimal
    by_use: Decimal | None
    by_price: Decimal | None

    @property
    def difference(self) -> Decimal:
        """Now less before."""
        return self.now - self.before


def line_id(line: Line) -> str:
    """A name of the line that its address can hold; the same while the month is open."""
    words = repr((line.key, line.about, line.adjusts))
    return hashlib.sha256(words.encode()).hexdigest()[:16]


def showback(
    organization_id: UUID,
    account: UUID,
    first: date,
    *,
    now: datetime,
    details: Sequence[str] = (),
) -> Showback:
    """An account's month.

    Args:
        details: some of `statement_rating.DETAILS`.

    Raises:
        Invalid: `month_malformed`.
    """
    wanted = tuple(name for name in DETAILS if name in details)
    close = queries.close(organization_id, first)
    if close is not None and close.state == "closed":
        here = statement_rating.ground(organization_id, first, now=now)
        stored = queries.stored_lines(organization_id, first, under=account, places=here.places)
        return Showback(
            ground=here,
            account=account,
            state="closed",
            lines=tuple(one.line for one in stored),
            parts=stored_parts(organization_id, first, stored, wanted) if wanted else {},
            details=wanted,
            unrated=(),
            used=_used_by_lines(one.line for one in stored),
            digest=close.digest,
            accepted=tuple(close.accepted),
        )
    found = statement_month.month_lines(
        organization_id, first, now=now, under=account, details=wanted
    )
    return Showback(
        ground=found.ground,
        account=account,
        state="open" if close is None else close.state,
        lines=found.lines,
        parts=found.parts,
        details=wanted,
        unrated=found.unrated,
        used=_used_by_guarantees(found),
        digest=None,
    )


@dataclass(frozen=True, slots=True)
class MoneyFacts:
    """The organization's currency, and its decimals."""

    currency: str
    places: int


def facts(organization_id: UUID) -> MoneyFacts:
    """What amounts are in."""
    with server_cursor() as cursor:
        currency = cursor.execute(
            "SELECT currency FROM tenancy_organization WHERE id = %b", (organization_id,)
        ).fetchone()[0]
    return MoneyFacts(currency, money.minor_places(currency))


def by_kind(found: Lumped) -> dict[Kind, Decimal]:
    """What each kind of line adds up to, in the order of kinds."""
    sums: dict[Kind, Decimal] = {}
    for one in found.lumps:
        sums[one.kind] = money.EXACT.add(sums.get(one.kind, Decimal(0)), one.amount)
    return {kind: sums[kind] for kind in Kind if kind in sums}


def statement_rows(found: Showback, names: Mapping[Any, str]) -> list[queries.StatementRow]:
    """The statements of a month, of the account and those below it, by name."""
    sums: dict[Any, list] = {}
    for line in found.lines:
        above = line.key.above
        for account in above[above.index(found.account) :]:
            have = sums.setdefault(account, [0, Decimal(0), Decimal(0)])
            have[2] = money.EXACT.add(have[2], line.amount)
            if account == line.key.account:
                have[0] += 1
                have[1] = money.EXACT.add(have[1], line.amount)
    places = found.ground.places
    rows = [
        queries.StatementRow(
            names[account], count, queries.plain(own, places), queries.plain(below, places)
        )
        for account, (count, own, below) in sums.items()
    ]
    return sorted(rows, key=lambda row: row.account)


def check_dimensions(dimensions: Sequence[str]) -> None:
    """What a month can be told apart by.

    Raises:
        Invalid: `grouping_unknown`.
    """
    if not 1 <= len(dimensions) <= DEPTH_MAX or not set(dimensions) <= set(DIMENSIONS):
        raise Invalid(
            "grouping_unknown",
            f"Choose one or two of {', '.join(DIMENSIONS)}.",
            field="by",
        )


def drill(found: Showback, dimensions: Sequence[str], names: Mapping[Any, str]) -> list[Cell]:
    """A month by one or two dimensions, the largest amount first. Adds up to it exactly.

    Raises:
        Invalid: `grouping_unknown`.
    """
    check_dimensions(dimensions)
    amounts: dict[tuple, list[Decimal]] = {}
    for line in found.lines:
        for values, unit_seconds, amount in _split(found, line, dimensions):
            sums = amounts.setdefault(values, [Decimal(0), Decimal(0)])
            sums[0] = money.EXACT.add(sums[0], unit_seconds)
            sums[1] = money.EXACT.add(sums[1], amount)
    cells = [
        Cell(tuple(_named(value, names) for value in values), *sums)
        for values, sums in amounts.items()
    ]
    return sorted(cells, key=lambda cell: (-cell.amount, tuple(map(str, cell.values))))


def changes(now: Lumped, before: Lumped) -> list[Change]:
    """What is charged differently from another month, by kind, pool and tier, the largest first."""
    sums: dict[tuple, list[Decimal]] = {}
    for found, offset in ((now, 0), (before, 2)):
        for one in found.lumps:
            key = (one.kind, one.pool, one.tier)
            have = sums.setdefault(key, [Decimal(0)] * 4)
            have[offset] = money.EXACT.add(have[offset], one.amount)
            have[offset + 1] = money.EXACT.add(have[offset + 1], one.unit_seconds)
    found_changes = [
        Change(*key, amount, amount_before, *_why(now.ground.places, *have))
        for key, have in sums.items()
        for amount, _, amount_before, _ in [have]
        if amount or amount_before
    ]
    return sorted(found_changes, key=lambda one: (-abs(one.difference), str(one.pool), one.kind))


def _why(
    places: int, amount: Decimal, use: Decimal, amount_before: Decimal, use_before: Decimal
) -> tuple[Decimal | None, Decimal | None]:
    if not use or not use_before:
        return None, None
    exact = (Fraction(use) - Fraction(use_before)) * (
        Fraction(amount_before) / Fraction(use_before)
    )
    by_use = money.rounded(exact, places)
    return by_use, amount - amount_before - by_use


def by_day(found: Showback) -> dict[date, dict[UUID, Decimal]]:
    """Lines of use by day and pool; `found` has the detail `day`."""
    place = found.details.index("day")
    result: dict[date, dict[UUID, Decimal]] = {}
    for line in found.lines:
        weights: dict[Any, Decimal] = {}
        for detail, amount in found.parts.get(line.key, {}).items():
            day = detail[place]
            weights[day] = money.EXACT.add(weights.get(day, Decimal(0)), amount)
        if line.adjusts:
            continue
        for day, amount in lines.parts(line.amount, weights, places=found.ground.places).items():
            pools = result.setdefault(day, {})
            pools[line.key.pool] = pools.get(line.key.pool, Decimal(0)) + amount
    return result


_NAMES = (
    "SELECT id, name FROM tenancy_account WHERE organization_id = %(o)b "
    "UNION ALL SELECT id, name FROM quota_pool WHERE organization_id = %(o)b "
    "UNION ALL SELECT id, name FROM quota_flavor WHERE organization_id = %(o)b "
)
_PEOPLE = "UNION ALL SELECT id, name FROM tenancy_person WHERE organization_id = %(o)b"


def names_of(organization_id: UUID, *, people: bool = True) -> dict[Any, str]:
    """Names of everything a line can be about: accounts, pools, flavors and, if wanted, people."""
    statement = _NAMES + (_PEOPLE if people else "")
    with server_cursor() as cursor:
        return dict(cursor.execute(statement, {"o": organization_id}).fetchall())


def _split(
    found: Showback, line: Line, dimensions: Sequence[str]
) -> Iterable[tuple[tuple, Decimal, Decimal]]:
    """Values, unit-seconds and amount of each part that a line falls into."""
    own = {
        "team": _team(line, found.account),
        "account": line.key.account,
        "pool": line.key.pool or WHOLE,
        "tier": line.key.tier or WHOLE,
        "kind": str(line.kind),
    }
    wanted = [name for name in dimensions if name in DETAILS]
    weights: dict[tuple, Decimal] = {}
    if wanted and not line.adjusts:
        places = [found.details.index(name) for name in wanted]
        for detail, amount in found.parts.get(line.key, {}).items():
            key = tuple(detail[at] for at in places)
            weights[key] = money.EXACT.add(weights.get(key, Decimal(0)), amount)
    if not weights:
        weights = {(WHOLE,) * len(wanted): line.unit_seconds}
    amounts = lines.parts(line.amount, weights, places=found.ground.places)
    for key, unit_seconds in weights.items():
        of_part = dict(zip(wanted, key, strict=True))
        values = tuple(of_part[name] if name in of_part else own[name] for name in dimensions)
        yield values, unit_seconds, amounts[key]


def _team(line: Line, account: UUID) -> Any:
    """The account right below the one that is shown; itself for its own lines."""
    above = line.key.above
    after = above.index(account) + 1
    return above[after] if after < len(above) else account


def _named(value: Any, names: Mapping[Any, str]) -> str | None:
    if value is None:
        return None
    return names.get(value, str(value))


_PARTS = """
SELECT p.chunk, p.line_no {columns}, sum(p.unit_seconds)
FROM accounting_statementpart p
JOIN unnest(%b::integer[], %b::integer[]) AS l(chunk, line_no)
    ON l.chunk = p.chunk AND l.line_no = p.line_no
WHERE p.organization_id = %b AND p.month = %b GROUP BY 1, 2 {numbers}
"""


def stored_parts(
    organization_id: UUID,
    month: date,
    stored: Sequence[queries.StoredLine],
    details: Sequence[str],
) -> dict[Key, Weights]:
    """What stored lines of use consist of: unit-seconds by the details."""
    columns = "".join(f", {COLUMNS.get(name, f'p.{name}')}" for name in details)
    numbers = "".join(f", {3 + n}" for n in range(len(details)))
    keys = {
        (one.chunk, one.line_no): one.line.key
        for one in stored
        if one.line.key.kind == Kind.USAGE and not one.line.adjusts
    }
    if not keys:
        return {}
    chunks, numbers_of = (list(column) for column in zip(*keys, strict=True))
    with server_cursor() as cursor:
        rows = cursor.execute(
            _PARTS.format(columns=columns, numbers=numbers),
            (chunks, numbers_of, organization_id, month),
        ).fetchall()
    found: dict[Key, Weights] = {}
    for chunk, line_no, *detail, unit_seconds in rows:
        found.setdefault(keys[chunk, line_no], {})[tuple(detail)] = unit_seconds
    return found


def _used_by_lines(found: Iterable[Line]) -> dict[UUID, tuple[Decimal, Decimal]]:
    """Of the lines of idle guarantees, which say what was promised."""
    sums: dict[UUID, tuple[Decimal, Decimal]] = {}
    for line in found:
        if line.key.kind == Kind.IDLE and not line.adjusts:
            promised, used = sums.get(line.key.pool, (Decimal(0), Decimal(0)))
            more = Decimal(line.facts["promised"])
            sums[line.key.pool] = (promised + more, used + more - line.unit_seconds)
    return sums


def _used_by_guarantees(
    found: statement_month.MonthLines,
) -> dict[UUID, tuple[Decimal, Decimal]]:
    sums: dict[UUID, tuple[Decimal, Decimal]] = {}
    for one in found.guarantees:
        promised, used = sums.get(one.pool, (Decimal(0), Decimal(0)))
        values = (one.promised, one.promised - one.idle)
        more = [money.rounded(value, lines.QUANTITY_PLACES) for value in values]
        sums[one.pool] = (promised + more[0], used + more[1])
    return sums
