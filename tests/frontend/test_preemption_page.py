"""The board of preemption: budgets, open plans, what was taken; and nobody's secrets."""

from datetime import timedelta

import pytest

from preemption.wire import PreemptionReport
from tests.preemption.conftest import Preemption
from tests.world import NOW

pytestmark = pytest.mark.django_db
PAGE = "/preemption"
HTMX = {"HX-Request": "true", "HX-Target": "board"}


@pytest.fixture
def place(acme):
    """Two plans of nlp: one took five units of vision, which cost something, and one is open."""
    it = Preemption(acme)
    it.promise(nlp=40)
    it.budgets(pool_share="0.2")
    since = NOW - timedelta(minutes=14)
    for number in range(20):
        it.running(f"spot-{number}", 5, at=since)
    asked = NOW - timedelta(minutes=2)
    first = it.ask("trainer", 5, now=asked).plan
    report = PreemptionReport(key=first.actions[0].key, outcome="done", lost_seconds=2700)
    it.report(first, report, now=asked)
    it.ask("waiting", 10, now=NOW - timedelta(minutes=1))
    return acme


def test_an_operator_sees_budgets_plans_and_what_was_taken(place, browse):
    text = browse(place, "otto").get(PAGE).content.decode()
    assert '<td class="num">15</td><td class="num">20</td>' in text
    assert "waiting" in text and "0 of 2" in text
    assert "trainer" in text and "spot, checkpoint" in text
    part = browse(place, "otto").get(PAGE, headers=HTMX).content.decode()
    assert "<html" not in part and 'id="board"' in part


def test_a_lead_sees_her_side_and_not_whose_the_other_is(place, browse):
    text = browse(place, "alice").get(PAGE).content.decode()
    assert "trainer" in text and "another account" in text
    assert "spot-" not in text and ">vision<" not in text


def test_what_was_taken_from_one_account(place, browse):
    text = browse(place, "otto").get(PAGE, {"account": "vision"}).content.decode()
    assert "taken from vision" in text and "trainer" in text
    text = browse(place, "otto").get(PAGE, {"account": "serving"}).content.decode()
    assert "Nothing was taken from serving" in text
    assert browse(place, "alice").get(PAGE, {"account": "vision"}).status_code == 404
    assert browse(place, "otto").get(PAGE, {"account": "nobody"}).status_code == 404


def test_an_empty_board_and_somebody_without_a_role(acme, globex, browse):
    assert "Nothing was taken" in browse(acme, "otto").get(PAGE).content.decode()
    acme.person("nobody")
    assert browse(acme, "nobody").get(PAGE).status_code == 403
