"""The warm tree answers as if everything were computed from the records each time."""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

import pytest

from accounting import fairshare_state
from accounting.commands.fairshare import ResetFairshare, SetFairsharePolicy
from accounting.commands.usage import SettleUsage
from accounting.domain.decay import HalfLife, decayed
from accounting.priorities import prioritize
from accounting.queries import fairshare
from ledger import scope
from quota.commands.pools import SetFlavorWeight
from tenancy.commands.accounts import ArchiveAccount, MoveAccount
from tenancy.commands.people import EndAssociation
from tests.world import NOW, Tenant, record

WEEK = HalfLife.from_days(7)


@pytest.fixture(autouse=True)
def cold():
    fairshare_state.forget()


def usage_of(acme: Tenant, account: str, person: str | None = None, *, at=NOW) -> float:
    state, result = fairshare.standing(acme.id, at=at, now=NOW)
    if person is None:
        return result.accounts.usage[state.names.account_by_name[account]]
    return result.people.usage[state.names.person_by_name[account, person]]


def by_hand(units: int, start, end, *, at=NOW) -> float:
    stop = None if end is None else end.timestamp()
    return decayed(rate=units, start=start.timestamp(), end=stop, at=at.timestamp(), half_life=WEEK)


def test_decayed_usage_is_the_closed_form_and_adds_up_the_tree(acme):
    start = NOW - timedelta(days=9)
    acme.use(
        record("a", start=start, hours=30),
        record("b", account="vision", units=3, start=start, hours=100),
    )
    a = by_hand(8, start, start + timedelta(hours=30))
    b = by_hand(3, start, start + timedelta(hours=100))
    assert usage_of(acme, "nlp", "bob") == pytest.approx(a, rel=1e-12)
    assert usage_of(acme, "nlp") == pytest.approx(a, rel=1e-12)
    assert usage_of(acme, "research") == pytest.approx(a + b, rel=1e-12)
    assert usage_of(acme, "production") == 0


def test_new_usage_counts_in_the_very_next_answer(acme):
    acme.use(record("a"))
    before = usage_of(acme, "nlp", "bob")
    acme.use(record("b"))
    assert usage_of(acme, "nlp", "bob") == pytest.approx(2 * before, rel=1e-12)
    acme.use(record("c", person="alice"))
    assert usage_of(acme, "nlp") == pytest.approx(3 * before, rel=1e-12)


def test_what_the_cache_adds_up_is_what_a_cold_start_loads(acme):
    for n in range(5):
        acme.use(record(f"r{n}", hours=n + 1, start=NOW - timedelta(days=40 * n, hours=9)))
        usage_of(acme, "nlp")
    warm = fairshare_state.current(acme.id).usage.exact.tolist()
    scale = fairshare_state.current(acme.id).scale
    fairshare_state.forget()
    cold_state = fairshare_state.current(acme.id)
    assert (scale, warm) == (cold_state.scale, cold_state.usage.exact.tolist())


def test_running_use_counts_up_to_the_instant_of_the_question(acme):
    start = NOW - timedelta(hours=5)
    acme.use(record("a", hours=None, start=start))
    assert usage_of(acme, "nlp", "bob") == pytest.approx(by_hand(8, start, None), rel=1e-9)
    later = NOW + timedelta(days=2)
    assert usage_of(acme, "nlp", "bob", at=later) == pytest.approx(
        by_hand(8, start, None, at=later), rel=1e-9
    )


def test_settling_changes_no_answer(acme):
    acme.use(record("a", hours=4))
    later = NOW + timedelta(days=1)
    before = usage_of(acme, "nlp", "bob", at=later)
    acme.run(SettleUsage(until=later), now=later)
    assert usage_of(acme, "nlp", "bob", at=later) == pytest.approx(before, rel=1e-9)


def test_the_past_is_told_from_the_records(acme):
    start = NOW - timedelta(days=3)
    acme.use(record("a", start=start, hours=48), record("b", start=NOW - timedelta(hours=2)))
    at = NOW - timedelta(days=2)
    assert usage_of(acme, "nlp", "bob", at=at) == pytest.approx(
        by_hand(8, start, None, at=at), rel=1e-9
    )
    acme.use(record("a2", start=start, hours=12, supersedes="a"))
    assert usage_of(acme, "nlp", "bob", at=at) == pytest.approx(
        by_hand(8, start, start + timedelta(hours=12), at=at), rel=1e-9
    )


def test_economic_weights_apply_to_past_use(acme):
    acme.use(record("a"), record("b", pool="a100"))
    whole = by_hand(8, NOW - timedelta(hours=2), NOW - timedelta(hours=1))
    assert usage_of(acme, "nlp", "bob") == pytest.approx(1.5 * whole, rel=1e-12)
    with scope.reading(acme.id):
        from quota.queries import flavors

        a100 = next(f.id for f in flavors(acme.id) if f.name.startswith("a100"))
    acme.run(SetFlavorWeight(flavor_id=a100, weight=Decimal("0.25")), reason="test")
    assert usage_of(acme, "nlp", "bob") == pytest.approx(1.25 * whole, rel=1e-12)


def test_another_half_life_weighs_all_use_anew(acme):
    start = NOW - timedelta(days=9)
    acme.use(record("a", start=start, hours=30), record("b", start=start, hours=None))
    acme.run(SetFairsharePolicy(algorithm="classic", half_life_seconds=3 * 86_400))
    three = HalfLife.from_days(3)
    expected = sum(
        decayed(rate=8, start=start.timestamp(), end=end, at=NOW.timestamp(), half_life=three)
        for end in ((start + timedelta(hours=30)).timestamp(), None)
    )
    assert usage_of(acme, "nlp", "bob") == pytest.approx(expected, rel=1e-9)


def test_a_reset_forgets_use_before_it_and_nothing_after(acme):
    start = NOW - timedelta(hours=5)
    acme.use(record("a"), record("b", hours=None, start=start))
    acme.run(ResetFairshare(), now=NOW)
    assert usage_of(acme, "nlp", "bob") == 0
    later = NOW + timedelta(hours=3)
    assert usage_of(acme, "nlp", "bob", at=later) == pytest.approx(
        by_hand(8, NOW, None, at=later), rel=1e-9
    )


def test_an_instant_before_a_reset_is_told_as_it_was(acme):
    start = NOW - timedelta(hours=5)
    acme.use(record("a", hours=None, start=start))
    first, second = NOW - timedelta(hours=3), NOW - timedelta(hours=1)
    acme.run(ResetFairshare(), now=first)
    acme.run(ResetFairshare(), now=second)
    for since, at in (
        (start, NOW - timedelta(hours=4)),
        (first, NOW - timedelta(hours=2)),
        (second, NOW - timedelta(minutes=30)),
    ):
        state, result = fairshare.standing(acme.id, at=at, now=NOW)
        with scope.reading(acme.id):
            why = fairshare.explain_person(
                acme.id, state, result, account="nlp", person="bob", at=at
            )
        expected = pytest.approx(by_hand(8, since, None, at=at), rel=1e-9)
        assert result.people.usage[state.names.person_by_name["nlp", "bob"]] == expected
        assert why.records[0].decayed_usage == expected


def test_use_of_people_who_left_stays_with_the_account(acme):
    acme.use(record("a"))
    before = usage_of(acme, "nlp")
    acme.run(EndAssociation(account_id=acme.accounts["nlp"], person_id=acme.people["bob"]))
    assert usage_of(acme, "nlp") == before
    state = fairshare_state.current(acme.id)
    assert ("nlp", "bob") not in state.names.person_by_name


def test_an_archived_account_stays_in_its_parents_use(acme):
    acme.use(record("a"))
    before = usage_of(acme, "research")
    acme.run(ArchiveAccount(account_id=acme.accounts["nlp"]))
    assert usage_of(acme, "research") == before
    assert "nlp" not in fairshare_state.current(acme.id).names.account_by_name


def test_use_moves_with_a_moved_account(acme):
    acme.use(record("a"))
    before = usage_of(acme, "nlp")
    acme.run(MoveAccount(account_id=acme.accounts["nlp"], to_parent_id=acme.accounts["production"]))
    assert usage_of(acme, "production") == before
    assert usage_of(acme, "research") == 0


@dataclass
class Job:
    key: str
    account: str = "nlp"
    person: str = "bob"
    pool: str = "h100"
    units: int = 8
    job_class: str = "P3"
    submitted: float = NOW.timestamp()


def test_jobs_with_unknown_names_are_told_and_the_others_answered(acme):
    acme.run(ArchiveAccount(account_id=acme.accounts["serving"]))
    jobs = [
        Job("good"),
        Job("good"),
        Job("b", account="nowhere"),
        Job("c", person="nobody"),
        Job("d", person="alice", account="vision"),
        Job("e", pool="nothing"),
        Job("f", account="serving"),
    ]
    answer = prioritize(fairshare_state.current(acme.id), jobs, at=int(NOW.timestamp()))
    assert answer.places == [0]
    assert [(error.index, error.code) for error in answer.errors] == [
        (1, "duplicate_key"),
        (2, "account_unknown"),
        (3, "person_unknown"),
        (4, "person_not_on_account"),
        (5, "pool_unknown"),
        (6, "account_archived"),
    ]


def test_who_used_less_of_its_share_comes_first(acme):
    acme.use(record("a", person="bob"))
    jobs = [Job("bob"), Job("alice", person="alice")]
    answer = prioritize(fairshare_state.current(acme.id), jobs, at=int(NOW.timestamp()))
    assert answer.result.rank.tolist() == [2, 1]


def test_no_jobs_are_answered_too(acme):
    answer = prioritize(fairshare_state.current(acme.id), [], at=int(NOW.timestamp()))
    assert answer.places == []


def test_an_explanation_leads_from_the_root_to_the_records(acme):
    acme.use(
        record("small"),
        record("big", units=64),
        record("gone", units=99),
    )
    acme.use(record("corrected", units=1, supersedes="gone"))
    state, result = fairshare.standing(acme.id, at=NOW, now=NOW)
    with scope.reading(acme.id):
        why = fairshare.explain_person(acme.id, state, result, account="nlp", person="bob", at=NOW)
    assert [name for name, _ in why.steps] == ["root", "research", "nlp", "bob"]
    assert [found.key for found in why.records] == ["big", "small", "corrected"]
    assert sum(found.decayed_usage for found in why.records) == pytest.approx(
        why.steps[-1][1].usage, rel=1e-9
    )


def test_the_tree_lists_depth_first_like_sshare(acme):
    state, result = fairshare.standing(acme.id, at=NOW, now=NOW)
    rows = [(row.depth, row.account, row.person) for row in fairshare.all_rows(state, result)]
    assert rows == [
        (0, "root", ""),
        (1, "production", ""),
        (2, "serving", ""),
        (1, "research", ""),
        (2, "nlp", ""),
        (3, "nlp", "alice"),
        (3, "nlp", "bob"),
        (2, "vision", ""),
        (3, "vision", "bob"),
    ]


def test_tenants_have_trees_of_their_own(acme, globex):
    acme.use(record("a"))
    globex.use(record("a", person="charlie", units=1))
    assert usage_of(acme, "nlp") == pytest.approx(8 * usage_of(globex, "nlp"), rel=1e-12)
