"""Words of quota for tests on the database."""

from datetime import datetime
from typing import Any

import pytest

from ledger import scope
from ledger.execution import Outcome
from quota.commands.quotas import SetQuota
from tests.world import NOW, Tenant


class Quotas:
    """acme's quotas in short: `quotas.set("nlp", 60, carve="research")`."""

    def __init__(self, place: Tenant) -> None:
        self.place = place

    def set(
        self,
        account: str,
        guaranteed: int,
        *,
        pool: str = "h100",
        carve: str | None = None,
        now: datetime = NOW,
        reason: str = "test",
        by: str | None = None,
        **fields: Any,
    ) -> Outcome:
        """Set a quota of the tenant."""
        command = SetQuota(
            account_id=self.place.accounts[account],
            pool_id=self.place.pools[pool],
            guaranteed=guaranteed,
            carve_from_id=self.place.accounts[carve] if carve else None,
            **fields,
        )
        actor = {"by": self.place.actor(by)} if by else {}
        return self.place.run(command, now=now, reason=reason, **actor)

    def stored(self, pool: str = "h100") -> dict[str, int]:
        """Guarantees as they are recorded, whatever has fallen due since."""
        from quota.models import Quota

        names = {account: name for name, account in self.place.accounts.items()}
        with scope.reading(self.place.id):
            rows = Quota.objects.filter(pool_id=self.place.pools[pool]).values_list(
                "account_id", "guaranteed"
            )
            return {names[account]: units for account, units in rows}


@pytest.fixture
def quotas(acme) -> Quotas:
    return Quotas(acme)
