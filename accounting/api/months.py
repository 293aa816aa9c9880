"""`/api/v1/months…`: how far each month's close is, what is odd before it, and the close itself."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse

from accounting import statement_month
from accounting import wire_money as wire
from accounting.api import money_examples as examples
from accounting.api.money_reading import PAGING, MoneyOperation, month_named, month_text
from accounting.commands.statements import ConfirmClose, StartClose
from accounting.domain import statements
from accounting.queries import statements as queries
from accounting.queries.statements import CloseRow
from config.api import cursors
from config.api.json_bodies import JSON, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe
from ledger import scope
from ledger.execution import execute
from quota.api.reading import fields_of
from tenancy import queries as tenancy
from tenancy.domain.roles import RATE_WRITE

_CLOSE = (
    *("state", "started_at", "started_by", "confirmed_by", "waits", "progress"),
    *("drawn_accounts", "accounts", "lines", "amount", "list_amount", "closed_at", "digest"),
)


class MonthsOperation(MoneyOperation):
    """List months."""

    parameters = frozenset({"cursor", "limit"})

    @describe(
        "listMonths",
        tag="money",
        summary="Months that are closed or closing, and whose turn it is",
        gives=wire.Months,
        parameters=PAGING,
        examples=(examples.MONTHS,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """The latest first. For whoever reads the root account."""
        caller = self.caller(request)
        here = caller.organization_id
        limit = self.limit(request)
        before = cursors.read(request, date)
        with scope.reading(here):
            self.authorize_reading(caller, None)
            organization = tenancy.organization(here)
            rows = queries.closes(here, before=before, limit=limit + 1)
            last = queries.closes(here, limit=1)
        today = datetime.now(UTC).astimezone(ZoneInfo(organization.time_zone)).date()
        following = None
        if len(rows) > limit:
            following = cursors.next_address(request, rows[limit - 1].month)
        return self.respond(
            wire.Months(
                currency=organization.currency,
                turn=month_text(queries.turn(last, this_month=today.replace(day=1))),
                months=[
                    wire.MonthFacts(month=f"{row.month:%Y-%m}", **fields_of(row, _CLOSE))
                    for row in rows[:limit]
                ],
                next=following,
            )
        )


class MonthOperation(MoneyOperation):
    """Read a month."""

    @describe(
        "readMonth",
        tag="money",
        summary="A month: its state, its progress, and what is odd about it",
        gives=wire.MonthChecked,
    )
    def get(self, request: HttpRequest, month: str) -> HttpResponse:
        """Findings are computed while the month is open and over; each is repaired, or accepted by
        its code. For whoever reads the root account."""
        caller = self.caller(request)
        with scope.reading(caller.organization_id):
            self.authorize_reading(caller, None)
            return self.respond(_checked(caller.organization_id, month_named(month)))


class CloseMonthOperation(MoneyOperation):
    """Begin the close of a month."""

    @describe(
        "closeMonth",
        tag="money",
        summary="Close a month for good",
        takes={JSON: wire.NewClose},
        gives=wire.MonthChecked,
        status=202,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(409, 422),
        examples=(examples.CLOSE,),
    )
    def post(self, request: HttpRequest, month: str) -> HttpResponse:
        """Its prices are final from here on; lines are drawn in the background, and
        `GET /api/v1/months/{month}` says how far. There is no way back. For finance on the root
        account; no token may do it."""
        caller = self.caller(request)
        self.require(caller, RATE_WRITE)
        body = read_json(request, wire.NewClose)
        first = month_named(month)
        command = StartClose(month=first, accept=tuple(body.accept))
        outcome = execute(command, self.change(request, caller, body))
        with scope.reading(caller.organization_id):
            found = _checked(caller.organization_id, first)
        return self.respond(found, status=202, replayed=outcome.replayed)


class ConfirmCloseOperation(MoneyOperation):
    """Confirm the close of a month."""

    @describe(
        "confirmClose",
        tag="money",
        summary="Agree to a close as a second person",
        takes={JSON: wire.Why},
        gives=wire.MonthChecked,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409),
    )
    def post(self, request: HttpRequest, month: str) -> HttpResponse:
        """Where the terms ask for two persons. Another one of finance on the root account than who
        began it; no token may do it."""
        caller = self.caller(request)
        self.require(caller, RATE_WRITE)
        body = read_json(request, wire.Why)
        first = month_named(month)
        outcome = execute(ConfirmClose(month=first), self.change(request, caller, body))
        with scope.reading(caller.organization_id):
            found = _checked(caller.organization_id, first)
        return self.respond(found, replayed=outcome.replayed)


def _checked(here, first: date) -> wire.MonthChecked:
    """A month as it is. Runs inside `scope.reading`."""
    now = datetime.now(UTC)
    organization = tenancy.organization(here)
    month = statements.month_of(first, ZoneInfo(organization.time_zone))
    row: CloseRow | None = queries.close(here, first)
    over = month.end <= now
    shared = {"month": month.name, "currency": organization.currency, "over": over}
    if row is not None:
        accepted = [wire.CheckFinding(code=code, detail="accepted") for code in row.accepted]
        return wire.MonthChecked(findings=accepted, **shared, **fields_of(row, _CLOSE))
    found = statement_month.findings(here, first, now=now) if over else []
    findings = [wire.CheckFinding(code=one.code, detail=one.detail) for one in found]
    return wire.MonthChecked(state="open", findings=findings, **shared)
