"""`/api/v1/statement-terms`, `/credits`, `/commitments`: what finance grants, agrees and sets."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse

from accounting import wire_money as wire
from accounting.api import money_examples as examples
from accounting.api.money_reading import (
    MONTH,
    PAGING,
    MoneyOperation,
    month_named,
    month_or_none,
    month_text,
)
from accounting.commands.statements import (
    AgreeCommitment,
    EndCommitment,
    GrantCredit,
    MonthRef,
    SetStatementTerms,
)
from accounting.queries import grants
from accounting.queries import statements as queries
from accounting.queries.grants import GrantRow
from accounting.queries.showback import facts, names_of
from accounting.queries.statements import plain
from config.api import cursors, parameters
from config.api.json_bodies import JSON, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe
from ledger import scope
from ledger.errors import Invalid
from ledger.execution import Outcome, execute
from tenancy import queries as tenancy
from tenancy.api.reading import account_named
from tenancy.domain.roles import RATE_WRITE


class _ChargingOperation(MoneyOperation):
    def grants(self, request: HttpRequest, listing: Any) -> tuple[list[GrantRow], str | None, Any]:
        """A page of credits or commitments, the address of the next, and names. For finance, and
        for machines that export."""
        caller = self.caller(request)
        limit = self.limit(request)
        place = cursors.read(request, list[str], length=2)
        before = None if place is None else _place(place)
        with scope.reading(caller.organization_id):
            self.authorize_reading(caller, None)
            rows = listing(caller.organization_id, before=before, limit=limit + 1)
            names = names_of(caller.organization_id)
            places = facts(caller.organization_id).places
        rows = [
            replace(row, amount=plain(row.amount, places), ending=plain(row.ending, places))
            for row in rows
        ]
        following = None
        if len(rows) > limit:
            last = rows[limit - 1]
            following = cursors.next_address(request, [last.month, last.id])
        return rows[:limit], following, names

    def account_id(self, caller, name: str) -> UUID:
        """An account that a body names."""
        with scope.reading(caller.organization_id):
            return account_named(caller.organization_id, name).id

    def made(self, outcome: Outcome, *, status: int = 201) -> HttpResponse:
        """What a command made."""
        ref: MonthRef = outcome.result
        return self.respond(
            wire.Made(id=ref.id, month=f"{ref.month:%Y-%m}"),
            status=status,
            replayed=outcome.replayed,
        )


def _place(place: list[str]) -> tuple[date, UUID]:
    try:
        return date.fromisoformat(place[0]), UUID(place[1])
    except ValueError:
        raise Invalid(
            "parameter_invalid", "`cursor` is no cursor of ours.", field="cursor"
        ) from None


class StatementTermsOperation(_ChargingOperation):
    """Read or set the terms of statements."""

    parameters = frozenset({"month"})

    @describe(
        "readStatementTerms",
        tag="money",
        summary="What idle time costs, lending gives back and good use earns",
        gives=wire.StatementTerms,
        parameters=(MONTH,),
        examples=(examples.TERMS,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """The terms of a month's statements. For whoever may read some account."""
        caller = self.caller(request)
        here = caller.organization_id
        wanted = month_or_none(parameters.text(request, "month"), field="month")
        with scope.reading(here):
            self.readable(caller)
            zone = ZoneInfo(tenancy.organization(here).time_zone)
            month = wanted or datetime.now(UTC).astimezone(zone).date().replace(day=1)
            row = queries.terms_of(here, month)
        return self.respond(
            wire.StatementTerms(
                from_month=month_text(row.from_month),
                idle_share=row.terms.idle_share,
                lending_share=row.terms.lending_share,
                ladder=[
                    wire.LadderStep(above=above, rate=rate) for above, rate in row.terms.ladder
                ],
                two_persons=row.two_persons,
            )
        )

    @describe(
        "setStatementTerms",
        tag="money",
        summary="Set the terms of a month that is not over, and of later ones",
        takes={JSON: wire.NewTerms},
        gives=wire.Made,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(409, 422),
        examples=(examples.NEW_TERMS,),
    )
    def put(self, request: HttpRequest) -> HttpResponse:
        """They replace the ones before as a whole. For finance on the root account; no token may do
        it."""
        caller = self.caller(request)
        self.require(caller, RATE_WRITE)
        body = read_json(request, wire.NewTerms)
        command = SetStatementTerms(
            from_month=month_named(body.from_month, field="from_month"),
            idle_share=body.idle_share,
            lending_share=body.lending_share,
            ladder=tuple((step.above, step.rate) for step in body.ladder),
            two_persons=body.two_persons,
        )
        return self.made(execute(command, self.change(request, caller, body)), status=200)


class CreditsOperation(_ChargingOperation):
    """List credits; grant one."""

    parameters = frozenset({"cursor", "limit"})

    @describe(
        "listCredits",
        tag="money",
        summary="Credits, the latest first",
        gives=wire.Credits,
        parameters=PAGING,
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """For whoever reads the root account."""
        rows, following, names = self.grants(request, grants.credit_rows)
        return self.respond(
            wire.Credits(credits=[_credit(row, names) for row in rows], next=following)
        )

    @describe(
        "grantCredit",
        tag="money",
        summary="Give an amount back to an account",
        takes={JSON: wire.NewCredit},
        gives=wire.Made,
        status=201,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.NEW_CREDIT,),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """In a month that is open; the reason is on the statement. For finance on the root account;
        no token may do it."""
        caller = self.caller(request)
        self.require(caller, RATE_WRITE)
        body = read_json(request, wire.NewCredit)
        command = GrantCredit(
            account_id=self.account_id(caller, body.account),
            amount=body.amount,
            month=month_or_none(body.month, field="month"),
            about=month_or_none(body.about, field="about"),
        )
        return self.made(execute(command, self.change(request, caller, body)))


class CommitmentsOperation(_ChargingOperation):
    """List commitments; agree one."""

    parameters = frozenset({"cursor", "limit"})

    @describe(
        "listCommitments",
        tag="money",
        summary="Commitments, the latest first",
        gives=wire.Commitments,
        parameters=PAGING,
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """For whoever reads the root account."""
        rows, following, names = self.grants(request, grants.commitment_rows)
        return self.respond(
            wire.Commitments(commitments=[_commitment(row, names) for row in rows], next=following)
        )

    @describe(
        "agreeCommitment",
        tag="money",
        summary="An account is charged at least an amount each month",
        takes={JSON: wire.NewCommitment},
        gives=wire.Made,
        status=201,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.NEW_COMMITMENT,),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """With all below it, from a month that is not over. For finance on the root account; no
        token may do it."""
        caller = self.caller(request)
        self.require(caller, RATE_WRITE)
        body = read_json(request, wire.NewCommitment)
        command = AgreeCommitment(
            account_id=self.account_id(caller, body.account),
            amount=body.amount,
            from_month=month_named(body.from_month, field="from_month"),
            until_month=month_or_none(body.until_month, field="until_month"),
        )
        return self.made(execute(command, self.change(request, caller, body)))


class EndCommitmentOperation(_ChargingOperation):
    """End a commitment early."""

    @describe(
        "endCommitment",
        tag="money",
        summary="End a commitment before it was to end",
        takes={JSON: wire.EndedCommitment},
        gives=wire.Made,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.END_COMMITMENT,),
    )
    def post(self, request: HttpRequest, commitment_id: UUID) -> HttpResponse:
        """Through the last month, one that is not over, it is charged as agreed, and later not at
        all; `charge` is added to the last month once. For finance on the root account; no token may
        do it."""
        caller = self.caller(request)
        self.require(caller, RATE_WRITE)
        body = read_json(request, wire.EndedCommitment)
        command = EndCommitment(
            commitment_id=commitment_id,
            last_month=month_named(body.last_month, field="last_month"),
            charge=body.charge,
        )
        return self.made(execute(command, self.change(request, caller, body)), status=200)


def _credit(row: GrantRow, names: Mapping[Any, str]) -> wire.Credit:
    return wire.Credit(
        id=row.id,
        account=names[row.account_id],
        month=f"{row.month:%Y-%m}",
        about=month_text(row.about),
        amount=row.amount,
        reason=row.reason,
    )


def _commitment(row: GrantRow, names: Mapping[Any, str]) -> wire.Commitment:
    return wire.Commitment(
        id=row.id,
        account=names[row.account_id],
        from_month=f"{row.month:%Y-%m}",
        until_month=month_text(row.about),
        amount=row.amount,
        ending_charge=row.ending,
    )
