"""The rows of a review cycle: each quota with its use, the word on it and what became of it. Runs
inside `scope.reading`."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, Literal
from uuid import UUID

import msgspec

from ledger.errors import Invalid
from ledger.sql import server_cursor
from quota.cycle_events import CycleFigures
from quota.cycle_figures import figures_of
from quota.queries.cycles import CycleRow, Viewer

PAGE_ROWS: Final = 100
REPORT_ROWS: Final = 10_000
"""Figures of a row rest on those of its whole tree: the fewer parts, the less is asked twice."""

Sort = Literal["idle", "account"]
SHOWN: Final = {
    "all": (),
    "open": ("undecided", "asked", "answered"),
    "asked": ("asked", "answered"),
    "decided": ("decided",),
}
"""States of rows by the word of the filter; `open` is everything without a decision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRow:
    """A quota in a cycle.

    Attributes:
        listed: the guarantee at the opening.
        guaranteed: the guarantee now; `ends_at` where it is temporary.
        figures: of the window up to now; once the cycle has ended, those at the decision, None
            where there was none.
        seen: the guarantee that stood when it was decided.
    """

    account_id: UUID
    pool_id: UUID
    account: str
    pool: str
    listed: int
    guaranteed: int
    ends_at: datetime | None
    state: str
    version: int
    decision: str | None
    units: int | None
    reviewer: str | None
    reason: str
    moved_at: datetime | None
    question: str
    answer: str
    answer_units: int | None
    answered_by: str | None
    outcome: str | None
    before: int | None
    after: int | None
    detail: str | None
    may_decide: bool
    may_answer: bool
    reviewer_id: UUID | None
    answered_by_id: UUID | None
    figures: CycleFigures | None
    seen: int | None

    @property
    def key(self) -> str:
        """Names the row on its page."""
        return f"{self.account_id.hex}{self.pool_id.hex}"

    @property
    def is_stale(self) -> bool:
        """What stands is not what stood when it was decided to change it."""
        return (
            self.outcome is None
            and self.state == "decided"
            and self.units != self.seen
            and self.seen != self.guaranteed
        )


# A cycle is read right after it is opened, before anybody has counted its rows: so every look-up is
# by key, one row at a time (OFFSET 0), and the names of people only for the rows of the page.
_ENTRIES = """
SELECT e.account_id, e.pool_id, e.account, e.pool, e.guaranteed, coalesce(q.guaranteed, 0),
    q.ends_at, e.state, e.version, e.decision, e.units, r.name, e.reason, e.moved_at, e.question,
    e.answer, e.answer_units, w.name, e.outcome, e.before, e.after, e.detail,
    e.ancestors && %b::uuid[], e.ancestors && %b::uuid[], e.reviewer_id, e.answered_by_id,
    e.figures, e.seen_guaranteed,
    e.cost_order, e.units_order
FROM (
    SELECT e.*, a.name AS account, a.ancestors, o.name AS pool,
        coalesce(e.idle_cost, -1) AS cost_order, coalesce(e.idle_units, -1) AS units_order
    FROM quota_cycleentry e
    CROSS JOIN LATERAL (SELECT t.name, t.ancestors FROM tenancy_account t
        WHERE t.organization_id = e.organization_id AND t.id = e.account_id OFFSET 0) a
    CROSS JOIN LATERAL (SELECT t.name FROM quota_pool t
        WHERE t.organization_id = e.organization_id AND t.id = e.pool_id OFFSET 0) o
    WHERE e.organization_id = %b AND e.cycle_id = %b AND a.ancestors && %b::uuid[] {where}
    ORDER BY {order} LIMIT %b
) e
LEFT JOIN LATERAL (SELECT CASE WHEN t.ends_at <= %b THEN t.base_guaranteed ELSE t.guaranteed END
        AS guaranteed, CASE WHEN t.ends_at > %b THEN t.ends_at END AS ends_at FROM quota_quota t
    WHERE t.organization_id = e.organization_id AND t.account_id = e.account_id
        AND t.pool_id = e.pool_id OFFSET 0) q ON true
LEFT JOIN LATERAL (SELECT coalesce(nullif(t.display_name, ''), t.name) AS name
    FROM tenancy_person t WHERE t.organization_id = e.organization_id AND t.id = e.reviewer_id
    OFFSET 0) r ON true
LEFT JOIN LATERAL (SELECT coalesce(nullif(t.display_name, ''), t.name) AS name
    FROM tenancy_person t WHERE t.organization_id = e.organization_id AND t.id = e.answered_by_id
    OFFSET 0) w ON true
ORDER BY {outer_order}
"""
_ORDER = {
    "idle": (
        "coalesce(e.idle_cost, -1), coalesce(e.idle_units, -1), e.account_id, e.pool_id",
        "%b::numeric, %b::bigint, %b::uuid, %b::uuid",
        "<",
        " DESC",
    ),
    "account": ("a.name, o.name", "%b::text, %b::text", ">", ""),
}
_OUTER = {
    "idle": "e.cost_order DESC, e.units_order DESC, e.account_id DESC, e.pool_id DESC",
    "account": "e.account, e.pool",
}


@dataclass(frozen=True, slots=True)
class EntryPage:
    """Rows of a cycle. `next_after` continues; None at the end."""

    rows: list[EntryRow]
    next_after: str | None


def entries(
    organization_id: UUID,
    cycle: CycleRow,
    who: Viewer,
    *,
    now: datetime,
    shown: str = "all",
    sort: Sort = "idle",
    account_id: UUID | None = None,
    pool_id: UUID | None = None,
    pool_ids: Collection[UUID] | None = None,
    only: tuple[UUID, UUID] | None = None,
    after: str = "",
    limit: int = PAGE_ROWS,
    with_use: bool = True,
) -> EntryPage:
    """Rows that the viewer sees, with the use of each, in the same few statements for any number.

    Args:
        shown: a word of SHOWN.
        sort: `idle`: by the cost of what was idle at the opening, then by idle units, the most
            first and the unknown last; `account`: by name.
        account_id: it and all below it. `only`: that one row. `pool_ids`: only in these pools.
        after: `next_after` of the page before.
        with_use: without it, rows of an open cycle have no figures; they cost the most.

    Raises:
        Invalid: `after` is none of ours.
    """
    where, values = _chosen(shown, account_id, pool_id, pool_ids, only)
    columns, types, beyond, direction = _ORDER[sort]
    if after:
        where += f" AND ({columns}) {beyond} ({types})"
        values += _position(after, sort)
    order = ", ".join(f"{one}{direction}" for one in _split(columns))
    statement = _ENTRIES.format(where=where, order=order, outer_order=_OUTER[sort])
    with server_cursor() as cursor:
        found = cursor.execute(
            statement,
            (
                *(list(who.reviews), list(who.leads)),
                *(organization_id, cycle.id, list(who.sees)),
                *values,
                *(limit + 1, now, now),
            ),
        ).fetchall()
    kept = found[:limit]
    live = {}
    if cycle.is_open and with_use:
        places = [(row[0], row[1]) for row in kept]
        live = figures_of(organization_id, places, window_days=cycle.window_days, now=now)
    rows = [_entry_row(row, live) for row in kept]
    return EntryPage(rows, _after(kept[-1], sort) if len(found) > limit else None)


def _chosen(
    shown: str,
    account_id: UUID | None,
    pool_id: UUID | None,
    pool_ids: Collection[UUID] | None,
    only: tuple[UUID, UUID] | None,
) -> tuple[str, list[Any]]:
    """Conditions on rows, as in `entries`, and their values."""
    where, values = "", []
    if SHOWN[shown]:
        where, values = " AND e.state = ANY(%b)", [list(SHOWN[shown])]
    if account_id is not None:
        where, values = f"{where} AND a.ancestors && ARRAY[%b]::uuid[]", [*values, account_id]
    if pool_id is not None:
        where, values = f"{where} AND e.pool_id = %b", [*values, pool_id]
    if pool_ids is not None:
        where, values = f"{where} AND e.pool_id = ANY(%b::uuid[])", [*values, list(pool_ids)]
    if only is not None:
        where, values = f"{where} AND e.account_id = %b AND e.pool_id = %b", [*values, *only]
    return where, values


def _split(columns: str) -> list[str]:
    """The columns of an order; those of `coalesce` hold a comma themselves."""
    return columns.replace(", -1", ",-1").split(", ")


def _entry_row(row: Sequence, live: dict[tuple[UUID, UUID], CycleFigures]) -> EntryRow:
    names = [name for name in EntryRow.__dataclass_fields__ if name not in ("figures", "seen")]
    given = dict(zip(names, row, strict=False))
    kept = row[len(names)]
    figures = live.get((row[0], row[1]))
    if figures is None and kept is not None:
        read = msgspec.json.decode(kept) if isinstance(kept, str | bytes) else kept
        figures = msgspec.convert(read, CycleFigures, strict=False)
    may_answer = given.pop("may_answer") and given["state"] in ("asked", "answered")
    return EntryRow(**given, may_answer=may_answer, figures=figures, seen=row[len(names) + 1])


def _after(row: Sequence, sort: Sort) -> str:
    if sort == "account":
        return f"{row[2]}~{row[3]}"
    return f"{row[-2]}~{row[-1]}~{row[0]}~{row[1]}"


def _position(after: str, sort: Sort) -> list:
    parts = after.split("~")
    try:
        if sort == "account":
            account, pool = parts
            return [account, pool]
        cost, units, account, pool = parts
        read = Decimal(cost)
        if not read.is_finite() or abs(int(units)) > 2**62:
            raise ValueError(after)
        return [read, int(units), UUID(account), UUID(pool)]
    except (ValueError, ArithmeticError):
        raise Invalid(
            "parameter_unusable", "The value of `after` is not one of ours.", field="after"
        ) from None


def report(
    organization_id: UUID,
    cycle: CycleRow,
    who: Viewer,
    *,
    now: datetime,
    pool_ids: Collection[UUID] | None = None,
) -> Iterator[list[EntryRow]]:
    """All rows that the viewer sees, by name, in parts."""
    after = ""
    while True:
        part = entries(
            organization_id,
            cycle,
            who,
            now=now,
            sort="account",
            pool_ids=pool_ids,
            after=after,
            limit=REPORT_ROWS,
        )
        yield part.rows
        if part.next_after is None:
            return
        after = part.next_after
