"""`/api/v1/accounts`: read the tree; open, rename, weigh, move and archive accounts."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from msgspec import UnsetType

from config.api import parameters
from config.api.json_bodies import JSON, given, has_body, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe, query
from ledger import scope
from ledger.errors import Invalid
from ledger.execution import Context, Outcome, execute
from tenancy import queries
from tenancy.api import examples, wire
from tenancy.api.reading import PAGING, TreeOperation, account_named, next_page
from tenancy.commands.accounts import (
    ArchiveAccount,
    MoveAccount,
    OpenAccount,
    RenameAccount,
    SetAccountShares,
)
from tenancy.queries import AccountRow

_KINDS = {"name": "name", "description": "name", "shares": "shares", "parent": "parent"}


class _AccountOperation(TreeOperation):
    def because(self, request: HttpRequest, caller, reason: str | UnsetType) -> Context:
        """The circumstances of a change, its reason among them where one is given."""
        return replace(self.context(request, caller), reason=reason or "")

    def respond_account(
        self, caller, account_id: UUID, outcome: Outcome, *, status: int = 200
    ) -> HttpResponse:
        """The account as it is now."""
        with scope.reading(caller.organization_id):
            row = queries.account(caller.organization_id, account_id)
        return self.respond(wire.account_out(row), status=status, replayed=outcome.replayed)


class AccountsOperation(_AccountOperation):
    """Read the tree; open an account."""

    parameters = frozenset({"parent", "archived", "cursor", "limit"})

    @describe(
        "listAccounts",
        tag="accounts",
        summary="Accounts by name",
        gives=wire.Accounts,
        parameters=(
            query("parent", "Only accounts right below this one."),
            query("archived", "`1`: archived ones too.", enum=["0", "1", "false", "true"]),
            *PAGING,
        ),
        problems=(404,),
        examples=(examples.ACCOUNTS,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """A page of the accounts that the caller may read."""
        caller = self.caller(request)
        here = caller.organization_id
        parent = parameters.text(request, "parent")
        archived = parameters.flag(request, "archived")
        after, limit = self.page(request)
        with scope.reading(here):
            if parent is None:
                under, parent_id = self.readable(caller), None
            else:
                under, parent_id = None, account_named(here, parent, field="parent").id
                self.authorize_reading(caller, parent_id)
            rows = queries.accounts(
                here,
                under=under,
                parent_id=parent_id,
                archived=archived,
                after_name=after,
                limit=limit + 1,
            )
        found = [wire.account_out(row) for row in rows[:limit]]
        return self.respond(wire.Accounts(found, next_page(request, rows, limit)))

    @describe(
        "openAccount",
        tag="accounts",
        summary="Open an account",
        takes={JSON: wire.NewAccount},
        gives=wire.Account,
        status=201,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.NEW_ACCOUNT,),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """Open an account under another. Needs the role operator there."""
        caller = self.caller(request)
        body = read_json(request, wire.NewAccount)
        with scope.reading(caller.organization_id):
            parent = account_named(caller.organization_id, body.parent, field="parent")
        command = OpenAccount(
            parent_id=parent.id,
            name=body.name,
            description=body.description,
            shares=wire.shares_in(body.shares),
        )
        outcome = execute(command, self.context(request, caller))
        answer = self.respond_account(caller, outcome.result.account_id, outcome, status=201)
        answer["Location"] = reverse("api-account", args=[body.name])
        return answer


class AccountOperation(_AccountOperation):
    """Read or change one account."""

    @describe(
        "readAccount",
        tag="accounts",
        summary="One account",
        gives=wire.Account,
        problems=(404,),
    )
    def get(self, request: HttpRequest, name: str) -> HttpResponse:
        """One account with its path and shares."""
        caller = self.caller(request)
        with scope.reading(caller.organization_id):
            row = account_named(caller.organization_id, name)
            self.authorize_reading(caller, row.id)
        return self.respond(wire.account_out(row))

    @describe(
        "changeAccount",
        tag="accounts",
        summary="Rename, weigh or move an account",
        takes={JSON: wire.AccountChange},
        gives=wire.Account,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.ACCOUNT_CHANGE,),
    )
    def patch(self, request: HttpRequest, name: str) -> HttpResponse:
        """One change a request, each an event of its own: `name` and `description`, or `shares`,
        or `parent`. History stays with the account. To move one needs the role on the root."""
        caller = self.caller(request)
        body = read_json(request, wire.AccountChange)
        with scope.reading(caller.organization_id):
            row = account_named(caller.organization_id, name)
            command = _change(row, body, caller.organization_id)
        outcome = execute(command, self.because(request, caller, body.reason))
        return self.respond_account(caller, row.id, outcome)


class ArchiveAccountOperation(_AccountOperation):
    """Archive one account."""

    @describe(
        "archiveAccount",
        tag="accounts",
        summary="Archive an account",
        takes={JSON: wire.AccountEnd},
        body_optional=True,
        gives=wire.Account,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
    )
    def post(self, request: HttpRequest, name: str) -> HttpResponse:
        """It takes nothing new; its use stays in its parent's. A body is optional."""
        caller = self.caller(request)
        said = read_json(request, wire.AccountEnd) if has_body(request) else wire.AccountEnd()
        with scope.reading(caller.organization_id):
            row = account_named(caller.organization_id, name)
        context = self.because(request, caller, said.reason)
        outcome = execute(ArchiveAccount(account_id=row.id), context)
        return self.respond_account(caller, row.id, outcome)


def _change(row: AccountRow, body: wire.AccountChange, organization_id: UUID) -> Any:
    """The command that a body asks for.

    Raises:
        Invalid: none, or more than one.
        NotFound: no such parent.
    """
    changes = given(body)
    changes.pop("reason", None)
    kinds = {_KINDS[name] for name in changes}
    if len(kinds) != 1:
        raise Invalid(
            "one_change",
            "Send one change: `name` and `description`, or `shares`, or `parent`.",
            field=next(iter(changes), ""),
        )
    if "parent" in kinds:
        parent = account_named(organization_id, changes["parent"], field="parent")
        return MoveAccount(account_id=row.id, to_parent_id=parent.id)
    if "shares" in kinds:
        return SetAccountShares(account_id=row.id, shares=wire.shares_in(changes["shares"]))
    return RenameAccount(
        account_id=row.id,
        name=changes.get("name", row.name),
        description=changes.get("description", row.description),
    )
