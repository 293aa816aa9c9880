"""Admission on the database: tiers, reasons, repetition, lapses, companion sets, dry runs."""

from uuid import UUID

import pytest

from ledger import verification
from ledger.errors import Conflict, Denied
from ledger.types import Actor, ActorKind
from quota import wire
from tenancy.domain.tree import DEPTH_MAX
from tests.quota.allocations.conftest import after

pytestmark = pytest.mark.django_db


def test_a_guarantee_comes_first_then_what_others_leave_idle(jobs, quotas):
    quotas.set("nlp", 10)
    quotas.set("production", 60)
    answer = jobs.admit(jobs.ask("a"), jobs.ask("b"), jobs.ask("c", units=50), jobs.ask("d"))
    assert [result.status for result in answer.results] == ["admitted"] * 3 + ["denied"]
    assert [r.allocations[0].tier for r in answer.results[:3]] == [
        "guaranteed",
        "borrowed",
        "borrowed",
    ]
    assert (answer.admitted, answer.denied) == (3, 1)
    assert jobs.holding("nlp") == (8, 58, 0)
    (block,) = answer.results[3].blocks
    assert (block.pool, block.account, block.limit) == ("h100", "root", "guarantees")
    assert (block.available, block.short_by) == (4, 4)
    assert "root" in block.detail
    assert verification.verify(jobs.place.id).findings == []


def test_the_same_job_again_gets_the_same_units(jobs, quotas):
    quotas.set("nlp", 10)
    first = jobs.admit(jobs.ask("a")).results[0]
    again = jobs.admit(jobs.ask("a"), now=after(seconds=10)).results[0]
    assert again.repeated and again.status == "admitted"
    assert again.allocations[0].id == first.allocations[0].id
    other = jobs.admit(jobs.ask("a", units=9)).results[0]
    assert [block.limit for block in other.blocks] == ["key_conflict"]
    assert jobs.holding("nlp") == (8, 0, 0)
    twice = jobs.admit(jobs.ask("b", units=1), jobs.ask("b", units=1)).results
    assert [result.repeated for result in twice] == [False, True]
    assert jobs.holding("nlp") == (9, 0, 0)


def test_an_admission_takes_two_trips_whoever_asks(jobs, quotas, rounds):
    quotas.set("nlp", 10)
    rounds.clear()
    jobs.admit(jobs.ask("a", units=1), idempotency_key="k")
    assert rounds == [[b"SELECT"] * 2, [b"WITH", b"SELECT"]]
    many = [jobs.ask(str(number), units=1, account="root") for number in range(5)]
    rounds.clear()
    jobs.admit(*many, idempotency_key="m")
    assert rounds == [[b"SELECT"] * 2, [b"WITH", b"INSERT", b"SELECT"]]


def test_no_lock_is_taken_for_who_may_not(jobs, quotas, rounds):
    quotas.set("nlp", 10)
    rounds.clear()
    reader = Actor(kind=ActorKind.TOKEN, id=UUID(int=1), label="reader", scopes=frozenset())
    with pytest.raises(Denied):
        jobs.admit(jobs.ask("a"), by=reader)
    assert rounds == []
    with pytest.raises(Denied):
        jobs.admit(jobs.ask("a"), by=jobs.place.actor("bob"))
    assert rounds == [[b"SELECT"]]
    assert jobs.rows() == []


def test_the_same_request_again_gets_the_first_answer(jobs, quotas):
    quotas.set("nlp", 10)
    first = jobs.admit(jobs.ask("a"), idempotency_key="k")
    again = jobs.admit(jobs.ask("a"), idempotency_key="k", now=after(hours=1))
    assert first == again
    with pytest.raises(Conflict):
        jobs.admit(jobs.ask("b"), idempotency_key="k")


def test_a_hold_that_lapsed_frees_its_units_before_anything_is_decided(jobs, quotas):
    quotas.set("nlp", 10)
    jobs.admit(jobs.ask("a"))
    assert jobs.admit(jobs.ask("b", tier="guaranteed")).results[0].status == "denied"
    late = jobs.admit(jobs.ask("b", tier="guaranteed", attempt=2), now=after(minutes=5))
    assert late.results[0].status == "admitted"
    assert jobs.state("a") == "expired"
    over = jobs.admit(jobs.ask("a"), now=after(minutes=5)).results[0]
    assert (over.status, over.repeated) == ("ended", True)
    assert verification.verify(jobs.place.id).findings == []


def test_a_companion_set_is_admitted_whole_or_not_at_all(jobs, quotas):
    quotas.set("nlp", 10)
    quotas.set("nlp", 20, pool="a100")
    set_of = [wire.PoolNeed(pool="h100", units=8), wire.PoolNeed(pool="a100", units=16)]
    whole, none = jobs.admit(
        jobs.ask("a", needs=set_of, tier="guaranteed"),
        jobs.ask("b", needs=[set_of[1], wire.PoolNeed(pool="h100", units=1)], tier="guaranteed"),
    ).results
    assert [a.pool for a in whole.allocations] == ["h100", "a100"]
    assert {block.pool for block in none.blocks} == {"a100"}
    assert jobs.holding("nlp") == (8, 0, 0)
    assert jobs.holding("nlp", "a100") == (16, 0, 0)


def test_elastic_jobs_get_what_there_is(jobs, quotas):
    quotas.set("nlp", 10)
    elastic = jobs.ask("a", units=64, min_units=4, tier="guaranteed")
    assert jobs.admit(elastic).results[0].allocations[0].units == 10


def test_a_dry_run_changes_nothing(jobs, quotas):
    quotas.set("nlp", 10)
    told = jobs.admit(jobs.ask("a"), dry_run=True)
    assert told.results[0].status == "admitted"
    assert jobs.rows() == []
    assert jobs.admit(jobs.ask("a")).results[0].repeated is False


def test_what_cannot_be_decided_is_said_and_stops_nothing_else(jobs, quotas):
    quotas.set("nlp", 10)
    answer = jobs.admit(
        jobs.ask("a", account="nlq", person="nobody", pool="h200"),
        jobs.ask("b"),
        jobs.ask("c", units=4, min_units=5),
    )
    wrong, good, more = answer.results
    assert [fault.code for fault in wrong.errors] == [
        "account_unknown",
        "person_unknown",
        "pool_unknown",
    ]
    assert good.status == "admitted"
    assert more.errors[0].code == "min_units_out_of_range"


def test_denials_say_what_would_help(jobs, quotas):
    quotas.set("production", 20)
    jobs.admit(jobs.ask("old", account="vision", units=20))
    denied = jobs.admit(jobs.ask("new", account="serving", units=10, job_class="P1")).results[0]
    assert denied.status == "denied"
    (relief,) = denied.relief
    assert [(one.key, one.account, one.tier) for one in relief.reclaim] == [
        ("old", "vision", "borrowed")
    ]
    assert relief.reclaim_enough


def test_the_deepest_account_has_its_quota_and_its_admissions(jobs, quotas, acme):
    """Sixteen levels below the root: the arithmetic goes as deep as the tree may."""
    under = "root"
    for level in range(DEPTH_MAX):
        acme.account(f"level{level}", under=under)
        under = f"level{level}"
    quotas.set(under, 10)
    results = jobs.admit(*(jobs.ask(key, account=under, units=8) for key in ("a", "b"))).results
    assert [result.status for result in results] == ["admitted", "denied"]


def test_nothing_of_a_pool_is_no_need_of_it(jobs, quotas):
    quotas.set("nlp", 8)
    need = [wire.PoolNeed(pool="h100", units=8), wire.PoolNeed(pool="a100", units=0)]
    for repeated in (False, True):
        (found,) = jobs.admit(jobs.ask("a", needs=need, tier="guaranteed")).results
        assert (found.status, found.repeated) == ("admitted", repeated)
        assert [one.pool for one in found.allocations] == ["h100"]
    (found,) = jobs.admit(jobs.ask("b", needs=need[1:])).results
    assert [one.code for one in found.errors] == ["needs_malformed"]
