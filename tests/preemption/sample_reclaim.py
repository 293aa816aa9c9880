"""A rule, and a guarantee that it watches, for tests that want a row in every table."""

from datetime import timedelta

from preemption.commands.reclaim import RunReclaim
from preemption.commands.reclaim_rules import SetReclaimRule
from quota.commands.quotas import SetQuota
from tests.world import NOW, Tenant, record


def demoted(place: Tenant) -> None:
    """Serving's guarantee in a100 lies idle while somebody uses the pool, and loses its idle part.
    The pool is in maintenance tomorrow. The organization's rule is off."""
    pool_id = place.pools["a100"]
    quota = {"account_id": place.accounts["serving"], "pool_id": pool_id}
    place.run(SetQuota(**quota, guaranteed=4), now=NOW - timedelta(days=5), reason="test")
    start = NOW - timedelta(days=6)
    used = record("known", units=1, hours=144, start=start, account="vision", pool="a100")
    place.use(used)
    maintenance = ((NOW + timedelta(days=1), NOW + timedelta(days=2)),)
    rule = {"watch_seconds": 3600, "window_seconds": 3600}
    exempt = (place.accounts["vision"],)
    place.run(
        SetReclaimRule(pool_id=pool_id, maintenance=maintenance, exempt_ids=exempt, **rule),
        reason="test",
    )
    place.run(
        SetReclaimRule(pool_id=None, enabled=False, maintenance=maintenance, exempt_ids=exempt),
        reason="test",
    )
    for _ in range(2):
        place.run(RunReclaim(pool_id=pool_id))
