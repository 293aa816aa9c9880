"""A guarantee that lies idle is watched, then loses its idle part, once; used again it is left."""

from datetime import timedelta

import pytest

from ledger.errors import Denied, Invalid, Refused
from tests.preemption.reclaim.conftest import DAY, HOUR
from tests.world import NOW


def demoted(reclaim, *, units: int = 40, **fields):
    """nlp's guarantee was idle for ten days, was watched now and demoted a day later."""
    reclaim.promise("nlp", units, **fields)
    reclaim.rule()
    assert reclaim.run().watched == 1
    assert reclaim.run(NOW + DAY).demoted == 1


def test_no_rule_does_nothing(reclaim):
    reclaim.promise("nlp", 40)
    assert reclaim.run() == type(reclaim.run())()
    reclaim.rule(enabled=False)
    reclaim.run()
    assert reclaim.state() is None


def test_an_idle_guarantee_is_watched_first_and_loses_its_idle_part_after_the_notice(reclaim):
    reclaim.promise("nlp", 40, borrowing_limit=0)
    reclaim.use("some", 5, days=40)
    reclaim.rule()
    assert reclaim.run().watched == 1
    assert reclaim.run(NOW + 23 * HOUR).demoted == 0
    assert reclaim.run(NOW + DAY).demoted == 1
    # What p95 needs stays; what left may be borrowed: the ceiling is what it was.
    assert reclaim.quota() == (5, 35)
    assert reclaim.standing().units == 35


def test_run_twice_it_has_one_effect(reclaim):
    demoted(reclaim)
    for later in (DAY, DAY + HOUR, 5 * DAY):
        again = reclaim.run(NOW + later)
        assert (again.watched, again.demoted) == (0, 0)
    assert reclaim.standing().demotions == 1


def test_a_late_run_tells_before_it_takes(reclaim):
    reclaim.promise("nlp", 40)
    reclaim.rule()
    assert reclaim.run(NOW + 20 * DAY).watched == 1
    assert reclaim.quota()[0] == 40


def test_use_after_the_watch_clears_it(reclaim):
    reclaim.promise("nlp", 40)
    reclaim.rule()
    reclaim.run()
    reclaim.use("back", 40, days=2, after=10)
    assert reclaim.run(NOW + 2 * DAY).cleared == 1
    assert reclaim.quota()[0] == 40


@pytest.mark.parametrize(("units", "want"), [(19, 1), (20, 0)])
def test_the_threshold_is_exact(reclaim, units, want):
    reclaim.promise("nlp", 99)
    reclaim.use("some", units, days=40)
    reclaim.rule()
    assert reclaim.run().watched == want


def test_a_quota_about_its_threshold_does_not_flap(reclaim):
    """19.9 %, then 20.1 %: watched once, and neither cleared nor watched again."""
    reclaim.begin = NOW - 10 * DAY
    reclaim.promise("nlp", 99)
    reclaim.use("low", 19, days=10)
    reclaim.rule()
    assert reclaim.run().watched == 1
    reclaim.use("high", 20, days=3, after=10)
    for hours in range(1, 72, 7):
        told = reclaim.run(NOW + hours * HOUR)
        assert (told.watched, told.cleared) == (0, 0), hours
        if told.demoted:
            break


def test_use_below_counts_for_the_guarantee_above(reclaim):
    reclaim.promise("research", 40)
    reclaim.use("below", 30, days=40)
    reclaim.rule()
    assert reclaim.run().watched == 0


def test_a_restore_is_one_click_within_the_cooldown(reclaim):
    demoted(reclaim, borrowing_limit=0)
    with pytest.raises(Denied):
        reclaim.restore(by="bob", now=NOW + 2 * DAY)
    assert reclaim.restore(now=NOW + 2 * DAY).changed
    assert not reclaim.restore(now=NOW + 2 * DAY).changed
    assert reclaim.quota() == (40, 0)
    # No second demotion within the cooldown of the first.
    assert reclaim.run(NOW + 14 * DAY).watched == 0
    assert reclaim.state() == "restored"


def test_a_restore_comes_too_late_after_the_cooldown(reclaim):
    demoted(reclaim)
    with pytest.raises(Refused) as refused:
        reclaim.restore(now=NOW + 15 * DAY)
    assert refused.value.code == "restore_too_late"


def test_a_restore_is_refused_where_the_pool_cannot_promise_it(reclaim):
    demoted(reclaim)
    reclaim.promise("vision", 90, at=NOW + DAY)
    with pytest.raises(Refused) as refused:
        reclaim.restore(now=NOW + 2 * DAY)
    assert refused.value.code == "promise_exceeded"
    assert reclaim.state() == "demoted"


def test_nothing_is_restored_that_was_not_taken(reclaim):
    reclaim.promise("nlp", 40)
    with pytest.raises(Refused) as refused:
        reclaim.restore()
    assert refused.value.code == "not_demoted"


def test_a_review_returns_the_units_to_the_account_above(reclaim):
    demoted(reclaim)
    answer = reclaim.give_up(now=NOW + 2 * DAY)
    assert (answer.changed, answer.parent_id) == (True, reclaim.place.accounts["research"])
    assert (reclaim.quota()[0], reclaim.quota("research")[0]) == (0, 40)
    with pytest.raises(Refused):
        reclaim.restore(now=NOW + 2 * DAY)


def test_telemetry_that_is_missing_leaves_a_quota_alone(acme):
    from tests.preemption.reclaim.conftest import Reclaim

    silent = Reclaim.__new__(Reclaim)
    silent.place, silent.begin = acme, NOW - 10 * DAY
    silent.promise("nlp", 40)
    silent.rule()
    assert silent.run().watched == 0  # nobody ever said anything
    # Two days are known, then three are not, then one is: no 48 hours in a row of known time.
    silent.use("a", 1, days=1, after=4, account="serving", person="alice")
    silent.use("b", 1, days=0.9, after=9, account="serving", person="alice")
    assert silent.run().watched == 0


def test_exempt_accounts_and_maintenance_are_left_alone(reclaim):
    reclaim.promise("nlp", 40)
    research = reclaim.place.accounts["research"]
    reclaim.rule(exempt_ids=(research,))
    assert reclaim.run().watched == 0
    reclaim.rule(maintenance=((NOW - 9 * DAY, NOW - HOUR),))
    assert reclaim.run().watched == 0
    reclaim.rule()
    assert reclaim.run().watched == 1


def test_a_rule_is_set_once_by_an_operator_with_a_reason(reclaim):
    assert reclaim.rule()
    assert not reclaim.rule()
    from preemption.commands.reclaim_rules import SetReclaimRule

    command = SetReclaimRule(pool_id=reclaim.place.pools["h100"])
    with pytest.raises(Denied):
        reclaim.place.run(command, by=reclaim.place.actor("alice"), reason="test")
    with pytest.raises(Invalid):
        reclaim.place.run(command)
    with pytest.raises(Invalid):
        reclaim.rule(watch_seconds=80 * 3600)
    with pytest.raises(Invalid):
        reclaim.rule(maintenance=((NOW, NOW - timedelta(seconds=1)),))
