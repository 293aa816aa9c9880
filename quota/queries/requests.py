"""Reads of requests: lists, the inbox, one with its whole story. Runs inside `scope.reading`;
whose business a request is, the caller asks with `may_see` and `tenancy.policy`."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from ledger import queries as ledger
from ledger import registry
from ledger.errors import NotFound
from ledger.queries import EventRow
from ledger.sql import server_cursor
from ledger.types import Actor
from quota.domain.request_state import Request, fold
from quota.domain.requests import OPEN, State
from quota.loading import requests as loading
from quota.loading.allocations import pool_names
from quota.loading.requests import COLUMNS, request_of
from quota.queries.request_decisions import DecisionRow, decisions_of
from tenancy import policy as tenancy_policy
from tenancy import queries as tenancy
from tenancy.domain.roles import READ

LIST_MAX: Final = 200
SELECT = ", ".join(f"r.{name}" for name in COLUMNS)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRow:
    """A request with the names that its ids have. `state` is judged at the instant of reading."""

    request: Request
    state: str
    account: str
    pool: str
    requester: str
    to_account: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPage:
    """Requests, newest first. `next_before` continues; None at the end."""

    rows: tuple[RequestRow, ...]
    next_before: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentRow:
    """A word in the discussion."""

    id: UUID
    author_id: UUID
    author: str
    text: str
    mentioned: tuple[str, ...]
    said_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentRow:
    """A file, without its bytes."""

    id: UUID
    author: str
    name: str
    media_type: str
    size: int
    digest: str
    attached_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestDetail:
    """One request and its story.

    Attributes:
        timeline: all its events, oldest first, as the ledger has them.
        names: of every person and account that the timeline names, and of who acted.
    """

    row: RequestRow
    comments: tuple[CommentRow, ...]
    attachments: tuple[AttachmentRow, ...]
    decisions: tuple[DecisionRow, ...]
    timeline: tuple[EventRow, ...]
    names: dict[UUID, str]


def requests(
    organization_id: UUID,
    *,
    now: datetime,
    account_ids: Collection[UUID] | None = None,
    below: bool = False,
    pool_id: UUID | None = None,
    requester_id: UUID | None = None,
    kinds: Collection[str] = (),
    states: Collection[str] = (),
    drafts_of: UUID | None = None,
    exclude_id: UUID | None = None,
    before: UUID | None = None,
    limit: int = 50,
) -> RequestPage:
    """Requests, newest first.

    Args:
        account_ids: of these accounts (with `below`, and those below them); None: of all.
        states: as judged now: `expired` includes what ended and no task has recorded yet.
        drafts_of: whose drafts are among them; nobody else's ever are.
        before: `next_before` of the page before.
    """
    limit = max(1, min(limit, LIST_MAX))
    kept, values = _conditions(
        now=now,
        account_ids=account_ids,
        below=below,
        pool_id=pool_id,
        requester_id=requester_id,
        kinds=kinds,
        states=states,
        exclude_id=exclude_id,
        before=before,
    )
    with server_cursor() as cursor:
        found = cursor.execute(
            f"SELECT {SELECT} FROM quota_request r WHERE r.organization_id = %b "
            "AND (r.state NOT IN ('draft', 'discarded') OR r.requester_id = %b::uuid) "
            f"{kept} ORDER BY r.id DESC LIMIT %b",
            (organization_id, drafts_of, *values, limit + 1),
        ).fetchall()
    rows = named_rows(organization_id, [request_of(row) for row in found[:limit]], now=now)
    return RequestPage(rows=rows, next_before=found[limit - 1][0] if len(found) > limit else None)


def _conditions(
    *,
    now: datetime,
    account_ids: Collection[UUID] | None,
    below: bool,
    pool_id: UUID | None,
    requester_id: UUID | None,
    kinds: Collection[str],
    states: Collection[str],
    exclude_id: UUID | None,
    before: UUID | None,
) -> tuple[str, tuple]:
    of_accounts = "r.account_id = ANY(%b::uuid[])"
    if below:
        of_accounts = (
            "r.account_id IN (SELECT a.id FROM tenancy_account a "
            "WHERE a.organization_id = r.organization_id AND a.ancestors && %b::uuid[])"
        )
    judged = (
        "CASE WHEN r.state = 'provisioned' AND r.ends_at <= %b THEN 'expired' ELSE r.state END "
        "= ANY(%b)"
    )
    given: list[tuple[str, tuple]] = []
    if account_ids is not None:
        given.append((of_accounts, (list(account_ids),)))
    if states:
        given.append((judged, (now, [str(state) for state in states])))
    if kinds:
        given.append(("r.kind = ANY(%b)", ([str(kind) for kind in kinds],)))
    for sql, value in (
        ("r.pool_id = %b", pool_id),
        ("r.requester_id = %b", requester_id),
        ("r.id <> %b", exclude_id),
        ("r.id < %b", before),
    ):
        if value is not None:
            given.append((sql, (value,)))
    return (
        "".join(f" AND {sql}" for sql, _ in given),
        tuple(value for _, values in given for value in values),
    )


def request_row(organization_id: UUID, request_id: UUID, *, now: datetime) -> RequestRow:
    """One request.

    Raises:
        NotFound: there is none, or not in this organization.
    """
    return named_rows(organization_id, [loading.request(organization_id, request_id)], now=now)[0]


def may_see(actor: Actor, request: Request, organization_id: UUID, *, now: datetime) -> bool:
    """Whether a request is somebody's business: a draft is its author's alone; anything else is
    seen by authors, by whoever sees the account, and by whoever reviews it or stands in."""
    if request.state in (State.DRAFT, State.DISCARDED):
        return actor.id == request.requester_id
    if actor.id in request.author_ids:
        return True
    if tenancy_policy.may(actor, READ, request.account_id, organization_id):
        return True
    board = loading.board(organization_id, request.account_id, (), now=now)
    return any(
        one.delegate_id == actor.id and one.person_id in board.reviewers()
        for one in board.delegations
    )


def detail(
    organization_id: UUID, request_id: UUID, *, now: datetime, as_of: datetime | None = None
) -> RequestDetail:
    """One request with everything that was said and done, now or as of an instant.

    Raises:
        NotFound: there is none; or it did not exist at that instant.
    """
    at = as_of or now
    current = loading.request(organization_id, request_id)
    timeline = [row for row in _timeline(organization_id, current) if row.occurred_at <= at]
    request: Request | None = current
    if as_of is not None:
        request = fold((_typed(row), row.occurred_at) for row in timeline)
        if request is None:
            raise NotFound("request_unknown", "There was no such request then.", field="request")
    subjects = {subject for row in timeline for subject in row.subjects}
    subjects |= {row.actor_id for row in timeline if row.actor_id is not None}
    names = tenancy.names_of(organization_id, accounts=subjects, people=subjects)
    return RequestDetail(
        row=named_rows(organization_id, [request], now=at)[0],
        comments=tuple(row for row in comments(organization_id, request_id) if row.said_at <= at),
        attachments=tuple(
            row for row in attachments(organization_id, request_id) if row.attached_at <= at
        ),
        decisions=tuple(
            row for row in decisions_of(organization_id, request_id) if row.decided_at <= at
        ),
        timeline=tuple(timeline),
        names=names,
    )


def _timeline(organization_id: UUID, request: Request) -> list[EventRow]:
    rows: list[EventRow] = []
    before = None
    while True:
        page = ledger.history(
            organization_id,
            stream=request.stream,
            before_position=before,
            limit=ledger.PAGE_MAX,
        )
        rows += page.rows
        before = page.next_before
        if before is None:
            return rows[::-1]


def _typed(row: EventRow):
    return registry.from_payload(row.type, row.schema_version, row.payload)


def comments(organization_id: UUID, request_id: UUID) -> list[CommentRow]:
    """The discussion, oldest first."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT c.id, c.author_id, p.name, c.text, "
            "ARRAY(SELECT m.name FROM tenancy_person m WHERE m.organization_id = %b "
            "  AND m.id = ANY(c.mentioned_ids) ORDER BY m.name), c.said_at "
            "FROM quota_requestcomment c JOIN tenancy_person p "
            "ON p.organization_id = c.organization_id AND p.id = c.author_id "
            "WHERE c.organization_id = %b AND c.request_id = %b ORDER BY c.id",
            (organization_id, organization_id, request_id),
        ).fetchall()
    return [
        CommentRow(
            id=row[0],
            author_id=row[1],
            author=row[2],
            text=row[3],
            mentioned=tuple(row[4]),
            said_at=row[5],
        )
        for row in rows
    ]


def attachments(organization_id: UUID, request_id: UUID) -> list[AttachmentRow]:
    """The files, oldest first."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT f.id, p.name, f.name, f.media_type, f.size, f.digest, f.attached_at "
            "FROM quota_requestattachment f JOIN tenancy_person p "
            "ON p.organization_id = f.organization_id AND p.id = f.author_id "
            "WHERE f.organization_id = %b AND f.request_id = %b ORDER BY f.id",
            (organization_id, request_id),
        ).fetchall()
    names = AttachmentRow.__dataclass_fields__
    return [AttachmentRow(**dict(zip(names, row, strict=True))) for row in rows]


def attachment_content(
    organization_id: UUID, request_id: UUID, attachment_id: UUID
) -> tuple[AttachmentRow, bytes]:
    """A file of a request with its bytes. Serve it as a download, never inline.

    Raises:
        NotFound: there is none.
    """
    for row in attachments(organization_id, request_id):
        if row.id == attachment_id:
            with server_cursor() as cursor:
                content = cursor.execute(
                    "SELECT content FROM quota_attachmentcontent "
                    "WHERE organization_id = %b AND digest = %b",
                    (organization_id, row.digest),
                ).fetchone()
            return row, bytes(content[0])
    raise NotFound("attachment_unknown", "There is no such file.", field="attachment")


def named_rows(
    organization_id: UUID, found: Sequence[Request], *, now: datetime
) -> tuple[RequestRow, ...]:
    """Requests with names, in one question."""
    if not found:
        return ()
    accounts = {one.account_id for one in found} | {one.terms.to_account_id for one in found}
    people = {one.requester_id for one in found}
    names = tenancy.names_of(organization_id, accounts=accounts - {None}, people=people)
    pools = pool_names(organization_id, {one.pool_id for one in found})
    return tuple(
        RequestRow(
            request=one,
            state=str(one.state_at(now)),
            account=names.get(one.account_id, "?"),
            pool=pools.get(one.pool_id, "?"),
            requester=names.get(one.requester_id, "?"),
            to_account=names.get(one.terms.to_account_id) if one.terms.to_account_id else None,
        )
        for one in found
    )


def open_count(organization_id: UUID, account_ids: Collection[UUID]) -> int:
    """Open requests of accounts, for a badge."""
    with server_cursor() as cursor:
        return cursor.execute(
            "SELECT count(*) FROM quota_request WHERE organization_id = %b "
            "AND account_id = ANY(%b) AND state = ANY(%b)",
            (organization_id, list(account_ids), sorted(OPEN)),
        ).fetchone()[0]
