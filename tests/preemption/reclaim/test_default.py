"""The organization's rule holds in every pool that has none of its own."""

import pytest

from ledger import scope, verification
from ledger.errors import Conflict, Denied, NotFound
from preemption import reclaim_loading as loading
from preemption import tasks
from preemption.commands.reclaim_rules import DropReclaimRule, SetReclaimRule
from tests.preemption.reclaim.conftest import DAY, Reclaim
from tests.world import NOW


def default(it: Reclaim, **fields) -> bool:
    command = SetReclaimRule(pool_id=None, **fields)
    return it.place.run(command, now=NOW, reason="test").result.changed


def drop(it: Reclaim, **fields) -> bool:
    command = DropReclaimRule(pool_id=it.place.pools["h100"], **fields)
    return it.place.run(command, now=NOW, reason="test").result.changed


def holds(it: Reclaim, pool: str = "h100") -> loading.PoolRule:
    """The rule of a pool; alone and among all of them it is the same."""
    with scope.reading(it.place.id):
        found = loading.rule(it.place.id, it.place.pools[pool])
        among = loading.rules(it.place.id).get(it.place.pools[pool], loading.PoolRule())
    assert found == among
    return found


def test_without_any_rule_nothing_holds(reclaim):
    assert holds(reclaim) == loading.PoolRule() and not holds(reclaim).enabled


def test_a_pool_follows_until_it_has_its_own_and_again_when_that_is_dropped(reclaim):
    assert default(reclaim, window_seconds=96 * 3600)
    for pool in ("h100", "a100"):
        assert holds(reclaim, pool).set_for == "organization"
        assert holds(reclaim, pool).rule.window_seconds == 96 * 3600
    assert reclaim.rule()
    assert holds(reclaim).set_for == "pool"
    assert holds(reclaim).rule.window_seconds == 72 * 3600
    assert default(reclaim, window_seconds=120 * 3600)
    assert holds(reclaim).rule.window_seconds == 72 * 3600
    assert holds(reclaim, "a100").rule.window_seconds == 120 * 3600
    assert drop(reclaim)
    assert not drop(reclaim), "it follows already"
    assert holds(reclaim) == holds(reclaim, "a100")
    assert verification.verify(reclaim.place.id).findings == []


def test_a_pools_own_rule_may_say_the_same_and_is_its_own_all_the_same(reclaim):
    assert default(reclaim)
    assert reclaim.rule(), "from now on it does not follow"
    default(reclaim, enabled=False)
    assert holds(reclaim).enabled


def test_the_organizations_rule_takes_what_is_idle_in_pools_that_follow(reclaim):
    reclaim.promise("nlp", 40)
    default(reclaim)
    assert reclaim.run().watched == 1
    assert reclaim.run(NOW + DAY).demoted == 1
    assert reclaim.quota()[0] == 0


def test_a_pool_may_have_none_explicitly(reclaim):
    reclaim.promise("nlp", 40)
    default(reclaim)
    reclaim.rule(enabled=False)
    assert reclaim.run().watched == 0
    drop(reclaim)
    assert reclaim.run().watched == 1


def test_the_task_runs_pools_that_follow(reclaim, monkeypatch):
    ran = []
    monkeypatch.setattr(tasks, "execute", lambda command, _context: ran.append(command.pool_id))
    default(reclaim)
    reclaim.rule(enabled=False)
    tasks.run_reclaim_of(str(reclaim.place.id))
    others = {pool for name, pool in reclaim.place.pools.items() if name != "h100"}
    assert set(ran) == others and others


def test_who_may_and_what_is_wrong(reclaim, globex):
    alice = reclaim.place.actor("alice")
    for command in (
        SetReclaimRule(pool_id=None),
        DropReclaimRule(pool_id=reclaim.place.pools["h100"]),
    ):
        with pytest.raises(Denied):
            reclaim.place.run(command, by=alice, now=NOW, reason="test")
    for command in (
        SetReclaimRule(pool_id=globex.pools["h100"]),
        SetReclaimRule(pool_id=None, exempt_ids=(globex.root,)),
        DropReclaimRule(pool_id=globex.pools["h100"]),
    ):
        with pytest.raises(NotFound):
            reclaim.place.run(command, now=NOW, reason="test")
    default(reclaim)
    with scope.reading(globex.id):
        assert loading.rules(globex.id) == {}


def test_the_second_of_two_who_change_a_rule_at_once_is_told(reclaim):
    """Each form and each request may say which version it was made on."""
    assert reclaim.rule(expected_version=0)
    with pytest.raises(Conflict):
        reclaim.rule(window_seconds=96 * 3600, expected_version=0)
    assert default(reclaim, expected_version=0)
    with pytest.raises(Conflict):
        default(reclaim, enabled=False, expected_version=0)
    with pytest.raises(Conflict):
        drop(reclaim, expected_version=0)
    assert drop(reclaim, expected_version=1)
    with pytest.raises(Conflict):
        reclaim.rule(expected_version=1)
