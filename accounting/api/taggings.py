"""`/api/v1/usage/taggings…`: tags for past use, tried, saved, listed and taken back."""

from datetime import UTC, datetime
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from accounting import wire_taggings as wire
from accounting.api import money_examples as examples
from accounting.api.money_reading import ACCOUNT, PAGING, MoneyOperation
from accounting.commands.taggings import (
    AssignUsage,
    TagUsage,
    UndoAssignment,
    UndoTagging,
    UseChosen,
    wanted_row,
)
from accounting.queries import tag_preview, taggings
from accounting.queries.showback import names_of
from accounting.wire_money import Why
from config.api import cursors, parameters
from config.api.json_bodies import JSON, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe
from ledger import scope
from ledger.errors import NotFound
from ledger.execution import execute
from quota.api.reading import ACCOUNTS_MAX, fields_of
from tenancy import queries as tenancy
from tenancy.api.reading import account_named, person_named
from tenancy.domain.roles import RATE_WRITE, USE_TAG

_FACTS = (
    *("id", "since", "until", "job", "batch_id", "only_untagged", "project", "model"),
    *("workload", "tagged_at", "tagged_by", "reason", "undone_at"),
)
_TAGS = ("project", "model", "workload", "only_untagged")


class TaggingsOperation(MoneyOperation):
    """List taggings; make one."""

    parameters = frozenset({"account", "cursor", "limit"})

    @describe(
        "listTaggings",
        tag="money",
        summary="Tags for past use",
        gives=wire.Taggings,
        parameters=(ACCOUNT, *PAGING),
        problems=(404,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """Of the use of an account and those below it, the latest first, with those taken back."""
        caller = self.caller(request)
        here = caller.organization_id
        limit = min(self.limit(request), taggings.PAGE_MAX - 1)
        before = cursors.read(request, UUID)
        with scope.reading(here):
            asked = self.asked(
                request, caller, month=None, account=parameters.text(request, "account")
            )
            accounts = tenancy.subtree_ids(here, [asked.account.id], limit=ACCOUNTS_MAX)
            rows = taggings.taggings(here, accounts=accounts, before=before, limit=limit + 1)
            names = names_of(here)
        following = None
        if len(rows) > limit:
            following = cursors.next_address(request, rows[limit - 1].id)
        return self.respond(
            wire.Taggings(
                taggings=[
                    wire.TaggingFacts(
                        account=names[row.account_id],
                        person=names.get(row.person_id),
                        pool=names.get(row.pool_id),
                        to_account=names.get(row.to_account_id),
                        **fields_of(row, _FACTS),
                    )
                    for row in rows[:limit]
                ],
                next=following,
            )
        )

    @describe(
        "tagUsage",
        tag="money",
        summary="Tag past use, or have another account charged for it",
        takes={JSON: wire.NewTagging},
        gives=wire.TaggingMade,
        status=201,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.NEW_TAGGING,),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """In open months only; records stay as they were sent. For leads of the account, operators
        and finance; another account is charged by finance on the root account. No token may do
        it."""
        caller = self.caller(request)
        here = caller.organization_id
        body = read_json(request, wire.NewTagging)
        with scope.reading(here):
            self.readable(caller)
            account = account_named(here, body.account).id
        self.require(caller, USE_TAG, account)
        if body.to_account is not None:
            self.require(caller, RATE_WRITE)
        command = self._command(caller, body, account)
        outcome = execute(command, self.change(request, caller, body))
        made = wire.TaggingMade(id=outcome.result.tagging_id)
        if body.dry_run:
            now = datetime.now(UTC)
            with scope.reading(here):
                found = tag_preview.preview(here, wanted_row(command, now=now), now=now)
            made = wire.TaggingMade(
                id=None, **fields_of(found, ("records", "unit_seconds", "amount"))
            )
        return self.respond(made, status=201, replayed=outcome.replayed)

    def _command(self, caller, body: wire.NewTagging, account: UUID) -> TagUsage | AssignUsage:
        here = caller.organization_id
        target = None
        with scope.reading(here):
            chosen = UseChosen(
                account_id=account,
                person_id=None if body.person is None else person_named(here, body.person).id,
                pool_id=None if body.pool is None else self.pool(caller, body.pool).id,
                **fields_of(body, ("since", "until", "job", "batch_id")),
            )
            if body.to_account is not None:
                target = account_named(here, body.to_account, field="to_account").id
        if target is not None:
            return AssignUsage(chosen=chosen, to_account_id=target, **fields_of(body, _TAGS))
        return TagUsage(account_id=account, chosen=chosen, **fields_of(body, _TAGS))


class UndoTaggingOperation(MoneyOperation):
    """Take a tagging back."""

    @describe(
        "undoTagging",
        tag="money",
        summary="Take a tagging back",
        takes={JSON: Why},
        gives=wire.TaggingMade,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
    )
    def post(self, request: HttpRequest, tagging_id: UUID) -> HttpResponse:
        """While all its days are in open months. For whoever may make it."""
        caller = self.caller(request)
        here = caller.organization_id
        with scope.reading(here):
            row = taggings.tagging(here, tagging_id)
            if row is None or not self._sees(caller, row.account_id):
                raise NotFound("tagging_unknown", "There is no such tagging.", field="tagging_id")
        command = (
            UndoTagging(account_id=row.account_id, tagging_id=row.id)
            if row.to_account_id is None
            else UndoAssignment(tagging_id=row.id)
        )
        body = read_json(request, Why)
        outcome = execute(command, self.change(request, caller, body))
        made = wire.TaggingMade(id=outcome.result.tagging_id)
        return self.respond(made, replayed=outcome.replayed)

    def _sees(self, caller, account_id: UUID) -> bool:
        seen = self.readable_ids(caller)
        return seen is None or account_id in seen
