"""A plan that is open, with units set aside for it, for tests that want a row in every table."""

from datetime import timedelta
from decimal import Decimal

from preemption.commands.checkpoints import RecordCheckpoints
from preemption.commands.plans import PlanPreemption
from preemption.commands.policies import SetPreemptionPolicy
from preemption.wire import Checkpoint, PreemptionAsk
from quota.commands.admissions import AdmitBatch
from quota.commands.quotas import SetQuota
from quota.wire import Ask
from tests.world import NOW, Tenant


def planned(place: Tenant, *, key: str = "taker") -> str:
    """Vision's spot job in a100 is to make room for a job of nlp. The plan's id."""
    quota = {"account_id": place.accounts["nlp"], "pool_id": place.pools["a100"]}
    place.run(SetQuota(**quota, guaranteed=50), reason="test")
    place.run(
        SetPreemptionPolicy(
            pool_share=Decimal(1),
            pool_window_seconds=600,
            job_window_seconds=3600,
            aged_per_day=10,
            cooldown_seconds=3600,
            min_run_seconds=0,
            plan_seconds=900,
        ),
        reason="test",
    )
    who = {"account": "vision", "person": "bob", "pool": "a100"}
    place.run(AdmitBatch(requests=(Ask(key="spot", units=80, tier="spot", **who),)))
    saved = Checkpoint(key="spot", reload_seconds=60, warm_up_seconds=30, seconds=20)
    place.run(RecordCheckpoints(pool="a100", checkpoints=(saved,)))
    ask = PreemptionAsk(
        account="nlp",
        pool="a100",
        units=30,
        job_class="P1",
        key=key,
        deadline=NOW + timedelta(hours=1),
    )
    return place.run(PlanPreemption(ask=ask)).result.plan.id
