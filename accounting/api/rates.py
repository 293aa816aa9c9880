"""`/api/v1/rates…`: what use costs, from when; publish, withdraw, try; the grade of an account."""

from datetime import UTC, datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from django.http import HttpRequest, HttpResponse

from accounting import wire_money as wire
from accounting.api import money_examples as examples
from accounting.api.money_reading import PAGING, MoneyOperation, month_named, plain
from accounting.commands.rates import (
    PriceWish,
    PublishRateCard,
    SetRateGrade,
    WithdrawRateCard,
    flavor_named,
)
from accounting.domain import rate_cards, statements
from accounting.queries import rate_preview, rates
from accounting.queries import showback as names_queries
from accounting.queries.rates import VersionRow
from config.api import cursors
from config.api.json_bodies import JSON, read_json
from config.api.schema import IDEMPOTENCY_KEY, describe
from ledger import scope
from ledger.errors import NotFound
from ledger.execution import execute
from quota.api.reading import fields_of
from quota.queries import flavors
from tenancy import queries as tenancy
from tenancy.api.reading import account_named
from tenancy.domain.roles import RATE_WRITE

_FACTS = (
    *("id", "effective_from", "holds_until", "memory_flavor", "published_at", "published_by"),
    "reason",
)
_PRICE = ("flavor", "tier", "grade", "list_price", "contracted_price")


class RatesOperation(MoneyOperation):
    """List the versions of the rates; publish one."""

    parameters = frozenset({"cursor", "limit"})

    @describe(
        "listRates",
        tag="money",
        summary="The versions of the rates",
        gives=wire.RatesPage,
        parameters=PAGING,
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """The latest to begin first, those to come included. For whoever may read some account."""
        caller = self.caller(request)
        limit = self.limit(request)
        before = cursors.read(request, datetime)
        with scope.reading(caller.organization_id):
            self.readable(caller)
            rows = rates.rate_versions(caller.organization_id)
        rows = [one for one in rows if before is None or one.effective_from < before]
        following = None
        if len(rows) > limit:
            following = cursors.next_address(request, rows[limit - 1].effective_from)
        versions = [wire.RatesFacts(**fields_of(one, _FACTS)) for one in rows[:limit]]
        return self.respond(wire.RatesPage(versions=versions, next=following))

    @describe(
        "publishRates",
        tag="money",
        summary="Publish prices",
        takes={JSON: wire.NewRates},
        gives=wire.RatesPublished,
        status=201,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.NEW_RATES,),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """From now or later; earlier only where no prices held, so that use without a price gets
        one. What was priced stays. For finance on the root account; no token may do it."""
        caller = self.caller(request)
        self.require(caller, RATE_WRITE)
        body = read_json(request, wire.NewRates)
        command = PublishRateCard(
            lines=_wishes(body),
            effective_from=body.effective_from,
            effective_until=body.effective_until,
            memory_flavor=body.memory_flavor,
            currency=body.currency,
        )
        outcome = execute(command, self.change(request, caller, body))
        made = wire.RatesPublished(
            id=outcome.result.version_id, effective_from=outcome.result.effective_from
        )
        return self.respond(made, status=201, replayed=outcome.replayed)


class RatesTrialOperation(MoneyOperation):
    """Try prices."""

    @describe(
        "tryRates",
        tag="money",
        summary="What a month would have cost at other prices",
        takes={JSON: wire.RatesTrial},
        gives=wire.RatesTried,
        problems=(404,),
        examples=(examples.TRY_RATES,),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """The use and the guarantees of the month, had these prices held all the month. Nothing is
        stored. For finance on the root account; no token may do it."""
        caller = self.caller(request)
        self.require(caller, RATE_WRITE)
        body = read_json(request, wire.RatesTrial)
        here, now = caller.organization_id, datetime.now(UTC)
        with scope.reading(here):
            organization = tenancy.organization(here)
            known = {one.name: one.id for one in flavors(here)}
            today = now.astimezone(ZoneInfo(organization.time_zone)).date()
            month = statements.month_before(today.replace(day=1))
            if body.month is not None:
                month = month_named(body.month)
            lines = tuple(
                wish.line(flavor_named(wish.flavor, known, f"prices[{at}].flavor"))
                for at, wish in enumerate(_wishes(body))
            )
            rate_cards.check_lines(lines)
            memory = body.memory_flavor
            found = rate_preview.would_have_cost(
                here,
                month,
                lines=lines,
                memory_flavor=None
                if memory is None
                else flavor_named(memory, known, "memory_flavor"),
                now=now,
            )
            names = names_queries.names_of(here)
        return self.respond(
            wire.RatesTried(
                month=f"{month:%Y-%m}",
                currency=organization.currency,
                was=found.was,
                would_be=found.would_be,
                rows=[
                    wire.RatesCompared(
                        kind=str(row.kind),
                        pool=names.get(row.pool),
                        **fields_of(row, ("tier", "was", "would_be", "difference")),
                    )
                    for row in found.rows
                ],
                unrated=sorted(names[pool] for pool in found.unrated),
            )
        )


class OneRatesOperation(MoneyOperation):
    """Read a version."""

    @describe(
        "readRates",
        tag="money",
        summary="A version of the rates with its prices",
        gives=wire.Rates,
        problems=(404,),
    )
    def get(self, request: HttpRequest, version_id: UUID) -> HttpResponse:
        """For whoever may read some account."""
        caller = self.caller(request)
        here = caller.organization_id
        with scope.reading(here):
            self.readable(caller)
            row = _version(here, version_id)
            prices = rates.rate_lines(here, version_id)
            currency = tenancy.organization(here).currency
        return self.respond(
            wire.Rates(
                currency=currency,
                prices=[
                    wire.Price(
                        list_price=plain(one.list_price),
                        contracted_price=one.contracted_price and plain(one.contracted_price),
                        **fields_of(one, ("flavor", "tier", "grade")),
                    )
                    for one in prices
                ],
                **fields_of(row, _FACTS),
            )
        )


class WithdrawRatesOperation(MoneyOperation):
    """Withdraw a version."""

    @describe(
        "withdrawRates",
        tag="money",
        summary="Take back prices that do not hold yet",
        takes={JSON: wire.Why},
        gives=wire.RatesPublished,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
    )
    def post(self, request: HttpRequest, version_id: UUID) -> HttpResponse:
        """For finance on the root account; no token may do it."""
        caller = self.caller(request)
        self.require(caller, RATE_WRITE)
        body = read_json(request, wire.Why)
        outcome = execute(
            WithdrawRateCard(version_id=version_id), self.change(request, caller, body)
        )
        done = wire.RatesPublished(
            id=outcome.result.version_id, effective_from=outcome.result.effective_from
        )
        return self.respond(done, replayed=outcome.replayed)


class RateGradeOperation(MoneyOperation):
    """Set the grade of an account."""

    @describe(
        "setRateGrade",
        tag="money",
        summary="Which grade's prices an account has",
        takes={JSON: wire.NewGrade},
        gives=wire.GradeSet,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
    )
    def put(self, request: HttpRequest, name: str) -> HttpResponse:
        """From now or later; it never changes what was priced. For finance on the root account; no
        token may do it."""
        caller = self.caller(request)
        self.require(caller, RATE_WRITE)
        body = read_json(request, wire.NewGrade)
        with scope.reading(caller.organization_id):
            row = account_named(caller.organization_id, name)
        command = SetRateGrade(
            account_id=row.id, grade=body.grade, effective_from=body.effective_from
        )
        outcome = execute(command, self.change(request, caller, body))
        done = wire.GradeSet(
            account=row.name, grade=body.grade, effective_from=outcome.result.effective_from
        )
        return self.respond(done, replayed=outcome.replayed)


def _wishes(body: wire.NewRates | wire.RatesTrial) -> tuple[PriceWish, ...]:
    return tuple(PriceWish(**fields_of(price, _PRICE)) for price in body.prices)


def _version(organization_id: UUID, version_id: UUID) -> VersionRow:
    for row in rates.rate_versions(organization_id):
        if row.id == version_id:
            return row
    raise NotFound("rates_unknown", "There are no such rates.", field="version")
