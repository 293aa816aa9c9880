"""The quotas of a review cycle over REST: rows with their use, and words on them."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from config.api import cursors, parameters
from config.api.json_bodies import JSON, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe, paging, query
from ledger import scope
from ledger.errors import DomainError, Invalid
from ledger.execution import execute
from quota.api import cycles_examples as examples
from quota.api import cycles_wire as wire
from quota.api.cycles_reading import CycleOperation, quotas
from quota.api.requests_reading import clock, member, placed
from quota.commands.cycle_decisions import (
    AnswerReview,
    AskLead,
    Choice,
    ChoiceResult,
    DecideCycle,
    DecideEach,
    entry_unknown,
)
from quota.domain.cycles import Decision
from quota.ports import Place
from quota.queries import cycle_entries as queries
from quota.queries.cycles import CycleRow, Viewer
from quota.queries.short_names import ids_of
from tenancy.api.reading import account_named

SHOWN: Final = tuple(queries.SHOWN)
SORTS: Final = ("idle", "account")
PROBLEMS: Final = (404, 409, 422)
PAGING: Final = (*paging(queries.PAGE_ROWS, queries.PAGE_ROWS, entries="Quotas"),)


class RowsOperation(CycleOperation):
    """What tells quotas of a cycle in pages."""

    def rows(
        self, request: HttpRequest, caller, row: CycleRow, who: Viewer, **filters: Any
    ) -> wire.CycleQuotas:
        """One page. Inside `scope.reading`."""
        here, at = caller.organization_id, clock()
        limit = parameters.integer(
            request, "limit", low=1, high=queries.PAGE_ROWS, default=queries.PAGE_ROWS
        )
        after = cursors.read(request, str) or ""
        try:
            page = queries.entries(
                here,
                row,
                who,
                now=at,
                pool_ids=self.pool_ids(caller),
                after=after,
                limit=limit,
                **filters,
            )
        except Invalid as error:
            if error.field == "after":
                error.code, error.field = "parameter_invalid", "cursor"
            raise
        following = page.next_after and cursors.next_address(request, page.next_after)
        return wire.CycleQuotas(at=at, quotas=quotas(here, page.rows), next=following)


class CycleQuotasOperation(RowsOperation):
    """Read the quotas of a cycle."""

    parameters = frozenset({"show", "sort", "account", "pool", "cursor", "limit"})

    @describe(
        "listCycleQuotas",
        tag="reviews",
        summary="Quotas under review, each with its use and the word on it",
        gives=wire.CycleQuotas,
        parameters=(
            query("show", "`open`: without a decision.", enum=list(SHOWN), default="all"),
            query(
                "sort",
                "`idle`: by the cost of what was idle at the opening, the most first; `account`: "
                "by name.",
                enum=list(SORTS),
                default="idle",
            ),
            query("account", "Of this account and those below it."),
            query("pool", "Only in this pool."),
            *PAGING,
        ),
        problems=(404,),
        examples=(examples.QUOTAS,),
    )
    def get(self, request: HttpRequest, cycle_id: UUID) -> HttpResponse:
        """Of the accounts that the caller sees reviews of; to a token that is bound to pools, those
        in them."""
        caller = self.caller(request)
        shown = parameters.one_of(request, "show", SHOWN, default="all")
        sort = parameters.one_of(request, "sort", SORTS, default="idle")
        account, pool = parameters.text(request, "account"), parameters.text(request, "pool")
        here = caller.organization_id
        with scope.reading(here):
            row, who = self.visible(caller, cycle_id)
            told = self.rows(
                request,
                caller,
                row,
                who,
                shown=shown,
                sort=sort,
                account_id=account_named(here, account).id if account else None,
                pool_id=self.pool(caller, pool).id if pool else None,
            )
        return self.respond(told)


class _Saying(CycleOperation):
    """A word on one quota, by the names of its account and pool."""

    def say(
        self, request: HttpRequest, cycle_id: UUID, names: tuple[str, str], body: type
    ) -> HttpResponse:
        """Run the command that `command` makes; tell the quota as it is then."""
        caller = self.acting(request, cycle_id)
        said = read_json(request, body)
        here = caller.organization_id
        with scope.reading(here):
            place = (account_named(here, names[0]).id, self.pool(caller, names[1]).id)
        context = replace(self.context(request, caller), reason=getattr(said, "reason", ""))
        with placed(said):
            outcome = execute(self.command(cycle_id, place, said), context)
        with scope.reading(here):
            row, who = self.visible(caller, cycle_id)
            found = queries.entries(here, row, who, now=clock(), only=place).rows
            if not found:
                raise entry_unknown()
            (told,) = quotas(here, found)
        return self.respond(told, replayed=outcome.replayed)

    def command(self, cycle_id: UUID, place: Place, said: Any) -> Any:
        """The command of a body."""
        raise NotImplementedError


class DecideCycleQuotaOperation(_Saying):
    """Decide."""

    @describe(
        "decideCycleQuota",
        tag="reviews",
        summary="Decide one quota under review",
        takes={JSON: wire.CycleDecision},
        gives=wire.CycleQuota,
        parameters=(IDEMPOTENCY_KEY,),
        problems=PROBLEMS,
        examples=(examples.DECISION, examples.DECIDED),
    )
    def post(self, request: HttpRequest, cycle_id: UUID, account: str, pool: str) -> HttpResponse:
        """Nothing changes before the close, and until then every decision can be taken again.
        Nobody raises the guarantee of an account that they lead."""
        return self.say(request, cycle_id, (account, pool), wire.CycleDecision)

    def command(self, cycle_id: UUID, place: Place, said: wire.CycleDecision) -> DecideCycle:
        return DecideCycle(cycle_id=cycle_id, choices=(_choice(place, said),))


class AskCycleQuotaOperation(_Saying):
    """Ask."""

    @describe(
        "askAboutCycleQuota",
        tag="reviews",
        summary="Ask the leads nearest to the account before deciding",
        takes={JSON: wire.CycleQuestion},
        gives=wire.CycleQuota,
        parameters=(IDEMPOTENCY_KEY,),
        problems=PROBLEMS,
        examples=(examples.QUESTION,),
    )
    def post(self, request: HttpRequest, cycle_id: UUID, account: str, pool: str) -> HttpResponse:
        """A decision that stands becomes void. It may be decided without waiting."""
        return self.say(request, cycle_id, (account, pool), wire.CycleQuestion)

    def command(self, cycle_id: UUID, place: Place, said: wire.CycleQuestion) -> AskLead:
        account, pool = place
        return AskLead(
            cycle_id=cycle_id,
            account_id=account,
            pool_id=pool,
            question=said.question,
            expected_version=said.expected_version,
        )


class AnswerCycleQuotaOperation(_Saying):
    """Answer."""

    @describe(
        "answerAboutCycleQuota",
        tag="reviews",
        summary="Answer, as a lead, what a reviewer asked",
        takes={JSON: wire.CycleReply},
        gives=wire.CycleQuota,
        parameters=(IDEMPOTENCY_KEY,),
        problems=PROBLEMS,
        examples=(examples.REPLY,),
    )
    def post(self, request: HttpRequest, cycle_id: UUID, account: str, pool: str) -> HttpResponse:
        """By a lead of the account or of one above it; again, and better, until it is decided."""
        return self.say(request, cycle_id, (account, pool), wire.CycleReply)

    def command(self, cycle_id: UUID, place: Place, said: wire.CycleReply) -> AnswerReview:
        account, pool = place
        return AnswerReview(
            cycle_id=cycle_id,
            account_id=account,
            pool_id=pool,
            text=said.text,
            units=said.units,
            expected_version=said.expected_version,
        )


class DecideCycleOperation(CycleOperation):
    """Decide many."""

    @describe(
        "decideCycleQuotas",
        tag="reviews",
        summary="Decide many quotas under review, each on its own",
        takes={JSON: wire.CycleChoices},
        gives=wire.CycleResults,
        parameters=(IDEMPOTENCY_KEY,),
        problems=PROBLEMS,
        examples=(examples.CHOICES, examples.RESULTS),
    )
    def post(self, request: HttpRequest, cycle_id: UUID) -> HttpResponse:
        """Those that can be stand, the others are refused with why. A repeat under the same key
        answers each as the first time."""
        caller = self.acting(request, cycle_id)
        body = read_json(request, wire.CycleChoices)
        here = caller.organization_id
        with scope.reading(here):
            accounts = ids_of(here, {one.account for one in body.decisions})
            pools = {name: row.id for name, row in self.pools(caller).items()}
        wanted: dict[int, Choice] = {}
        results: dict[int, ChoiceResult] = {}
        for number, one in enumerate(body.decisions):
            try:
                wanted[number] = _choice(_place(one, accounts, pools), one)
            except DomainError as error:
                results[number] = _refusal(error)
        replayed = False
        if wanted:
            context = replace(self.context(request, caller), reason=body.reason)
            command = DecideEach(cycle_id=cycle_id, choices=tuple(wanted.values()))
            with placed(body):
                outcome = execute(command, context)
            replayed = outcome.replayed
            results |= zip(wanted, outcome.result.results, strict=True)
        told = [_result(one, results[number]) for number, one in enumerate(body.decisions)]
        decided = sum(one.status == "decided" for one in told)
        return self.respond(
            wire.CycleResults(decided=decided, refused=len(told) - decided, results=told),
            replayed=replayed,
        )


def _choice(place: Place, said: wire.CycleDecision | wire.CycleChoice) -> Choice:
    if said.decision == "keep" and said.units is not None:
        raise Invalid("value_invalid", "What is kept has no units.", field="units")
    account, pool = place
    return Choice(
        account_id=account,
        pool_id=pool,
        decision=Decision(said.decision),
        units=said.units,
        expected_version=said.expected_version,
    )


def _place(one: wire.CycleChoice, accounts: Mapping[str, UUID], pools: Mapping[str, UUID]) -> Place:
    if one.account not in accounts or one.pool not in pools:
        raise entry_unknown()
    return (accounts[one.account], pools[one.pool])


def _refusal(error: DomainError) -> ChoiceResult:
    return ChoiceResult(
        code=error.code, detail=error.detail, field=error.field, facts=dict(error.facts)
    )


def _result(one: wire.CycleChoice, made: ChoiceResult) -> wire.CycleResult:
    return wire.CycleResult(
        account=one.account,
        pool=one.pool,
        status="refused" if made.code else "decided",
        units=made.units,
        version=made.version,
        code=made.code,
        detail=made.detail,
        field=member(made.field, one.__struct_fields__),
        facts=made.facts,
    )
