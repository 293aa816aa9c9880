"""What requests are decided on: the request under lock, its reviewers, the policy, the evidence.

Locks in the one order: the tree (shared), pools, then the request's row; the chain last. Whoever
decides about provisioning opens the pool's book first (`quota.recording.open_books`).
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID

import msgspec

from ledger.errors import NotFound
from ledger.sql import server_cursor
from quota.domain.request_state import Request
from quota.domain.requests import Approval, Counter, Terms
from quota.domain.routing import (
    DEFAULT,
    Board,
    Delegation,
    Human,
    Level,
    Policy,
    address,
    joined_addresses,
)
from quota.request_events import RequestFacts
from tenancy.domain.roles import READ, granting

COLUMNS = (
    "id",
    "account_id",
    "pool_id",
    "kind",
    "units",
    "starts_at",
    "ends_at",
    "workload",
    "tier",
    "purpose",
    "budget",
    "to_account_id",
    "requester_id",
    "author_ids",
    "state",
    "version",
    "drafted_at",
    "submitted_at",
    "decided_at",
    "provisioned_at",
    "ended_at",
    "updated_at",
    "approvals_needed",
    "level_ids",
    "operators",
    "route_reasons",
    "approvals",
    "counter",
    "due_at",
    "reminded_at",
    "escalations",
    "change_id",
    "facts",
)
"""Of `quota_request`, in the order that `request_of` reads."""

_TERMS = frozenset(field.name for field in fields(Terms))
_OWN = frozenset(field.name for field in fields(Request))


def request_of(row: Sequence) -> Request:
    """From COLUMNS."""
    values = dict(zip(COLUMNS, row, strict=True))
    terms = {name: value for name, value in values.items() if name in _TERMS}
    own = {name: value for name, value in values.items() if name in _OWN}
    for name in ("author_ids", "level_ids", "route_reasons"):
        own[name] = tuple(own[name])
    own["approvals"] = msgspec.convert(_json(own["approvals"]), tuple[Approval, ...])
    own["counter"] = msgspec.convert(_json(own["counter"]), Counter | None)
    own["facts"] = msgspec.convert(_json(own["facts"]), RequestFacts | None)
    return Request(**own, terms=Terms(**terms))


def _json(value):
    return msgspec.json.decode(value) if isinstance(value, str | bytes) else value


def request(organization_id: UUID, request_id: UUID, *, lock: bool = False) -> Request:
    """One request.

    Raises:
        NotFound: there is none, or not in this organization.
    """
    with server_cursor() as cursor:
        row = cursor.execute(
            f"SELECT {', '.join(COLUMNS)} FROM quota_request "
            f"WHERE organization_id = %b AND id = %b{' FOR UPDATE' if lock else ''}",
            (organization_id, request_id),
        ).fetchone()
    if row is None:
        raise NotFound("request_unknown", "There is no such request.", field="request")
    return request_of(row)


def requests(organization_id: UUID, ids: Collection[UUID]) -> dict[UUID, Request]:
    """Several at once; what does not exist is missing."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT {', '.join(COLUMNS)} FROM quota_request "
            "WHERE organization_id = %b AND id = ANY(%b)",
            (organization_id, list(ids)),
        ).fetchall()
    return {row[0]: request_of(row) for row in rows}


def check_place(organization_id: UUID, terms: Terms) -> None:
    """That the pool and the accounts of terms exist, without locking anything.

    Raises:
        NotFound: one does not.
    """
    accounts = {terms.account_id, terms.to_account_id} - {None}
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT (SELECT count(*) FROM tenancy_account WHERE organization_id = %b "
            "AND id = ANY(%b)), (SELECT count(*) FROM quota_pool WHERE organization_id = %b "
            "AND id = %b)",
            (organization_id, list(accounts), organization_id, terms.pool_id),
        ).fetchone()
    if row[0] < len(accounts):
        raise NotFound("account_unknown", "There is no such account.", field="account")
    if row[1] == 0:
        raise NotFound("pool_unknown", "There is no such pool.", field="pool")


def policy(organization_id: UUID) -> Policy:
    """The organization's, or the default."""
    names = [field.name for field in fields(Policy)]
    with server_cursor() as cursor:
        row = cursor.execute(
            f"SELECT {', '.join(names)} FROM quota_requestpolicy WHERE organization_id = %b",
            (organization_id,),
        ).fetchone()
    return Policy(**dict(zip(names, row, strict=True))) if row else DEFAULT


def board(
    organization_id: UUID, account_id: UUID, people: Iterable[UUID], *, now: datetime
) -> Board:
    """Everyone who may have a word in a request of an account.

    Args:
        people: others whose identity matters: authors, earlier approvers, who asks.
    """
    levels = _levels(organization_id, account_id)
    reviewers = {person for level in levels for person in level.approver_ids | level.operator_ids}
    delegations = _delegations(organization_id, reviewers, now=now)
    named = {*people, *reviewers, *(one.delegate_id for one in delegations)}
    return Board(levels=levels, humans=humans(organization_id, named), delegations=delegations)


def _levels(organization_id: UUID, account_id: UUID) -> tuple[Level, ...]:
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT p.id, "
            "coalesce(array_agg(m.person_id) FILTER (WHERE m.role = 'approver'), '{}'), "
            "coalesce(array_agg(m.person_id) FILTER (WHERE m.role = 'operator'), '{}') "
            "FROM tenancy_account a "
            "CROSS JOIN LATERAL unnest(a.ancestors) WITH ORDINALITY AS p(id, depth) "
            "LEFT JOIN tenancy_membership m ON m.organization_id = a.organization_id "
            "  AND m.account_id = p.id AND m.role IN ('approver', 'operator') "
            "WHERE a.organization_id = %b AND a.id = %b GROUP BY p.id, p.depth "
            "ORDER BY p.depth DESC",
            (organization_id, account_id),
        ).fetchall()
    return tuple(
        Level(account_id=row[0], approver_ids=frozenset(row[1]), operator_ids=frozenset(row[2]))
        for row in rows
    )


def _delegations(
    organization_id: UUID, people: Collection[UUID], *, now: datetime
) -> tuple[Delegation, ...]:
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT person_id, delegate_id, starts_at, ends_at FROM quota_delegation "
            "WHERE organization_id = %b AND person_id = ANY(%b) AND starts_at <= %b "
            "AND ends_at > %b ORDER BY id",
            (organization_id, list(people), now, now),
        ).fetchall()
    return tuple(
        Delegation(person_id=row[0], delegate_id=row[1], starts_at=row[2], ends_at=row[3])
        for row in rows
    )


def delegation(organization_id: UUID, delegation_id: UUID) -> Delegation | None:
    """One delegation, whatever its time; None: there is none."""
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT person_id, delegate_id, starts_at, ends_at FROM quota_delegation "
            "WHERE organization_id = %b AND id = %b FOR UPDATE",
            (organization_id, delegation_id),
        ).fetchone()
    if row is None:
        return None
    return Delegation(person_id=row[0], delegate_id=row[1], starts_at=row[2], ends_at=row[3])


def delegations_from(organization_id: UUID, person_id: UUID, *, now: datetime) -> int:
    """Delegations of a person that run or are to come."""
    with server_cursor() as cursor:
        return cursor.execute(
            "SELECT count(*) FROM quota_delegation WHERE organization_id = %b AND person_id = %b "
            "AND ends_at > %b",
            (organization_id, person_id, now),
        ).fetchone()[0]


def humans(organization_id: UUID, people: Collection[UUID]) -> dict[UUID, Human]:
    """Who persons are, by the addresses on record and those of their logins. A person with two
    addresses makes those who have either of them one human as well."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT p.id, p.email, u.email FROM tenancy_person p "
            "LEFT JOIN tenancy_user u ON u.id = p.user_id "
            "WHERE p.organization_id = %b AND p.id = ANY(%b)",
            (organization_id, list(people)),
        ).fetchall()
        between = cursor.execute(
            "SELECT p.email, u.email FROM tenancy_person p JOIN tenancy_user u ON u.id = p.user_id "
            "WHERE p.organization_id = %b AND p.email <> '' "
            "AND lower(p.email) <> lower(u.email)",
            (organization_id,),
        ).fetchall()
    found = {row[0]: _addresses(row[1:]) for row in rows}
    joined = joined_addresses([*map(_addresses, between), *found.values()])
    return {
        person: Human(
            person_id=person,
            addresses=frozenset().union(*(joined[one] for one in mine)),
        )
        for person, mine in found.items()
    }


def _addresses(texts: Iterable[str | None]) -> frozenset[str]:
    return frozenset(address(text) for text in texts if text and text.strip())


def rejections(organization_id: UUID, account_id: UUID, pool_id: UUID, *, since: datetime) -> int:
    """Requests of the account in the pool rejected since an instant."""
    with server_cursor() as cursor:
        return cursor.execute(
            "SELECT count(*) FROM quota_requestdecision WHERE organization_id = %b "
            "AND account_id = %b AND pool_id = %b AND decision = 'rejected' "
            "AND decided_at >= %b",
            (organization_id, account_id, pool_id, since),
        ).fetchone()[0]


def automatic_grants(
    organization_id: UUID, account_id: UUID, pool_id: UUID, *, now: datetime
) -> tuple[int, int]:
    """Units granted automatically that still run, and automatic extensions among them."""
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT coalesce(sum(units) FILTER (WHERE kind IN ('new', 'raise', 'boost')), 0)"
            "::bigint, count(*) FILTER (WHERE kind = 'extension') FROM quota_request "
            "WHERE organization_id = %b AND account_id = %b AND pool_id = %b "
            "AND state IN ('approved', 'provisioned') AND approvals_needed = 0 "
            "AND (ends_at IS NULL OR ends_at > %b)",
            (organization_id, account_id, pool_id, now),
        ).fetchone()
    return row[0], row[1]


def overdue(
    organization_id: UUID, *, now: datetime, remind_after: timedelta, limit: int
) -> list[UUID]:
    """Requests whose deadline has passed, or whose reviewers should be reminded."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id FROM quota_request WHERE organization_id = %b AND state = 'submitted' "
            "AND due_at IS NOT NULL AND (due_at <= %b OR coalesce(reminded_at, updated_at) <= %b) "
            "AND (ends_at IS NULL OR ends_at > %b) ORDER BY due_at, id LIMIT %b",
            (organization_id, now, now - remind_after, now, limit),
        ).fetchall()
    return [row[0] for row in rows]


def standing_of(organization_id: UUID, pool_id: UUID, accounts: Collection[UUID]) -> list[Request]:
    """Requests of accounts in a pool that are approved for later or provisioned, under lock."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT {', '.join(COLUMNS)} FROM quota_request WHERE organization_id = %b "
            "AND pool_id = %b AND account_id = ANY(%b) AND state IN ('approved', 'provisioned') "
            "ORDER BY id FOR UPDATE",
            (organization_id, pool_id, list(accounts)),
        ).fetchall()
    return [request_of(row) for row in rows]


def unsettled(organization_id: UUID, *, now: datetime, limit: int) -> list[UUID]:
    """Requests that a task has to see to: a justification that is over, what was approved for later
    and whose change to come is gone, and what waited until its time was over."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT r.id FROM quota_request r WHERE r.organization_id = %b AND ("
            "(r.state = 'provisioned' AND r.kind = 'justification' AND r.ends_at <= %b) "
            "OR (r.state IN ('submitted', 'changes_requested', 'countered') AND r.ends_at <= %b) "
            "OR (r.state = 'approved' AND NOT EXISTS (SELECT 1 FROM quota_scheduled s "
            "WHERE s.organization_id = r.organization_id AND s.id = r.change_id))) "
            "ORDER BY r.id LIMIT %b",
            (organization_id, now, now, limit),
        ).fetchall()
    return [row[0] for row in rows]


def unheard(organization_id: UUID, *, now: datetime, limit: int) -> list[UUID]:
    """Requests that wait although nobody is left on the accounts that were asked, as far as these
    are still above the request's, who neither asks nor has approved."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT r.id FROM quota_request r JOIN tenancy_account a "
            "  ON a.organization_id = r.organization_id AND a.id = r.account_id "
            "WHERE r.organization_id = %b AND r.state = 'submitted' AND NOT r.operators "
            "AND (r.ends_at IS NULL OR r.ends_at > %b) "
            "AND NOT EXISTS (SELECT 1 FROM tenancy_membership m "
            "  WHERE m.organization_id = r.organization_id AND m.role = 'approver' "
            "  AND m.account_id = ANY(r.level_ids) AND m.account_id = ANY(a.ancestors) "
            "  AND NOT m.person_id = ANY(r.author_ids) "
            "  AND NOT EXISTS (SELECT 1 FROM jsonb_array_elements(r.approvals) e "
            "    WHERE (e->>'reviewer_id')::uuid = m.person_id)) "
            "ORDER BY r.id LIMIT %b",
            (organization_id, now, limit),
        ).fetchall()
    return [row[0] for row in rows]


def unsupported(organization_id: UUID, *, limit: int) -> list[UUID]:
    """Requests that wait with an approval whose giver (or the absent person they spoke for) may
    not review the account any more."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT r.id FROM quota_request r JOIN tenancy_account a "
            "  ON a.organization_id = r.organization_id AND a.id = r.account_id "
            "WHERE r.organization_id = %b AND r.state = 'submitted' AND EXISTS ("
            "  SELECT 1 FROM jsonb_array_elements(r.approvals) e WHERE NOT EXISTS ("
            "    SELECT 1 FROM tenancy_membership m "
            "    WHERE m.organization_id = r.organization_id "
            "    AND m.role IN ('approver', 'operator') AND m.account_id = ANY(a.ancestors) "
            "    AND m.person_id = coalesce("
            "      (e->>'on_behalf_of_id')::uuid, (e->>'reviewer_id')::uuid))) "
            "ORDER BY r.id LIMIT %b",
            (organization_id, limit),
        ).fetchall()
    return [row[0] for row in rows]


def attachment_room(organization_id: UUID, request_id: UUID) -> int:
    """Files that a request has."""
    with server_cursor() as cursor:
        return cursor.execute(
            "SELECT count(*) FROM quota_requestattachment "
            "WHERE organization_id = %b AND request_id = %b",
            (organization_id, request_id),
        ).fetchone()[0]


def keep_content(organization_id: UUID, digest: str, content: bytes) -> None:
    """Keep the bytes of a file; the same bytes once."""
    with server_cursor() as cursor:
        cursor.execute(
            "INSERT INTO quota_attachmentcontent (organization_id, digest, content) "
            "VALUES (%b, %b, %b) ON CONFLICT DO NOTHING",
            (organization_id, digest, content),
        )


def people_seeing(
    organization_id: UUID, account_id: UUID, people: Collection[UUID]
) -> dict[UUID, tuple[str, bool]]:
    """Names of persons, and whether a role of theirs lets them see an account."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT p.id, p.name, EXISTS (SELECT 1 FROM tenancy_account a "
            "JOIN tenancy_membership m ON m.organization_id = a.organization_id "
            "  AND m.account_id = ANY(a.ancestors) AND m.role = ANY(%b) "
            "WHERE a.organization_id = p.organization_id AND a.id = %b AND m.person_id = p.id) "
            "FROM tenancy_person p WHERE p.organization_id = %b AND p.id = ANY(%b) "
            "ORDER BY p.name",
            (list(granting(READ)), account_id, organization_id, list(people)),
        ).fetchall()
    return {row[0]: (row[1], row[2]) for row in rows}


def percent(share: float | None) -> int | None:
    """A share as a whole percent, rounded down."""
    return None if share is None else int(Decimal(str(share)) * 100)
