"""Closes, terms, credits and commitments, and the stored lines of closed months. All run inside
`scope.reading` or a command."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from accounting.domain import lines, statements
from accounting.domain.lines import Key, Kind, Line, Terms
from accounting.domain.statements import Finding, Month, State
from accounting.statement_rating import Ground
from ledger.sql import server_cursor

CLOSES_SHOWN = 36


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseRow:
    """How far a close is: see `accounting.models.MonthClose`."""

    month: date
    state: State
    started_at: datetime
    started_by: str
    starter_id: UUID | None
    accepted: list[str]
    confirmed_by: str | None
    waits: bool
    accounts: int
    drawn_accounts: int
    drawn_through: UUID | None
    chunks: int
    lines: int
    amount: Decimal
    list_amount: Decimal
    closed_at: datetime | None
    digest: str | None

    @property
    def progress(self) -> float:
        """Share of the accounts whose use is drawn."""
        if self.state == "closed":
            return 1.0
        return self.drawn_accounts / self.accounts if self.accounts else 0.0


_CLOSE = (
    "month, state, started_at, started_by, starter_id, accepted, confirmed_by, waits, "
    "accounts, drawn_accounts, drawn_through, chunks, lines, amount, list_amount, closed_at, digest"
)


def closes(
    organization_id: UUID, *, before: date | None = None, limit: int = CLOSES_SHOWN
) -> list[CloseRow]:
    """Closes, the latest month first; `before`: only of months before one."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT {_CLOSE} FROM accounting_monthclose WHERE organization_id = %b "
            "AND month < %b ORDER BY month DESC LIMIT %b",
            (organization_id, before or date.max, limit),
        ).fetchall()
    names = _CLOSE.split(", ")
    return [CloseRow(**dict(zip(names, row, strict=True))) for row in rows]


def close(organization_id: UUID, month: date) -> CloseRow | None:
    """The close of a month; None: it is open."""
    with server_cursor() as cursor:
        row = cursor.execute(
            f"SELECT {_CLOSE} FROM accounting_monthclose WHERE organization_id = %b AND month = %b",
            (organization_id, month),
        ).fetchone()
    if row is None:
        return None
    return CloseRow(**dict(zip(_CLOSE.split(", "), row, strict=True)))


def turn(rows: Sequence[CloseRow], *, this_month: date) -> date | None:
    """The month whose turn it is: after the last one, or at first the one before this; none while
    one is closing.

    Args:
        rows: closes, the latest first.
    """
    if not rows:
        return statements.month_before(this_month)
    return statements.month_after(rows[0].month) if rows[0].state == "closed" else None


def closed_until(organization_id: UUID) -> datetime | None:
    """The end of the last month that is closed or closing: prices before it are final."""
    found = closes(organization_id, limit=1)
    if not found:
        return None
    with server_cursor() as cursor:
        zone = cursor.execute(
            "SELECT time_zone FROM tenancy_organization WHERE id = %b", (organization_id,)
        ).fetchone()[0]
    return statements.month_of(found[0].month, ZoneInfo(zone)).end


@dataclass(frozen=True, slots=True, kw_only=True)
class TermsRow:
    """Terms, and since which month; None: those that hold as long as nothing is said."""

    from_month: date | None
    terms: Terms
    two_persons: bool


def terms_of(organization_id: UUID, month: date) -> TermsRow:
    """The terms of a month's statements."""
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT from_month, idle_share, lending_share, ladder::text, two_persons "
            "FROM accounting_statementterms WHERE organization_id = %b AND from_month <= %b "
            "ORDER BY from_month DESC LIMIT 1",
            (organization_id, month),
        ).fetchone()
    if row is None:
        return TermsRow(from_month=None, terms=Terms(), two_persons=False)
    since, idle, lending, ladder, two_persons = row
    terms = Terms(
        idle_share=idle.normalize(),
        lending_share=lending.normalize(),
        ladder=tuple(
            (Decimal(above), Decimal(rate)) for above, rate in msgspec.json.decode(ladder)
        ),
    )
    return TermsRow(from_month=since, terms=terms, two_persons=two_persons)


def credits_of(here: Ground) -> list[Line]:
    """The credits in a month's statements, at the place that the account has at its end."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id, account_id, amount, about, reason FROM accounting_credit "
            "WHERE organization_id = %b AND month = %b ORDER BY id",
            (here.organization_id, here.month.first),
        ).fetchall()
    return [
        lines.credit(
            plain(amount, here.places),
            ref=id_,
            account=account,
            above=here.trees[-1][account],
            about=about,
            reason=reason,
        )
        for id_, account, amount, about, reason in rows
    ]


def commitments_of(here: Ground, charged: Sequence[Line]) -> list[Line]:
    """What is missing to commitments, given everything else that is charged."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id, account_id, amount, CASE WHEN until_month = %b THEN ending_charge ELSE 0 "
            "END FROM accounting_commitment WHERE organization_id = %b AND from_month <= %b "
            "AND (until_month IS NULL OR until_month >= %b) ORDER BY id",
            (here.month.first, here.organization_id, here.month.first, here.month.first),
        ).fetchall()
    found = [
        lines.commitment(
            plain(amount, here.places),
            charged,
            ref=id_,
            account=account,
            above=here.trees[-1][account],
            ending=plain(ending, here.places),
        )
        for id_, account, amount, ending in rows
    ]
    return [line for line in found if line is not None]


LINE_COLUMNS = (
    "account_id, above, of_kind, kind, pool_id, flavor_id, tier, grade, version_id, ref_id, about, "
    "unit_seconds, price, list_price, amount, list_amount, facts::text"
)


@dataclass(frozen=True, slots=True)
class StoredLine:
    """A line of a closed month and where it is stored."""

    chunk: int
    line_no: int
    line: Line


def stored_lines(
    organization_id: UUID,
    month: date,
    *,
    under: UUID | None = None,
    places: int,
    after: tuple[int, int] = (0, 0),
    limit: int | None = None,
) -> list[StoredLine]:
    """The lines of a month that are drawn, in order.

    Args:
        under: of this account and all that were below it.
        after: chunk and number of the last line of the page before.
        limit: at most so many; None: all.
    """
    which = "" if under is None else "AND above @> ARRAY[%b::uuid]"
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT chunk, line_no, {LINE_COLUMNS} FROM accounting_statementline "
            f"WHERE organization_id = %b AND month = %b AND (chunk, line_no) > (%b, %b) {which} "
            "ORDER BY chunk, line_no LIMIT %b",
            (organization_id, month, *after, *(() if under is None else (under,)), limit),
        ).fetchall()
    return [StoredLine(row[0], row[1], line_of(row[2:], places)) for row in rows]


def stored_sums(
    organization_id: UUID, month: date, *, under: UUID, places: int
) -> dict[Kind, tuple[Decimal, Decimal]]:
    """What the lines of a closed month add up to, as charged and at list prices, in the order of
    kinds.

    Args:
        under: of this account and all that were below it.
    """
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT kind, sum(amount), sum(list_amount) FROM accounting_statementline "
            "WHERE organization_id = %b AND month = %b AND above @> ARRAY[%b::uuid] GROUP BY kind",
            (organization_id, month, under),
        ).fetchall()
    sums = {kind: (plain(amount, places), plain(listed, places)) for kind, amount, listed in rows}
    return {kind: sums[kind] for kind in Kind if kind in sums}


@dataclass(frozen=True, slots=True)
class StatementRow:
    """An account's statement: its own lines, and with those of all that were below it."""

    account: str
    lines: int
    amount: Decimal
    with_below: Decimal


_STATEMENTS = """
SELECT a.name, count(*) FILTER (WHERE l.account_id = a.id),
    coalesce(sum(l.amount) FILTER (WHERE l.account_id = a.id), 0), sum(l.amount)
FROM accounting_statementline l
CROSS JOIN LATERAL unnest(l.above[array_position(l.above, %(under)b):]) AS up(id)
JOIN tenancy_account a ON a.organization_id = l.organization_id AND a.id = up.id
WHERE l.organization_id = %(organization)b AND l.month = %(month)b
    AND l.above @> ARRAY[%(under)b::uuid] AND a.name > %(after)b
GROUP BY a.name ORDER BY a.name LIMIT %(limit)b
"""


def statement_rows(
    organization_id: UUID, month: date, *, under: UUID, places: int, after: str = "", limit: int
) -> list[StatementRow]:
    """The statements of a closed month, of an account and those below it, by name."""
    values = {
        "organization": organization_id,
        "month": month,
        "under": under,
        "after": after,
        "limit": limit,
    }
    with server_cursor() as cursor:
        rows = cursor.execute(_STATEMENTS, values).fetchall()
    return [
        StatementRow(name, count, plain(own, places), plain(below, places))
        for name, count, own, below in rows
    ]


def charged_for(organization_id: UUID, month: date, *, places: int) -> Iterator[Line]:
    """What was charged for a closed month so far: its lines and every adjustment about it."""
    for one in stored_lines(organization_id, month, places=places):
        if not one.line.adjusts:
            yield one.line
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT {LINE_COLUMNS} FROM accounting_statementline WHERE organization_id = %b "
            "AND about = %b AND kind = 'adjustment' ORDER BY month, chunk, line_no",
            (organization_id, month),
        ).fetchall()
    for row in rows:
        yield line_of(row, places)


def line_of(row: tuple, places: int) -> Line:
    """A line out of a row of LINE_COLUMNS, its amounts with the decimals of the currency."""
    account, above, of_kind, kind, pool, flavor, tier, grade, version, ref, about, *values = row
    unit_seconds, price, list_price, amount, list_amount, facts = values
    return Line(
        key=Key(
            kind=Kind(of_kind),
            account=account,
            above=tuple(above),
            pool=pool,
            flavor=flavor,
            tier=tier,
            grade=grade,
            version=version,
            ref=ref,
        ),
        unit_seconds=unit_seconds,
        price=price,
        list_price=list_price,
        amount=plain(amount, places),
        list_amount=plain(list_amount, places),
        about=about,
        adjusts=kind == Kind.ADJUSTMENT,
        facts=msgspec.json.decode(facts),
    )


def plain(amount: Decimal, places: int) -> Decimal:
    """At the decimals of the currency: the column has more."""
    return amount.quantize(Decimal(1).scaleb(-places))


_LATE = """
SELECT min(first_started_at) FROM accounting_usagebatch
WHERE organization_id = %b AND recorded_at >= %b AND first_started_at < %b
"""
CLOCKS_APART = timedelta(hours=1)
"""A batch that was recorded while a close began may carry an earlier instant."""


def months_with_late_use(organization_id: UUID, month: Month) -> list[date]:
    """Closed months that something came for since the close before this one began, oldest first.
    Records are sought by their start, so that a month may be named that nothing changed in."""
    done = [one for one in closes(organization_id, limit=10_000) if one.month < month.first]
    if not done:
        return []
    since = done[0].started_at - CLOCKS_APART
    with server_cursor() as cursor:
        first = cursor.execute(_LATE, (organization_id, since, month.start)).fetchone()[0]
        zone = cursor.execute(
            "SELECT time_zone FROM tenancy_organization WHERE id = %b", (organization_id,)
        ).fetchone()[0]
    if first is None:
        return []
    months = [statements.month_of(one.month, ZoneInfo(zone)) for one in reversed(done)]
    return [one.first for one in months if one.end > first]


_BATCHES = """
SELECT count(*) FILTER (WHERE conflicts > 0), coalesce(sum(conflicts), 0),
    count(*) FILTER (WHERE rejected > 0), coalesce(sum(rejected), 0)
FROM accounting_usagebatch WHERE organization_id = %b AND first_started_at < %b
    AND last_started_at >= %b AND recorded_at >= %b
"""
_DISPUTED = """
SELECT coalesce(sum((payload->>'disputed')::bigint), 0) FROM (
    SELECT DISTINCT ON (payload->>'pool_id') payload FROM ledger_event
    WHERE organization_id = %b AND type = 'allocation.snapshot_reconciled'
        AND occurred_at >= %b AND occurred_at < %b
    ORDER BY payload->>'pool_id', occurred_at DESC
) last
"""


def record_findings(organization_id: UUID, month: Month) -> list[Finding]:
    """What is odd about the records of a month: refused, contradicting, disputed."""
    with server_cursor() as cursor:
        _, conflicts, _, rejected = cursor.execute(
            _BATCHES, (organization_id, month.end, month.start, month.start)
        ).fetchone()
        disputed = cursor.execute(_DISPUTED, (organization_id, month.start, month.end)).fetchone()[
            0
        ]
    found = (
        ("records_contradict", conflicts, "records came again with other content"),
        (
            "records_rejected",
            rejected,
            "records were refused, for an unknown account, person or pool, say",
        ),
        (
            "allocations_disputed",
            disputed,
            "jobs in the last snapshot of a pool are disputed between scheduler and allocations",
        ),
    )
    return [
        Finding(code, f"{count:,} {words}", (("count", str(count)),))
        for code, count, words in found
        if count
    ]
