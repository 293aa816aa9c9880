"""Events of requests, their policy and delegations to rows.

A request's row is the fold of its events (`quota.domain.request_state.apply`): read, applied,
written back, for all requests of a run at once.
"""

from collections.abc import Iterable, Sequence
from uuid import UUID

import msgspec

from ledger.projection import ProjectedTable, Projector
from ledger.sql import server_cursor
from ledger.types import Event, RecordedEvent
from quota import request_events as ev
from quota.domain.request_state import Request, apply
from quota.loading.requests import COLUMNS, request_of

Run = Sequence[RecordedEvent]

_REQUEST = ProjectedTable(name="quota_request", key=("organization_id", "id"))
_DECISION = ProjectedTable(name="quota_requestdecision", key=("organization_id", "event_id"))
_COMMENT = ProjectedTable(name="quota_requestcomment", key=("organization_id", "id"))
_ATTACHMENT = ProjectedTable(name="quota_requestattachment", key=("organization_id", "id"))
_POLICY = ProjectedTable(name="quota_requestpolicy", key=("organization_id",))
_DELEGATION = ProjectedTable(name="quota_delegation", key=("organization_id", "id"))

_NAMES = ("organization_id", *COLUMNS)
_JSON = ("approvals", "counter", "facts")
_VALUES = ", ".join("%b::text::jsonb" if name in _JSON else "%b" for name in _NAMES)
_UPSERT = (
    f"INSERT INTO quota_request ({', '.join(_NAMES)}) "
    f"VALUES ({_VALUES}) ON CONFLICT (organization_id, id) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name in COLUMNS if name != "id")
)


def request_moved(run: Run) -> None:
    """Fold the events into the rows of their requests."""
    organization_id = run[0].organization_id
    known = _requests(organization_id, {event.data.request_id for event in run})
    for event in run:
        after = apply(known.get(event.data.request_id), event.data, event.occurred_at)
        if after is not None:
            known[event.data.request_id] = after
    with server_cursor() as cursor:
        for request in known.values():
            cursor.execute(_UPSERT, (organization_id, *_row(request)))


def _requests(organization_id: UUID, ids: Iterable[UUID]) -> dict[UUID, Request]:
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT {', '.join(COLUMNS)} FROM quota_request "
            "WHERE organization_id = %b AND id = ANY(%b)",
            (organization_id, list(ids)),
        ).fetchall()
    return {row[0]: request_of(row) for row in rows}


def _row(request: Request) -> tuple:
    values = []
    for name in COLUMNS:
        owner = request if hasattr(request, name) else request.terms
        value = getattr(owner, name)
        if name in _JSON:
            value = None if value is None else msgspec.json.encode(value).decode()
        elif isinstance(value, tuple):
            value = list(value)
        elif isinstance(value, str):
            value = str(value)
        values.append(value)
    return tuple(values)


_WORDS = {
    ev.RequestGranted: "granted",
    ev.RequestEndorsed: "endorsed",
    ev.RequestApproved: "approved",
    ev.RequestCountered: "countered",
    ev.RequestCounterAccepted: "counter_accepted",
    ev.RequestChangesRequested: "changes_requested",
    ev.RequestRejected: "rejected",
    ev.RequestWithdrawn: "withdrawn",
}


def request_decided(run: Run) -> None:
    """Who decided what, and why. A decision shows the units it was about: those of the request's
    row, which was projected before."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            person = getattr(data, "reviewer_id", getattr(data, "author_id", None))
            own = isinstance(data, ev.RequestCountered | ev.RequestCounterAccepted)
            reason = event.reason
            if isinstance(data, ev.RequestGranted):
                reason = " ".join(data.reasons)
            cursor.execute(
                "INSERT INTO quota_requestdecision (organization_id, event_id, request_id, "
                "account_id, pool_id, decision, person_id, on_behalf_of_id, units, ends_at, "
                "reason, decided_at) SELECT %b, %b, id, account_id, pool_id, %b, %b::uuid, "
                "%b::uuid, CASE WHEN %b THEN %b::bigint ELSE units END, "
                "CASE WHEN %b THEN %b::timestamptz ELSE ends_at END, %b, %b "
                "FROM quota_request WHERE organization_id = %b AND id = %b",
                (
                    event.organization_id,
                    event.id,
                    _WORDS[type(data)],
                    person,
                    getattr(data, "on_behalf_of_id", None),
                    own,
                    data.units if own else None,
                    own,
                    data.ends_at if own else None,
                    reason,
                    event.occurred_at,
                    event.organization_id,
                    data.request_id,
                ),
            )


def moved_and_decided(run: Run) -> None:
    """Step by step: a run may hold two decisions of one request."""
    for event in run:
        request_moved((event,))
        request_decided((event,))


def commented(run: Run) -> None:
    """Words in discussions."""
    request_moved(run)
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "INSERT INTO quota_requestcomment (organization_id, id, request_id, author_id, "
                "text, mentioned_ids, said_at) VALUES (%b, %b, %b, %b, %b, %b, %b)",
                (
                    event.organization_id,
                    data.comment_id,
                    data.request_id,
                    data.author_id,
                    data.text,
                    list(data.mentioned_ids),
                    event.occurred_at,
                ),
            )


def attached(run: Run) -> None:
    """Files, without their bytes."""
    request_moved(run)
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "INSERT INTO quota_requestattachment (organization_id, id, request_id, author_id, "
                "name, media_type, size, digest, attached_at) "
                "VALUES (%b, %b, %b, %b, %b, %b, %b, %b, %b)",
                (
                    event.organization_id,
                    data.attachment_id,
                    data.request_id,
                    data.author_id,
                    data.name,
                    data.media_type,
                    data.size,
                    data.digest,
                    event.occurred_at,
                ),
            )


_RULES = tuple(name for name in ev.RequestPolicySet.__dataclass_fields__ if name != "policy_id")


def policy_set(run: Run) -> None:
    """The policy that stands."""
    replaced = ", ".join(f"{name} = excluded.{name}" for name in (*_RULES, "set_at"))
    with server_cursor() as cursor:
        for event in run:
            cursor.execute(
                f"INSERT INTO quota_requestpolicy (organization_id, {', '.join(_RULES)}, set_at) "
                f"VALUES (%b, {', '.join(['%b'] * len(_RULES))}, %b) "
                f"ON CONFLICT (organization_id) DO UPDATE SET {replaced}",
                (
                    event.organization_id,
                    *(getattr(event.data, name) for name in _RULES),
                    event.occurred_at,
                ),
            )


def delegation_set(run: Run) -> None:
    """Who stands in for whom."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "INSERT INTO quota_delegation (organization_id, id, person_id, delegate_id, "
                "starts_at, ends_at) VALUES (%b, %b, %b, %b, %b, %b)",
                (
                    event.organization_id,
                    data.delegation_id,
                    data.person_id,
                    data.delegate_id,
                    data.starts_at,
                    data.ends_at,
                ),
            )


def delegation_ended(run: Run) -> None:
    """Those that ended early: from then on they hold no more."""
    with server_cursor() as cursor:
        for event in run:
            cursor.execute(
                "UPDATE quota_delegation SET ends_at = greatest(starts_at, %b) "
                "WHERE organization_id = %b AND id = %b",
                (event.occurred_at, event.organization_id, event.data.delegation_id),
            )


def _projector(event_type: type[Event], project, *tables: ProjectedTable) -> Projector:
    name = event_type.event_type
    return Projector(name=f"quota:{name}", project=project, types=frozenset({name}), tables=tables)


_MOVES = (
    ev.RequestDrafted,
    ev.RequestDiscarded,
    ev.RequestSubmitted,
    ev.RequestProvisioned,
    ev.RequestScheduled,
    ev.RequestReopened,
    ev.RequestExpired,
    ev.RequestLapsed,
    ev.RequestReclaimed,
    ev.RequestReminded,
    ev.RequestEscalated,
    ev.RequestPassedOn,
    ev.RequestApprovalVoided,
)

PROJECTORS = (
    *(_projector(event_type, request_moved, _REQUEST) for event_type in _MOVES),
    *(_projector(event_type, moved_and_decided, _REQUEST, _DECISION) for event_type in _WORDS),
    _projector(ev.RequestCommented, commented, _REQUEST, _COMMENT),
    _projector(ev.RequestAttached, attached, _REQUEST, _ATTACHMENT),
    _projector(ev.RequestPolicySet, policy_set, _POLICY),
    _projector(ev.DelegationSet, delegation_set, _DELEGATION),
    _projector(ev.DelegationEnded, delegation_ended, _DELEGATION),
)
