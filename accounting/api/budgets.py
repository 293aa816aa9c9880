"""`/api/v1/budgets…`: list, set, read, change, end. The commands are the browser's."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from accounting import wire_budgets as wire
from accounting.api import budgets_examples as examples
from accounting.api.money_reading import ACCOUNT, PAGING, MoneyOperation
from accounting.api.usage_reads import day_of_address
from accounting.commands.budgets import BudgetRef, ChangeBudget, EndBudget, SetBudget
from accounting.domain import budgets as rules
from accounting.domain import money
from accounting.domain.budgets import BurnRule, Period
from accounting.queries import budgets as queries
from accounting.queries import cost_marks
from accounting.queries.budgets import BudgetRow, Ground, Standing
from config.api import cursors, parameters
from config.api.json_bodies import JSON, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe, query
from ledger import scope
from ledger.errors import Denied, NotFound
from ledger.execution import Outcome, execute
from quota.api.reading import fields_of
from tenancy.api.reading import account_named

BURN_PLACES = 4
LIST_MAX = 100
FLAGS = ["0", "1", "false", "true"]
_ALERT = tuple(wire.BudgetAlertFacts.__struct_fields__)
_VERSION = ("effective_from", "amount", "set_at", "set_by", "reason")


class _BudgetOperation(MoneyOperation):
    def readable_row(self, caller, budget_id: UUID) -> BudgetRow:
        """A budget of an account that the caller may read.

        Raises:
            NotFound: `budget_unknown`: there is none, or not for this caller.
        """
        row = queries.budget_row(caller.organization_id, budget_id)
        try:
            self.authorize_reading(caller, row.account_id)
        except Denied:
            raise NotFound("budget_unknown", "There is no such budget.", field="budget") from None
        return row

    def made(self, outcome: Outcome, *, status: int = 200, dry_run: bool = False) -> HttpResponse:
        """What a command made."""
        ref: BudgetRef = outcome.result
        new = dry_run and status == 201
        return self.respond(
            wire.BudgetMade(
                id=None if new else ref.budget_id,
                effective_from=ref.effective_from,
                warning=ref.warning,
            ),
            status=status,
            replayed=outcome.replayed,
        )


class BudgetsOperation(_BudgetOperation):
    """List budgets, or set one."""

    parameters = frozenset({"account", "period", "alerted", "ended", "cursor", "limit"})

    @describe(
        "listBudgets",
        tag="money",
        summary="Budgets with what is spent, the forecast and how fast it is spent",
        gives=wire.Budgets,
        parameters=(
            ACCOUNT,
            query("period", "Of this period only.", enum=["any", *map(str, Period)]),
            query("alerted", "`1`: only those with an alert now.", enum=FLAGS),
            query("ended", "`1`: ended ones, too.", enum=FLAGS),
            *PAGING,
        ),
        problems=(404,),
        examples=(examples.BUDGETS,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """Those of accounts that the caller may read, the newest first. A machine needs
        `export:read`."""
        caller = self.caller(request)
        here = caller.organization_id
        limit = min(self.limit(request), LIST_MAX)
        before = cursors.read(request, UUID)
        name = parameters.text(request, "account")
        period = parameters.one_of(request, "period", ("any", *Period), default="any")
        alerted, ended = (parameters.flag(request, one) for one in ("alerted", "ended"))
        with scope.reading(here):
            tops = self.readable(caller)
            under = None if name is None else account_named(here, name).id
            if tops is None or under is not None:
                self.authorize_reading(caller, under)
            ground = queries.ground(here, now=datetime.now(UTC))
            rows = queries.budget_rows(
                here,
                today=ground.today,
                tops=tops,
                under=under,
                period=None if period == "any" else period,
                alerted=alerted,
                ended=ended,
                before=before,
                limit=limit + 1,
            )
            found = queries.standings(here, rows[:limit], ground)
        following = None
        if len(rows) > limit:
            following = cursors.next_address(request, rows[limit - 1].id)
        return self.respond(
            wire.Budgets(
                currency=ground.currency,
                costs_until=ground.at,
                budgets=[budget_facts(one, ground) for one in found],
                next=following,
            )
        )

    @describe(
        "setBudget",
        tag="money",
        summary="Set a budget for an account and a period",
        takes={JSON: wire.NewBudget},
        gives=wire.BudgetMade,
        status=201,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.NEW_BUDGET,),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """For finance and operators; the lead of an account sets those of the accounts below it,
        within its own. No token may do it."""
        caller = self.caller(request)
        body = read_json(request, wire.NewBudget)
        with scope.reading(caller.organization_id):
            self.readable(caller)
            account_id = account_named(caller.organization_id, body.account).id
        given = {
            name: _given(name, getattr(body, name))
            for name in ("spent", "forecast", "burn")
            if getattr(body, name) is not None
        }
        command = SetBudget(
            account_id=account_id,
            **fields_of(body, ("period", "amount", "name", "starts_on", "ends_on")),
            **given,
        )
        outcome = execute(command, self.change(request, caller, body))
        return self.made(outcome, status=201, dry_run=body.dry_run)


class BudgetOperation(_BudgetOperation):
    """Read one budget."""

    parameters = frozenset({"day"})

    @describe(
        "readBudget",
        tag="money",
        summary="A budget with the days of a period, its alerts and what held",
        gives=wire.BudgetDetail,
        parameters=(
            query(
                "day",
                "A day of the period to show; the one that counts now if absent.",
                format="date",
            ),
        ),
        problems=(404,),
        examples=(examples.BUDGET,),
    )
    def get(self, request: HttpRequest, budget_id: UUID) -> HttpResponse:
        """For whoever may read the account; a machine needs `export:read`."""
        caller = self.caller(request)
        here = caller.organization_id
        day = day_of_address(request, "day")
        with scope.reading(here):
            row = self.readable_row(caller, budget_id)
            ground = queries.ground(here, now=datetime.now(UTC))
            span = _span(row, day, ground)
            (one,) = queries.standings(here, [row], ground, spans=[span])
            odd = cost_marks.odd_days(here, row.account_id, ground, first=span.first, end=span.end)
            alerts = queries.alerts_of(here, [row.id])
            versions = queries.versions(here, [row.id], places=ground.places)[row.id]
        marks = {anomaly.day: anomaly.direction for anomaly in odd}
        return self.respond(
            wire.BudgetDetail(
                currency=ground.currency,
                costs_until=ground.at,
                budget=budget_facts(one, ground),
                days=[
                    wire.BudgetDay(
                        day=day,
                        unusual=marks.get(day),
                        use=cost.use,
                        idle=cost.idle,
                        other=cost.other,
                    )
                    for day, cost in sorted(one.costs.items())
                    if span.holds(day)
                ],
                alerts=[_alert(alert, ground) for alert in alerts],
                versions=[_version(version) for version in versions],
            )
        )


class ChangeBudgetOperation(_BudgetOperation):
    """Change a budget."""

    @describe(
        "changeBudget",
        tag="money",
        summary="Another amount or other alerts, from a period on",
        takes={JSON: wire.BudgetChange},
        gives=wire.BudgetMade,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.CHANGE,),
    )
    def post(self, request: HttpRequest, budget_id: UUID) -> HttpResponse:
        """Periods that are over keep what they had. For whoever may set the budget."""
        caller = self.caller(request)
        body = read_json(request, wire.BudgetChange)
        with scope.reading(caller.organization_id):
            self.readable_row(caller, budget_id)
        given = {name: _given(name, getattr(body, name)) for name in ("spent", "forecast", "burn")}
        command = ChangeBudget(
            budget_id=budget_id, **fields_of(body, ("amount", "effective_from")), **given
        )
        return self.made(execute(command, self.change(request, caller, body)))


class EndBudgetOperation(_BudgetOperation):
    """End a budget."""

    @describe(
        "endBudget",
        tag="money",
        summary="Let a budget count no more",
        takes={JSON: wire.BudgetEnd},
        gives=wire.BudgetMade,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.END,),
    )
    def post(self, request: HttpRequest, budget_id: UUID) -> HttpResponse:
        """From today or a later day on; what it was stays readable. For whoever may set it."""
        caller = self.caller(request)
        body = read_json(request, wire.BudgetEnd)
        with scope.reading(caller.organization_id):
            self.readable_row(caller, budget_id)
        command = EndBudget(budget_id=budget_id, ended_on=body.ended_on)
        return self.made(execute(command, self.change(request, caller, body)))


def budget_facts(one: Standing, ground: Ground) -> wire.BudgetFacts:
    """A budget on the wire."""
    row, figures, coming = one.row, one.figures, one.forecast
    return wire.BudgetFacts(
        **fields_of(row, ("id", "account", "name", "ended_on")),
        period=str(row.period),
        first_day=one.span.first,
        end_day=one.span.end,
        amount=figures.amount,
        spent=figures.spent,
        remaining=figures.remaining,
        forecast=coming.amount,
        forecast_low=coming.low,
        forecast_high=coming.high,
        no_forecast=coming.why_not or None,
        burn_day=_burn(figures.burns.get(1)),
        burn_week=_burn(figures.burns.get(7)),
        state="unknown" if ground.at is None else one.state,
    )


def _span(row: BudgetRow, day: date | None, ground: Ground) -> rules.Span:
    last = row.span(ground.today)
    if day is None:
        return last
    span = rules.span_of(row.period, day, range_=row.range)
    if not row.starts_on <= span.first <= last.first:
        raise NotFound("budget_unknown", "The budget has no such period.", field="day")
    return span


def _burn(rate: Fraction | None) -> Decimal | None:
    return None if rate is None else money.rounded(rate, BURN_PLACES)


def _given(name: str, values: Sequence | None) -> tuple | None:
    """Thresholds or rules as commands take them."""
    if values is None or name != "burn":
        return None if values is None else tuple(values)
    names = ("long_days", "short_days", "factor")
    return tuple(BurnRule(**fields_of(rule, names)) for rule in values)


def _alert(alert: queries.AlertRow, ground: Ground) -> wire.BudgetAlertFacts:
    scale = Decimal(1).scaleb(-ground.places)
    amounts = {
        name: None if (value := getattr(alert, name)) is None else value.quantize(scale)
        for name in ("amount", "spent", "forecast")
    }
    figure = alert.figure.quantize(Decimal("0.01"))
    return wire.BudgetAlertFacts(**fields_of(alert, _ALERT) | amounts | {"figure": figure})


def _version(version: queries.VersionRow) -> wire.BudgetVersionFacts:
    alerts = version.alerts
    return wire.BudgetVersionFacts(
        **fields_of(version, _VERSION),
        spent=list(alerts.spent),
        forecast=list(alerts.forecast),
        burn=[
            wire.BurnRuleFacts(**fields_of(rule, ("long_days", "short_days", "factor")))
            for rule in alerts.burn
        ],
    )
