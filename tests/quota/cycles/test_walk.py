"""From opening a cycle to quotas that changed: the main ways through, on the database."""

import pytest

from ledger import scope, verification
from ledger.errors import Refused
from quota.models import ReviewCycle
from tests.world import NOW


def state(table, it) -> ReviewCycle:
    with scope.reading(table.place.id):
        return ReviewCycle.objects.get(id=it)


def test_open_decide_close_applies(table):
    table.known("nlp", recommended=9)
    it = table.open()
    assert state(table, it).quota_count == 4
    table.decide(it, "nlp", "recommended", reason="hardly used")
    table.decide(it, "serving", "set", 45, reason="grows")
    table.decide(it, "research", "keep")
    table.decide(it, "vision", "keep", pool="a100")
    assert table.quotas.stored() == {"research": 20, "nlp": 40, "serving": 30}
    closed = table.close(it, reason="board meeting")
    assert (closed.changed, closed.kept, closed.undecided) == (2, 2, 0)
    assert table.quotas.stored() == {"research": 20, "nlp": 9, "serving": 45}
    assert state(table, it).state == "closed"
    assert verification.verify(table.place.id).clean


def test_cuts_make_room_for_rises(table):
    it = table.open()
    table.decide(it, "serving", "set", 60)
    table.decide(it, "nlp", "set", 20)
    table.close(it, undecided_keep=True)
    assert table.quotas.stored() == {"research": 20, "nlp": 20, "serving": 60}


def test_what_is_undecided_stays_only_if_said_so(table):
    it = table.open()
    table.decide(it, "nlp", "set", 20)
    with pytest.raises(Refused, match="3 quotas have no decision") as refused:
        table.close(it)
    assert refused.value.code == "cycle_undecided"
    assert table.quotas.stored()["nlp"] == 40
    assert table.close(it, undecided_keep=True).undecided == 3


def test_the_close_is_whole_or_names_what_cannot_be(table):
    it = table.open()
    table.decide(it, "nlp", "set", 30)
    table.decide(it, "serving", "set", 90)
    table.decide(it, "research", "set", 25)
    with pytest.raises(Refused) as refused:
        table.close(it, undecided_keep=True)
    (one,) = refused.value.facts["impossible"]
    assert (one["account"], one["units"], one["code"]) == ("serving", 90, "promise_exceeded")
    assert table.quotas.stored() == {"research": 20, "nlp": 40, "serving": 30}
    closed = table.close(it, undecided_keep=True, without_impossible=True)
    assert (closed.changed, closed.impossible_count) == (2, 1)
    assert table.quotas.stored() == {"research": 25, "nlp": 30, "serving": 30}
    assert verification.verify(table.place.id).clean
    with pytest.raises(Refused, match="closed"):
        table.decide(it, "nlp", "keep", now=NOW)
