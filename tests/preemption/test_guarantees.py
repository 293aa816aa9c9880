"""Whatever was admitted, returned and failed before: who asks for what it is promised gets it back
within the pool's reclaim target, or is told what stands in the way."""

import random
from datetime import datetime, timedelta

import pytest

from ledger import verification
from quota.commands.allocations import ReleaseAllocations
from quota.commands.pools import SetUnavailable
from quota.wire import ReleaseMessage
from tests.preemption.conftest import Preemption, after

pytestmark = pytest.mark.django_db
PROMISES = {"nlp": 35, "vision": 25, "serving": 25, "research": 15}
STEPS = 40


class Lab:
    """Random jobs in h100, of which all 100 units are promised."""

    def __init__(self, it: Preemption, seed: int) -> None:
        self.it, self.dice, self.keys = it, random.Random(seed), []
        it.promise(**PROMISES)
        it.budgets(pool_share="1", min_run_seconds=0, job_window_seconds=0)

    def live(self) -> None:
        """Admissions of every kind and releases, as luck has it; all within a few seconds, so that
        no lease matters."""
        for step in range(STEPS):
            now = after(seconds=step)
            if self.keys and self.dice.random() < 0.25:
                key = self.keys.pop(self.dice.randrange(len(self.keys)))
                end = ReleaseMessage(key=key)
                self.it.place.run(ReleaseAllocations(messages=(end,)), now=now)
                continue
            units = self.dice.randint(1, 25)
            ask = self.it.jobs.ask(
                f"job{step}",
                units=units,
                min_units=self.dice.choice([None, 1]),
                account=self.dice.choice(list(PROMISES)),
                job_class=self.dice.choice(["P1", "P2", "P3", "P3"]),
                spot_allowed=True,
                reclaim_seconds=self.dice.choice([60, 120, 300, 3600]),
            )
            told = self.it.jobs.admit(ask, now=now).results[0]
            if told.status == "admitted":
                self.keys.append(ask.key)
                self.it.jobs.start(ask.key, now=now)

    def claim(self, account: str, now: datetime) -> str:
        """Ask for everything that is promised and not in use; take it, if it may be. What an
        account borrows beside its guarantee is its own use too: that is no claim on anybody."""
        guaranteed, borrowed, _ = self.it.jobs.holding(account)
        units = PROMISES[account] - guaranteed - borrowed
        if units <= 0:
            return "held"
        answer = self.it.ask(f"claim-{account}", units, now=now, account=account, tier="guaranteed")
        if answer.status == "plan":
            assert answer.plan.within_target, answer
            assert answer.plan.returns_guarantee
            done = ((action.key, "done") for action in answer.plan.actions)
            told = self.it.report(answer.plan, *done, now=now)
            assert told.plan.missing_units == 0
        if answer.status in ("plan", "fits"):
            job = self.it.jobs.ask(
                f"claim-{account}", units=units, account=account, tier="guaranteed", job_class="P1"
            )
            assert self.it.jobs.admit(job, now=now).admitted == 1, (account, answer)
        else:
            assert answer.obstacles
        return answer.status


@pytest.mark.parametrize("seed", range(6))
def test_every_guarantee_is_honored(preemption, seed):
    lab = Lab(preemption, seed)
    lab.live()
    now = after(minutes=1)
    accounts = list(PROMISES)
    lab.dice.shuffle(accounts)
    assert {account: lab.claim(account, now) for account in accounts}.items() <= {
        (account, status) for account in PROMISES for status in ("held", "fits", "plan")
    }
    assert verification.verify(preemption.place.id).findings == []


def test_where_capacity_failed_the_answer_says_so(preemption):
    lab = Lab(preemption, 1)
    lab.live()
    command = SetUnavailable(pool_id=preemption.place.pools["h100"], unavailable=60)
    preemption.place.run(command, reason="rack is down")
    later = after(minutes=1)
    said = [lab.claim(account, later + timedelta(seconds=n)) for n, account in enumerate(PROMISES)]
    assert set(said) <= {"held", "fits", "plan", "refused", "wait"}
    assert verification.verify(preemption.place.id).findings == []
