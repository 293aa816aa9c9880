"""Preemption: what budgets have left, which plans are open, what was taken and what it cost."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from frontend.numbers import ratio
from frontend.pages import Page, PageRequest, page, render
from frontend.preemption_lines import HIDDEN, Seen, action_lines, plan_lines
from frontend.views.capacity import readable, seen_by
from preemption import loading, losses, queries, taken
from preemption.queries import AgedGauge, PoolGauge
from preemption.taken import Which
from tenancy import queries as tenancy
from tenancy.domain.roles import POOL_WRITE

ACCOUNTS_MAX = 1_000_000
DAYS = timedelta(days=30)
PLANS_SHOWN = 20
ACTIONS_SHOWN = 20


@dataclass(frozen=True, slots=True)
class GaugeLine:
    """A pool's budget as a bar, in fractions of its capacity."""

    gauge: PoolGauge

    @property
    def used(self) -> float:
        return ratio(self.gauge.used, self.gauge.capacity) or 0.0

    @property
    def limit(self) -> float:
        return ratio(self.gauge.limit, self.gauge.capacity) or 0.0

    @property
    def scale(self) -> float:
        """The bar ends a bit beyond the limit, or where more was taken past it."""
        return max(self.used, self.limit * 1.25, 0.01)

    @property
    def left(self) -> int:
        """Units that a plan made now may take."""
        return max(0, self.gauge.limit - self.gauge.used)


@dataclass(frozen=True, slots=True)
class AgedLine:
    """An account's budget for jobs that rose by waiting."""

    gauge: AgedGauge
    account: str

    @property
    def used(self) -> float:
        return ratio(self.gauge.used, self.gauge.limit) or 1.0

    @property
    def scale(self) -> float:
        return max(self.used, 1.0)


@require_safe
@page()
def board(request: PageRequest) -> HttpResponse:
    """Budgets as gauges, plans, what was taken lately and what it cost."""
    here = request.page
    tops = readable(here)
    seen = seen_by(here, tops)
    among = _subtree(here, tops)
    open_plans = queries.plans(here.id, now=here.now, is_open=True, accounts=among)
    over = queries.plans(here.id, now=here.now, is_open=False, accounts=among, limit=PLANS_SHOWN)
    pools, accounts = loading.names(here.id, [*open_plans, *over])
    names = {"pools": pools, "accounts": accounts}
    just_now = here.now + timedelta(microseconds=1)
    which = Which(since=here.now - DAYS, until=just_now, accounts=among, either_side=True)
    gauges = queries.gauges(here.id, now=here.now)
    return render(
        request,
        "preemption.html",
        {
            "gauges": [GaugeLine(one) for one in gauges.pools],
            "aged": _aged(gauges.aged, seen),
            "policy": loading.policy(here.id),
            "plans": plan_lines(open_plans, seen, **names),
            "over": plan_lines(over, seen, **names),
            "actions": action_lines(taken.actions(here.id, which, limit=ACTIONS_SHOWN), seen),
            "total": taken.total(here.id, which),
            "months": losses.by_month(
                here.id, now=here.now, time_zone=here.zone.key, accounts=among
            ),
            "losers": losses.losers(here.id, since=here.now - DAYS, until=just_now, accounts=among),
            "currency": here.organization.currency,
            "may_override": here.may(POOL_WRITE, here.organization.root_account_id),
            "partials": ("board",),
        },
    )


def _subtree(here: Page, tops: tuple[UUID, ...]) -> frozenset[UUID] | None:
    """Accounts that the viewer may see; None: all."""
    if here.organization.root_account_id in tops:
        return None
    return frozenset(tenancy.subtree_ids(here.id, tops, limit=ACCOUNTS_MAX))


def _aged(gauges: tuple[AgedGauge, ...], seen: Seen) -> list[AgedLine]:
    return [AgedLine(one, one.account if seen(one.account_id) else HIDDEN) for one in gauges]
