"""Grants, carving, ends and due changes of one pool, with numbers."""

from datetime import UTC, datetime, timedelta

import pytest

from ledger.errors import Invalid, Refused
from quota.domain.changes import Cell, Lapsed, QuotaBook, Scheduled, Wish
from quota.domain.values import Pool, Quota

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
ABOVE = {"root": (), "dept": ("root",), "team": ("root", "dept"), "other": ("root", "dept")}


def book(capacity: int = 100, **guaranteed: int) -> QuotaBook:
    cells = {name: Cell(quota=Quota(guaranteed=units)) for name, units in guaranteed.items()}
    return QuotaBook(pool=Pool(name="h100", capacity=capacity), cells=cells, path=ABOVE.__getitem__)


def wish(account: str, units: int, **fields) -> Wish:
    return Wish(account=account, quota=Quota(guaranteed=units), **fields)


def units(it: QuotaBook) -> dict[str, int]:
    return {account: cell.quota.guaranteed for account, cell in it.cells.items()}


def test_the_department_s_150_become_90_own_and_60_for_the_team():
    it = book(150, dept=150)
    lent, became = it.set(wish("team", 60, lender="dept"), at=NOW)
    assert units(it) == {"dept": 90, "team": 60}
    assert (lent.kind, lent.other, became.kind, became.other) == ("lent", "team", "set", "dept")
    assert it.promise().promised == 150


def test_a_cut_gives_back_to_the_lender():
    it = book(150, dept=90, team=60)
    repaid, _ = it.set(wish("team", 20, lender="dept"), at=NOW)
    assert (repaid.kind, units(it)) == ("repaid", {"dept": 130, "team": 20})


def test_shortfalls_are_named():
    with pytest.raises(Refused) as refused:
        book(100, dept=70).set(wish("team", 40), at=NOW)
    assert (refused.value.code, refused.value.facts["short_by"]) == ("promise_exceeded", 10)
    with pytest.raises(Refused) as refused:
        book(100, dept=30).set(wish("team", 40, lender="dept"), at=NOW)
    assert (refused.value.code, refused.value.facts["short_by"]) == ("carve_exceeded", 10)
    with pytest.raises(Refused) as refused:
        book(100, dept=120).set(wish("team", 1), at=NOW)
    assert refused.value.code == "pool_over_promised"
    with pytest.raises(Invalid, match="above"):
        book(100, other=30).set(wish("team", 10, lender="other"), at=NOW)


def test_a_temporary_quota_ends_by_itself_and_repays_whatever_became_of_the_lender():
    it = book(100, dept=50, team=10)
    it.set(wish("team", 30, lender="dept", ends_at=NOW + DAY), at=NOW)
    it.set(wish("dept", 70), at=NOW)
    assert units(it) == {"dept": 70, "team": 30}
    assert it.settle((), now=NOW + DAY - timedelta(microseconds=1)) == []
    changes = it.settle((), now=NOW + 9 * DAY)
    assert [(one.kind, one.at) for one in changes] == [("repaid", NOW + DAY), ("ended", NOW + DAY)]
    assert units(it) == {"dept": 90, "team": 10}
    assert it.settle((), now=NOW + 99 * DAY) == []


def test_what_is_lent_on_from_a_temporary_guarantee_must_be_there_after_its_end():
    it = book(100, root=50, dept=10)
    it.set(wish("dept", 40, lender="root", ends_at=NOW + DAY), at=NOW)
    with pytest.raises(Refused) as refused:
        it.set(wish("team", 11, lender="dept"), at=NOW)
    assert refused.value.facts["available"] == 10
    it.set(wish("team", 10, lender="dept"), at=NOW)
    assert units(it) == {"root": 20, "dept": 30, "team": 10}
    it.settle((), now=NOW + DAY)
    assert units(it) == {"root": 50, "dept": 0, "team": 10}


def test_a_quota_set_while_a_temporary_one_runs_starts_from_its_base():
    it = book(60, dept=50, team=10)
    it.set(wish("team", 30, lender="dept", ends_at=NOW + DAY), at=NOW)
    it.set(wish("team", 15, lender="dept"), at=NOW)
    assert units(it) == {"dept": 45, "team": 15}
    assert it.cell("team").temporary is None
    it.set(wish("team", 25, lender="dept", ends_at=NOW + DAY), at=NOW)
    it.set(wish("team", 20, lender="dept", ends_at=NOW + 2 * DAY), at=NOW)
    it.settle((), now=NOW + 2 * DAY)
    assert units(it) == {"dept": 45, "team": 15}


def test_the_net_of_an_implied_end_is_what_counts():
    """A temporary cut from 60 to 40 whose 20 units others have taken: back to 50 is 10 short."""
    it = book(60, team=60)
    it.set(wish("team", 40, ends_at=NOW + DAY), at=NOW)
    it.set(wish("other", 20), at=NOW)
    with pytest.raises(Refused) as refused:
        it.set(wish("team", 50), at=NOW)
    assert refused.value.facts["short_by"] == 10
    it.set(wish("team", 40), at=NOW)
    assert it.cell("team") == Cell(quota=Quota(guaranteed=40))


def test_an_end_that_would_break_the_promise_lapses_and_the_values_stay():
    it = book(60, team=60)
    it.set(wish("team", 40, ends_at=NOW + DAY), at=NOW)
    it.set(wish("other", 20), at=NOW)
    (lapsed,) = it.settle((), now=NOW + DAY)
    assert isinstance(lapsed, Lapsed)
    assert (lapsed.scheduled, lapsed.error.facts["short_by"]) == (None, 20)
    assert units(it) == {"team": 40, "other": 20}
    assert it.settle((), now=NOW + 9 * DAY) == []


def test_due_changes_that_free_units_come_first_at_one_instant():
    it = book(100, team=60, other=40)
    due = [
        Scheduled(id=1, starts_at=NOW, wish=wish("other", 70)),
        Scheduled(id=2, starts_at=NOW, wish=wish("team", 30)),
    ]
    changes = it.settle(due, now=NOW)
    assert [(one.account, one.scheduled) for one in changes] == [("team", 2), ("other", 1)]
    assert units(it) == {"team": 30, "other": 70}


def test_a_due_change_may_begin_and_end_while_nobody_looks():
    it = book(100, team=10)
    passing = Scheduled(id=1, starts_at=NOW + DAY, wish=wish("team", 90, ends_at=NOW + 2 * DAY))
    blocked = Scheduled(id=2, starts_at=NOW + DAY * 1.5, wish=wish("other", 20))
    later = Scheduled(id=3, starts_at=NOW + DAY * 9, wish=wish("other", 50))
    changes = it.settle([blocked, passing, later], now=NOW + 3 * DAY)
    assert [type(one).__name__ for one in changes] == ["Became", "Lapsed", "Became"]
    assert changes[1].error.facts["short_by"] == 10
    assert units(it) == {"team": 10}


def test_a_wish_that_is_true_already_changes_nothing():
    it = book(100, team=10)
    assert it.set(wish("team", 10), at=NOW) == []
    with pytest.raises(Invalid, match="after it begins"):
        it.set(wish("team", 20, ends_at=NOW), at=NOW)
    with pytest.raises(Refused, match="no end"):
        it.end("team", at=NOW)
