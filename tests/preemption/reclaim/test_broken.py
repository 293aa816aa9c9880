"""What happens to a demotion in odd circumstances: nothing is taken, given or counted twice."""

from datetime import timedelta

import pytest

from ledger import scope, verification
from ledger.errors import DomainError, Refused
from preemption import reclaim_loading as loading
from preemption import tasks
from preemption.commands import reclaim as commands
from quota.commands import reclaiming
from quota.models import Quota
from tenancy.commands.accounts import ArchiveAccount, MoveAccount, RenameAccount
from tests.ledger.sample import together
from tests.preemption.reclaim.conftest import DAY, HOUR, Reclaim
from tests.preemption.reclaim.test_justified import justify
from tests.preemption.reclaim.test_reviews import review
from tests.quota.allocations.conftest import Jobs
from tests.world import NOW


@pytest.fixture
def watched(reclaim) -> Reclaim:
    """nlp uses 5 of 40 units, and its idle part is due in a day."""
    reclaim.promise("nlp", 40, borrowing_limit=0)
    reclaim.use("some", 5, days=400)
    reclaim.rule()
    assert reclaim.run().watched == 1
    for name in ("rita", "rolf"):
        reclaim.place.person(name)
        reclaim.place.role(name, "approver")
    return reclaim


@pytest.fixture
def demoted(watched) -> Reclaim:
    """35 of nlp's 40 units left it a day from now."""
    assert watched.run(NOW + DAY).demoted == 1
    return watched


@pytest.fixture
def between(monkeypatch):
    """Do something after a run has judged, before it holds the pool."""

    def interpose(do) -> None:
        hold, done = reclaiming.hold, []

        def first(unit, **place):
            if not done:
                done.append(True)
                (answer,) = together([do])
                assert not isinstance(answer, Exception), answer
            hold(unit, **place)

        monkeypatch.setattr(commands.reclaiming, "hold", first)

    return interpose


def promised(it: Reclaim) -> int:
    """All guarantees of h100 together."""
    with scope.reading(it.place.id):
        rows = Quota.objects.filter(pool_id=it.place.pools["h100"])
        return sum(row.guaranteed for row in rows)


def clean(it: Reclaim) -> None:
    assert verification.verify(it.place.id).findings == []


@pytest.mark.django_db(transaction=True)
class TestAtTheSameMoment:
    """Something is committed between the judgment of a run and its lock."""

    def test_a_justification_that_is_approved_meanwhile_stops_it(self, watched, between):
        between(lambda: justify(watched, now=NOW + DAY))
        assert watched.run(NOW + DAY).demoted == 0
        assert watched.quota() == (40, 0)
        assert watched.run(NOW + DAY + HOUR).justified == 1
        clean(watched)

    def test_a_job_of_class_p0_that_is_admitted_meanwhile_stops_it(self, watched, between):
        jobs = Jobs(watched.place)
        asked = jobs.ask("serves", units=1, job_class="P0")
        between(lambda: jobs.admit(asked, now=NOW + DAY))
        assert watched.run(NOW + DAY).demoted == 0
        assert watched.quota() == (40, 0)

    def test_what_is_admitted_meanwhile_stays(self, watched, between):
        jobs = Jobs(watched.place)
        between(lambda: jobs.admit(jobs.ask("late", units=12), now=NOW + DAY))
        assert watched.run(NOW + DAY).demoted == 1
        assert watched.quota()[0] >= 12

    def test_a_job_that_ends_meanwhile_breaks_nothing(self, watched, between):
        jobs = Jobs(watched.place)
        jobs.admit(jobs.ask("runs", units=12), now=NOW + HOUR)
        jobs.start("runs", now=NOW + HOUR)
        between(lambda: jobs.release("runs", now=NOW + DAY))
        assert watched.run(NOW + DAY).demoted == 1
        assert 5 <= watched.quota()[0] <= 17
        clean(watched)

    def test_a_guarantee_that_is_changed_meanwhile_is_judged_anew(self, watched, between):
        between(lambda: watched.promise("nlp", 50, at=NOW + DAY))
        assert watched.run(NOW + DAY).demoted == 0
        assert watched.quota()[0] == 50

    @pytest.mark.parametrize("change", [{"enabled": False}, {"window_seconds": 96 * 3600}])
    def test_a_rule_that_is_changed_meanwhile_takes_nothing(self, watched, between, change):
        between(lambda: watched.rule(**change))
        assert watched.run(NOW + DAY).demoted == 0
        assert watched.quota()[0] == 40

    def test_an_account_that_is_moved_or_renamed_meanwhile_is_the_same(self, watched, between):
        def move() -> None:
            place = watched.place
            where = {"account_id": place.accounts["nlp"]}
            place.run(
                MoveAccount(**where, to_parent_id=place.accounts["production"]),
                now=NOW + DAY,
                reason="test",
            )
            place.run(
                RenameAccount(**where, name="language", description=""),
                now=NOW + DAY,
                reason="test",
            )

        between(move)
        assert watched.run(NOW + DAY).demoted == 1
        answer = watched.give_up(now=NOW + 2 * DAY)
        assert answer.parent_id == watched.place.accounts["production"]
        assert promised(watched) == 40
        clean(watched)


def test_a_rule_switched_off_still_settles_what_it_took(demoted, monkeypatch):
    demoted.rule(enabled=False)
    review(demoted, units=None)
    ran = []
    monkeypatch.setattr(tasks, "execute", lambda command, _context: ran.append(command.pool_id))
    tasks.run_reclaim_of(str(demoted.place.id))
    assert ran == [demoted.place.pools["h100"]]
    assert demoted.run(NOW + 3 * DAY).settled == 1
    assert (demoted.state(), demoted.quota("research")[0]) == ("returned", 35)


def test_a_restore_is_possible_while_the_rule_is_off(demoted):
    demoted.rule(enabled=False)
    assert demoted.restore(now=NOW + 2 * DAY).guarantee == 40
    assert demoted.quota() == (40, 0)


def test_a_review_that_gives_them_back_also_narrows_what_may_be_borrowed(demoted):
    """The ceiling is what it was before the demotion, not 75."""
    assert demoted.quota() == (5, 35)
    review(demoted, units=40)
    demoted.run(NOW + 3 * DAY)
    assert (demoted.state(), demoted.quota()) == ("restored", (40, 0))


def test_a_limit_that_somebody_set_since_stays(demoted):
    demoted.promise("nlp", 5, borrowing_limit=60, at=NOW + 2 * DAY)
    review(demoted, units=40, now=NOW + 2 * DAY + HOUR)
    demoted.run(NOW + 3 * DAY)
    assert demoted.quota() == (40, 60)


@pytest.mark.parametrize("units", [0, 3, 5, 20, 39])
def test_a_review_that_gives_a_part_back_returns_only_the_rest(demoted, units):
    review(demoted, units=units)
    demoted.run(NOW + 3 * DAY)
    assert demoted.state() == "returned"
    assert demoted.quota()[0] == units
    assert demoted.quota("research")[0] == min(35, 40 - units)
    assert promised(demoted) <= 40
    clean(demoted)


def test_a_part_that_was_granted_since_is_not_returned_as_well(demoted):
    demoted.promise("nlp", 25, at=NOW + 2 * DAY)
    assert demoted.give_up(now=NOW + 3 * DAY).guarantee == 25
    assert (demoted.quota()[0], demoted.quota("research")[0]) == (25, 15)


def test_a_guarantee_shrunk_by_hand_gets_back_what_left_and_no_more(demoted):
    demoted.promise("nlp", 2, at=NOW + 2 * DAY)
    assert demoted.restore(now=NOW + 3 * DAY).guarantee == 37


def test_a_temporary_quota_on_top_gets_back_what_is_missing_of_what_lasts(demoted):
    demoted.promise("nlp", 30, at=NOW + 2 * DAY, ends_at=NOW + 5 * DAY)
    assert demoted.restore(now=NOW + 3 * DAY).changed
    clean(demoted)
    demoted.run(NOW + 6 * DAY)
    with scope.reading(demoted.place.id):
        assert loading.reviewed(demoted.place.id, demoted.place.pools["h100"]) == []


def test_a_review_beside_a_temporary_quota_returns_what_left_for_good(demoted):
    demoted.promise("nlp", 30, at=NOW + 2 * DAY, ends_at=NOW + 9 * DAY)
    review(demoted, units=None, now=NOW + 2 * DAY + HOUR)
    demoted.run(NOW + 3 * DAY)
    assert demoted.state() in ("returned", "demoted")
    clean(demoted)


def test_what_left_is_settled_by_a_review_also_after_a_second_demotion(demoted):
    """The cooldown is over and no review came; what was granted since lies idle as well. Only what
    is missing of the whole of before is returned."""
    demoted.promise("nlp", 30, at=NOW + 2 * DAY)
    later = NOW + 20 * DAY
    assert demoted.run(later).watched == 1
    assert demoted.state() == "watched"
    assert demoted.run(later + DAY).demoted == 1
    standing = demoted.standing()
    assert (standing.units, standing.undecided, standing.whole) == (25, 60, 40)
    review(demoted, units=None, now=later + 2 * DAY)
    assert demoted.run(later + 3 * DAY).settled == 1
    assert (demoted.quota()[0], demoted.quota("research")[0]) == (5, 35)
    assert demoted.run(later + 3 * DAY).settled == 0
    clean(demoted)


def test_what_left_is_settled_by_a_review_also_while_it_is_watched_again(demoted):
    demoted.promise("nlp", 30, at=NOW + 2 * DAY)
    later = NOW + 20 * DAY
    assert demoted.run(later).watched == 1
    review(demoted, units=None, now=later + HOUR)
    assert demoted.run(later + 2 * HOUR).settled == 1
    assert (demoted.quota()[0], demoted.quota("research")[0]) == (30, 10)


def test_after_a_review_has_decided_one_click_does_not_undo_it(demoted):
    review(demoted, units=None)
    with pytest.raises(Refused) as refused:
        demoted.restore(now=NOW + 2 * DAY + timedelta(minutes=5))
    assert refused.value.code == "not_demoted"
    demoted.run(NOW + 3 * DAY)
    assert demoted.state() == "returned"


def test_an_archived_account_gets_nothing_back_and_stops_nobody(demoted):
    place = demoted.place
    demoted.promise("nlp", 0, at=NOW + DAY + HOUR)
    archive = ArchiveAccount(account_id=place.accounts["nlp"])
    try:
        place.run(archive, now=NOW + 400 * DAY, reason="test")
    except DomainError as error:
        pytest.skip(f"not archivable here: {error.code}")
    with pytest.raises(Refused):
        demoted.restore(now=NOW + 2 * DAY)
    demoted.run(NOW + 401 * DAY)
    clean(demoted)


def test_nobody_reaches_another_organizations_demotion(demoted, globex):
    for account, pool in (
        (demoted.place.accounts["nlp"], demoted.place.pools["h100"]),
        (globex.accounts["nlp"], demoted.place.pools["h100"]),
        (demoted.place.accounts["nlp"], globex.pools["h100"]),
    ):
        for command in (commands.RestoreQuota, commands.ReturnQuota):
            with pytest.raises(DomainError):
                globex.run(
                    command(account_id=account, pool_id=pool),
                    by=globex.actor("charlie"),
                    now=NOW + 2 * DAY,
                    reason="mine now",
                )
    assert (demoted.state(), demoted.quota()[0]) == ("demoted", 5)


@pytest.mark.parametrize("hours", [1, 366 * 24])
def test_the_smallest_and_the_largest_window_run(reclaim, hours):
    reclaim.promise("nlp", 40)
    seconds = hours * 3600
    reclaim.rule(window_seconds=seconds, watch_seconds=seconds, cooldown_seconds=0)
    assert reclaim.run().watched == (hours == 1)
    reclaim.run(NOW + HOUR)
    clean(reclaim)
