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
    # 5 taken and 10 planned of 20.
    numbers = ("5", "10", "20", "5")
    assert "".join(f'<td class="num">{one}</td>' for one in numbers) in text
    assert "waiting" in text and "0 of 2" in text
    assert "trainer" in text and "saved itself and waits anew" in text
    part = browse(place, "otto").get(PAGE, headers=HTMX).content.decode()
    assert "<html" not in part and 'id="board"' in part


def test_a_lead_sees_her_side_and_not_whose_the_other_is(place, browse):
    text = browse(place, "alice").get(PAGE).content.decode()
    assert "trainer" in text and "another account" in text
    assert "spot-" not in text and ">vision<" not in text


def test_an_empty_board_and_somebody_without_a_role(acme, globex, browse):
    assert "Nothing was taken" in browse(acme, "otto").get(PAGE).content.decode()
    acme.person("nobody")
    assert browse(acme, "nobody").get(PAGE).status_code == 403


FORM = {"job": "urgent", "account": "nlp", "pool": "h100", "units": "20", "job_class": "P1"}


def test_an_operator_tries_and_makes_a_plan_past_the_budgets(place, browse):
    otto = browse(place, "otto")
    page = f"{PAGE}/override"
    assert "A plan past the budgets" in otto.get(PAGE).content.decode()
    assert otto.get(page).status_code == 200
    tried = otto.post(page, FORM | {"step": "try", "key": "k1"})
    assert tried.status_code == 200
    assert "Who would give way" in tried.content.decode()
    unexplained = otto.post(page, FORM | {"step": "save", "key": "k1"})
    assert unexplained.status_code == 400 and "Say why" in unexplained.content.decode()
    made = otto.post(page, FORM | {"step": "save", "key": "k1", "reason": "demo"}, follow=True)
    text = made.content.decode()
    assert "The plan for urgent is made: 4 jobs give way." in text
    assert "past the budgets: demo" in text
    again = otto.post(page, FORM | {"step": "save", "key": "k1", "reason": "demo"}, follow=True)
    assert again.content.decode().count("past the budgets: demo") == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"account": "nobody"}, "There is no account nobody"),
        ({"units": "0"}, "one unit at least"),
        ({"pool": "nowhere"}, "Select a valid choice"),
        ({"job": ""}, "required"),
    ],
)
def test_what_is_wrong_stands_at_its_field(place, browse, change, said):
    sent = FORM | {"step": "save", "reason": "demo", "key": "k1"} | change
    answer = browse(place, "otto").post(f"{PAGE}/override", sent)
    assert answer.status_code == 400
    assert said in answer.content.decode()


def test_only_operators_pass_the_budgets(place, browse):
    alice = browse(place, "alice")
    assert alice.get(f"{PAGE}/override").status_code == 403
    assert "A plan past the budgets" not in alice.get(PAGE).content.decode()
