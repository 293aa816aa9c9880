"""`/api/v1/people` and `/api/v1/accounts/{name}/people`: who works where, with which shares."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from config.api.json_bodies import JSON, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe
from ledger import scope
from ledger.execution import execute
from tenancy import queries
from tenancy.api import examples, wire
from tenancy.api.reading import (
    PAGING,
    TreeOperation,
    account_named,
    next_page,
    person_named,
)
from tenancy.commands.people import AddPerson, EndAssociation, SetAssociation


class PeopleOperation(TreeOperation):
    """Read the people; make somebody known."""

    parameters = frozenset({"cursor", "limit"})

    @describe(
        "listPeople",
        tag="people",
        summary="People by name",
        gives=wire.People,
        parameters=PAGING,
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """Everybody, or those who work under an account that the caller may read."""
        caller = self.caller(request)
        after, limit = self.page(request)
        with scope.reading(caller.organization_id):
            rows = queries.people(
                caller.organization_id,
                under=self.readable(caller),
                after_name=after,
                limit=limit + 1,
            )
        seen = self.may_see_addresses(caller)
        found = [wire.person_out(row, with_email=seen) for row in rows[:limit]]
        return self.respond(wire.People(found, next_page(request, rows, limit)))

    @describe(
        "addPerson",
        tag="people",
        summary="Make somebody known",
        takes={JSON: wire.NewPerson},
        gives=wire.Person,
        status=201,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(409,),
        examples=(examples.NEW_PERSON,),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """Somebody under the short name that schedulers use. Needs lead or operator on the root."""
        caller = self.caller(request)
        body = read_json(request, wire.NewPerson)
        command = AddPerson(name=body.name, display_name=body.display_name, email=body.email)
        outcome = execute(command, self.context(request, caller))
        with scope.reading(caller.organization_id):
            row = queries.person(caller.organization_id, outcome.result.person_id)
        return self.respond(
            wire.person_out(row, with_email=True), status=201, replayed=outcome.replayed
        )


class AccountPeopleOperation(TreeOperation):
    """Read the people of one account."""

    parameters = frozenset({"cursor", "limit"})

    @describe(
        "listAccountPeople",
        tag="people",
        summary="People under one account",
        gives=wire.AccountPeople,
        parameters=PAGING,
        problems=(404,),
        examples=(examples.ACCOUNT_PEOPLE,),
    )
    def get(self, request: HttpRequest, name: str) -> HttpResponse:
        """People right under an account with their shares there."""
        caller = self.caller(request)
        here = caller.organization_id
        after, limit = self.page(request)
        with scope.reading(here):
            account = account_named(here, name)
            self.authorize_reading(caller, account.id)
            rows = queries.people_of(here, account.id, after_name=after, limit=limit + 1)
        seen = self.may_see_addresses(caller)
        found = [wire.account_person_out(row, with_email=seen) for row in rows[:limit]]
        return self.respond(wire.AccountPeople(found, next_page(request, rows, limit)))


class AccountPersonOperation(TreeOperation):
    """Put a person under an account, or take them out."""

    @describe(
        "setAccountPerson",
        tag="people",
        summary="Put a person under an account, or change the shares there",
        takes={JSON: wire.AccountPersonShares},
        gives=wire.AccountPerson,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409),
        examples=(examples.SHARES,),
    )
    def put(self, request: HttpRequest, name: str, person: str) -> HttpResponse:
        """Set a person's fair-share shares under an account. Needs lead or operator there."""
        body = read_json(request, wire.AccountPersonShares)
        caller, account_id, row = self._find(request, name, person)
        shares = wire.shares_in(body.shares)
        command = SetAssociation(account_id=account_id, person_id=row.id, shares=shares)
        outcome = execute(command, self.context(request, caller))
        seen = self.may_see_addresses(caller)
        place = wire.account_person_out(row, with_email=seen)
        place.shares = body.shares
        return self.respond(place, replayed=outcome.replayed)

    @describe(
        "endAccountPerson",
        tag="people",
        summary="Take a person out of an account",
        gives=wire.Person,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409),
    )
    def delete(self, request: HttpRequest, name: str, person: str) -> HttpResponse:
        """What was used stays with the account. Needs lead or operator there."""
        caller, account_id, row = self._find(request, name, person)
        command = EndAssociation(account_id=account_id, person_id=row.id)
        outcome = execute(command, self.context(request, caller))
        seen = self.may_see_addresses(caller)
        return self.respond(wire.person_out(row, with_email=seen), replayed=outcome.replayed)

    def _find(self, request: HttpRequest, name: str, person: str) -> tuple[Any, Any, Any]:
        caller = self.caller(request)
        with scope.reading(caller.organization_id):
            account = account_named(caller.organization_id, name)
            # Before the person is looked up: who may not read here learns nothing of people.
            self.authorize_reading(caller, account.id)
            row = person_named(caller.organization_id, person)
        return caller, account.id, row
