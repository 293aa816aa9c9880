"""`GET /api/v1/showback`: a month at a glance, told apart by one or two dimensions."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.http import HttpRequest, HttpResponse

from accounting import wire_showback as wire
from accounting.api.money_reading import ACCOUNT, MONTH, MoneyOperation, plain
from accounting.api.statements import unrated_facts
from accounting.domain import statements
from accounting.queries import glance as glances
from accounting.queries import showback as queries
from accounting.queries import wide_months as wide
from accounting.queries.glance import Glance, PoolUse
from accounting.queries.showback import DIMENSIONS, Lumped
from config.api import parameters
from config.api.schema import describe, query
from ledger import scope
from quota.api.reading import fields_of

GROUPS_MAX = 1_000
CHANGES_MAX = 200
_BY_DEFAULT = "team,pool"


class ShowbackOperation(MoneyOperation):
    """Read a month at a glance."""

    parameters = frozenset({"account", "month", "by"})

    @describe(
        "readShowback",
        tag="money",
        summary="A month of an account at a glance, by one or two dimensions",
        gives=wire.ShowbackMonth,
        parameters=(
            ACCOUNT,
            MONTH,
            query(
                "by",
                f"One or two of {', '.join(DIMENSIONS)}, with a comma.",
                default=_BY_DEFAULT,
            ),
        ),
        problems=(404,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """The same figures as the page: sums, what changed against the month before, how well it
        was used, what idle time cost and good use earned. Groups add up to the sum."""
        caller = self.caller(request)
        here = caller.organization_id
        by = tuple(dict.fromkeys((parameters.text(request, "by") or _BY_DEFAULT).split(",")))
        with scope.reading(here):
            asked = self.asked(
                request,
                caller,
                month=parameters.text(request, "month"),
                account=parameters.text(request, "account"),
            )
            queries.check_dimensions(by)
            account = asked.account.id
            found = wide.month_of(here, account, asked.first, now=asked.now, by=by)
            first = statements.month_before(asked.first)
            before = wide.month_of(here, account, first, now=asked.now)
            names = queries.names_of(here, people="person" in by)
            figures = glances.glance(here, found, names, now=asked.now)
            cells, count = wide.drill(found, by, names, limit=GROUPS_MAX)
            unrated = wide.most_unrated(found)
        return self.respond(
            wire.ShowbackMonth(
                account=asked.account.name,
                month=found.month.name,
                state=found.state,
                currency=found.ground.currency,
                amount=found.total.amount,
                list_amount=found.total.list_amount,
                kinds={str(kind): amount for kind, amount in queries.by_kind(found).items()},
                before=wire.MonthBefore(month=f"{first:%Y-%m}", amount=before.total.amount),
                changes=_changes(found, before, names),
                unrated=unrated_facts(unrated, names),
                by=list(by),
                groups=[
                    wire.Group(
                        values=list(cell.values),
                        unit_seconds=plain(cell.unit_seconds),
                        amount=cell.amount,
                    )
                    for cell in cells
                ],
                groups_left=count - len(cells),
                as_of=found.as_of,
                digest=found.digest,
                **_figures(figures),
            )
        )


def _changes(found: Lumped, before: Lumped, names: Mapping[Any, str]) -> list[wire.MonthChange]:
    values = ("tier", "before", "now", "difference", "by_use", "by_price")
    return [
        wire.MonthChange(kind=str(one.kind), pool=names.get(one.pool), **fields_of(one, values))
        for one in queries.changes(found, before)[:CHANGES_MAX]
    ]


def _figures(figures: Glance) -> dict[str, Any]:
    together = [] if figures.together is None else [figures.together]
    tax = figures.tax
    return {
        "utilization": [_utilization(one) for one in (*figures.pools, *together)],
        "idle_cost": figures.idle_cost,
        "lending": figures.lending,
        "discount": figures.discount,
        "preemption_tax": None
        if tax is None
        else wire.Tax(actions=tax.actions, units=tax.units, amount=plain(tax.amount)),
        "spot": [
            wire.Spot(
                pool=one.pool,
                price=plain(one.price),
                per_productive_hour=one.per_productive_hour and plain(one.per_productive_hour),
            )
            for one in figures.spot
        ],
    }


def _utilization(one: PoolUse) -> wire.PoolUtilization:
    return wire.PoolUtilization(
        pool=one.pool,
        allocated=_share(one.allocated),
        compute=_share(one.compute.utilisation),
        productive=_share(one.productive.utilisation),
    )


def _share(value: Decimal | None) -> float | None:
    return None if value is None else round(float(value), 6)
