"""`/api/v1/notices`: what the caller was told, and what of it is read. For people: a machine has
no notices."""

from datetime import UTC, datetime
from typing import Annotated
from uuid import UUID

import msgspec
from django.http import HttpRequest, HttpResponse

from config.api import cursors, parameters
from config.api.json_bodies import JSON, read_json
from config.api.operation import Operation
from config.api.schema import answer_example, describe, paging, query, request_example
from ledger import scope
from ledger.errors import Denied, Invalid
from ledger.types import ActorKind
from notices import queries, reading_marks, registry

LIMIT_DEFAULT = 50
_ID = "0199a1f0-7d3c-7c11-9a52-3f0f4f1c2b9e"


class Notices(msgspec.Struct, kw_only=True):
    """Notices, newest first. `unread` counts all unread ones, up to 100; `next` is the address of
    the page with older ones."""

    notices: tuple[queries.NoticeRow, ...]
    unread: int
    next: str | None


class ReadNotices(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Which notices are read: some by id, or all up to one, that one included."""

    ids: Annotated[list[UUID], msgspec.Meta(max_length=reading_marks.MARKED_MAX)] = []
    up_to: UUID | None = None


class NoticesRead(msgspec.Struct, kw_only=True):
    """How many were unread before, and how many still are, up to 100."""

    marked: int
    unread: int


LISTED = answer_example(
    "One notice",
    {
        "notices": [
            {
                "id": _ID,
                "kind": "quota.ending",
                "title": "The temporary quota of nlp on h100 ends in 3 days",
                "body": "24 units are guaranteed until 13 Dec 2026, 18:00, 0 from then on.",
                "link": "/accounts/nlp/quota",
                "deadline": "2026-12-13T17:00:00Z",
                "made_at": "2026-12-10T17:00:00Z",
                "read_at": None,
            }
        ],
        "unread": 1,
        "next": None,
    },
)
SOME = request_example("One is read", {"ids": [_ID]})


class _NoticeOperation(Operation):
    def person(self, caller) -> UUID:
        """Whose notices these are.

        Raises:
            Denied: a machine asks.
        """
        if caller.actor.kind != ActorKind.PERSON:
            raise Denied("person_needed", "Notices are people's. A token has none.")
        return caller.actor.id


class NoticesOperation(_NoticeOperation):
    """Read one's own notices."""

    parameters = frozenset({"kind", "unread", "cursor", "limit"})

    @describe(
        "listNotices",
        tag="notices",
        summary="The caller's notices, newest first",
        gives=Notices,
        parameters=(
            query("kind", "Only of this kind, such as `quota.ending`."),
            query("unread", "`1`: only unread ones.", enum=["0", "1", "false", "true"]),
            *paging(queries.PAGE_MAX, LIMIT_DEFAULT, entries="Notices"),
        ),
        examples=(LISTED,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """What the person behind the session was told. `link` is a path on this site, `deadline`
        an instant until which something can be done."""
        caller = self.caller(request)
        person_id = self.person(caller)
        kind = parameters.text(request, "kind")
        if kind is not None and kind not in registry.KINDS:
            raise Invalid("value_unknown", "There is no such kind of notice.", field="kind")
        with scope.reading(caller.organization_id):
            page = queries.notices(
                caller.organization_id,
                person_id,
                kinds=(kind,) if kind else (),
                only_unread=parameters.flag(request, "unread"),
                before=cursors.read(request, UUID),
                limit=parameters.integer(
                    request, "limit", low=1, high=queries.PAGE_MAX, default=LIMIT_DEFAULT
                ),
            )
            unread = queries.unread(caller.organization_id, person_id)
        older = page.next_before and cursors.next_address(request, page.next_before)
        return self.respond(Notices(notices=page.rows, unread=unread, next=older))


class ReadNoticesOperation(_NoticeOperation):
    """Mark one's own notices read."""

    @describe(
        "readNotices",
        tag="notices",
        summary="Mark notices read",
        takes={JSON: ReadNotices},
        gives=NoticesRead,
        examples=(SOME,),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """Some by id, or all up to one. Ids that are not the caller's, or read already, change
        nothing; a repeat is harmless, so there is no idempotency key."""
        caller = self.caller(request)
        person_id = self.person(caller)
        body = read_json(request, ReadNotices)
        here, now = caller.organization_id, datetime.now(UTC)
        marked = reading_marks.mark_read(here, person_id, body.ids, now=now) if body.ids else 0
        if body.up_to:
            marked += reading_marks.mark_all_read(here, person_id, up_to=body.up_to, now=now)
        with scope.reading(here):
            unread = queries.unread(here, person_id)
        return self.respond(NoticesRead(marked=marked, unread=unread))
