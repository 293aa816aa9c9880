"""Two processes at random work: whichever is asked answers as one would that knows nothing."""

import random
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

import msgspec
import pytest

from ledger.commands import RecordLaneHeads
from ledger.errors import DomainError
from ledger.ids import new_id
from quota import wire
from quota.commands.allocations import ReleaseAllocations, ResizeAllocations, StartAllocations
from quota.commands.policies import SetAdmissionPolicy
from quota.commands.pools import ResizePool, SetReclaimTarget, SetUnavailable
from quota.commands.quotas import SetQuota, SettleQuotas
from quota.commands.settling import SettlePools
from tenancy.commands.accounts import ArchiveAccount, MoveAccount, RenameAccount
from tests.quota.allocations.conftest import Jobs
from tests.quota.allocations.grounds_kept import Process
from tests.quota.allocations.test_reservations import SetAside
from tests.world import NOW, Tenant

SEEDS = range(8)
STEPS = 60
POOLS = ("h100", "a100")


class Chance:
    """Commands as luck will have them; many of them are refused."""

    def __init__(self, seed: int, jobs: Jobs) -> None:
        self.dice = random.Random(seed)
        self.jobs = jobs
        self.place: Tenant = jobs.place
        self.now: datetime = NOW
        self.names = [name for name in self.place.accounts if name != "root"]
        self.people = ["bob", "alice"]
        self.keys: list[str] = []
        self.done = 0

    def step(self) -> None:
        """Time goes on, or somebody does something."""
        seldom: tuple[Callable[[], object], ...] = (
            *(self.quota, self.quota, self.quota, self.account, self.rename, self.move),
            *(self.archive, self.person, self.times, self.size, self.failure, self.target),
            *(self.heads, self.due),
        )
        often: tuple[Callable[[], object], ...] = (
            *(
                self.admit,
                self.admit,
                self.admit,
                self.admit,
                self.start,
                self.release,
                self.resize,
                self.aside,
            ),
            *(self.later, self.settle),
        )
        with suppress(DomainError):
            self.dice.choice(seldom if self.dice.random() < 0.4 else often)()
            self.done += 1

    def run(self, command: object) -> object:
        return self.place.run(command, now=self.now, reason="test").result

    def an_account(self) -> dict:
        return {"account_id": self.dice.choice(list(self.place.accounts.values()))}

    def a_pool(self) -> dict:
        return {"pool_id": self.place.pools[self.dice.choice(POOLS)]}

    def a_limit(self) -> int | None:
        return self.dice.choice([None, None, 0, 5, 20])

    def an_instant(self) -> datetime | None:
        after = self.dice.choice([None, None, None, 10, 40])
        return after and self.now + timedelta(minutes=after)

    def quota(self) -> None:
        self.run(
            SetQuota(
                guaranteed=self.dice.choice([0, 5, 10, 20, 30]),
                borrowing_limit=self.a_limit(),
                lending_limit=self.a_limit(),
                effective_at=self.an_instant(),
                ends_at=self.dice.choice([None, self.now + timedelta(minutes=60)]),
                **self.an_account(),
                **self.a_pool(),
            )
        )

    def account(self) -> None:
        name = f"new{len(self.names)}"
        self.place.account(name, under=self.dice.choice(list(self.place.accounts)))
        self.names.append(name)

    def rename(self) -> None:
        name = self.dice.choice([*self.names, f"renamed{len(self.names)}"])
        self.run(RenameAccount(name=name, description="", **self.an_account()))
        self.names.append(name)

    def move(self) -> None:
        under = self.an_account()["account_id"]
        self.run(MoveAccount(to_parent_id=under, **self.an_account()))

    def archive(self) -> None:
        if self.dice.random() < 0.3:
            self.run(ArchiveAccount(**self.an_account()))

    def person(self) -> None:
        name = f"person{len(self.people)}"
        self.place.person(name)
        self.people.append(name)

    def times(self) -> None:
        lease = self.dice.choice([600, 900, 1200])
        self.run(
            SetAdmissionPolicy(
                hold_seconds=300,
                lease_seconds=lease,
                heartbeat_seconds=60,
                interactive_seconds_max=3600,
            )
        )

    def size(self) -> None:
        capacity = self.dice.choice([60, 80, 100, 120])
        self.run(ResizePool(capacity=capacity, accept_over_promise=True, **self.a_pool()))

    def failure(self) -> None:
        self.run(SetUnavailable(unavailable=self.dice.choice([0, 5, 30]), **self.a_pool()))

    def target(self) -> None:
        seconds = self.dice.choice([30, 100, 300])
        self.run(SetReclaimTarget(reclaim_target_seconds=seconds, **self.a_pool()))

    def heads(self) -> None:
        self.run(RecordLaneHeads())

    def due(self) -> None:
        self.run(SettleQuotas())

    def settle(self) -> None:
        self.run(SettlePools(pool_ids=tuple(self.place.pools.values())))

    def later(self) -> None:
        self.now += timedelta(minutes=self.dice.choice([1, 1, 2, 4, 31]))

    def aside(self) -> None:
        units = self.dice.choice([3, 8])
        where = {**self.an_account(), **self.a_pool()}
        key = f"j{self.dice.randint(0, 60)}"
        self.run(SetAside(id=new_id(), key=key, units=units, free_units=units, **where))

    def admit(self) -> None:
        """One that may grow and shrink, most often; it runs at once."""
        self.keys.append(f"j{len(self.keys)}")
        asked = self.ask(self.keys[-1])
        if asked.needs is None:
            asked = msgspec.structs.replace(asked, min_units=1)
        self.jobs.admit(asked, now=self.now)
        self.run(StartAllocations(messages=(wire.Message(key=self.keys[-1]),)))

    def start(self) -> None:
        self.message(StartAllocations, wire.Message)

    def release(self) -> None:
        self.message(ReleaseAllocations, wire.ReleaseMessage)

    def resize(self) -> None:
        units = self.dice.choice([1, 2, 5])
        self.message(ResizeAllocations, wire.ResizeMessage, units=units, pool="h100")

    def message(self, command: type, message: type, **values) -> None:
        if self.keys:
            self.run(command(messages=(message(key=self.dice.choice(self.keys), **values),)))

    def ask(self, key: str) -> wire.Ask:
        units = self.dice.choice([1, 4, 10, 25, 60])
        values = {"pool": self.dice.choice(POOLS), "units": units}
        values["min_units"] = self.dice.choice([None, 1])
        if self.dice.random() < 0.4:
            least = max(1, units // self.dice.choice([1, 2]))
            needs = [
                wire.PoolNeed(pool="h100", units=units, min_units=least),
                wire.PoolNeed(pool="a100", units=self.dice.choice([1, 10])),
            ]
            values = {"needs": needs}
        return wire.Ask(
            key=key,
            account=self.dice.choice(self.names),
            person=self.dice.choice(self.people),
            job_class=self.dice.choice(["P0", "P1", "P2", "P3"]),
            tier=self.dice.choice([None, None, "guaranteed", "borrowed", "spot"]),
            spot_allowed=self.dice.random() < 0.5,
            reclaim_seconds=self.dice.choice([10, 60, 200]),
            **values,
        )

    def messages(self) -> list[object]:
        """About the jobs that came last: their ends, with who rises then, and other sizes."""
        made: list[object] = []
        for key in self.keys[-6:]:
            units = self.dice.choice([1, 10, 25, 60])
            resize = wire.ResizeMessage(key=key, pool="h100", units=units)
            made.append(ReleaseAllocations(messages=(wire.ReleaseMessage(key=key),)))
            made.append(ResizeAllocations(messages=(resize,)))
        return made

    def would(self, process: Process, command: object) -> tuple[object, list[object]]:
        """What would be answered, and recorded."""
        with process.at_work():
            made = self.place.run(command, now=self.now, dry_run=True)
        return made.result, [event.data for event in made.events]


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_kept_makes_no_difference(acme, jobs, quotas, seed):
    chance = Chance(seed, jobs)
    for pool in POOLS:
        quotas.set("nlp", 20, pool=pool)
        quotas.set("serving", 30, pool=pool)
    processes = Process(jobs), Process(jobs)
    known, told = 0, set()
    for number in range(STEPS):
        process = processes[number % 2]
        with processes[chance.dice.randint(0, 1)].at_work():
            chance.step()
        # What is kept is from some steps before.
        for command in chance.messages():
            answer = chance.would(process, command)
            assert answer == chance.would(Process(jobs), command), f"step {number}"
            told |= {one.code for one in answer[0].results}
        if number % 4 < 2:
            continue
        asks = [chance.ask(f"probe{place}") for place in range(6)]
        for batch in (asks, asks[:1], asks[1:2]):
            known += process.knows(*batch, now=chance.now)
            answers = process.decide(*batch, now=chance.now)
            assert answers == Process(jobs).decide(*batch, now=chance.now), f"step {number}"
            told |= {answer["status"] for answer in answers}
    assert known >= STEPS // 6, "it is about what is kept"
    assert told >= {"admitted", "denied", "released"}
    assert chance.done > STEPS // 2
