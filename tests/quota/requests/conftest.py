"""Words of requests: `desk.ask("nlp", 8, days=30)`, `desk.approve(it, by="petra")`."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from ledger import scope
from quota.commands.request_policy import SetRequestPolicy
from quota.commands.requests import Submit, Withdraw
from quota.commands.reviews import Approve, ApproveLess, AskChanges, Reject
from quota.domain.request_state import Request
from quota.domain.requests import Terms
from quota.domain.routing import DEFAULT
from quota.loading import requests as loading
from quota.ports import Price, UtilizationFacts, restore_ports, use_ports
from quota.requesting import RequestAnswer
from tests.quota.conftest import Quotas
from tests.world import NOW, Tenant

DAY = timedelta(days=1)


class Desk:
    """acme with approvers: Petra on research, Rita and Rolf on the root."""

    def __init__(self, place: Tenant) -> None:
        self.place = place
        self.quotas = Quotas(place)

    def terms(self, account: str = "nlp", units: int | None = 8, **fields: Any) -> Terms:
        """A boost of a team, for 30 days unless it says otherwise."""
        days = fields.pop("days", 30)
        start = fields.get("starts_at") or NOW
        return Terms(
            **{
                "account_id": self.place.accounts[account],
                "pool_id": self.place.pools[fields.pop("pool", "h100")],
                "kind": "boost" if days else "raise",
                "units": units,
                "ends_at": start + days * DAY if days else None,
                "purpose": "train the next model",
                "workload": "training",
            }
            | fields
        )

    def ask(
        self, account: str = "nlp", units: int | None = 8, *, by: str = "alice", **fields: Any
    ) -> RequestAnswer:
        now = fields.pop("now", NOW)
        return self.run(Submit(terms=self.terms(account, units, **fields)), by=by, now=now)

    def run(self, command: Any, *, by: str, now: datetime = NOW, reason: str = "test") -> Any:
        return self.place.run(command, by=self.place.actor(by), now=now, reason=reason).result

    def approve(self, it: RequestAnswer, *, by: str, **fields: Any) -> RequestAnswer:
        return self._decide(Approve, it, by, fields)

    def approve_less(self, it: RequestAnswer, *, by: str, **fields: Any) -> RequestAnswer:
        return self._decide(ApproveLess, it, by, fields)

    def ask_changes(self, it: RequestAnswer, *, by: str, **fields: Any) -> RequestAnswer:
        return self._decide(AskChanges, it, by, fields)

    def reject(self, it: RequestAnswer, *, by: str, **fields: Any) -> RequestAnswer:
        return self._decide(Reject, it, by, fields)

    def withdraw(self, it: RequestAnswer, *, by: str = "alice", **fields: Any) -> RequestAnswer:
        return self._decide(Withdraw, it, by, fields)

    def _decide(self, command: type, it: RequestAnswer, by: str, fields: dict) -> RequestAnswer:
        context = {name: fields.pop(name) for name in ("now", "reason") if name in fields}
        return self.run(command(request_id=it.request_id, **fields), by=by, **context)

    def request(self, it: RequestAnswer | UUID) -> Request:
        with scope.reading(self.place.id):
            return loading.request(self.place.id, getattr(it, "request_id", it))

    def policy(self, **rules: Any) -> None:
        self.place.run(SetRequestPolicy(policy=replace(DEFAULT, **rules)), reason="test")

    def people_only(self) -> None:
        """Nothing is granted automatically."""
        self.policy(automatic=False)


@pytest.fixture
def desk(acme, known) -> Desk:
    return staffed(acme)


def staffed(acme: Tenant) -> Desk:
    """The approvers of `Desk`."""
    for name, account in (("petra", "research"), ("rita", "root"), ("rolf", "root")):
        acme.person(name)
        acme.role(name, "approver", on=account)
    return Desk(acme)


class KnownUse:
    """Accounting as the tests have it: everyone uses so much, a unit costs so much a month."""

    def __init__(self, mean: float | None = None, price: str | None = None) -> None:
        self.mean = mean
        self.price = price

    def utilization(self, *_: Any) -> UtilizationFacts:
        if self.mean is None:
            return UtilizationFacts()
        return UtilizationFacts(mean=self.mean, p95=4, peak=8, guaranteed=8, coverage=1.0)

    def price_per_month(self, _: UUID, __: UUID, units: int, *___: Any) -> Price | None:
        return Price(amount=Decimal(self.price) * units, currency="EUR") if self.price else None


@pytest.fixture
def known() -> Iterator[KnownUse]:
    """Unknown until a test sets `known.mean` and `known.price`."""
    use = KnownUse()
    before = use_ports(utilization=use, price=use)
    yield use
    restore_ports(before)
