"""What readers see: now, at any past instant, and what is known to come."""

from datetime import timedelta

import psycopg
import pytest

from ledger import scope
from ledger.errors import NotFound
from ledger.sql import server_cursor
from quota import wire
from quota.commands.admissions import AdmitBatch
from quota.commands.pools import ResizePool, SetUnavailable
from quota.commands.quotas import SettleQuotas
from quota.queries import quotas as queries
from quota.queries import standing
from quota.queries.capacity import Held, held_by_account
from tenancy import tree_history
from tenancy.commands.accounts import (
    ArchiveAccount,
    MoveAccount,
    OpenAccount,
    RenameAccount,
)
from tests.world import NOW

HOUR = timedelta(hours=1)


def _held(use):
    """Units by (account, pool) as holdings."""
    found = {}
    for (account, pool), units in use.items():
        found.setdefault(pool, {})[account] = Held(guaranteed=units)
    return found


def guaranteed(place, *, now=NOW, as_of=None, pool="h100") -> dict[str, int]:
    with scope.reading(place.id):
        rows = queries.quotas_of_pool(place.id, place.pools[pool], now=now, as_of=as_of)
    return {row.account: row.quota.guaranteed for row in rows}


def test_an_ended_quota_is_not_shown_although_the_task_is_late(quotas, acme):
    quotas.set("research", 50)
    quotas.set("nlp", 20, carve="research", ends_at=NOW + HOUR)
    before = {"nlp": 20, "research": 30}
    after = {"research": 50}
    assert guaranteed(acme, now=NOW + HOUR - timedelta(microseconds=1)) == before
    assert guaranteed(acme, now=NOW + HOUR) == after, "nobody recorded it"
    acme.run(SettleQuotas(), now=NOW + 5 * HOUR)
    assert guaranteed(acme, now=NOW + 5 * HOUR) == after
    assert guaranteed(acme, now=NOW + 5 * HOUR, as_of=NOW + HOUR) == after
    assert guaranteed(acme, now=NOW + 5 * HOUR, as_of=NOW) == before


def test_a_due_change_is_shown_if_and_only_if_it_will_be_recorded(quotas, acme):
    quotas.set("nlp", 20, effective_at=NOW + HOUR)
    quotas.set("vision", 90, effective_at=NOW + 2 * HOUR)
    late = NOW + 3 * HOUR
    assert guaranteed(acme) == {}
    assert guaranteed(acme, as_of=late) == {"nlp": 20}, "what is known to come"
    seen = guaranteed(acme, now=late)
    acme.run(SettleQuotas(), now=late)
    assert guaranteed(acme, now=late) == seen == {"nlp": 20}


def test_any_instant_can_be_asked(quotas, acme):
    h100 = acme.pools["h100"]
    for hour, units in enumerate((10, 30, 20)):
        quotas.set("nlp", units, now=NOW + hour * HOUR)
    acme.run(ResizePool(pool_id=h100, capacity=40), now=NOW + 3 * HOUR, reason="smaller")
    now = NOW + 9 * HOUR
    seen = [guaranteed(acme, now=now, as_of=NOW + hour * HOUR).get("nlp") for hour in range(-1, 4)]
    assert seen == [None, 10, 30, 20, 20]
    with scope.reading(acme.id):
        then = queries.promises(acme.id, now=now, as_of=NOW + 2 * HOUR)
        today = queries.promises(acme.id, now=now)
        assert queries.promises(acme.id, now=now, as_of=NOW - HOUR) == []
    assert [(one.pool.name, one.pool.capacity, one.promise.promised) for one in then] == [
        ("a100", 100, 0),
        ("h100", 100, 20),
    ]
    assert [(one.pool.capacity, one.promise.unpromised) for one in today] == [(100, 100), (40, 20)]


def test_an_over_promised_pool_says_by_how_much(quotas, acme):
    quotas.set("nlp", 80)
    acme.run(SetUnavailable(pool_id=acme.pools["h100"], unavailable=30), reason="failed")
    with scope.reading(acme.id):
        _, h100 = queries.promises(acme.id, now=NOW)
    assert (h100.promise.over_promised_by, h100.promise.holds) == (10, False)


def test_what_is_to_come_and_where_a_temporary_quota_returns_to(quotas, acme):
    quotas.set("research", 50)
    quotas.set("nlp", 20, carve="research", ends_at=NOW + HOUR, borrowing_limit=4)
    quotas.set("vision", 5, effective_at=NOW + 2 * HOUR, ends_at=NOW + 3 * HOUR)
    with scope.reading(acme.id):
        (row,) = queries.quotas_of_account(acme.id, acme.accounts["nlp"], now=NOW)
        (coming,) = queries.coming(acme.id, now=NOW)
        assert queries.coming(acme.id, now=NOW + 2 * HOUR) == []
        assert queries.coming(acme.id, now=NOW, account_id=acme.accounts["nlp"]) == []
    assert (row.quota.guaranteed, row.quota.borrowing_limit) == (20, 4)
    assert (row.base.guaranteed, row.base.borrowing_limit) == (0, None)
    assert (row.ends_at, row.lender, row.pool) == (NOW + HOUR, "research", "h100")
    assert (coming.account, coming.quota.guaranteed) == ("vision", 5)
    assert (coming.starts_at, coming.ends_at) == (NOW + 2 * HOUR, NOW + 3 * HOUR)


def test_history_says_who_wanted_what_fell_due(quotas, acme):
    quotas.set("nlp", 20, by="otto", reason="wanted")
    quotas.set("nlp", 30, by="otto", reason="wanted later", effective_at=NOW + HOUR)
    quotas.set("nlp", 5, pool="a100")
    acme.run(SettleQuotas(), now=NOW + 2 * HOUR, reason="fell due")
    nlp = acme.accounts["nlp"]
    with scope.reading(acme.id):
        page = queries.history(acme.id, nlp, pool_id=acme.pools["h100"])
        everywhere = queries.history(acme.id, nlp)
    told = [(row.event.type, row.event.actor_label, row.event.reason) for row in page.rows]
    assert told == [
        ("quota.set", "system", "fell due"),
        ("quota.scheduled", "otto", "wanted later"),
        ("quota.set", "otto", "wanted"),
    ]
    asked_by = page.rows[0].asked_by
    assert (asked_by.actor_label, asked_by.reason) == ("otto", "wanted later")
    assert asked_by.event_id == page.rows[1].event.id
    assert len(everywhere.rows) == 4


def test_the_arithmetic_of_the_whole_tree(quotas, acme, monkeypatch):
    """research has 20 own; nlp 40 of which it lends 10; vision nothing, at most 15 borrowed."""
    quotas.set("research", 20)
    quotas.set("nlp", 40, lending_limit=10)
    quotas.set("vision", 0, borrowing_limit=15)
    use = {(acme.accounts["nlp"], acme.pools["h100"]): 35}
    monkeypatch.setattr(standing, "held_by_account", lambda *_, **__: _held(use))
    with scope.reading(acme.id):
        tree = standing.pool_tree(acme.id, acme.pools["h100"], now=NOW)
    by_name = {one.account: one for one in tree.accounts}
    nlp, vision, research = (by_name[name] for name in ("nlp", "vision", "research"))
    assert (nlp.subtree, nlp.local, nlp.used, nlp.available) == (40, 30, 35, 25)
    assert (research.subtree, research.own_use, research.used) == (30, 0, 5)
    assert (vision.available, vision.potential, vision.overshoot) == (15, 15, 0)
    assert (by_name["serving"].available, by_name["root"].available) == (25, 25)
    assert tree.promise.promised == 60


def test_use_above_a_lowered_quota_is_overshoot(quotas, acme, monkeypatch):
    quotas.set("root", 0, borrowing_limit=0)
    quotas.set("nlp", 10)
    use = {(acme.accounts["nlp"], acme.pools["h100"]): 16}
    monkeypatch.setattr(standing, "held_by_account", lambda *_, **__: _held(use))
    with scope.reading(acme.id):
        found = standing.account_in_pools(acme.id, acme.accounts["nlp"], now=NOW)
    (h100,) = (one.standing for one in found if one.pool.name == "h100")
    assert (h100.available, h100.overshoot, h100.borrowed) == (0, 6, 0)


def test_questions_do_not_grow_with_the_tree(quotas, acme, monkeypatch):
    asked = []
    execute = psycopg.Cursor.execute

    def counting(cursor, query, *args, **kwargs):
        asked.append(query)
        return execute(cursor, query, *args, **kwargs)

    monkeypatch.setattr(psycopg.Cursor, "execute", counting)

    def count() -> int:
        asked.clear()
        with scope.reading(acme.id):
            standing.account_in_pools(acme.id, acme.accounts["nlp"], now=NOW)
        return len(asked)

    quotas.set("nlp", 5)
    before = count()
    assert before > 3
    for number in range(10):
        acme.account(f"team-{number}", under="nlp")
        quotas.set(f"team-{number}", 1)
        quotas.set(f"team-{number}", 1, pool="a100")
    assert count() == before


def test_another_tenant_s_ids_lead_nowhere(quotas, acme, globex):
    quotas.set("nlp", 5)
    with scope.reading(globex.id):
        assert queries.quotas_of_pool(globex.id, acme.pools["h100"], now=NOW) == []
        assert queries.history(acme.id, acme.accounts["nlp"]).rows == ()
        assert queries.promises(acme.id, now=NOW) == []
        with pytest.raises(NotFound):
            standing.pool_tree(globex.id, acme.pools["h100"], now=NOW)
        with pytest.raises(NotFound):
            standing.account_in_pools(globex.id, acme.accounts["nlp"], now=NOW)


def test_use_is_judged_at_the_instant_asked(quotas, acme):
    """A hold that nobody starts lapses by itself; spot is no use of anybody's quota."""
    quotas.set("nlp", 8)

    def ask(key: str, units: int, **fields):
        return wire.Ask(key=key, account="nlp", person="bob", pool="h100", units=units, **fields)

    acme.run(AdmitBatch(requests=(ask("a", 5), ask("s", 20, tier="spot"))))

    def used(now=NOW, as_of=None) -> int:
        with scope.reading(acme.id):
            found = standing.account_in_pools(acme.id, acme.accounts["nlp"], now=now, as_of=as_of)
        return sum(one.standing.used for one in found if one.pool.name == "h100")

    day = NOW + timedelta(days=1)
    assert used() == 5
    assert (used(now=day), used(now=day, as_of=NOW), used(now=day, as_of=NOW - HOUR)) == (0, 5, 0)


def test_the_tree_is_that_of_the_instant(quotas, acme):
    """A moved, renamed and archived account stands where and as it stood."""
    quotas.set("research", 10)
    quotas.set("nlp", 4)
    acme.run(
        MoveAccount(account_id=acme.accounts["nlp"], to_parent_id=acme.accounts["production"]),
        now=NOW + 2 * HOUR,
    )
    acme.run(
        RenameAccount(account_id=acme.accounts["nlp"], name="speech", description=""),
        now=NOW + 3 * HOUR,
    )
    acme.run(
        MoveAccount(account_id=acme.accounts["nlp"], to_parent_id=acme.accounts["vision"]),
        now=NOW + 4 * HOUR,
    )
    acme.run(OpenAccount(parent_id=acme.root, name="late"), now=NOW + 5 * HOUR)
    acme.run(ArchiveAccount(account_id=acme.accounts["serving"]), now=NOW + 6 * HOUR)

    def seen(hour: int) -> tuple[dict[str, str], int, set[str]]:
        with scope.reading(acme.id):
            tree = standing.pool_tree(
                acme.id, acme.pools["h100"], now=NOW + 9 * HOUR, as_of=NOW + hour * HOUR
            )
        names = {one.account_id: one.account for one in tree.accounts}
        parents = {one.account: names[one.parent_id] for one in tree.accounts if one.parent_id}
        subtree = {one.account: one.subtree for one in tree.accounts}
        return parents, subtree["research"], {one.account for one in tree.accounts if one.archived}

    parents, research, archived = seen(1)
    assert (parents["nlp"], research, archived) == ("research", 14, set())
    assert "late" not in parents
    parents, research, _ = seen(2)
    assert (parents["nlp"], research) == ("production", 10)
    parents, research, _ = seen(3)
    assert (parents["speech"], research) == ("production", 10)
    parents, research, archived = seen(6)
    assert (parents["speech"], parents["late"], research) == ("vision", "root", 14)
    assert archived == {"serving"}
    assert seen(9) == seen(6)


def test_spot_use_of_a_past_instant_is_known(acme):
    ask = wire.Ask(key="s", account="nlp", person="bob", pool="h100", units=20, tier="spot")
    acme.run(AdmitBatch(requests=(ask,)))
    h100 = acme.pools["h100"]
    with scope.reading(acme.id):
        later = NOW + timedelta(days=1)
        now = held_by_account(acme.id, [h100], now=NOW)
        then = held_by_account(acme.id, [h100], now=later, as_of=NOW)
        assert now == then == {h100: {acme.accounts["nlp"]: Held(spot=20)}}
        assert held_by_account(acme.id, [h100], now=later) == {h100: {}}
        assert held_by_account(acme.id, [h100], now=later, as_of=NOW + 2 * HOUR) == {}


def test_the_tree_of_an_instant_reads_only_events_of_the_tree(acme):
    """However much else has happened since."""
    with scope.reading(acme.id), server_cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        here, at = acme.id, NOW
        values = (here, at, here, at, here, at, at, here, at)
        plan = "\n".join(
            row[0] for row in cursor.execute(f"EXPLAIN {tree_history._THEN}", values).fetchall()
        )
    assert plan.count("ledger_event_of_tree") == 2, plan
