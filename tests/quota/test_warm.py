"""The warm quotas of an organization: never older than what had committed, read again in part."""

from datetime import timedelta

import pytest

from ledger import rebuild, scope
from ledger.projection import projectors
from ledger.sql import server_cursor
from quota.commands.quotas import SetQuota
from quota.queries import standing, warm
from tenancy.commands.accounts import MoveAccount
from tests.world import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def cold():
    warm.forget()
    yield
    warm.forget()


def _set(acme, account, pool, guaranteed, **more):
    acme.run(
        SetQuota(
            account_id=acme.accounts[account],
            pool_id=acme.pools[pool],
            guaranteed=guaranteed,
            **more,
        ),
        reason="the plan",
    )


def _guaranteed(acme, account, pool):
    with scope.reading(acme.id):
        for one in standing.account_in_pools(acme.id, acme.accounts[account], now=NOW):
            if one.pool_id == acme.pools[pool]:
                return one.standing.quota.guaranteed
    return None


def test_every_change_shows_in_the_very_next_answer(acme):
    assert _guaranteed(acme, "nlp", "h100") == 0
    _set(acme, "nlp", "h100", 40)
    assert _guaranteed(acme, "nlp", "h100") == 40
    _set(acme, "nlp", "a100", 7, borrowing_limit=3)
    _set(acme, "nlp", "h100", 30)
    assert (_guaranteed(acme, "nlp", "h100"), _guaranteed(acme, "nlp", "a100")) == (30, 7)
    _set(acme, "nlp", "h100", 0)
    assert _guaranteed(acme, "nlp", "h100") == 0
    acme.pool("new")
    _set(acme, "nlp", "new", 5)
    assert _guaranteed(acme, "nlp", "new") == 5


def test_only_the_pools_that_changed_are_read_again(acme):
    _set(acme, "nlp", "h100", 40)
    with scope.reading(acme.id):
        before = warm.quotas(acme.id)
        assert warm.quotas(acme.id) is before
    acme.person("zoe")
    with scope.reading(acme.id):
        after = warm.quotas(acme.id)
    assert after.seq > before.seq and after.cells is before.cells
    _set(acme, "vision", "a100", 3)
    with scope.reading(acme.id):
        again = warm.quotas(acme.id)
    assert again.nodes is before.nodes and again.cells is not before.cells
    at = (again.cells.row_of[acme.accounts["nlp"]], again.columns[acme.pools["h100"]])
    assert (before.cells.guaranteed[at], again.cells.guaranteed[at]) == (40, 40)


def test_a_moved_account_counts_where_it_hangs_now(acme):
    _set(acme, "nlp", "h100", 40)

    def subtree(name):
        with scope.reading(acme.id):
            tree = standing.pool_tree(acme.id, acme.pools["h100"], now=NOW)
        return next(one.subtree for one in tree.accounts if one.account == name)

    assert (subtree("research"), subtree("production")) == (40, 0)
    move = MoveAccount(account_id=acme.accounts["nlp"], to_parent_id=acme.accounts["production"])
    acme.run(move, reason="they serve now")
    assert (subtree("research"), subtree("production")) == (0, 40)


def test_what_is_due_counts_without_being_recorded(acme):
    _set(acme, "nlp", "h100", 40, ends_at=NOW + timedelta(hours=1))
    assert _guaranteed(acme, "nlp", "h100") == 40
    with scope.reading(acme.id):
        later = NOW + timedelta(hours=2)
        found = standing.account_in_pools(acme.id, acme.accounts["nlp"], now=later)
    assert {one.standing.quota.guaranteed for one in found} == {0}
    assert _guaranteed(acme, "nlp", "h100") == 40


def test_a_ledger_that_lies_behind_is_read_anew(acme):
    """As after a restore from a backup: numbers of the lane begin again below those known."""
    _set(acme, "nlp", "h100", 40)
    with scope.reading(acme.id):
        before = warm.quotas(acme.id)
        before.seq += 5
        again = warm.quotas(acme.id)
    assert again is not before and again.seq == before.seq - 5


def test_what_a_rebuild_has_put_right_is_read_anew(acme):
    _set(acme, "nlp", "h100", 40)
    with scope.reading(acme.id), server_cursor() as cursor:
        cursor.execute("UPDATE quota_quota SET guaranteed = 41")
    warm.forget()
    assert _guaranteed(acme, "nlp", "h100") == 41
    rebuild.rebuild(acme.id)
    assert _guaranteed(acme, "nlp", "h100") == 40


def test_every_event_that_changes_the_arrays_is_looked_for():
    """Types whose projectors write the tables that the arrays are read from."""
    read = {"quota_quota", "quota_pool", "tenancy_account"}
    types = {
        name
        for projector in projectors()
        if read & {table.name for table in projector.tables}
        for name in projector.types
    }
    # Sizes of pools are read anew by every answer; the first account comes with the organization.
    apart = {name for name in types if name.startswith("pool.") and name != "pool.opened"}
    apart |= {"organization.created"}
    watched = {n for n in types if n.startswith(("account.", "quota.")) or n == "pool.opened"}
    assert types - apart == watched and "quota.set" in watched
