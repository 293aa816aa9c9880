"""What the form shows before anything is handed in. Pools of acme have 100 units."""

from decimal import Decimal

import pytest

from ledger import scope
from ledger.errors import Refused
from quota.commands.pools import SetUnavailable
from quota.commands.quotas import EndQuota
from quota.domain.requests import State
from quota.queries.precheck import precheck
from tests.quota.requests.conftest import DAY
from tests.world import NOW


@pytest.fixture
def look(desk):
    def look(account="nlp", units=8, *, by="alice", **fields):
        with scope.reading(desk.place.id):
            return precheck(
                desk.place.id,
                desk.terms(account, units, **fields),
                author_id=desk.place.people[by],
                now=NOW,
            )

    return look


def free(series) -> list[tuple[int, int]]:
    return [((one.at - NOW).days, one.free) for one in series]


def test_a_small_one_would_be_granted(look):
    seen = look("nlp", 24, days=42)
    assert (seen.can_submit, seen.fits, seen.automatic, seen.approvals) == (True, True, True, 0)
    assert free(seen.trial.series) == [(0, 100)]
    assert free(seen.trial.series_with) == [(0, 76), (42, 100)]
    assert (seen.use.mean, seen.price) == (None, None), "unknown, not zero"


def test_a_large_one_names_who_is_asked_and_why(look, desk):
    seen = look("nlp", 60)
    assert (seen.automatic, seen.approvals) == (False, 1)
    assert seen.asked_ids == (desk.place.people["petra"],)
    assert seen.reasons == ("Automatic up to 32 units, 60 are asked.",)


def test_what_does_not_fit_says_what_would(look, desk):
    desk.quotas.set("production", 60)
    desk.quotas.set("serving", 30, ends_at=NOW + 10 * DAY)
    seen = look("nlp", 40, days=20)
    assert (seen.fits, seen.trial.short_by, seen.can_submit) == (False, 30, True)
    assert seen.nearest.units == 10
    assert seen.nearest.starts_at == NOW + 10 * DAY
    assert seen.nearest.ends_at == NOW + 30 * DAY
    again = look("nlp", 40, starts_at=seen.nearest.starts_at, days=20)
    assert again.fits
    assert look("nlp", seen.nearest.units, days=20).fits


def test_what_was_promised_for_later_counts_over_the_period(look, desk):
    desk.quotas.set("serving", 90, effective_at=NOW + 10 * DAY)
    assert look("nlp", 30, days=10).fits
    seen = look("nlp", 30, days=11)
    assert (seen.fits, seen.trial.problem.code) == (False, "capacity_over_period")
    assert seen.nearest.units == 10
    assert look("nlp", 10, days=11).fits


def test_what_begins_after_all_that_is_to_come_is_tried_too(look, desk):
    desk.quotas.set("serving", 50, effective_at=NOW + 5 * DAY)
    late = look("nlp", 60, kind="raise", days=None, starts_at=NOW + 6 * DAY)
    assert (late.fits, late.trial.short_by, late.nearest.units) == (False, 10, 50)


def test_the_department_pays_from_its_own(look, desk):
    desk.quotas.set("research", 100)
    seen = look("nlp", 30)
    assert (seen.fits, seen.trial.lender_id) == (True, desk.place.accounts["research"])
    it = desk.ask("nlp", 30)
    assert it.state == State.PROVISIONED
    assert desk.quotas.stored() == {"research": 70, "nlp": 30}
    ref = {"account_id": desk.place.accounts["nlp"], "pool_id": desk.place.pools["h100"]}
    desk.place.run(EndQuota(**ref), reason="done")
    assert desk.quotas.stored() == {"research": 100, "nlp": 0}


def test_what_is_given_back_goes_to_the_department(look, desk):
    desk.quotas.set("research", 50)
    desk.quotas.set("nlp", 50, carve="research")
    it = desk.ask("nlp", 20, kind="lower", days=None)
    assert it.state == State.PROVISIONED
    assert desk.quotas.stored() == {"research": 20, "nlp": 30}


def test_units_go_from_one_team_to_its_sibling(look, desk):
    desk.quotas.set("nlp", 30)
    desk.quotas.set("production", 70)
    vision = desk.place.accounts["vision"]
    it = desk.ask("nlp", 10, kind="transfer", days=None, to_account_id=vision)
    assert (it.state, it.approvals_missing) == (State.SUBMITTED, 1)
    desk.approve(it, by="petra")
    assert desk.quotas.stored() == {"nlp": 20, "production": 70, "vision": 10}
    over = SetUnavailable(pool_id=desk.place.pools["h100"], unavailable=50)
    desk.place.run(over, reason="a rack failed")
    again = desk.ask("nlp", 5, kind="transfer", days=None, to_account_id=vision)
    desk.approve(again, by="petra")
    assert desk.quotas.stored() == {"nlp": 15, "production": 70, "vision": 15}
    wrong = look("nlp", 1, kind="transfer", days=None, to_account_id=desk.place.accounts["serving"])
    assert [one.code for one in wrong.problems] == ["transfer_not_siblings"]


def test_a_ceiling_leaves_the_guarantee_alone(desk):
    desk.quotas.set("nlp", 10, lending_limit=3)
    desk.policy(unknown_use_passes=True)
    desk.ask("nlp", 20, kind="ceiling", days=14)
    with scope.reading(desk.place.id):
        from quota.models import Quota

        row = Quota.objects.get(account_id=desk.place.accounts["nlp"])
    assert (row.guaranteed, row.borrowing_limit, row.lending_limit) == (10, 20, 3)


def test_use_and_price_are_known_where_accounting_knows_them(look, desk, known):
    desk.quotas.set("nlp", 8)
    known.mean, known.price = 0.3, "730"
    seen = look("nlp", 8, days=None, kind="raise")
    assert seen.price.amount == Decimal(8 * 730)
    assert seen.price_total is None
    assert "What is held is used to 30 %, below 50 %." in seen.reasons
    total = look("nlp", 8, days=1).price_total
    assert total.amount == Decimal("192.00")
    known.mean = 0.8
    assert look("nlp", 8, days=14).automatic
    dear = look("nlp", 8, days=14, budget=Decimal(100))
    assert dear.reasons == ("It costs more than the budget that the request names.",)


def test_small_slices_count_together(desk, known):
    known.mean = 0.9
    desk.policy(automatic_days_max=None)
    assert desk.ask("nlp", 20, days=None).state == State.PROVISIONED
    second = desk.ask("nlp", 20, days=None)
    assert (second.state, second.reasons) == (
        State.SUBMITTED,
        ("Automatic up to 32 units together; 20 were granted so.",),
    )
    assert desk.ask("nlp", 12, days=None).state == State.PROVISIONED


def test_what_ended_counts_no_more_and_one_extension_is_automatic(desk, known):
    known.mean = 0.9
    assert desk.ask("nlp", 20, days=20).state == State.PROVISIONED
    desk.place.run(
        EndQuota(account_id=desk.place.accounts["nlp"], pool_id=desk.place.pools["h100"]),
        reason="done",
    )
    assert desk.ask("nlp", 32, days=10).state == State.PROVISIONED
    longer = desk.ask("nlp", None, kind="extension", days=20)
    assert longer.state == State.PROVISIONED
    second = desk.ask("nlp", None, kind="extension", days=30)
    assert (second.state, second.reasons) == (
        State.SUBMITTED,
        ("It was extended automatically before.",),
    )


def test_room_that_went_meanwhile_is_said_and_nothing_is_done(desk):
    it = desk.ask("nlp", 60)
    desk.quotas.set("production", 70)
    before = desk.request(it)
    with pytest.raises(Refused) as refused:
        desk.approve(it, by="petra")
    assert (refused.value.code, refused.value.facts["short_by"]) == ("promise_exceeded", 30)
    assert desk.request(it) == before
    assert desk.quotas.stored() == {"production": 70}
    desk.approve_less(it, by="petra", units=30)


def test_a_running_boost_is_not_cut_short_by_accident(look, desk):
    desk.ask("nlp", 8, days=10)
    beside = look("nlp", 4, kind="raise", days=None)
    assert (beside.trial.before.guaranteed, beside.trial.after.guaranteed) == (8, 12)
    seen = look("nlp", 4, days=30)
    assert [one.code for one in seen.problems] == ["temporary_running"]
    assert look("nlp", 4, days=10).fits
    later = look("nlp", 4, kind="raise", days=None, starts_at=NOW + 10 * DAY)
    assert later.can_submit


def test_nobody_who_reads_changes_anything(look, desk):
    before = desk.quotas.stored()
    look("nlp", 60)
    assert desk.quotas.stored() == before
