"""Reads of review cycles: the list, one with its progress and what it would do. Runs inside
`scope.reading`; what a person may see and decide is told by the accounts in `Viewer`."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from ledger.sql import server_cursor
from ledger.types import Actor
from quota.domain.cycles import CycleState
from quota.loading import cycles as loading
from tenancy import policy
from tenancy.domain.roles import LEDGER_READ, REQUEST_REVIEW

LIST_MAX: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Accounts that a person sees reviews of, reviews, and leads, each with all below it."""

    sees: tuple[UUID, ...]
    reviews: tuple[UUID, ...]
    leads: tuple[UUID, ...]


def viewer(organization_id: UUID, actor: Actor) -> Viewer:
    """What an actor has to do with reviews."""
    with server_cursor() as cursor:
        leads = cursor.execute(
            "SELECT account_id FROM tenancy_membership WHERE organization_id = %b "
            "AND person_id = %b AND role = 'lead'",
            (organization_id, actor.id),
        ).fetchall()
    return Viewer(
        sees=policy.accounts_with(actor, LEDGER_READ, organization_id),
        reviews=policy.accounts_with(actor, REQUEST_REVIEW, organization_id),
        leads=tuple(row[0] for row in leads),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleRow:
    """A cycle. `opened_by` None: it opened by itself; `decided` counts quotas with a decision,
    `asked` those whose lead has not answered. `changed` and the like are of the close."""

    id: UUID
    account_id: UUID
    account: str
    name: str
    deadline: datetime
    window_days: int
    quota_count: int
    state: str
    reason: str
    opened_by: str | None
    opened_at: datetime
    ended_by: str | None
    ended_at: datetime | None
    end_reason: str
    changed: int
    kept: int
    undecided: int
    impossible: int
    decided: int
    asked: int
    answered: int
    may_close: bool
    opened_by_id: UUID | None
    ended_by_id: UUID | None

    @property
    def is_open(self) -> bool:
        return self.state == CycleState.OPEN

    @property
    def undecided_now(self) -> int:
        """Quotas without a decision, asked ones included."""
        return self.quota_count - self.decided


_CYCLES = """
SELECT c.id, c.account_id, a.name, c.name, c.deadline, c.window_days, c.quota_count, c.state,
    c.reason, coalesce(nullif(o.display_name, ''), o.name), c.opened_at,
    coalesce(nullif(e.display_name, ''), e.name), c.ended_at, c.end_reason, c.changed, c.kept,
    c.undecided, c.impossible, n.decided, n.asked, n.answered, a.ancestors && %b::uuid[],
    c.opened_by_id, c.ended_by_id
FROM quota_cycle c
JOIN tenancy_account a ON a.organization_id = c.organization_id AND a.id = c.account_id
LEFT JOIN tenancy_person o ON o.organization_id = c.organization_id AND o.id = c.opened_by_id
LEFT JOIN tenancy_person e ON e.organization_id = c.organization_id AND e.id = c.ended_by_id
CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE state = 'decided') AS decided,
    count(*) FILTER (WHERE state = 'asked') AS asked,
    count(*) FILTER (WHERE state = 'answered') AS answered FROM quota_cycleentry i
    WHERE i.organization_id = c.organization_id AND i.cycle_id = c.id) n
WHERE c.organization_id = %b AND (a.ancestors && %b::uuid[] OR c.account_id IN (
    SELECT unnest(t.ancestors) FROM tenancy_account t
    WHERE t.organization_id = c.organization_id AND t.id = ANY(%b::uuid[])))
"""


def cycles(
    organization_id: UUID, who: Viewer, *, before: UUID | None = None, limit: int = 50
) -> list[CycleRow]:
    """Cycles that the viewer sees something of, newest first."""
    sees = list(who.sees)
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"{_CYCLES} AND (%b::uuid IS NULL OR c.id < %b::uuid) ORDER BY c.id DESC LIMIT %b",
            (list(who.reviews), organization_id, sees, sees, before, before, min(limit, LIST_MAX)),
        ).fetchall()
    return [_cycle_row(row) for row in rows]


def cycle(organization_id: UUID, cycle_id: UUID, who: Viewer) -> CycleRow:
    """One cycle.

    Raises:
        NotFound: there is none that the viewer sees.
    """
    sees = list(who.sees)
    with server_cursor() as cursor:
        row = cursor.execute(
            f"{_CYCLES} AND c.id = %b", (list(who.reviews), organization_id, sees, sees, cycle_id)
        ).fetchone()
    if row is None:
        raise loading.cycle_unknown()
    return _cycle_row(row)


def _cycle_row(row: Sequence) -> CycleRow:
    return CycleRow(**dict(zip(CycleRow.__dataclass_fields__, row, strict=True)))


@dataclass(frozen=True, slots=True)
class ReviewerRow:
    """How many of the decisions that stand are whose."""

    name: str
    decided: int
    short_name: str


def reviewers(organization_id: UUID, cycle_id: UUID) -> list[ReviewerRow]:
    """Who decided how many, the most first."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT coalesce(nullif(p.display_name, ''), p.name), count(*), min(p.name) "
            "FROM quota_cycleentry e JOIN tenancy_person p "
            "ON p.organization_id = e.organization_id AND p.id = e.reviewer_id "
            "WHERE e.organization_id = %b AND e.cycle_id = %b AND e.state = 'decided' "
            "GROUP BY p.id, 1 ORDER BY 2 DESC, 1",
            (organization_id, cycle_id),
        ).fetchall()
    return [ReviewerRow(*row) for row in rows]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolEffect:
    """What the decisions so far would make of a pool: units of guarantee cut and added, and the
    promise before and after."""

    pool: str
    cuts: int
    rises: int
    promised: int
    promisable: int

    @property
    def after(self) -> int:
        return self.promised + self.rises - self.cuts

    @property
    def short_by(self) -> int:
        return max(0, self.after - self.promisable)


def effects(organization_id: UUID, cycle_id: UUID) -> list[PoolEffect]:
    """By pool, as decided so far; the close itself decides under lock."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT o.name, d.cuts, d.rises, (SELECT coalesce(sum(guaranteed), 0)::bigint "
            "FROM quota_quota q WHERE q.organization_id = o.organization_id "
            "AND q.pool_id = o.id), o.capacity - o.unavailable - o.safety_margin "
            "FROM (SELECT pool_id, "
            "sum(greatest(seen_guaranteed - units, 0))::bigint AS cuts, "
            "sum(greatest(units - seen_guaranteed, 0))::bigint AS rises FROM quota_cycleentry "
            "WHERE organization_id = %b AND cycle_id = %b AND state = 'decided' "
            "GROUP BY pool_id) d "
            "JOIN quota_pool o ON o.organization_id = %b AND o.id = d.pool_id ORDER BY o.name",
            (organization_id, cycle_id, organization_id),
        ).fetchall()
    return [
        PoolEffect(pool=row[0], cuts=row[1], rises=row[2], promised=row[3], promisable=row[4])
        for row in rows
    ]


@dataclass(frozen=True, slots=True)
class Size:
    """How many quotas a cycle over an account would review, and whether one is open there."""

    quota_count: int
    is_open: bool


def size(organization_id: UUID, account_id: UUID, *, now: datetime) -> Size:
    """Before a cycle is opened."""
    return Size(
        len(loading.quotas_below(organization_id, account_id, now=now)),
        loading.open_cycle_of(organization_id, account_id) is not None,
    )


def waiting_for(organization_id: UUID, leads: Collection[UUID]) -> int:
    """Questions to these accounts' leads that have no answer."""
    with server_cursor() as cursor:
        return cursor.execute(
            "SELECT count(*) FROM quota_cycleentry e "
            "JOIN tenancy_account a ON a.organization_id = e.organization_id "
            "AND a.id = e.account_id "
            "JOIN quota_cycle c ON c.organization_id = e.organization_id AND c.id = e.cycle_id "
            "WHERE e.organization_id = %b AND e.state = 'asked' AND c.state = 'open' "
            "AND a.ancestors && %b::uuid[]",
            (organization_id, list(leads)),
        ).fetchone()[0]
