"""What is asked while a temporary quota runs, with numbers and with what Hypothesis thinks of."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ledger.errors import Refused
from quota.domain.changes import Lapsed, QuotaBook, Scheduled, Wish
from quota.domain.provisioning import attempt, grant
from quota.domain.requests import Terms
from quota.domain.values import Pool, Quota
from tests.world import NOW

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
ROOT, DEPT, TEAM, OTHER = (UUID(int=number) for number in range(1, 5))
ABOVE = {ROOT: (), DEPT: (ROOT,), TEAM: (ROOT, DEPT), OTHER: (ROOT, DEPT)}
END = NOW + 10 * DAY
LATE = NOW + 400 * DAY


def book(
    capacity: int = 100,
    *,
    for_good: int = 0,
    boost: int = 8,
    lender: UUID | None = None,
    **own: int,
) -> QuotaBook:
    """The team has so much for good and a boost until END; others as named."""
    accounts = {"root": ROOT, "dept": DEPT, "other": OTHER}
    it = QuotaBook(pool=Pool(name="h100", capacity=capacity), cells={}, path=ABOVE.__getitem__)
    for name, units in {**own}.items():
        it.set(Wish(account=accounts[name], quota=Quota(guaranteed=units)), at=NOW)
    it.set(Wish(account=TEAM, quota=Quota(guaranteed=for_good)), at=NOW)
    quota = Quota(guaranteed=for_good + boost)
    it.set(Wish(account=TEAM, quota=quota, lender=lender, ends_at=END), at=NOW)
    return it


def ask(kind: str, units: int | None, *, ends_at=None, **fields) -> Terms:
    return Terms(
        account_id=TEAM,
        pool_id=UUID(int=99),
        kind=kind,
        units=units,
        ends_at=ends_at,
        purpose="p",
        **fields,
    )


def granted(it: QuotaBook, terms: Terms) -> QuotaBook:
    trial = attempt(terms, it, (), now=NOW)
    assert trial.problem is None, trial.problem
    grant(it, trial.wishes, at=NOW)
    return it


def guarantees(it: QuotaBook) -> dict[UUID, int]:
    return {account: cell.quota.guaranteed for account, cell in it.cells.items()}


def after_the_end(it: QuotaBook) -> dict[UUID, int]:
    assert not [one for one in it.settle((), now=LATE) if isinstance(one, Lapsed)]
    return guarantees(it)


@pytest.mark.parametrize(
    ("kind", "for_good", "units", "now", "then"),
    [("new", 0, 12, 20, 12), ("raise", 5, 12, 25, 17), ("lower", 5, 2, 11, 3)],
)
def test_for_good_beside_a_boost(kind, for_good, units, now, then):
    it = granted(book(for_good=for_good), ask(kind, units))
    assert (it.cell(TEAM).quota.guaranteed, it.cell(TEAM).temporary.ends_at) == (now, END)
    assert after_the_end(it)[TEAM] == then


def test_what_was_lent_goes_back_and_what_was_carved_stays():
    it = book(for_good=0, boost=8, lender=DEPT, dept=30)
    granted(it, ask("new", 10))
    assert guarantees(it) == {DEPT: 12, TEAM: 18}
    assert after_the_end(it) == {DEPT: 20, TEAM: 10}


def test_another_lender_pays_for_what_is_for_good():
    it = book(for_good=0, boost=8, lender=DEPT, dept=10, root=30)
    granted(it, ask("new", 10))
    assert guarantees(it) == {ROOT: 20, DEPT: 2, TEAM: 18}
    assert it.cell(TEAM).temporary.lender == DEPT
    assert after_the_end(it) == {ROOT: 20, DEPT: 10, TEAM: 10}


def test_lent_units_are_not_given_away():
    for terms in (ask("lower", 6), ask("transfer", 6, to_account_id=OTHER)):
        with pytest.raises(Refused) as refused:
            attempt(terms, book(for_good=5), (), now=NOW)
        assert (refused.value.code, refused.value.facts["held"]) == ("not_held", 5)


def test_a_transfer_leaves_both_boosts_running():
    it = book(for_good=5, boost=8)
    it.set(Wish(account=OTHER, quota=Quota(guaranteed=3), ends_at=END + DAY), at=NOW)
    granted(it, ask("transfer", 4, to_account_id=OTHER))
    assert guarantees(it) == {TEAM: 9, OTHER: 7}
    assert after_the_end(it) == {TEAM: 1, OTHER: 4}


def test_a_ceiling_for_good_and_one_for_a_while():
    it = granted(book(), ask("ceiling", 6))
    assert it.cell(TEAM).quota == Quota(guaranteed=8, borrowing_limit=6)
    granted(it, ask("ceiling", 20, ends_at=END))
    granted(it, ask("ceiling", 9))
    assert it.cell(TEAM).quota.borrowing_limit == 20, "the higher one, until its end"
    it.settle((), now=END)
    assert it.cell(TEAM).quota == Quota(guaranteed=0, borrowing_limit=9)


@pytest.mark.parametrize("off", [timedelta(0), timedelta(hours=23), -timedelta(hours=23)])
def test_a_further_boost_ends_with_the_running_one(off):
    it = granted(book(for_good=2), ask("boost", 4, ends_at=END + off))
    assert it.cell(TEAM).quota.guaranteed == 14
    assert it.cell(TEAM).temporary.ends_at == END
    assert after_the_end(it)[TEAM] == 2


@pytest.mark.parametrize("off", [DAY, -DAY, 40 * DAY])
def test_a_further_boost_with_another_end_is_told_the_end(off):
    with pytest.raises(Refused) as refused:
        attempt(ask("boost", 4, ends_at=END + off), book(), (), now=NOW)
    assert (refused.value.code, refused.value.field) == ("temporary_running", "ends_at")
    assert refused.value.facts == {"ends_at": END.isoformat()}
    assert "ask until then" in refused.value.detail


def test_a_start_within_the_running_one_is_told_when_instead():
    with pytest.raises(Refused) as refused:
        attempt(ask("raise", 4, starts_at=NOW + DAY), book(for_good=1), (), now=NOW)
    assert (refused.value.code, refused.value.field) == ("temporary_running", "starts_at")
    after = attempt(ask("raise", 4, starts_at=END), book(for_good=1), (), now=NOW)
    assert after.fits


@pytest.mark.parametrize(
    ("own", "lender", "pays"),
    [
        ({"dept": 20}, DEPT, DEPT),
        ({"dept": 9, "root": 20}, DEPT, ROOT),
        ({"dept": 9, "root": 11}, DEPT, None),
        ({"dept": 20}, None, None),
    ],
)
def test_who_lends_for_a_further_boost(own, lender, pays):
    it = book(boost=8, lender=lender, **own)
    granted(it, ask("boost", 4, ends_at=END))
    assert it.cell(TEAM).temporary.lender == pays
    named = {"dept": DEPT, "root": ROOT}
    assert after_the_end(it) == {TEAM: 0} | {named[name]: units for name, units in own.items()}


def test_the_department_lends_where_the_promise_has_no_room_left():
    it = book(40, boost=8, dept=30)
    granted(it, ask("boost", 4, ends_at=END))
    assert (it.cell(TEAM).temporary.lender, guarantees(it)) == (DEPT, {DEPT: 18, TEAM: 12})
    assert after_the_end(it) == {DEPT: 30, TEAM: 0}


def test_a_boost_that_is_over_before_a_change_to_come():
    it = book(for_good=5, boost=0)
    it.settle((), now=END)
    coming = [Scheduled(id="1", starts_at=LATE, wish=Wish(account=TEAM, quota=Quota(guaranteed=9)))]
    until = ask("boost", 4, ends_at=LATE)
    trial = attempt(until, it, coming, now=END)
    assert trial.fits
    grant(it, trial.wishes, at=END)
    it.settle(coming, now=LATE)
    assert it.cell(TEAM).quota.guaranteed == 9
    with pytest.raises(Refused, match="Ask until then") as refused:
        attempt(replace(until, ends_at=LATE + SECOND), it, coming, now=END)
    assert refused.value.code == "change_to_come"


steps = st.lists(
    st.tuples(
        st.sampled_from(["new", "raise", "lower", "boost", "transfer", "back"]), st.integers(1, 40)
    ),
    max_size=8,
)


@given(
    capacity=st.integers(20, 120),
    dept=st.integers(0, 40),
    other=st.integers(0, 10),
    for_good=st.integers(0, 10),
    boost=st.integers(1, 10),
    from_dept=st.booleans(),
    asked=steps,
)
def test_after_the_end_exactly_what_is_for_good_remains(
    capacity, dept, other, for_good, boost, from_dept, asked
):
    """Whatever is asked beside a boost, in whatever order: the promise holds at every instant, and
    after the end the team has what it was granted for good, and lenders have back what they lent.
    """
    assume(dept + other + for_good + boost <= capacity)
    lender = DEPT if from_dept and boost <= dept else None
    it = book(capacity, for_good=for_good, boost=boost, lender=lender, dept=dept, other=other)
    good, total = for_good, it.promise().promised - boost * (lender is None)
    for kind, units in asked:
        terms = ask(kind, units, ends_at=END if kind == "boost" else None)
        if kind == "transfer":
            terms = replace(terms, to_account_id=OTHER)
        if kind == "back":
            terms = replace(terms, kind="transfer", account_id=OTHER, to_account_id=TEAM)
        try:
            trial = attempt(terms, it, (), now=NOW)
        except Refused:
            continue
        if not trial.fits:
            continue
        own_before = it.cell(DEPT).base.guaranteed
        grant(it, trial.wishes, at=NOW)
        good += {"new": units, "raise": units, "lower": -units}.get(kind, 0)
        good += {"transfer": -units, "back": units}.get(kind, 0)
        if kind in ("new", "raise") and trial.lender_id is None:
            total += units
        if kind == "lower" and trial.lender_id is None:
            total -= units
        assert it.promise().holds
        assert it.cell(TEAM).base.guaranteed == good
        assert it.cell(DEPT).quota.guaranteed >= 0 <= own_before
        assert all(one.free >= 0 for one in trial.series_with)
    ended = after_the_end(it)
    assert ended[TEAM] == good
    assert sum(ended.values()) == total
