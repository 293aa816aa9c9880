"""Preemption: what budgets have left, which plans are open, what was taken and what it cost."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from uuid import UUID

from django.http import HttpResponse
from django.views.decorators.http import require_safe

from frontend.numbers import ratio
from frontend.pages import Page, PageRequest, page, render
from frontend.views.capacity import Seen, readable, seen_by
from ledger.errors import NotFound
from preemption import loading, losses, queries
from preemption.losses import Loser, MonthLoss
from preemption.plans import StoredPlan
from preemption.queries import ActionRow, PoolGauge
from tenancy import queries as tenancy
from tenancy.domain.roles import POOL_WRITE

HIDDEN = "another account"
ACCOUNTS_MAX = 1_000_000


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


@dataclass(frozen=True, slots=True)
class PlanLine:
    """A plan with names; who asks is hidden together with the job."""

    plan: StoredPlan
    pool: str
    account: str
    job: str
    taken_from: tuple[str, ...]

    @property
    def reported(self) -> int:
        """Actions of which somebody told."""
        return len(self.plan.actions) - len(self.plan.open_actions)

    @property
    def units_taken(self) -> int:
        """Units that its actions give."""
        return sum(action.units for action in self.plan.actions)


@dataclass(frozen=True, slots=True)
class ActionLine:
    """Units that were taken; names that the viewer may not see are hidden."""

    row: ActionRow
    account: str
    by_account: str

    @property
    def cost(self) -> Decimal:
        """As reported, or as it was reckoned."""
        return self.row.tax if self.row.tax_reported is None else self.row.tax_reported


@require_safe
@page()
def board(request: PageRequest) -> HttpResponse:
    """Budgets as gauges, open plans, what was taken lately, or of one account what it lost."""
    here = request.page
    tops = readable(here)
    seen = seen_by(here, tops)
    account = request.GET.get("account", "").strip()
    among = _subtree(here, tops)
    if account:
        among = _below(here, account, seen)
    open_plans = queries.plans(here.id, now=here.now, is_open=True, accounts=among)
    rows = queries.recent_actions(here.id, now=here.now, accounts=among, either_side=not account)
    return render(
        request,
        "preemption.html",
        {
            "account": account,
            "gauges": [GaugeLine(one) for one in queries.gauges(here.id, now=here.now)],
            "policy": loading.policy(here.id),
            "plans": _plan_lines(here, open_plans, seen),
            "actions": [_action_line(row, seen) for row in rows],
            "months": _months(here, among),
            "losers": _losers(here, among),
            "units": sum(row.units for row in rows),
            "cost": sum((_action_line(row, seen).cost for row in rows), Decimal(0)),
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


def _below(here: Page, name: str, seen: Seen) -> frozenset[UUID]:
    """An account by name, with all below it.

    Raises:
        NotFound: there is none, or not for this viewer.
    """
    found = tenancy.account_by_name(here.id, name)
    if not seen(found.id):
        raise NotFound("account_unknown", "There is no such account.", field="account")
    return frozenset(tenancy.subtree_ids(here.id, (found.id,), limit=ACCOUNTS_MAX))


def _plan_lines(here: Page, plans: Iterable[StoredPlan], seen: Seen) -> list[PlanLine]:
    found = list(plans)
    pools, accounts = loading.names(here.id, found)

    def name(account_id: UUID) -> str:
        return accounts[account_id] if seen(account_id) else HIDDEN

    return [
        PlanLine(
            plan=plan,
            pool=pools[plan.pool_id],
            account=name(plan.account_id),
            job=plan.key if seen(plan.account_id) else "",
            taken_from=tuple(dict.fromkeys(name(one.account_id) for one in plan.actions)),
        )
        for plan in found
    ]


def _action_line(row: ActionRow, seen: Seen) -> ActionLine:
    return ActionLine(
        row=row,
        account=row.account if seen(row.account_id) else HIDDEN,
        by_account=row.by_account if seen(row.by_account_id) else HIDDEN,
    )


def _months(here: Page, among: frozenset[UUID] | None) -> list[MonthLoss]:
    return losses.by_month(here.id, now=here.now, time_zone=here.zone.key, accounts=among)


def _losers(here: Page, among: frozenset[UUID] | None) -> list[Loser]:
    return losses.losers(here.id, now=here.now, accounts=among)
