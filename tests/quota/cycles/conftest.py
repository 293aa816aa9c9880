"""Words of review cycles: `table.open()`, `table.decide(it, "nlp", "set", 20, by="petra")`."""

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from ledger import scope
from quota.commands.cycle_close import CloseCycle, CycleClosed
from quota.commands.cycle_decisions import AnswerReview, AskLead, Choice, DecideCycle
from quota.commands.cycles import OpenCycle
from quota.domain.cycles import Decision
from quota.loading import cycles as loading
from quota.loading.cycles import Entry
from quota.ports import Place, Price, UtilizationFacts, restore_ports, use_ports
from tests.quota.conftest import Quotas
from tests.world import NOW, Tenant

DAY = timedelta(days=1)


class Use:
    """Accounting as the tests have it: what they say of places, unknown of all others."""

    def __init__(self) -> None:
        self.facts: dict[Place, UtilizationFacts] = {}
        self.costs: dict[Place, Decimal] = {}
        self.asked = 0

    def utilizations(
        self, _: UUID, places: Collection[Place], start: datetime, end: datetime
    ) -> dict[Place, UtilizationFacts]:
        self.asked += 1
        return {place: self.facts[place] for place in places if place in self.facts}

    def idle_costs(
        self, _: UUID, places: Collection[Place], start: datetime, end: datetime
    ) -> dict[Place, Price]:
        return {
            place: Price(amount=self.costs[place], currency="EUR")
            for place in places
            if place in self.costs
        }


class Table:
    """acme with approvers: Petra on research, Rita and Rolf on the root; research 20, nlp 40 and
    serving 30 of 100 h100, vision 10 of a100."""

    def __init__(self, place: Tenant, use: Use) -> None:
        self.place = place
        self.use = use
        self.quotas = Quotas(place)
        for name, account in (("petra", "research"), ("rita", "root"), ("rolf", "root")):
            place.person(name)
            place.role(name, "approver", on=account)
        for account, units in (("research", 20), ("nlp", 40), ("serving", 30)):
            self.quotas.set(account, units, now=NOW - 100 * DAY)
        self.quotas.set("vision", 10, pool="a100", now=NOW - 100 * DAY)

    def run(self, command: Any, *, by: str, now: datetime = NOW, **context: Any) -> Any:
        return self.place.run(command, by=self.place.actor(by), now=now, **context).result

    def open(self, account: str = "root", *, by: str = "rita", **fields: Any) -> UUID:
        now = fields.pop("now", NOW)
        command = OpenCycle(
            account_id=self.place.accounts[account],
            name=fields.pop("name", "Autumn"),
            deadline=fields.pop("deadline", now + 14 * DAY),
            **fields,
        )
        return self.run(command, by=by, now=now).cycle_id

    def choice(self, account: str, decision: str, units: int | None = None, **fields) -> Choice:
        return Choice(
            account_id=self.place.accounts[account],
            pool_id=self.place.pools[fields.pop("pool", "h100")],
            decision=Decision(decision),
            units=units,
            **fields,
        )

    def decide(self, it: UUID, account: str, decision: str, units: int | None = None, **fields):
        by, reason = fields.pop("by", "rita"), fields.pop("reason", "")
        now = fields.pop("now", NOW)
        command = DecideCycle(
            cycle_id=it, choices=(self.choice(account, decision, units, **fields),)
        )
        return self.run(command, by=by, reason=reason, now=now)

    def ask(self, it: UUID, account: str, *, by: str = "rita", question: str = "Why?", **fields):
        return self.run(
            AskLead(cycle_id=it, question=question, **self._where(account, fields)), by=by
        )

    def answer(self, it: UUID, account: str, *, by: str = "alice", text: str = "So.", **fields):
        units = fields.pop("units", None)
        return self.run(
            AnswerReview(cycle_id=it, text=text, units=units, **self._where(account, fields)),
            by=by,
        )

    def _where(self, account: str, fields: dict) -> dict:
        pool = self.place.pools[fields.pop("pool", "h100")]
        return {"account_id": self.place.accounts[account], "pool_id": pool, **fields}

    def close(self, it: UUID, *, by: str = "rolf", now: datetime = NOW, **fields) -> CycleClosed:
        reason = fields.pop("reason", "")
        return self.run(CloseCycle(cycle_id=it, **fields), by=by, now=now, reason=reason)

    def entry(self, it: UUID, account: str, pool: str = "h100") -> Entry:
        place = (self.place.accounts[account], self.place.pools[pool])
        with scope.reading(self.place.id):
            return loading.entries(self.place.id, it, [place])[place]

    def known(self, account: str, *, recommended: int | None, pool: str = "h100", **facts) -> None:
        """Say how an account uses its quota."""
        place = (self.place.accounts[account], self.place.pools[pool])
        cost = facts.pop("cost", None)
        given = {"mean": 0.5, "p50": 4, "p95": 8, "peak": 12, "idle_units": 30, "coverage": 1.0}
        self.use.facts[place] = UtilizationFacts(**given | facts, recommended=recommended)
        if cost is not None:
            self.use.costs[place] = Decimal(cost)


@pytest.fixture
def use() -> Iterator[Use]:
    told = Use()
    before = use_ports(utilization=told, price=told)
    yield told
    restore_ports(before)


@pytest.fixture
def table(acme, use) -> Table:
    return Table(acme, use)
