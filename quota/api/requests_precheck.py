"""`POST /api/v1/requests/precheck`: what would happen if this were asked; changes nothing."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse

from config.api.json_bodies import JSON, read_json
from config.api.schema import describe
from ledger import scope
from ledger.errors import DomainError
from quota.api import requests_examples as examples
from quota.api import requests_wire as wire
from quota.api.reading import fields_of
from quota.api.requests_reading import clock, member
from quota.api.requests_terms import TermsOperation
from quota.domain.provisioning import FreeAt
from quota.ports import Price, ports
from quota.queries.precheck import Precheck, precheck
from quota.queries.short_names import short_names
from tenancy import policy
from tenancy.domain.roles import READ, REQUEST_WRITE

_USE = ("mean", "p50", "p95", "peak", "guaranteed", "idle_units", "coverage")
_BUDGET = ("account", "currency", "amount", "expected", "forecast", "together", "beyond")


class PrecheckOperation(TermsOperation):
    """Try a request."""

    @describe(
        "precheckRequest",
        tag="requests",
        summary="What would happen if this were asked",
        takes={JSON: wire.RequestTrial},
        gives=wire.PrecheckAnswer,
        problems=(404, 422),
        examples=(examples.TRIAL, examples.PRECHECKED),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """The functions that decide when it is handed in, on the same state: promise rule, free
        units over the period, use of what is held, price, and who would be asked. All that is
        wrong with it is listed, not only the first. For whoever may ask for the account."""
        caller = self.caller(request)
        author = self.person(caller)
        body = read_json(request, wire.RequestTrial)
        here, now = caller.organization_id, clock()
        with scope.reading(here):
            terms = self.terms(caller, body)
            policy.authorize(caller.actor, REQUEST_WRITE, terms.account_id, here)
            others: tuple[UUID, ...] = ()
            if body.request is not None:
                others = self.seen(caller, body.request, now=now).author_ids
            found = precheck(here, terms, author_id=author, now=now, other_author_ids=others)
            lender = found.trial.lender_id if found.trial else None
            names = short_names(here, [*found.asked_ids, lender])
            budget = None
            if found.price is not None:
                budget = ports().budget.effect(
                    here,
                    terms.account_id,
                    found.price.amount,
                    now=now,
                    readable=lambda account_id: policy.may(caller.actor, READ, account_id, here),
                )
        answer = _answer(found, names, at=now)
        if budget is not None:
            answer.budget = wire.PrecheckBudget(**fields_of(budget, _BUDGET))
        return self.respond(answer)


def _answer(found: Precheck, names: dict[UUID, str], *, at) -> wire.PrecheckAnswer:
    trial = found.trial
    shortage = trial.problem if trial and not found.problems else None
    return wire.PrecheckAnswer(
        at=at,
        can_submit=found.can_submit,
        problems=[_problem(one) for one in found.problems],
        fits=found.fits,
        shortage=_problem(shortage) if shortage else None,
        rise=trial.rise if trial else None,
        guaranteed_before=trial.before.guaranteed if trial else None,
        guaranteed_after=trial.after.guaranteed if trial else None,
        lender=names.get(trial.lender_id) if trial and trial.lender_id else None,
        free_over_period=[_point(one) for one in trial.series] if trial else [],
        free_with_it=[_point(one) for one in trial.series_with] if trial else [],
        nearest=wire.PrecheckNearest(**fields_of(found.nearest, ("units", "starts_at", "ends_at"))),
        **fields_of(found, ("automatic", "approvals")),
        asked=sorted(names[one] for one in found.asked_ids if one in names),
        reasons=list(found.reasons),
        use=wire.PrecheckUse(**fields_of(found.use, _USE)) if found.use else None,
        price_per_month=_money(found.price),
        price_of_period=_money(found.price_total),
        budget=None,
    )


def _problem(error: DomainError) -> wire.PrecheckProblem:
    return wire.PrecheckProblem(
        code=error.code,
        field=member(error.field, wire.RequestTrial.__struct_fields__),
        detail=error.detail,
        facts=dict(error.facts),
    )


def _point(one: FreeAt) -> wire.PrecheckPoint:
    return wire.PrecheckPoint(**fields_of(one, ("at", "promised", "promisable", "free")))


def _money(price: Price | None) -> wire.Money | None:
    return wire.Money(amount=price.amount, currency=price.currency) if price else None
