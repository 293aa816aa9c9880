"""Words of use-it-or-lose-it on the database."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from accounting.commands.rates import PriceWish, PublishRateCard
from ledger import scope
from preemption import reclaim_loading as loading
from preemption.commands.reclaim import (
    Reclaimed,
    RestoreQuota,
    ReturnQuota,
    RunReclaim,
)
from preemption.commands.reclaim_rules import SetReclaimRule
from quota.commands.quotas import SetQuota
from tests.world import NOW, Tenant, record

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


class Reclaim:
    """acme's h100, judged by the default rule. Everything is promised ten days before NOW, and
    somebody always uses the pool, so that use is known."""

    def __init__(self, place: Tenant) -> None:
        self.place = place
        self.begin = NOW - 10 * DAY
        self.use("known", 1, account="serving", person="alice", days=40)

    def promise(self, account: str, units: int, *, at: datetime | None = None, **fields) -> None:
        command = SetQuota(
            account_id=self.place.accounts[account],
            pool_id=self.place.pools["h100"],
            guaranteed=units,
            **fields,
        )
        self.place.run(command, now=at or self.begin, reason="test")

    def priced(self, price: int = 2) -> None:
        """What a unit-hour of the pool costs, for longer than anything here."""
        line = PriceWish(flavor="h100-80gb", list_price=Decimal(price))
        since = NOW - 30 * DAY
        rates = PublishRateCard(lines=(line,), effective_from=since)
        self.place.run(rates, now=since, reason="test")

    def rule(self, *, now: datetime = NOW, **fields: Any) -> bool:
        values = {"pool_id": self.place.pools["h100"]} | fields
        command = SetReclaimRule(**values)
        return self.place.run(command, now=now, reason="test").result.changed

    def use(self, key: str, units: int, *, days: float, after: float = 0, **fields: Any) -> None:
        """Units of nlp for so many days, so many days after the promise."""
        start = self.begin + timedelta(days=after)
        it = record(key, units=units, hours=days * 24, start=start, **fields)
        self.place.use(it, now=max(NOW, start + timedelta(days=days)))

    def run(self, now: datetime = NOW) -> Reclaimed:
        return self.place.run(RunReclaim(pool_id=self.place.pools["h100"]), now=now).result

    def restore(self, account: str = "nlp", *, by: str = "alice", now: datetime = NOW):
        command = RestoreQuota(
            account_id=self.place.accounts[account], pool_id=self.place.pools["h100"]
        )
        return self.place.run(command, by=self.place.actor(by), now=now).result

    def give_up(self, account: str = "nlp", *, by: str = "otto", now: datetime = NOW):
        command = ReturnQuota(
            account_id=self.place.accounts[account], pool_id=self.place.pools["h100"]
        )
        return self.place.run(command, by=self.place.actor(by), now=now, reason="review").result

    def standing(self, account: str = "nlp") -> loading.Standing | None:
        with scope.reading(self.place.id):
            found = loading.standings(self.place.id, self.place.pools["h100"])
        return found.get(self.place.accounts[account])

    def state(self, account: str = "nlp") -> str | None:
        found = self.standing(account)
        return None if found is None else found.state

    def quota(self, account: str = "nlp") -> tuple[int, int | None]:
        """Guarantee and borrowing limit."""
        from quota.models import Quota

        with scope.reading(self.place.id):
            row = Quota.objects.get(
                account_id=self.place.accounts[account], pool_id=self.place.pools["h100"]
            )
            return row.guaranteed, row.borrowing_limit


@pytest.fixture
def reclaim(acme: Tenant) -> Reclaim:
    return Reclaim(acme)


SHARE = Decimal("0.2")
