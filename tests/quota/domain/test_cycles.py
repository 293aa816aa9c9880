"""Decisions of a review that stand together: cuts first, the smallest rises, ends and lenders."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.errors import Conflict, Invalid, Refused
from quota.domain.changes import Cell, QuotaBook, Temporary
from quota.domain.cycles import Chosen, Decision, decided_units, together
from quota.domain.values import Pool, Quota

NOW = datetime(2026, 11, 29, tzinfo=UTC)
END = NOW + timedelta(days=9)


def book(capacity: int = 100, *, archived: tuple[str, ...] = (), **guarantees) -> QuotaBook:
    def path(account):
        if account in archived:
            raise Refused("account_archived", "It is archived.")
        return ("root",)

    cells = {
        account: one if isinstance(one, Cell) else Cell(quota=Quota(guaranteed=one))
        for account, one in guarantees.items()
    }
    return QuotaBook(pool=Pool(name="h100", capacity=capacity), cells=cells, path=path)


def lent(guaranteed: int, base: int, lender: str | None = "root") -> Cell:
    return Cell(
        quota=Quota(guaranteed=guaranteed, borrowing_limit=3),
        temporary=Temporary(
            ends_at=END, base=Quota(guaranteed=base, borrowing_limit=3), lender=lender
        ),
    )


def chosen(of: QuotaBook, **units: int) -> dict[str, Chosen]:
    return {
        account: Chosen(
            units=one,
            guaranteed=of.cell(account).quota.guaranteed,
            base=of.cell(account).base.guaranteed,
        )
        for account, one in units.items()
    }


def stored(of: QuotaBook) -> dict:
    return {account: cell.quota.guaranteed for account, cell in of.cells.items()}


def test_cuts_make_room_whatever_the_order():
    it = book(a=50, b=50)
    made = together(it, chosen(it, a=80, b=20), at=NOW)
    assert [change.account for change in made.changes] == ["b", "a"]
    assert not made.impossible
    assert stored(it) == {"a": 80, "b": 20}


def test_of_rises_that_do_not_all_fit_the_smallest_go_first():
    it = book(a=30, b=30, c=30)
    made = together(it, chosen(it, a=36, b=35, c=34), at=NOW)
    assert set(made.impossible) == {"a"}
    assert made.impossible["a"].facts["short_by"] == 5
    assert stored(it) == {"a": 30, "b": 35, "c": 34}


def test_a_pool_promised_beyond_what_it_has_takes_cuts_only():
    it = book(50, a=40, b=40)
    made = together(it, chosen(it, a=20, b=41), at=NOW)
    assert made.impossible["b"].code == "pool_over_promised"
    assert stored(it) == {"a": 20, "b": 40}


def test_what_moved_or_went_is_named_and_the_rest_stands():
    it = book(a=30, b=30, c=20, archived=("c",))
    decided = chosen(it, a=10, b=10, c=10) | {"b": Chosen(units=10, guaranteed=29, base=29)}
    made = together(it, decided, at=NOW)
    assert {key: error.code for key, error in made.impossible.items()} == {
        "b": "quota_changed_since",
        "c": "account_archived",
    }
    assert stored(it) == {"a": 10, "b": 30, "c": 20}


def test_keeping_never_fails():
    it = book(a=30)
    assert together(it, {"a": Chosen(units=25, guaranteed=25, base=25)}, at=NOW).changes == []


def test_limits_stay():
    it = book(a=lent(30, 30, lender=None))
    together(it, chosen(it, a=10), at=NOW)
    assert it.cell("a").quota == Quota(guaranteed=10, borrowing_limit=3)


def test_a_lender_pays_for_a_rise_and_gets_a_cut_back():
    it = book(root=20, a=lent(30, 20))
    made = together(it, chosen(it, a=35), at=NOW)
    assert [change.kind for change in made.changes] == ["lent", "set"]
    assert stored(it) == {"root": 15, "a": 35}
    together(it, chosen(it, a=22), at=NOW)
    assert stored(it) == {"root": 28, "a": 22}
    together(it, chosen(it, a=5), at=NOW)
    assert stored(it) == {"root": 30, "a": 5}
    assert it.cell("a").temporary.base.guaranteed == 5
    assert it.cell("a").temporary.ends_at == END
    assert together(it, chosen(it, a=36), at=NOW).impossible["a"].code == "carve_exceeded"


def test_a_lender_with_a_decision_of_its_own_has_what_that_says():
    it = book(root=20, a=lent(30, 20))
    together(it, chosen(it, a=25, root=10), at=NOW)
    assert stored(it) == {"root": 10, "a": 25}


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=8),
    st.lists(st.integers(0, 60), min_size=8, max_size=8),
    st.integers(0, 150),
)
def test_the_promise_never_passes_what_it_was_or_what_is_there(before, wanted, capacity):
    names = [f"a{number}" for number in range(len(before))]
    it = book(capacity, **dict(zip(names, before, strict=True)))
    made = together(it, chosen(it, **dict(zip(names, wanted, strict=False))), at=NOW)
    assert sum(it.guarantees()) <= max(capacity, sum(before))
    for name, units in zip(names, wanted, strict=False):
        expected = it.cell(name).quota.guaranteed
        assert expected == units or name in made.impossible


def test_what_a_decision_means():
    given_ = {"guaranteed": 40, "recommended": 9}
    assert decided_units(Decision.KEEP, **given_, units=3) == 40
    assert decided_units(Decision.RECOMMENDED, **given_, units=None) == 9
    assert decided_units(Decision.SET, **given_, units=0) == 0
    with pytest.raises(Conflict):
        decided_units(Decision.RECOMMENDED, **given_, units=8)
    with pytest.raises(Refused):
        decided_units(Decision.RECOMMENDED, guaranteed=4, recommended=None, units=None)
    for units in (None, -1, 2**60):
        with pytest.raises(Invalid):
            decided_units(Decision.SET, **given_, units=units)
