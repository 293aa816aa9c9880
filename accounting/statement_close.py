"""The close of a month: its lines into the table that nobody can change, in chunks of accounts.

Each chunk is one transaction with one event that carries its digest, so a close that was
interrupted goes on where it stopped. The last chunk has what belongs to no account's use alone.
What comes while a month closes is late: the next close finds it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import msgspec

from accounting import statement_events as events
from accounting import statement_month, statement_rating
from accounting.domain import lines, statements
from accounting.domain.lines import Line
from accounting.queries import statements as queries
from accounting.queries.statements import CloseRow
from accounting.statement_guarantees import month_guarantees
from accounting.statement_rating import Ground, Weights
from ledger.sql import server_cursor

CHUNK_ACCOUNTS: Final = 250
"""Each chunk may read the month once: fewer are faster, more show progress sooner."""
ROWS_AT_ONCE: Final = 5_000
_LINE_TYPES: Final = {
    "line_no": "integer",
    "account_id": "uuid",
    "above": "uuid[]",
    "kind": "text",
    "of_kind": "text",
    "pool_id": "uuid",
    "flavor_id": "uuid",
    "tier": "text",
    "grade": "text",
    "version_id": "uuid",
    "ref_id": "uuid",
    "about": "date",
    "unit_seconds": "numeric",
    "price": "numeric",
    "list_price": "numeric",
    "amount": "numeric",
    "list_amount": "numeric",
    "facts": "jsonb",
}
_PART_TYPES: Final = {
    "line_no": "integer",
    "part_no": "integer",
    "day": "date",
    "person_id": "uuid",
    "project": "text",
    "model": "text",
    "workload": "text",
    "unit_seconds": "numeric",
}
LINE_COLUMNS: Final = tuple(_LINE_TYPES)
PART_COLUMNS: Final = tuple(_PART_TYPES)


@dataclass(frozen=True, slots=True)
class _Chunk:
    through: UUID | None
    accounts: int
    rows: Sequence[tuple[Line, Weights]]


def draw(
    organization_id: UUID, row: CloseRow, *, now: datetime
) -> tuple[events.StatementDrawn, events.StatementClosed | None]:
    """Store the next chunk; what to record of it, and of the whole month if it was the last."""
    here = statement_rating.ground(organization_id, row.month, now=now)
    accounts = _next_accounts(organization_id, row.drawn_through)
    chunk = _usage(here, accounts) if accounts else _rest(here, now=now)
    number = row.chunks + 1
    drawn = _store(here, number, chunk)
    if accounts:
        return drawn, None
    return drawn, _closed(here, row, drawn)


def _next_accounts(organization_id: UUID, through: UUID | None) -> list[UUID]:
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id FROM tenancy_account WHERE organization_id = %b "
            "AND (%b::uuid IS NULL OR id > %b) ORDER BY id LIMIT %b",
            (organization_id, through, through, CHUNK_ACCOUNTS),
        ).fetchall()
    return [row[0] for row in rows]


def _usage(here: Ground, accounts: Sequence[UUID]) -> _Chunk:
    use = statement_rating.month_use(here, accounts=accounts, details=statement_rating.DETAILS)
    parts = {
        line.key: use.parts[one.group]
        for one, line in zip(use.rating.lines, use.lines, strict=True)
    }
    ordered = statements.in_order(use.lines)
    return _Chunk(accounts[-1], len(accounts), [(line, parts[line.key]) for line in ordered])


def _rest(here: Ground, *, now: datetime) -> _Chunk:
    """Guarantees, discounts, commitments, credits, and adjustments of closed months."""
    month, organization_id = here.month.first, here.organization_id
    usage = [one.line for one in queries.stored_lines(organization_id, month, places=here.places)]
    terms = queries.terms_of(organization_id, month).terms
    found = statement_month.guarantee_lines(here, usage, month_guarantees(here), terms)
    found += queries.commitments_of(here, [*usage, *found])
    found += queries.credits_of(here)
    for late in queries.months_with_late_use(organization_id, here.month):
        found += late_lines(organization_id, late, now=now)
    return _Chunk(None, 0, [(line, {}) for line in statements.in_order(found)])


def late_lines(organization_id: UUID, month: date, *, now: datetime) -> list[Line]:
    """What a closed month is to be adjusted by, as things are known now."""
    here = statement_rating.ground(organization_id, month, now=now)
    use = statement_rating.month_use(here)
    fresh = statement_month.rated_lines(here, use.lines, month_guarantees(here))
    charged = queries.charged_for(organization_id, month, places=here.places)
    return lines.adjustments(charged, fresh, about=month)


def _store(here: Ground, number: int, chunk: _Chunk) -> events.StatementDrawn:
    """Write the rows of a chunk."""
    line_rows = [(n, *line_row(line)) for n, (line, _) in enumerate(chunk.rows, start=1)]
    part_rows = [
        (line_no, part_no, *part)
        for line_no, (_, weights) in enumerate(chunk.rows, start=1)
        for part_no, part in enumerate(_parts(weights), start=1)
    ]
    place = (here.organization_id, here.month.first, number)
    _insert("accounting_statementline", _LINE_TYPES, place, line_rows)
    _insert("accounting_statementpart", _PART_TYPES, place, part_rows)
    sums = statements.totals(line for line, _ in chunk.rows)
    return events.StatementDrawn(
        month=here.month.first,
        chunk=number,
        through=chunk.through,
        accounts=chunk.accounts,
        lines=len(line_rows),
        parts=len(part_rows),
        amount=sums.amount,
        list_amount=sums.list_amount,
        digest=chunk_digest(line_rows, part_rows),
    )


def chunk_digest(line_rows: Iterable[tuple], part_rows: Iterable[tuple]) -> str:
    """The digest that vouches for a chunk: of its lines' columns and its parts' in order."""
    return statements.digest(
        [*(("line", *row) for row in line_rows), *(("part", *row) for row in part_rows)]
    )


def line_row(line: Line) -> tuple:
    """A line as LINE_COLUMNS behind its number."""
    key = line.key
    return (
        *(key.account, list(key.above), str(line.kind), str(key.kind), key.pool, key.flavor),
        *(key.tier, key.grade, key.version, key.ref, line.about, line.unit_seconds),
        *(line.price, line.list_price, line.amount, line.list_amount, dict(line.facts)),
    )


def _parts(weights: Weights) -> list[tuple]:
    """Parts as PART_COLUMNS behind the numbers, in the one order in which they are numbered."""
    ordered = sorted(weights, key=lambda detail: tuple(str(value) for value in detail))
    return [(*detail, weights[detail]) for detail in ordered]


def _insert(
    table: str,
    types: Mapping[str, str],
    place: tuple[UUID, date, int],
    rows: Sequence[tuple[Any, ...]],
) -> None:
    """Add rows, many to a statement: `COPY` does not go through the wall between tenants. Arrays
    and JSON travel as text."""
    columns = ", ".join(types)
    values = ", ".join(f"n.{name}::{type_}" for name, type_ in types.items())
    arrays = ", ".join(
        f"%b::{'text' if type_ in ('uuid[]', 'jsonb') else type_}[]" for type_ in types.values()
    )
    with server_cursor() as cursor:
        for first in range(0, len(rows), ROWS_AT_ONCE):
            block = [tuple(map(_sent, row)) for row in rows[first : first + ROWS_AT_ONCE]]
            cursor.execute(
                f"INSERT INTO {table} (organization_id, month, chunk, {columns}) "
                f"SELECT %b, %b, %b, {values} FROM unnest({arrays}) AS n({columns})",
                (*place, *(list(column) for column in zip(*block, strict=True))),
            )


def _sent(value: Any) -> Any:
    if isinstance(value, list):
        return "{" + ",".join(map(str, value)) + "}"
    if isinstance(value, dict):
        return msgspec.json.encode(value, order="sorted").decode()
    return value


def _closed(here: Ground, row: CloseRow, last: events.StatementDrawn) -> events.StatementClosed:
    with server_cursor() as cursor:
        accounts = cursor.execute(
            "SELECT count(DISTINCT account_id) FROM accounting_statementline "
            "WHERE organization_id = %b AND month = %b",
            (here.organization_id, row.month),
        ).fetchone()[0]
        digests = [
            digest
            for (digest,) in cursor.execute(
                "SELECT payload->>'digest' FROM ledger_event WHERE organization_id = %b "
                "AND stream = %b AND type = %b ORDER BY version",
                (here.organization_id, last.stream, last.event_type),
            )
        ]
    return events.StatementClosed(
        month=row.month,
        statements=accounts,
        lines=row.lines + last.lines,
        amount=_add(row.amount, last.amount, here.places),
        list_amount=_add(row.list_amount, last.list_amount, here.places),
        digest=month_digest([*digests, last.digest]),
    )


def month_digest(digests: Iterable[str]) -> str:
    """The digest that vouches for a month, from those of its chunks in order."""
    return statements.digest((digest,) for digest in digests)


def _add(one: Decimal, other: Decimal, places: int) -> Decimal:
    return (one + other).quantize(Decimal(1).scaleb(-places))
