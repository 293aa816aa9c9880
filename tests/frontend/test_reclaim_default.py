"""The organization's rule on its pages: tried on all pools that follow, left and followed again."""

import html

import pytest

from frontend.views import reclaim_rules
from ledger import scope
from preemption import reclaim_loading as loading
from preemption import reclaim_queries
from tests.frontend.forms import hidden, text
from tests.frontend.test_reclaim_rules import FORM, HTMX, RULE, RULES, SAVE, TRY
from tests.preemption.reclaim.conftest import Reclaim

pytestmark = pytest.mark.django_db
DEFAULT = "/reclaim/default-rule"
FOLLOW = f"{RULES}/h100/follow"


@pytest.fixture
def idle(acme):
    """nlp uses 4 of 40 units of h100; a unit-hour costs 2."""
    it = Reclaim(acme)
    it.priced(2)
    it.promise("nlp", 40)
    it.use("some", 4, days=40)
    return it


def holds(it, pool="h100"):
    with scope.reading(it.place.id):
        return loading.rule(it.place.id, it.place.pools[pool])


def test_it_is_tried_on_all_pools_that_follow_then_saved(idle, browse):
    otto = browse(idle.place, "otto")
    assert "The organization for pools without their own none was set: off" in text(otto.get(RULES))
    part = text(otto.post(DEFAULT, FORM | TRY, headers=HTMX))
    assert "Guarantees 1 Watched 1 Demoted 1 Units that would have left 36" in part
    assert "nlp in h100" in part and not holds(idle).enabled
    done = text(otto.post(DEFAULT, FORM | SAVE, follow=True))
    assert "The rule of the organization is on from the next run on." in done
    assert "use it or lose it" in done
    assert (holds(idle).set_for, holds(idle, "a100").enabled) == ("organization", True)
    rules = text(otto.get(RULES))
    assert "h100 on the organization's 20 %" in rules
    page = text(otto.get(RULE))
    assert "h100 has no rule of its own and follows the organization's" in page
    assert "No rule of its own was ever set for h100." in page


def test_a_pool_has_none_explicitly_and_follows_again(idle, browse):
    otto = browse(idle.place, "otto")
    otto.post(DEFAULT, FORM | SAVE)
    off = {name: value for name, value in FORM.items() if name != "enabled"}
    done = otto.post(RULE, off | SAVE | {"key": "k2", "reason": "serves customers"}, follow=True)
    assert "Its own: it holds whatever the organization's rule says." in text(done)
    assert not holds(idle).enabled and holds(idle, "a100").enabled
    version = {"version": hidden(done, "version"), "step": "save"}
    silent = text(otto.post(FOLLOW, version | {"key": "k3"}, follow=True))
    assert "keeps its own rule: say why" in silent and holds(idle).set_for == "pool"
    idle.rule()
    stale = text(otto.post(FOLLOW, version | {"key": "k4", "reason": "one for all"}, follow=True))
    assert "somebody changed it meanwhile" in stale and holds(idle).set_for == "pool"
    version["version"] = hidden(otto.get(RULE), "version")
    answer = otto.post(FOLLOW, version | {"key": "k5", "reason": "one for all"}, follow=True)
    back = html.unescape(text(answer))
    assert "h100 follows the organization's rule from now on." in back
    assert "h100 has no rule for idle guarantees of its own any more" in back
    assert holds(idle).set_for == "organization" and holds(idle).enabled
    # Its history goes on, also over the gap in which it followed.
    own = FORM | SAVE | {"key": "k6", "version": hidden(otto.get(RULE), "version")}
    assert otto.post(RULE, own).status_code == 302
    assert otto.get(RULE).status_code == 200 and holds(idle).set_for == "pool"


def test_a_stale_form_changes_nothing_even_between_look_and_save(idle, browse, monkeypatch):
    """The second operator's form passed the first look; the command itself sees the version."""
    otto = browse(idle.place, "otto")
    seen = hidden(otto.get(RULE), "version")
    idle.rule(window_seconds=96 * 3600)
    monkeypatch.setattr(reclaim_rules, "changed_meanwhile", lambda *_: "")
    answer = otto.post(RULE, FORM | SAVE | {"version": seen})
    assert answer.status_code == 409 and "Somebody changed this meanwhile" in text(answer)
    assert holds(idle).rule.window_seconds == 96 * 3600


def test_others_read_it_and_change_nothing(idle, browse, globex):
    alice = browse(idle.place, "alice")
    assert "Change it" not in text(alice.get(DEFAULT))
    assert alice.post(DEFAULT, FORM | SAVE).status_code == 403
    assert alice.post(FOLLOW, SAVE).status_code == 403
    charlie = browse(globex, "charlie")
    assert charlie.get(DEFAULT).status_code == 200
    assert holds(idle).set_for is None


def test_a_trial_that_is_too_large_says_so_at_its_field(idle, browse, monkeypatch):
    monkeypatch.setattr(reclaim_queries, "GUARANTEE_DAYS_MAX", 20)
    part = text(browse(idle.place, "otto").post(DEFAULT, FORM | TRY, headers=HTMX))
    assert "more than can be tried at once. Try at most 20 days" in part
    fits = FORM | TRY | {"days": "7"}
    assert "Guarantees 1" in text(browse(idle.place, "otto").post(DEFAULT, fits, headers=HTMX))
