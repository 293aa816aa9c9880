"""Who may decide which requests: the inbox of a person, and the people of a request.

Runs inside `scope.reading`. The inbox is a list of what a person is asked and may decide *now*:
their own levels, those of the absent people they stand in for, and what was escalated to them.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from ledger.errors import DomainError
from ledger.sql import server_cursor
from quota.domain import routing
from quota.domain.approvals import void
from quota.domain.request_state import Request
from quota.domain.requests import State
from quota.domain.routing import Approval
from quota.loading import requests as loading
from quota.loading.requests import request_of
from quota.queries.requests import SELECT, RequestRow, named_rows

INBOX_MAX: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxRow:
    """A request to decide. `on_behalf_of`: the absent person whose place the reader takes."""

    row: RequestRow
    on_behalf_of_id: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxPage:
    """What waits, the nearest deadline first. `next_after` continues; None at the end."""

    rows: tuple[InboxRow, ...]
    next_after: tuple[datetime, UUID] | None


@dataclass(frozen=True, slots=True)
class _Side:
    """One capacity in which a person decides: their own, or an absent person's."""

    person_id: UUID
    level_ids: list[UUID]
    operated_ids: list[UUID]
    same: list[UUID]


def inbox(
    organization_id: UUID,
    person_id: UUID,
    *,
    now: datetime,
    below_id: UUID | None = None,
    pool_id: UUID | None = None,
    kind: str | None = None,
    after: tuple[datetime, UUID] | None = None,
    limit: int = 50,
) -> InboxPage:
    """Requests that a person is asked to decide and may.

    Args:
        below_id: only of this account and those below it.
        after: `next_after` of the page before.
    """
    limit = max(1, min(limit, INBOX_MAX))
    sides = _sides(organization_id, person_id, now=now)
    where, values = _mine(sides)
    at, request_id = after or (None, None)
    with server_cursor() as cursor:
        found = cursor.execute(
            f"SELECT {SELECT}, ({_whose(sides)}) FROM quota_request r "
            "WHERE r.organization_id = %b AND r.state = 'submitted' "
            "AND (%b::timestamptz IS NULL OR (r.due_at, r.id) > (%b::timestamptz, %b::uuid)) "
            "AND (%b::uuid IS NULL OR r.pool_id = %b) AND (%b::text IS NULL OR r.kind = %b) "
            "AND (%b::uuid IS NULL OR EXISTS (SELECT 1 FROM tenancy_account a "
            "  WHERE a.organization_id = r.organization_id AND a.id = r.account_id "
            "  AND a.ancestors && ARRAY[%b]::uuid[])) "
            f"AND ({where}) ORDER BY r.due_at, r.id LIMIT %b",
            (
                *(*values, organization_id, at, at, request_id),
                *(pool_id, pool_id, kind, kind, below_id, below_id),
                *(*values, limit + 1),
            ),
        ).fetchall()
    requests = [request_of(row[:-1]) for row in found[:limit]]
    rows = tuple(
        InboxRow(row=row, on_behalf_of_id=sides[one[-1]].person_id if one[-1] else None)
        for row, one in zip(named_rows(organization_id, requests, now=now), found, strict=False)
    )
    last = requests[-1] if len(found) > limit else None
    return InboxPage(rows=rows, next_after=(last.due_at, last.id) if last else None)


def inbox_count(organization_id: UUID, person_id: UUID, *, now: datetime) -> int:
    """How many requests a person is asked to decide, up to 1,000: on every page's navigation."""
    with server_cursor() as cursor:
        concerned = cursor.execute(
            "SELECT EXISTS (SELECT 1 FROM quota_request WHERE organization_id = %b "
            "AND state = 'submitted') AND (EXISTS (SELECT 1 FROM tenancy_membership "
            "WHERE organization_id = %b AND person_id = %b AND role IN ('approver', 'operator')) "
            "OR EXISTS (SELECT 1 FROM quota_delegation WHERE organization_id = %b "
            "AND delegate_id = %b AND starts_at <= %b AND ends_at > %b))",
            (organization_id, *(organization_id, person_id) * 2, now, now),
        ).fetchone()[0]
    if not concerned:
        return 0
    where, values = _mine(_sides(organization_id, person_id, now=now))
    with server_cursor() as cursor:
        return cursor.execute(
            "SELECT count(*) FROM (SELECT 1 FROM quota_request r WHERE r.organization_id = %b "
            f"AND r.state = 'submitted' AND ({where}) LIMIT 1000) mine",
            (organization_id, *values),
        ).fetchone()[0]


_SIDE = """
(((r.level_ids && %b::uuid[] AND EXISTS (
    SELECT 1 FROM tenancy_account a WHERE a.organization_id = r.organization_id
    AND a.id = r.account_id AND a.ancestors && %b::uuid[]))
  OR (r.operators AND EXISTS (
    SELECT 1 FROM tenancy_account a WHERE a.organization_id = r.organization_id
    AND a.id = r.account_id AND a.ancestors && %b::uuid[])))
 AND NOT r.author_ids && %b::uuid[]
 AND NOT EXISTS (SELECT 1 FROM jsonb_array_elements(r.approvals) e
    WHERE (e->>'reviewer_id')::uuid = ANY(%b::uuid[])
    OR (e->>'on_behalf_of_id')::uuid = ANY(%b::uuid[])))
"""


def _mine(sides: list[_Side]) -> tuple[str, tuple]:
    """The condition of an inbox: one of the sides may decide."""
    values: list = []
    for side in sides:
        values += [side.level_ids, side.level_ids, side.operated_ids, *[side.same] * 3]
    return " OR ".join([_SIDE] * len(sides)), tuple(values)


def _whose(sides: list[_Side]) -> str:
    """The number of the first side that may decide."""
    cases = " ".join(f"WHEN {_SIDE} THEN {number}" for number in range(len(sides)))
    return f"CASE {cases} END"


def _sides(organization_id: UUID, person_id: UUID, *, now: datetime) -> list[_Side]:
    with server_cursor() as cursor:
        absent = [
            row[0]
            for row in cursor.execute(
                "SELECT DISTINCT person_id FROM quota_delegation WHERE organization_id = %b "
                "AND delegate_id = %b AND starts_at <= %b AND ends_at > %b ORDER BY person_id",
                (organization_id, person_id, now, now),
            ).fetchall()
        ]
        people = [person_id, *absent]
        roles = cursor.execute(
            "SELECT person_id, role, account_id FROM tenancy_membership "
            "WHERE organization_id = %b AND person_id = ANY(%b) "
            "AND role IN ('approver', 'operator')",
            (organization_id, people),
        ).fetchall()
        involved = {
            row[0]
            for row in cursor.execute(
                "SELECT unnest(author_ids) FROM quota_request "
                "WHERE organization_id = %b AND state = 'submitted' "
                "UNION SELECT (e->>'reviewer_id')::uuid FROM quota_request, "
                "jsonb_array_elements(approvals) e WHERE organization_id = %b "
                "AND state = 'submitted' UNION SELECT (e->>'on_behalf_of_id')::uuid "
                "FROM quota_request, jsonb_array_elements(approvals) e "
                "WHERE organization_id = %b AND state = 'submitted'",
                (organization_id, organization_id, organization_id),
            ).fetchall()
        } - {None}
    humans = loading.humans(organization_id, {*people, *involved})
    return [
        _Side(
            person_id=person,
            level_ids=[row[2] for row in roles if row[0] == person and row[1] == "approver"],
            operated_ids=[row[2] for row in roles if row[0] == person and row[1] == "operator"],
            same=_selves(humans, {person, person_id}),
        )
        for person in people
        if person in humans
    ] or [_Side(person_id, [], [], [person_id])]


def _selves(humans: dict[UUID, routing.Human], people: Collection[UUID]) -> list[UUID]:
    """Everyone who is the same human as one of these."""
    return sorted(
        other.person_id
        for other in humans.values()
        if any(routing.same_human(other, humans[person]) for person in people if person in humans)
    )


def may_decide(
    organization_id: UUID, request: Request, person_id: UUID, *, now: datetime
) -> Approval | DomainError:
    """In whose name a person may decide a request now, or why not: for the buttons of a page."""
    try:
        return routing.standing(
            board_of(organization_id, request, (person_id,), now=now),
            reviewer_id=person_id,
            authors=request.author_ids,
            approvals=request.approvals,
            now=now,
        )
    except DomainError as error:
        return error


def still_approved(
    organization_id: UUID, request: Request, *, now: datetime
) -> tuple[Approval, ...]:
    """Approvals given so far that would count if the next were given now."""
    if not request.approvals or not request.is_open:
        return request.approvals
    board = board_of(organization_id, request, (), now=now)
    gone = void(board, request.approvals, authors=request.author_ids)
    return tuple(one for one in request.approvals if one not in gone)


def asked_people(organization_id: UUID, request: Request, *, now: datetime) -> tuple[UUID, ...]:
    """Who is asked to decide an open request and may: approvers of its levels, operators where
    they are asked, and the delegates of those who are away. For lists and for notices."""
    if request.state != State.SUBMITTED:
        return ()
    board = board_of(organization_id, request, (), now=now)
    people: set[UUID] = set()
    for level in board.levels:
        if level.account_id in request.level_ids:
            people |= level.approver_ids
        if request.operators:
            people |= level.operator_ids
    people |= {one.delegate_id for one in board.delegations if one.person_id in people}
    found = []
    for person in sorted(people):
        try:
            routing.standing(
                board,
                reviewer_id=person,
                authors=request.author_ids,
                approvals=request.approvals,
                now=now,
            )
        except DomainError:
            continue
        found.append(person)
    return tuple(found)


def board_of(
    organization_id: UUID, request: Request, people: Iterable[UUID], *, now: datetime
) -> routing.Board:
    given = {
        person
        for one in request.approvals
        for person in (one.reviewer_id, one.on_behalf_of_id)
        if person is not None
    }
    return loading.board(
        organization_id,
        request.account_id,
        {*people, *request.author_ids, *given},
        now=now,
    )
