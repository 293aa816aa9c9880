"""What was taken from an account: sums, days, rules, pages; and what others may not see."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from frontend.views import preemption_taken
from preemption import loading
from preemption.commands.checkpoints import RecordCheckpoints
from preemption.wire import Checkpoint, PreemptionReport
from tests.preemption.conftest import Preemption
from tests.world import NOW

pytestmark = pytest.mark.django_db
PAGE = "/preemption/taken"


@pytest.fixture
def place(acme, monkeypatch):
    """Three times five units of vision are taken for nlp, and an operator takes 20 more; the loss
    of the first is reported. A unit-hour is worth 2."""
    monkeypatch.setattr(loading, "unit_price", lambda *_, **__: Decimal(2))
    it = Preemption(acme)
    it.promise(nlp=60)
    it.budgets(pool_share="0.2")
    for number in range(20):
        it.running(f"spot-{number:02}", 5, at=NOW - timedelta(minutes=14))
    saved = Checkpoint(key="spot-00", at=NOW - timedelta(minutes=9), seconds=30)
    acme.run(RecordCheckpoints(pool="h100", checkpoints=(saved,)), now=NOW - timedelta(minutes=8))
    for number in range(3):
        at = NOW - timedelta(minutes=3 - number)
        plan = it.ask(f"trainer-{number}", 5, now=at).plan
        lost = 2700 if number == 0 else None
        (action,) = plan.actions
        it.report(plan, PreemptionReport(key=action.key, outcome="done", lost_seconds=lost), now=at)
    urgent = it.ask("urgent", 20, now=NOW, override="the demo on Friday", by="otto").plan
    it.report(urgent, *((one.key, "done") for one in urgent.actions), now=NOW)
    return acme


def test_sums_rules_and_costs_over_the_month(place, browse):
    text = browse(place, "otto").get(PAGE, {"account": "vision"}).content.decode()
    assert "Taken from vision in 2026-11" in text
    assert "<dt>Times</dt><dd>7</dd>" in text and "<dt>Units taken</dt><dd>35</dd>" in text
    # 5 units x 2,700 s x 2 an hour were reported; six told nothing.
    assert "<dd>7.50 <small>6 not reported</small></dd>" in text
    assert "saved itself and waits anew" in text
    assert "5 of 20" in text and "10 of 20" in text and "15 of 20" in text
    assert "past the budgets: the demo on Friday" in text and "asked by otto" in text
    assert "35 units were taken from 2026-11-01 to 2026-11-29, most on 2026-11-29" in text
    assert "trainer-0" in text and "spot-00" in text
    # 660 s until spot-00 lost, 30 s a checkpoint: sqrt(2 x 30 x 660)
    assert "3 min" in text and "J. T. Daly" in text


def test_a_subtree_is_summed_and_each_account_stands_by_itself(place, browse):
    text = browse(place, "otto").get(PAGE, {"account": "research"}).content.decode()
    assert "<dt>Units taken</dt><dd>35</dd>" in text
    assert 'account=vision&amp;month=2026-11">vision</a>' in text
    root = browse(place, "otto").get(PAGE).content.decode()
    assert "Taken from root" in root and "<dt>Units taken</dt><dd>35</dd>" in root
    none = browse(place, "otto").get(PAGE, {"account": "serving"}).content.decode()
    assert "Nothing was taken from serving in 2026-11" in none
    before = browse(place, "otto").get(PAGE, {"account": "vision", "month": "2026-10"})
    assert "Nothing was taken from vision in 2026-10" in before.content.decode()


def test_who_took_is_hidden_from_those_who_may_not_see_them(place, browse):
    place.person("vera")
    place.login("vera")
    place.role("vera", "lead", on="vision")
    text = browse(place, "vera").get(PAGE).content.decode()
    assert "Taken from vision" in text and "spot-00" in text
    assert "another account" in text
    for hidden in ("trainer", "urgent", "the demo on Friday", "by otto", ">nlp<"):
        assert hidden not in text, hidden
    assert browse(place, "alice").get(PAGE, {"account": "vision"}).status_code in (403, 404)
    assert browse(place, "otto").get(PAGE, {"account": "nobody"}).status_code == 404


def test_pages_hold_every_action_once(place, browse, monkeypatch):
    monkeypatch.setattr(preemption_taken, "PAGE_ROWS", 3)
    otto, address, seen = browse(place, "otto"), f"{PAGE}?account=vision", []
    while address:
        answer = otto.get(address)
        seen.append([one.row.place for one in answer.context["actions"]])
        address = answer.context["next"]
    assert [len(rows) for rows in seen] == [3, 3, 1]
    places = [place for rows in seen for place in rows]
    assert places == sorted(set(places), reverse=True)


@pytest.mark.parametrize(
    "wrong",
    [{"month": "november"}, {"month": "1850-01"}, {"after": "x"}, {"after": "2026-11-29_1_1"}],
    ids=["word", "old", "no-place", "half-place"],
)
def test_what_cannot_be_used_is_refused_by_name(place, browse, wrong):
    answer = browse(place, "otto").get(PAGE, wrong)
    assert answer.status_code == 400
    assert next(iter(wrong)) in answer.content.decode()


def test_somebody_without_a_role(acme, browse):
    acme.person("nobody")
    assert browse(acme, "nobody").get(PAGE).status_code == 403


def test_the_number_of_questions_does_not_grow(place, browse):
    otto = browse(place, "otto")

    def questions(address: str) -> int:
        otto.get(address)
        with CaptureQueriesContext(connection) as told:
            otto.get(address)
        return len(told)

    taken, board = questions(PAGE), questions("/preemption")
    for number in range(3):
        place.pool(f"more-{number}")
    it = Preemption(place)
    at = NOW + timedelta(seconds=1)
    it.budgets(pool_share="1", now=at)
    plan = it.ask("again", 10, now=at).plan
    it.report(plan, *((one.key, "done") for one in plan.actions), now=at)
    assert questions(PAGE) == taken
    assert questions("/preemption") == board
