"""Words of preemption for tests on the database."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from ledger import scope
from ledger.sql import server_cursor
from preemption import wire
from preemption.commands.plans import OverridePreemption, PlanPreemption
from preemption.commands.policies import SetPreemptionPolicy
from preemption.commands.reports import ReportActions
from preemption.commands.settling import CancelPlan, ConfirmPlan
from quota.commands.quotas import SetQuota
from tests.quota.allocations.conftest import Jobs
from tests.world import NOW, Tenant

BUDGETS: dict[str, Any] = {
    "pool_share": "0.05",
    "pool_window_seconds": 600,
    "job_window_seconds": 3600,
    "aged_per_day": 10,
    "cooldown_seconds": 3600,
    "min_run_seconds": 300,
    "plan_seconds": 900,
}


class Preemption:
    """acme's plans in short, in h100 of 100 units: nlp is promised 40, serving 40."""

    def __init__(self, place: Tenant, *, pool: str = "h100") -> None:
        self.place = place
        self.pool = pool
        self.jobs = Jobs(place)

    def promise(self, **units: int) -> None:
        for account, guaranteed in units.items():
            command = SetQuota(
                account_id=self.place.accounts[account],
                pool_id=self.place.pools[self.pool],
                guaranteed=guaranteed,
            )
            self.place.run(command, reason="test")

    def budgets(self, *, now: datetime = NOW, **values: Any) -> None:
        """Set the policy, the defaults but for `values`."""
        from decimal import Decimal

        chosen = BUDGETS | values
        chosen["pool_share"] = Decimal(chosen["pool_share"])
        self.place.run(SetPreemptionPolicy(**chosen), now=now, reason="test")

    def running(self, key: str, units: int, *, at: datetime, **values: Any) -> None:
        """A job that runs since `at`; spot of vision unless `values` say otherwise."""
        values = {"account": "vision", "tier": "spot", "pool": self.pool} | values
        told = self.jobs.admit(self.jobs.ask(key, units=units, **values), now=at)
        assert told.results[0].status == "admitted", told.results[0]
        self.jobs.start(key, now=at)

    def alive(self, *keys: str, at: datetime) -> None:
        """Heartbeats, so that leases last."""
        self.jobs.beat(*keys, now=at)

    def ask(
        self, key: str, units: int, *, now: datetime, by: str | None = None, **values: Any
    ) -> wire.PreemptionAnswer:
        """A plan for a job of nlp in P1."""
        context = values.pop("context", {})
        fields = {"account": "nlp", "job_class": "P1", "pool": self.pool} | values
        ask = wire.PreemptionAsk(key=key, units=units, **fields)
        command: Any = PlanPreemption(ask=ask)
        if ask.override:
            command = OverridePreemption(ask=ask)
            context = context | {"reason": ask.override}
        actor = {"by": self.place.actor(by)} if by else {}
        return self.place.run(command, now=now, **actor, **context).result

    def report(
        self, plan: wire.PreemptionPlan, *reports: Any, now: datetime, **context: Any
    ) -> wire.PreemptionTold:
        """`("a", "done")` or a report."""
        from uuid import UUID

        meant = tuple(
            one
            if isinstance(one, wire.PreemptionReport)
            else wire.PreemptionReport(key=one[0], outcome=one[1], **dict(one[2:]))
            for one in reports
        )
        command = ReportActions(plan_id=UUID(plan.id), reports=meant)
        return self.place.run(command, now=now, **context).result

    def confirm(self, plan: wire.PreemptionPlan, *, now: datetime) -> wire.PreemptionSettled:
        from uuid import UUID

        return self.place.run(ConfirmPlan(plan_id=UUID(plan.id)), now=now).result

    def cancel(self, plan: wire.PreemptionPlan, *, now: datetime) -> wire.PreemptionSettled:
        from uuid import UUID

        return self.place.run(CancelPlan(plan_id=UUID(plan.id)), now=now).result

    def rows(self, sql: str) -> list[tuple]:
        with scope.reading(self.place.id), server_cursor() as cursor:
            return cursor.execute(sql).fetchall()


@pytest.fixture
def preemption(acme: Tenant) -> Preemption:
    it = Preemption(acme)
    it.promise(nlp=40, serving=40)
    return it


def after(**period: float) -> datetime:
    """An instant later than NOW."""
    return NOW + timedelta(**period)
