"""`GET /api/v1/ledger/events`: the history of the organization or of one thing in it."""

from collections.abc import Callable
from uuid import UUID

import msgspec
from django.http import HttpRequest, HttpResponse

from config.api import cursors, parameters
from config.api.operation import Operation
from config.api.schema import INSTANT, describe, paging, query
from ledger import queries, scope
from ledger.errors import Denied, Invalid, NotFound
from ledger.types import Actor, ActorKind

# This app sits below the one that defines permissions (tenancy.domain.roles); a test compares.
PERMISSION = "ledger:read"
MACHINE_SCOPE = "export:read"
LIMIT_DEFAULT = 50

Sees = Callable[[Actor, UUID, queries.EventRow], bool]
_sees: list[Sees] = []


def use_visibility(sees: Sees) -> None:
    """Install who sees an event without the right to read all of them: apps above know what an
    event is about. `config/wiring.py` calls it once."""
    _sees[:] = [sees]


class Events(msgspec.Struct):
    """Events, newest first. `next` is the address of the page with older ones."""

    events: tuple[queries.EventRow, ...]
    next: str | None


class _LedgerOperation(Operation):
    def may_read_all(self, caller) -> Denied | None:
        """None when the caller may read the whole ledger, else the refusal."""
        permission = MACHINE_SCOPE if caller.actor.kind == ActorKind.TOKEN else PERMISSION
        try:
            self.require(caller, permission)
        except Denied as refusal:
            if caller.actor.kind == ActorKind.TOKEN:
                raise
            return refusal
        return None

    def may_read_account(self, caller, account_id: UUID) -> bool:
        """Whether a role on this account, if it is one, lets the caller read its history."""
        try:
            self.require(caller, PERMISSION, account_id)
        except (Denied, NotFound):
            return False
        return True


class EventsOperation(_LedgerOperation):
    """Read the ledger, newest first."""

    parameters = frozenset({"subject", "type", "actor", "since", "until", "cursor", "limit"})

    @describe(
        "listEvents",
        tag="ledger",
        summary="The history of the organization, or of one thing in it",
        gives=Events,
        parameters=(
            query("subject", "Id of an account, person, pool, batch or token.", format="uuid"),
            query("type", "Only events of this type, such as `account.moved`."),
            query("actor", "Only what this person or token did; an id.", format="uuid"),
            query("since", "Recorded at or after.", **INSTANT),
            query("until", "Recorded before.", **INSTANT),
            *paging(queries.PAGE_MAX, LIMIT_DEFAULT, entries="Events"),
        ),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """A page of events; with `subject`, those that name an account, person, pool or batch."""
        caller = self.caller(request)
        subject_id = parameters.identifier(request, "subject")
        refusal = self.may_read_all(caller)
        if refusal and (subject_id is None or not self.may_read_account(caller, subject_id)):
            raise refusal
        wanted = parameters.text(request, "type")
        if wanted is not None and wanted not in queries.event_types():
            raise Invalid("event_type_unknown", f"There are no events {wanted}.", field="type")
        with scope.reading(caller.organization_id):
            page = queries.history(
                caller.organization_id,
                subject_id=subject_id,
                types=(wanted,) if wanted else (),
                actor_id=parameters.identifier(request, "actor"),
                since=parameters.instant(request, "since"),
                until=parameters.instant(request, "until"),
                before_position=cursors.read(request, int),
                limit=parameters.integer(
                    request, "limit", low=1, high=queries.PAGE_MAX, default=LIMIT_DEFAULT
                ),
            )
        following = page.next_before
        older = None if following is None else cursors.next_address(request, following)
        return self.respond(Events(page.rows, older))


class EventOperation(_LedgerOperation):
    """Read one event."""

    @describe(
        "readEvent",
        tag="ledger",
        summary="One event with its payload and its hash",
        gives=queries.EventRow,
        problems=(404,),
    )
    def get(self, request: HttpRequest, event_id: UUID) -> HttpResponse:
        """One event with its payload and its hash."""
        caller = self.caller(request)
        refusal = self.may_read_all(caller)
        with scope.reading(caller.organization_id):
            found = queries.event(caller.organization_id, event_id)
            if refusal is None or _sees[0](caller.actor, caller.organization_id, found):
                return self.respond(found)
        # As if it did not exist: who may not read it shall not learn that it does.
        raise NotFound("event_unknown", "There is no such event.", field="event")
