"""What is kept for jobs shows wherever capacity does, and every unit stands once."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frontend.capacity import picture
from ledger import scope
from quota.api.pool_changes import facts
from quota.api.quotas import standings
from quota.domain.promise import Promise
from quota.domain.values import Pool
from quota.queries import pools_with_weights
from quota.queries.capacity import Held
from quota.queries.reserved import reserved
from tests.preemption.conftest import Preemption
from tests.world import NOW

units = st.integers(0, 60)
held = st.builds(Held, guaranteed=units, borrowed=units, spot=units)


@given(held, held, st.integers(0, 120), st.integers(0, 20), st.integers(0, 30))
def test_the_parts_of_a_picture_add_up_to_the_pool(in_use, aside, promised, margin, out):
    pool = Pool(name="h100", capacity=120, unavailable=out, safety_margin=margin)
    promise = Promise(promised=promised, promisable=pool.promisable)
    drawn = picture(pool, promise, in_use, aside)
    assert all(part.units >= 0 for part in drawn.parts)
    assert drawn.total == pool.capacity + drawn.beyond
    if in_use.units + aside.units <= pool.usable:
        assert drawn.units("aside") == aside.units


@pytest.fixture
def place(acme):
    """h100 is full of vision's spot jobs of five. nlp's plan of 20 has got five back so far; five
    are refused, and ten are to come."""
    it = Preemption(acme)
    it.promise(nlp=40, production=40)
    it.budgets(pool_share="1")
    for number in range(20):
        it.running(f"v{number:02}", 5, at=NOW - timedelta(minutes=10))
    plan = it.ask("trainer", 20, now=NOW).plan
    first, second, *_ = plan.actions
    it.report(plan, (first.key, "done"), (second.key, "refused"), now=NOW)
    return acme


@pytest.mark.django_db
def test_what_is_set_aside_grows_as_units_come_back(place):
    it, h100 = Preemption(place), place.pools["h100"]
    with scope.reading(place.id):
        (one,) = reserved(place.id, [h100], now=NOW)[h100]
    assert (one.key, one.tier, one.wanted, one.units, one.coming) == (
        *("trainer", "guaranteed", 20, 5, 10),
    )
    third = it.rows("SELECT key FROM preemption_action WHERE state = 'open' ORDER BY ordinal")[0][0]
    it.jobs.release(third, now=NOW)  # by itself, without any report
    with scope.reading(place.id):
        (one,) = reserved(place.id, [h100], now=NOW)[h100]
        over = reserved(place.id, [h100], now=one.until)
    assert (one.units, one.coming, over) == (10, 5, {})


@pytest.mark.django_db
def test_over_rest_a_pool_and_an_account_add_up(place):
    with scope.reading(place.id):
        row = next(one for one in pools_with_weights(place.id) if one.name == "h100")
        pool = facts(place.id, row, now=NOW)
        (nlp,) = standings(place.id, place.accounts["nlp"], [row.id], now=NOW)
        (serving,) = standings(place.id, place.accounts["production"], [row.id], now=NOW)
    assert (pool.in_use.spot, pool.set_aside.guaranteed, pool.free) == (95, 5, 0)
    assert (nlp.used, nlp.own.guaranteed, nlp.available) == (5, 0, 75)
    (kept,) = nlp.set_aside
    assert (kept.key, kept.units, kept.coming) == ("trainer", 5, 10)
    assert (serving.set_aside, serving.obtainable) == ([], 0)


@pytest.mark.django_db
def test_what_rest_says_is_obtainable_is_what_admission_gives(place):
    it = Preemption(place)
    it.jobs.release(*(f"v{number:02}" for number in (18, 19)), now=NOW)
    with scope.reading(place.id):
        pool_id = place.pools["h100"]
        (one,) = standings(place.id, place.accounts["production"], [pool_id], now=NOW)
    assert one.obtainable == 10
    who = {"account": "production", "person": "bob"}
    assert it.jobs.admit(it.jobs.ask("eleven", units=11, **who), now=NOW).denied
    assert it.jobs.admit(it.jobs.ask("ten", units=10, **who), now=NOW).admitted


@pytest.mark.django_db
def test_pages_tell_what_is_kept_for_whom(place, browse):
    otto = browse(place, "otto")
    board = otto.get("/capacity").content.decode()
    assert "Set aside for jobs <strong>5</strong>" in board
    pool = otto.get("/capacity/h100").content.decode()
    assert "trainer" in pool and "Being given back" in pool
    quota = otto.get("/accounts/nlp/quota").content.decode()
    assert 'Kept for your job <span class="mono">trainer</span>: <strong>5 units</strong>' in quota
    assert "10 more are being given back" in quota
    assert "Set aside for jobs" not in otto.get("/accounts/vision/quota").content.decode()


@pytest.mark.django_db
def test_whose_job_it_is_is_hidden_from_others(place, browse):
    place.person("vera")
    place.login("vera")
    place.role("vera", "lead", on="vision")
    text = browse(place, "vera").get("/capacity/h100").content.decode()
    assert "Being given back" in text and "trainer" not in text and "another account" in text
