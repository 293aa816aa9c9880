"""`/api/v1/exports` and `/api/v1/export-schedules`: files of a month, made, watched, downloaded."""

from collections.abc import Collection
from datetime import UTC, date, datetime
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from accounting import wire_exports as wire
from accounting.api import exports_examples as examples
from accounting.commands.exports import RemoveExport, RequestExport, SetExportSchedule
from accounting.domain import money
from accounting.domain.exports import MEDIA_TYPES, Format, What
from accounting.exports import download, making
from accounting.exports.focus import columns
from accounting.exports.starting import start
from accounting.queries import exports as queries
from accounting.queries.exports import ExportRow, ScheduleRow
from config.api import cursors, parameters
from config.api.json_bodies import JSON, read_json
from config.api.operation import Operation
from config.api.schema import IDEMPOTENCY_KEY, describe, paging
from ledger import scope
from ledger.errors import Denied, NotFound
from ledger.execution import execute
from ledger.types import ActorKind
from tenancy import policy
from tenancy import queries as tenancy
from tenancy.api.reading import account_named
from tenancy.domain.roles import RATE_WRITE, Scope, granting

LIMIT_DEFAULT = 50
RETRY_SECONDS = "5"


class ExportOperation(Operation):
    """What operations on exports share. Helpers run inside `scope.reading`."""

    def authorize(self, caller, account_id: UUID | None) -> None:
        """Machines by `export:read`, people by a role on the account (None: on the root). A token
        that is bound to pools gets no file, for those are of all pools.

        Raises:
            Denied: naming what is missing.
        """
        policy.authorize(caller.actor, Scope.EXPORT_READ, account_id, caller.organization_id)
        if caller.actor.pool_ids is not None:
            raise Denied("pool_denied", "This token is bound to pools; exports are of all pools.")

    def under(self, caller) -> Collection[UUID] | None:
        """The topmost accounts that the caller may export; None: all.

        Raises:
            Denied: none.
        """
        if caller.actor.kind != ActorKind.PERSON:
            self.authorize(caller, None)
            return None
        return exporting(caller.actor, caller.organization_id)

    def one(self, caller, export_id: UUID) -> ExportRow:
        """An export that the caller may see.

        Raises:
            NotFound: `export_unknown`: also where it is none of the caller's business.
        """
        row = queries.export(caller.organization_id, export_id)
        try:
            self.authorize(caller, row.account_id)
        except (Denied, NotFound):
            if caller.actor.kind != ActorKind.PERSON:
                raise
            raise NotFound("export_unknown", "There is no such export.", field="export") from None
        return row


def exporting(actor, organization_id: UUID) -> tuple[UUID, ...]:
    """The topmost accounts that a person may export.

    Raises:
        Denied: `role_missing`: none.
    """
    found = policy.accounts_with(actor, Scope.EXPORT_READ, organization_id)
    if not found:
        roles = list(granting(Scope.EXPORT_READ))
        raise Denied(
            "role_missing",
            f"Exports are for people with one of the roles {', '.join(roles)} on an account.",
            facts={"permission": Scope.EXPORT_READ, "roles": roles},
        )
    return found


class ExportsOperation(ExportOperation):
    """List exports, or ask for one."""

    parameters = frozenset({"cursor", "limit"})

    @describe(
        "listExports",
        tag="exports",
        summary="Exports that were asked for, the newest first",
        gives=wire.Exports,
        parameters=paging(queries.PAGE_MAX - 1, LIMIT_DEFAULT),
        examples=(examples.MANY,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """Of the accounts that the caller may export. Deleted ones are in the ledger only."""
        caller = self.caller(request)
        limit = parameters.integer(
            request, "limit", low=1, high=queries.PAGE_MAX - 1, default=LIMIT_DEFAULT
        )
        place = cursors.read(request, tuple[datetime, UUID])
        with scope.reading(caller.organization_id):
            found = queries.exports(
                caller.organization_id,
                under=self.under(caller),
                before=place,
                limit=limit + 1,
            )
            places = _places(caller.organization_id)
        rows = found[:limit]
        more = None
        if len(found) > limit:
            more = cursors.next_address(request, (rows[-1].requested_at, rows[-1].id))
        return self.respond(wire.Exports([_answer(row, places) for row in rows], more))

    @describe(
        "requestExport",
        tag="exports",
        summary="Export a month of an account and all below it",
        takes={JSON: wire.NewExport},
        gives=wire.Export,
        status=201,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.NEW,),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """Small ones are `ready` in the answer; others are `requested` and made by a worker: look
        at the address in `Location` again after `Retry-After` seconds. A month that is closed
        gives the same bytes whenever it is exported."""
        caller = self.caller(request)
        body = read_json(request, wire.NewExport)
        here = caller.organization_id
        with scope.reading(here):
            if body.account is None:
                account_id = tenancy.organization(here).root_account_id
            else:
                account_id = account_named(here, body.account).id
            self.authorize(caller, account_id)
            places = _places(here)
        command = RequestExport(
            account_id=account_id,
            month=date.fromisoformat(f"{body.month}-01"),
            what=body.what,
            format=body.format,
            focus_version=body.focus_version or "",
        )
        outcome = execute(command, self.context(request, caller))
        row = start(here, outcome.result.export_id, now=datetime.now(UTC))
        response = self.respond(_answer(row, places), status=201, replayed=outcome.replayed)
        response["Location"] = f"{request.path}/{row.id}"
        return _told(response, row)


class OneExportOperation(ExportOperation):
    """Look at an export, or delete it."""

    @describe(
        "readExport",
        tag="exports",
        summary="An export and how far it is",
        gives=wire.Export,
        problems=(404,),
        examples=(examples.ONE,),
    )
    def get(self, request: HttpRequest, export_id: UUID) -> HttpResponse:
        """While it is `requested`, `Retry-After` says when to look again."""
        caller = self.caller(request)
        with scope.reading(caller.organization_id):
            row = self.one(caller, export_id)
            places = _places(caller.organization_id)
        return _told(self.respond(_answer(row, places)), row)

    @describe(
        "deleteExport",
        tag="exports",
        summary="Delete an export's file, or stop what waits",
        gives=wire.Export,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409),
    )
    def delete(self, request: HttpRequest, export_id: UUID) -> HttpResponse:
        """For whoever may export the account. That it was there stays in the ledger."""
        caller = self.caller(request)
        with scope.reading(caller.organization_id):
            row = self.one(caller, export_id)
            places = _places(caller.organization_id)
        command = RemoveExport(export_id=row.id, account_id=row.account_id)
        outcome = execute(command, self.context(request, caller))
        making.remove_file(caller.organization_id, row)
        with scope.reading(caller.organization_id):
            row = queries.export(caller.organization_id, export_id)
        return self.respond(_answer(row, places), replayed=outcome.replayed)


class ExportFileOperation(ExportOperation):
    """Download the file of an export."""

    offers = (*(one.split(";")[0] for one in MEDIA_TYPES.values()), "application/octet-stream")

    @describe(
        "downloadExport",
        tag="exports",
        summary="The file of an export, or a part of it",
        gives=bytes,
        also_gives={one.split(";")[0]: "The file." for one in MEDIA_TYPES.values() if one != JSON},
        problems=(404,),
    )
    def get(self, request: HttpRequest, export_id: UUID) -> HttpResponseBase:
        """With `ETag` and `Repr-Digest`. `Range: bytes=<first>-` goes on where a download was cut
        off (206, or 416 behind the end); with `If-Range: <ETag>` only in the same file."""
        caller = self.caller(request)
        with scope.reading(caller.organization_id):
            row = self.one(caller, export_id)
        return download.answer(request, caller.organization_id, row, now=datetime.now(UTC))


class ExportSchemaOperation(ExportOperation):
    """The metadata of a file of FOCUS."""

    @describe(
        "readExportSchema",
        tag="exports",
        summary="The schema that lies beside a file of FOCUS",
        gives=wire.FocusSchema,
        problems=(404,),
    )
    def get(self, request: HttpRequest, export_id: UUID) -> HttpResponse:
        """As the specification's metadata has it; another `SchemaId` whenever columns change."""
        caller = self.caller(request)
        with scope.reading(caller.organization_id):
            row = self.one(caller, export_id)
        if row.what != What.FOCUS:
            raise NotFound("export_unknown", "Only files of FOCUS have a schema.", field="export")
        return self.respond(columns.schema(row.focus_version))


class ExportSchedulesOperation(ExportOperation):
    """List schedules."""

    @describe(
        "listExportSchedules",
        tag="exports",
        summary="What is exported whenever a month is closed",
        gives=wire.Schedules,
        examples=(examples.SCHEDULES,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """Of the accounts that the caller may export."""
        caller = self.caller(request)
        with scope.reading(caller.organization_id):
            rows = queries.schedules(caller.organization_id, under=self.under(caller))
        return self.respond(wire.Schedules([_schedule(row) for row in rows]))


class ExportScheduleOperation(ExportOperation):
    """Set the schedule of an account."""

    @describe(
        "setExportSchedule",
        tag="exports",
        summary="Say what is exported of an account whenever a month is closed",
        takes={JSON: wire.NewSchedule},
        gives=wire.Schedule,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409),
        examples=(examples.NEW_SCHEDULE, examples.SCHEDULE),
    )
    def put(self, request: HttpRequest, name: str) -> HttpResponse:
        """Holds for months that are closed from now on, and replaces what was set before; no files
        end it. For people with the role finance on the account; no token may do it."""
        caller = self.caller(request)
        here = caller.organization_id
        body = read_json(request, wire.NewSchedule)
        with scope.reading(here):
            account = account_named(here, name)
            policy.authorize(caller.actor, RATE_WRITE, account.id, here)
        command = SetExportSchedule(
            account_id=account.id,
            files=tuple((one.what, one.format) for one in body.files),
            store=body.store,
            notify=body.notify,
        )
        outcome = execute(command, self.context(request, caller))
        with scope.reading(here):
            rows = queries.schedules(here, under=(account.id,))
        found = next((row for row in rows if row.account_id == account.id), None)
        none = wire.Schedule(
            account=account.name, files=[], store=False, notify=False, set_at=None, set_by=None
        )
        return self.respond(none if found is None else _schedule(found), replayed=outcome.replayed)


def _answer(row: ExportRow, places: int) -> wire.Export:
    state = row.state_at(datetime.now(UTC))
    ready = state == "ready"
    waiting = state == "requested"
    return wire.Export(
        id=row.id,
        account=row.account,
        month=f"{row.month:%Y-%m}",
        what=row.what.value,
        format=Format(row.format).value,
        focus_version=row.focus_version or None,
        state=state,
        month_state=row.month_state,
        progress=making.progress(row.id).share if waiting else float(ready),
        scheduled=row.scheduled,
        requested_at=row.requested_at,
        requested_by=row.requested_by,
        finished_at=row.finished_at,
        expires_at=row.expires_at,
        rows=row.rows,
        size=row.size,
        sha256=row.digest,
        total=None if row.total is None else f"{row.total:.{places}f}",
        problem=row.problem,
        problem_detail=row.problem_detail,
        file=f"/api/v1/exports/{row.id}/file" if ready else None,
    )


def _schedule(row: ScheduleRow) -> wire.Schedule:
    return wire.Schedule(
        account=row.account,
        files=[wire.ScheduledFile(what=what, format=format_) for what, format_ in row.files],
        store=row.store,
        notify=row.notify,
        set_at=row.set_at,
        set_by=row.set_by,
    )


def _told(response: HttpResponse, row: ExportRow) -> HttpResponse:
    if row.state == "requested":
        response["Retry-After"] = RETRY_SECONDS
    return response


def _places(organization_id: UUID) -> int:
    return money.minor_places(tenancy.organization(organization_id).currency)
