"""The rule of a pool: tried on past use, saved with a reason, wrong values at their fields."""

import html
from decimal import Decimal

import pytest

from frontend.forms.reclaim import Length, length_text
from ledger import scope
from preemption import reclaim_loading as loading
from preemption.commands.reclaim_rules import SetReclaimRule, rule_of
from tests.frontend.forms import hidden, text
from tests.preemption.reclaim.conftest import DAY, Reclaim
from tests.world import NOW

pytestmark = pytest.mark.django_db
RULES = "/reclaim/rules"
RULE = f"{RULES}/h100/edit"
HTMX = {"HX-Request": "true", "HX-Target": "preview"}
FORM = {
    "enabled": "on",
    "threshold": "20",
    "clear_margin": "5",
    "window_seconds": "72 h",
    "watch_seconds": "48 h",
    "cooldown_seconds": "14 d",
    "gap_seconds_max": "2 h",
    "unknown_seconds_max": "24 h",
    "exempt": "",
    "maintenance": "",
    "days": "30",
}
SAVE = {"step": "save", "key": "k1", "reason": "use it or lose it"}
TRY = {"step": "preview", "key": "k1"}


@pytest.fixture
def idle(acme):
    """nlp uses 4 of 40 units of h100, and serving 5 of 10; a unit-hour costs 2."""
    it = Reclaim(acme)
    it.priced(2)
    it.promise("nlp", 40)
    it.promise("serving", 10)
    it.use("some", 4, days=40)
    it.use("half", 4, days=40, account="serving", person="alice")
    return it


def stored(it):
    with scope.reading(it.place.id):
        return loading.rule(it.place.id, it.place.pools["h100"])


def test_a_rule_is_tried_before_anything_is_switched_on(idle, browse):
    otto = browse(idle.place, "otto")
    first = otto.get(RULE)
    assert "Preview a rule to see" in text(
        first
    ) and "No rule of its own was ever set for h100." in text(first)
    part = otto.post(RULE, FORM | TRY, headers=HTMX)
    told = text(part)
    assert "<html" not in part.content.decode() and "Nothing is switched on or saved yet." in told
    assert "Guarantees 2 Watched 1 Demoted 1 Units that would have left 36" in told
    assert "Worth a month 52,560.00 EUR" in told
    assert "nlp 9.5 % in use 36 of 40 52,560.00 Watched 2026-11-21 13:00 Demoted 2026-11-22" in told
    assert "serving 47.4 % in use 0 of 10 – none: never idle" in told
    assert not stored(idle).enabled and idle.state() is None


def test_a_trial_goes_as_far_back_as_is_chosen(idle, browse):
    told = text(browse(idle.place, "otto").post(RULE, FORM | TRY | {"days": "7"}))
    assert "in the last 7 days" in told and "Demoted 2026-11-25" in told
    wrong = browse(idle.place, "otto").post(RULE, FORM | TRY | {"days": "8"}, headers=HTMX)
    assert "Select a valid choice" in text(wrong)


def test_saved_with_its_reason_it_is_on_and_in_the_history(idle, browse):
    otto = browse(idle.place, "otto")
    assert otto.post(RULE, FORM | SAVE | {"reason": ""}).status_code == 400
    assert not stored(idle).enabled
    done = otto.post(RULE, FORM | SAVE, follow=True)
    told = text(done)
    assert "The rule of h100 is on from the next run on." in told
    assert "use it or lose it Otto" in told or "use it or lose it otto" in told
    assert stored(idle).enabled and "h100 on its own 20 % 2 d 3 d 14 d 0 –" in text(otto.get(RULES))
    version = hidden(done, "version")
    changed = FORM | SAVE | {"key": "k2", "threshold": "12.5", "exempt": "nlp", "version": version}
    told = text(otto.post(RULE, changed | {"reason": "gentler"}, follow=True))
    assert "Threshold: 20 % → to 12.5 %" in told and "Exempt accounts: 0 → to 1" in told
    assert "Exempt: nlp." in told
    again = otto.post(RULE, changed | {"key": "k3", "version": hidden(otto.get(RULE), "version")})
    assert again.status_code == 302
    assert "is so already" in text(otto.get(RULE))


def test_two_people_at_once_lose_nothing_of_each_other(idle, browse):
    otto = browse(idle.place, "otto")
    seen = hidden(otto.get(RULE), "version")
    idle.rule(threshold=Decimal("0.4"))
    answer = otto.post(RULE, FORM | SAVE | {"version": seen})
    assert answer.status_code == 409 and "changed it" in text(answer)
    assert stored(idle).rule.threshold == Decimal("0.4")
    done = otto.post(RULE, FORM | SAVE | {"version": hidden(answer, "version"), "key": "k2"})
    assert done.status_code == 302 and stored(idle).rule.threshold == Decimal("0.2")


@pytest.mark.parametrize(
    ("change", "field", "said"),
    [
        ({"threshold": "101"}, "threshold", "less than or equal to 100"),
        ({"threshold": ""}, "threshold", "required"),
        ({"clear_margin": "0.001"}, "clear_margin", "2 decimal places"),
        ({"window_seconds": "soon"}, "window_seconds", "Give a length like 72 h"),
        ({"window_seconds": "90 min"}, "window_seconds", "whole hours, one to a year"),
        ({"watch_seconds": "96 h"}, "watch_seconds", "whole hours, one to the window"),
        ({"cooldown_seconds": "400 d"}, "cooldown_seconds", "0 to 31622400"),
        ({"exempt": "nobody"}, "exempt", "There is no account nobody."),
        ({"maintenance": "tomorrow"}, "maintenance", "Line 1: give beginning and end"),
        (
            {"maintenance": "2026-12-24T00:00 to 2026-12-23T00:00"},
            "maintenance",
            "Maintenance ends after it begins",
        ),
        (
            {"maintenance": "2027-03-28T02:30 to 2027-03-29T00:00"},
            "maintenance",
            "clocks are set forward",
        ),
    ],
)
def test_what_is_wrong_stands_at_its_field(idle, browse, change, field, said):
    answer = browse(idle.place, "otto").post(RULE, FORM | SAVE | change)
    assert answer.status_code == 400
    assert any(said in str(error) for error in answer.context["form"].errors[field])
    assert f'id="id_{field}-errors"' in answer.content.decode()
    assert not stored(idle).enabled
    part = browse(idle.place, "otto").post(RULE, FORM | TRY | change, headers=HTMX)
    assert part.status_code == 200 and said in html.unescape(text(part))
    assert "or saved yet" not in text(part)


def test_operators_change_rules_and_others_read_them(idle, browse):
    idle.rule(exempt_ids=(idle.place.accounts["nlp"], idle.place.accounts["vision"]))
    alice = browse(idle.place, "alice")
    told = text(alice.get(RULE))
    assert "Threshold 20 %" in told and "Change it" not in told
    assert "Exempt: nlp and 1 other." in told and "vision" not in told
    assert alice.post(RULE, FORM | SAVE).status_code == 403
    assert "Try one on past use" not in text(alice.get(RULES))
    assert alice.get(f"{RULES}/none/edit").status_code == 404


def test_the_form_holds_every_rule_exactly(idle, browse):
    odd = SetReclaimRule(
        pool_id=idle.place.pools["h100"],
        threshold=Decimal("0.1234"),
        gap_seconds_max=100,
        unknown_seconds_max=5400,
        cooldown_seconds=9 * 86_400,
        exempt_ids=(idle.place.accounts["nlp"],),
        maintenance=((NOW + DAY, NOW + 2 * DAY),),
    )
    idle.place.run(odd, reason="test")
    page = browse(idle.place, "otto").get(RULE)
    values = {name: page.context["form"].initial[name] for name in FORM}
    assert values["threshold"] == "12.34" and values["gap_seconds_max"] == "100 s"
    assert values["unknown_seconds_max"] == "90 min" and values["cooldown_seconds"] == "9 d"
    sent = values | SAVE | {"enabled": "on"}
    assert browse(idle.place, "otto").post(RULE, sent).status_code == 302
    assert stored(idle) == rule_of(odd)


@pytest.mark.parametrize(
    ("typed", "seconds"),
    [("72 h", 259_200), ("1 d 12 h", 129_600), ("90min", 5400), ("14 days", 1_209_600)],
)
def test_lengths_are_read_as_people_write_them(typed, seconds):
    assert Length().clean(typed) == seconds
    assert Length().clean(length_text(seconds)) == seconds
