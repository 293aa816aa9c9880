"""`/api/v1/comparison` and `/comparison-policy`: teams beside each other, and who may see that."""

from datetime import UTC, datetime
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse

from accounting import wire_showback as wire
from accounting.api import money_examples as examples
from accounting.api.money_reading import MoneyOperation, month_or_none
from accounting.commands.comparison import SetComparisonPolicy
from accounting.domain import statements
from accounting.domain.comparison import EVERYTHING, FIGURES, ComparisonPolicy, shown_figures
from accounting.queries import comparison as queries
from config.api import parameters
from config.api.json_bodies import JSON, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe, query
from ledger import scope
from ledger.execution import execute
from ledger.types import ActorKind
from quota.api.reading import fields_of
from tenancy import policy
from tenancy import queries as tenancy
from tenancy.domain.roles import POLICY_WRITE, READ, TEAM_COMPARE

TEAMS_MAX = 1_000


class ComparisonOperation(MoneyOperation):
    """Compare teams."""

    parameters = frozenset({"month", "by"})

    @describe(
        "compareTeams",
        tag="money",
        summary="Teams beside each other in a month",
        gives=wire.Compared,
        parameters=(
            query("month", "As 2026-11; the last one that is over if absent."),
            query("by", "The figure that orders them.", enum=list(FIGURES)),
        ),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """The caller's own teams, and others as far as the organization's policy says; all of them
        for who reads the whole organization."""
        caller = self.caller(request)
        here, now = caller.organization_id, datetime.now(UTC)
        wanted = month_or_none(parameters.text(request, "month"), field="month")
        with scope.reading(here):
            organization = tenancy.organization(here)
            allowed, led = self._sight(caller)
            figures = shown_figures(allowed)
            by: Any = parameters.one_of(request, "by", figures, default=figures[0])
            today = now.astimezone(ZoneInfo(organization.time_zone)).date()
            first = wanted or statements.month_before(today.replace(day=1))
            found = queries.comparison(
                here,
                organization.root_account_id,
                first,
                allowed=allowed,
                accounts=led,
                by=by,
                now=now,
            )
        return self.respond(
            wire.Compared(
                month=f"{first:%Y-%m}",
                currency=organization.currency,
                by=by,
                teams=[
                    wire.TeamFacts(team=row.name, own=row.own, **fields_of(row.team, FIGURES))
                    for row in found.rows[:TEAMS_MAX]
                ],
                left=max(0, len(found.rows) - TEAMS_MAX),
                medians=found.medians,
                withheld=found.withheld,
                as_of=found.as_of,
            )
        )

    def _sight(self, caller) -> tuple[ComparisonPolicy, tuple[UUID, ...]]:
        """What the caller may compare, and their own accounts."""
        here = caller.organization_id
        if caller.actor.kind == ActorKind.TOKEN:
            self.authorize_reading(caller, None)
            return EVERYTHING, ()
        led = policy.accounts_with(caller.actor, TEAM_COMPARE, here)
        if not led:
            policy.authorize(caller.actor, TEAM_COMPARE, None, here)
        everything = policy.may(caller.actor, READ, None, here)
        return (EVERYTHING if everything else queries.policy(here)), led


class ComparisonPolicyOperation(MoneyOperation):
    """Read or set who may compare what."""

    @describe(
        "readComparisonPolicy",
        tag="money",
        summary="What leads may compare",
        gives=wire.ComparisonFacts,
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """For whoever may read some account."""
        caller = self.caller(request)
        with scope.reading(caller.organization_id):
            self.readable(caller)
            found = queries.policy(caller.organization_id)
        return self.respond(
            wire.ComparisonFacts(reach=found.reach, figures=list(found.figures), named=found.named)
        )

    @describe(
        "setComparisonPolicy",
        tag="money",
        summary="Say what leads may compare",
        takes={JSON: wire.NewComparison},
        gives=wire.ComparisonSet,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(409,),
        examples=(examples.NEW_COMPARISON,),
    )
    def put(self, request: HttpRequest) -> HttpResponse:
        """It replaces the one before as a whole. For operators of the root account; no token may do
        it."""
        caller = self.caller(request)
        self.require(caller, POLICY_WRITE)
        body = read_json(request, wire.NewComparison)
        command = SetComparisonPolicy(
            reach=body.reach, figures=tuple(body.figures), named=body.named
        )
        outcome = execute(command, self.change(request, caller, body))
        return self.respond(
            wire.ComparisonSet(
                reach=body.reach,
                figures=body.figures,
                named=body.named,
                changed=outcome.result.changed,
            ),
            replayed=outcome.replayed,
        )
