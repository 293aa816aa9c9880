"""Decisions of requests, for one request, for an export of a period, and to try a policy on."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from ledger.sql import server_cursor
from quota.domain import routing
from quota.domain.request_state import Request
from quota.domain.routing import PastRequest, Previewed, preview_policy
from quota.loading import requests as loading
from quota.loading.requests import COLUMNS, request_of

EXPORT_MAX: Final = 5_000
PREVIEW_MAX: Final = 5_000
_SELECT = ", ".join(f"r.{name}" for name in COLUMNS)


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRow:
    """Somebody's, or the policy's (`person` None), decision about a request."""

    event_id: UUID
    request_id: UUID
    account: str
    pool: str
    kind: str
    requester: str
    decision: str
    person: str | None
    on_behalf_of: str | None
    units: int | None
    ends_at: datetime | None
    reason: str
    decided_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionPage:
    """Decisions, oldest first. `next_after` continues; None at the end."""

    rows: tuple[DecisionRow, ...]
    next_after: tuple[datetime, UUID] | None


_DECISION = (
    "SELECT d.event_id, d.request_id, a.name, o.name, r.kind, q.name, d.decision, p.name, b.name, "
    "d.units, d.ends_at, d.reason, d.decided_at FROM quota_requestdecision d "
    "JOIN quota_request r ON r.organization_id = d.organization_id AND r.id = d.request_id "
    "JOIN tenancy_account a ON a.organization_id = d.organization_id AND a.id = d.account_id "
    "JOIN quota_pool o ON o.organization_id = d.organization_id AND o.id = d.pool_id "
    "JOIN tenancy_person q ON q.organization_id = d.organization_id AND q.id = r.requester_id "
    "LEFT JOIN tenancy_person p ON p.organization_id = d.organization_id AND p.id = d.person_id "
    "LEFT JOIN tenancy_person b ON b.organization_id = d.organization_id "
    "AND b.id = d.on_behalf_of_id WHERE d.organization_id = %b"
)


def decisions_of(organization_id: UUID, request_id: UUID) -> list[DecisionRow]:
    """Every decision about a request, oldest first."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"{_DECISION} AND d.request_id = %b ORDER BY d.event_id", (organization_id, request_id)
        ).fetchall()
    return [_decision(row) for row in rows]


def decisions(
    organization_id: UUID,
    *,
    since: datetime,
    until: datetime,
    account_ids: Collection[UUID] | None = None,
    after: tuple[datetime, UUID] | None = None,
    limit: int = 200,
) -> DecisionPage:
    """Every decision of a period (`until` not included), oldest first: for export.

    Args:
        account_ids: of these accounts and those below them; None: of all.
        after: `next_after` of the page before.
    """
    limit = max(1, min(limit, EXPORT_MAX))
    of_accounts = None if account_ids is None else list(account_ids)
    at, event_id = after or (None, None)
    with server_cursor() as cursor:
        found = cursor.execute(
            f"{_DECISION} AND d.decided_at >= %b AND d.decided_at < %b "
            "AND (%b::uuid[] IS NULL OR a.ancestors && %b::uuid[]) "
            "AND (%b::timestamptz IS NULL OR "
            "(d.decided_at, d.event_id) > (%b::timestamptz, %b::uuid)) "
            "ORDER BY d.decided_at, d.event_id LIMIT %b",
            (organization_id, since, until, of_accounts, of_accounts, at, at, event_id, limit + 1),
        ).fetchall()
    rows = tuple(_decision(row) for row in found[:limit])
    more = len(found) > limit
    return DecisionPage(
        rows=rows, next_after=(rows[-1].decided_at, rows[-1].event_id) if more else None
    )


def _decision(row: Sequence) -> DecisionRow:
    return DecisionRow(**dict(zip(DecisionRow.__dataclass_fields__, row, strict=True)))


def policy(organization_id: UUID) -> routing.Policy:
    """How requests are routed."""
    return loading.policy(organization_id)


def past_requests(
    organization_id: UUID, *, since: datetime, limit: int = PREVIEW_MAX
) -> list[PastRequest]:
    """Requests handed in since an instant, with what their routes were decided on; newest first."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT {_SELECT} FROM quota_request r WHERE r.organization_id = %b "
            "AND r.submitted_at >= %b ORDER BY r.id DESC LIMIT %b",
            (organization_id, since, min(limit, PREVIEW_MAX)),
        ).fetchall()
    return [_past(request_of(row)) for row in rows]


def _past(request: Request) -> PastRequest:
    said = request.facts
    fields = {name: getattr(said, name) for name in said.__dataclass_fields__} if said else {}
    return PastRequest(
        request_id=request.id,
        facts=routing.Facts(kind=request.terms.kind, **({"rise": 0} | fields)),
        approvals=request.approvals_needed or 0,
        outcome=str(request.state),
    )


def policy_preview(
    organization_id: UUID, tried: routing.Policy, *, since: datetime
) -> list[Previewed]:
    """How requests since an instant would have gone under another policy; newest first."""
    return preview_policy(tried, past_requests(organization_id, since=since))


@dataclass(frozen=True, slots=True, kw_only=True)
class DelegationRow:
    """Who reviews in whose place, and when."""

    id: UUID
    person_id: UUID
    person: str
    delegate_id: UUID
    delegate: str
    starts_at: datetime
    ends_at: datetime


def delegations(
    organization_id: UUID, *, now: datetime, person_id: UUID | None = None
) -> list[DelegationRow]:
    """Delegations that run or are to come, the next first: of everyone, or those in which a person
    is either side."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT d.id, d.person_id, p.name, d.delegate_id, q.name, d.starts_at, d.ends_at "
            "FROM quota_delegation d JOIN tenancy_person p "
            "ON p.organization_id = d.organization_id AND p.id = d.person_id "
            "JOIN tenancy_person q ON q.organization_id = d.organization_id "
            "AND q.id = d.delegate_id WHERE d.organization_id = %b AND d.ends_at > %b "
            "AND (%b::uuid IS NULL OR %b::uuid IN (d.person_id, d.delegate_id)) "
            "ORDER BY d.starts_at, d.id LIMIT 500",
            (organization_id, now, person_id, person_id),
        ).fetchall()
    names = DelegationRow.__dataclass_fields__
    return [DelegationRow(**dict(zip(names, row, strict=True))) for row in rows]


def justification(
    organization_id: UUID, account_id: UUID, pool_id: UUID, *, at: datetime
) -> Request | None:
    """The approved justification that protects an account's guarantee at an instant, the one that
    lasts longest; None: there is none. What reclaim asks before it takes anything."""
    with server_cursor() as cursor:
        row = cursor.execute(
            f"SELECT {_SELECT} FROM quota_request r WHERE r.organization_id = %b "
            "AND r.account_id = %b AND r.pool_id = %b AND r.kind = 'justification' "
            "AND r.state IN ('provisioned', 'expired') AND r.provisioned_at <= %b "
            "AND r.ends_at > %b ORDER BY r.ends_at DESC LIMIT 1",
            (organization_id, account_id, pool_id, at, at),
        ).fetchone()
    return request_of(row) if row else None
