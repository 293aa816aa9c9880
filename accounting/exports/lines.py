"""Lines of statements as rows. Of a closed month they come from where they are stored, by SQL; of
an open one they are computed, as of the instant at which the export was asked for. Runs inside
`scope.snapshot`."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Any, Final
from uuid import UUID

import msgspec
from django.db import connection

from accounting import statement_month
from accounting.domain import statements
from accounting.domain.lines import Line
from accounting.domain.tagging import LABELS
from accounting.exports.extent import Extent
from accounting.exports.tables import (
    RENAMED,
    Column,
    Kind,
    MadeTable,
    SqlTable,
    Table,
    month,
    named,
    names_in_sql,
)
from accounting.queries import statements as queries
from ledger.sql import server_cursor

CHARGES_AT_ONCE: Final = 1_000
STORED_PARTS: Final = 5
"""Columns of what a line consists of: day, labels, unit-seconds."""
_FACTS: Final = (
    # name, kind, name in the line's facts
    ("reason", Kind.TEXT, "reason"),
    ("promised_unit_seconds", Kind.DECIMAL, "promised"),
    ("share", Kind.DECIMAL, "share"),
    ("utilization", Kind.DECIMAL, "utilization"),
    ("discount_rate", Kind.DECIMAL, "rate"),
    ("base_amount", Kind.DECIMAL, "base"),
    ("committed", Kind.DECIMAL, "committed"),
    ("charged", Kind.DECIMAL, "charged"),
)


Part = tuple[date, str | None, str | None, str | None]


@dataclass(frozen=True, slots=True)
class Charge:
    """A line, where it stands in its month, and what it consists of: unit-seconds by day and
    labels (of `domain.tagging`, in their order)."""

    chunk: int
    line_no: int
    line: Line
    parts: dict[Part, Decimal]

    @property
    def id(self) -> str:
        """The name of the line in its month."""
        return f"{self.chunk}-{self.line_no}"


class Lines:
    """The lines of an export. Those of an open month are computed once, and all in memory: there
    are as many as a page of the month has."""

    def __init__(self, extent: Extent) -> None:
        self.extent = extent
        self.closed = extent.state == "closed"

    @cached_property
    def _found(self) -> statement_month.MonthLines:
        return statement_month.month_lines(
            self.extent.ground.organization_id,
            self.extent.ground.month.first,
            now=self.extent.asked_at,
            under=self.extent.spec.account_id,
            details=("day", *LABELS),
        )

    @cached_property
    def _sums(self) -> tuple[int, Decimal]:
        with server_cursor() as cursor:
            return cursor.execute(
                "SELECT count(*), coalesce(sum(amount), 0) FROM accounting_statementline "
                "WHERE organization_id = %(organization)b AND month = %(month)b "
                "AND above @> ARRAY[%(account)b::uuid]",
                _place(self.extent),
            ).fetchone()

    def count(self) -> int:
        """How many lines there are."""
        return self._sums[0] if self.closed else len(self._found.lines)

    def total(self) -> Decimal:
        """What the lines add up to, counted apart from those who write them."""
        if self.closed:
            return self._sums[1]
        return statements.totals(self._found.lines).amount

    def by_billing_account(self) -> dict[UUID, Decimal]:
        """The same by cost center: the accounts right below the root, and the root itself."""
        if not self.closed:
            found: dict[UUID, Decimal] = {}
            for line in self._found.lines:
                above = line.key.above
                center = above[1] if len(above) > 1 else above[0]
                found[center] = found.get(center, Decimal(0)) + line.amount
            return found
        with server_cursor() as cursor:
            return dict(
                cursor.execute(
                    "SELECT coalesce(above[2], above[1]), sum(amount) "
                    "FROM accounting_statementline WHERE organization_id = %(organization)b "
                    "AND month = %(month)b AND above @> ARRAY[%(account)b::uuid] GROUP BY 1",
                    _place(self.extent),
                ).fetchall()
            )

    def charges(self) -> Iterator[Charge]:
        """The lines in their order, each with its days."""
        return _stored(self.extent) if self.closed else self._computed()

    def table(self) -> Table:
        """The lines as rows."""
        extent = self.extent
        places = extent.ground.places
        columns = _columns(places)
        facts = extent.facts | {"total": f"{self.total():.{places}f}"}
        if self.closed:
            return SqlTable(columns=columns, facts=facts, tail=_TAIL, values=_values(extent))
        rows = (_row(extent, charge) for charge in self._computed())
        return MadeTable(columns=columns, facts=facts, rows=rows)

    def _computed(self) -> Iterator[Charge]:
        for number, line in enumerate(self._found.lines, start=1):
            weights = self._found.parts.get(line.key, {})
            yield Charge(0, number, line, _in_order(weights))


_STORED = f"""
SELECT l.chunk, l.line_no, d.days, d.projects, d.models, d.workloads, d.weights, {
    ", ".join(f"l.{name.strip()}" for name in queries.LINE_COLUMNS.split(","))
}
FROM accounting_statementline l
CROSS JOIN LATERAL (SELECT array_agg(x.day), array_agg(x.project), array_agg(x.model),
    array_agg(x.workload), array_agg(x.weight) FROM (
    SELECT p.day, p.project, p.model, p.workload, sum(p.unit_seconds) AS weight
    FROM accounting_statementpart p
    WHERE p.organization_id = l.organization_id AND p.month = l.month AND p.chunk = l.chunk
        AND p.line_no = l.line_no GROUP BY 1, 2, 3, 4) x
) AS d(days, projects, models, workloads, weights)
WHERE l.organization_id = %(organization)s AND l.month = %(month)s
    AND l.above @> ARRAY[%(account)s::uuid]
ORDER BY l.chunk, l.line_no
"""


def _stored(extent: Extent) -> Iterator[Charge]:
    with connection.connection.cursor(name="apportion_charges") as cursor:
        cursor.execute(_STORED, _place(extent))
        while rows := cursor.fetchmany(CHARGES_AT_ONCE):
            for chunk, line_no, *row in rows:
                parts, rest = row[:STORED_PARTS], row[STORED_PARTS:]
                line = queries.line_of(tuple(rest), extent.ground.places)
                known = zip(*(one or () for one in parts), strict=True)
                found = {} if line.adjusts else {tuple(one): weight for *one, weight in known}
                yield Charge(chunk, line_no, line, _in_order(found))


def _in_order(parts: Mapping[Part, Decimal]) -> dict[Part, Decimal]:
    return {one: parts[one] for one in sorted(parts, key=_place_of)}


def _place_of(part: Part) -> tuple:
    """Where a part stands among the others of its line: what has no label behind what has one."""
    day, *labels = part
    return day, *((label is None, label or "") for label in labels)


def _place(extent: Extent) -> dict[str, Any]:
    return {
        "organization": extent.ground.organization_id,
        "month": extent.ground.month.first,
        "account": extent.spec.account_id,
    }


# ---------------------------------------------------------------- as columns
# One table in the order of its key: nothing is joined and nothing sorted.
_TAIL = """
FROM accounting_statementline l
WHERE l.organization_id = %(organization)s AND l.month = %(month)s
    AND l.above @> ARRAY[%(account)s::uuid]
ORDER BY l.chunk, l.line_no
"""
_PATHS = """
SELECT d.above::text AS id, (
    SELECT string_agg(coalesce(%(renamed)s::jsonb->>k.id::text, k.name), '/' ORDER BY a.n)
    FROM unnest(d.above) WITH ORDINALITY a(id, n)
    JOIN tenancy_account k ON k.organization_id = %(organization)s AND k.id = a.id) AS name
FROM (SELECT DISTINCT above FROM accounting_statementline
    WHERE organization_id = %(organization)s AND month = %(month)s
        AND above @> ARRAY[%(account)s::uuid]) d
"""


def _values(extent: Extent) -> dict[str, Any]:
    return _place(extent) | {
        "renamed": msgspec.json.encode(extent.renamed).decode(),
        "name": extent.ground.month.name,
        "currency": extent.ground.currency,
    }


def _columns(places: int) -> list[Column]:
    text, decimal, amount = Kind.TEXT, Kind.DECIMAL, Kind.MONEY
    return [
        Column("month", Kind.ID, "%(name)s::text"),
        Column("state", Kind.ID, "'closed'::text"),
        Column("line", Kind.ID, "l.chunk || '-' || l.line_no"),
        Column("account_id", Kind.ID, "l.account_id"),
        named("account", text, "l.account_id::text", names_in_sql("tenancy_account", RENAMED)),
        named("account_path", text, "l.above::text", _PATHS),
        Column("kind", Kind.ID, "l.kind"),
        Column("of_kind", Kind.ID, "l.of_kind"),
        Column("about", Kind.ID, "to_char(l.about, 'YYYY-MM')"),
        named("pool", text, "l.pool_id::text", names_in_sql("quota_pool")),
        named("flavor", text, "l.flavor_id::text", names_in_sql("quota_flavor")),
        Column("tier", Kind.ID, "l.tier"),
        Column("grade", text, "l.grade"),
        Column("unit_seconds", decimal, "l.unit_seconds"),
        Column("price", decimal, "l.price"),
        Column("list_price", decimal, "l.list_price"),
        Column("currency", Kind.ID, "%(currency)s::text"),
        Column("amount", amount, f"round(l.amount, {places})"),
        Column("list_amount", amount, f"round(l.list_amount, {places})"),
        Column("rates_version", Kind.ID, "l.version_id"),
        Column("reference", Kind.ID, "l.ref_id"),
        *(
            Column(
                name,
                kind,
                f"l.facts->>'{fact}'" if kind == text else f"(l.facts->>'{fact}')::numeric",
            )
            for name, kind, fact in _FACTS
        ),
    ]


def _row(extent: Extent, charge: Charge) -> tuple:
    line = charge.line
    key, names = line.key, extent.names
    return (
        *(extent.ground.month.name, extent.state, charge.id, str(key.account)),
        *(names[key.account], extent.path(key.above), str(line.kind), str(key.kind)),
        *(month(line.about), names.get(key.pool), names.get(key.flavor), key.tier, key.grade),
        *(line.unit_seconds, line.price, line.list_price, extent.ground.currency),
        *(line.amount, line.list_amount, _text(key.version), _text(key.ref)),
        *(_fact(line, kind, fact) for _, kind, fact in _FACTS),
    )


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


_READ: Final[dict[Kind, Callable[[str], Any]]] = {Kind.TEXT: str, Kind.DECIMAL: Decimal}


def _fact(line: Line, kind: Kind, name: str) -> Any:
    found = line.facts.get(name)
    return None if found is None else _READ[kind](found)
