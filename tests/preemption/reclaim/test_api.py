"""Use-it-or-lose-it over REST: try a rule, set it, see where guarantees stand, restore, return."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from preemption import reclaim_queries
from preemption.commands.reclaim_rules import SetReclaimRule
from tests.api.conftest import Api, fresh_token, is_problem, signed_in, speaking
from tests.preemption.reclaim.conftest import DAY, Reclaim

GUIDE = Path(__file__).resolve().parents[3] / "docs" / "api" / "reclaim.md"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def late(acme) -> Reclaim:
    """nlp's 40 units were promised ten days ago and are idle; others use the pool."""
    it = Reclaim.__new__(Reclaim)
    it.place = acme
    it.begin = datetime.now(UTC) - 10 * DAY
    it.use("known", 1, account="serving", person="alice", days=10)
    it.promise("nlp", 40)
    return it


@pytest.fixture
def otto(late) -> Api:
    return signed_in(late.place, "otto")


def test_a_rule_is_tried_then_set(late, otto):
    assert otto.get("pools/h100/reclaim-rule").json()["enabled"] is False
    tried = otto.post("pools/h100/reclaim-rule/try", {"days": 12}).json()
    (one,) = tried["guarantees"]
    assert (one["account"], one["units"], one["left_alone"]) == ("nlp", 40, None)
    assert [stage["stage"] for stage in one["stages"]] == ["watch", "demoted"]
    assert late.state() is None
    wanted = {"exempt": ["serving"], "threshold": "0.3", "reason": "idle units"}
    put = otto.send("PUT", "pools/h100/reclaim-rule", wanted)
    assert put.status_code == 200, put.content
    assert put.json() == otto.get("pools/h100/reclaim-rule").json()
    assert (put.json()["enabled"], put.json()["exempt"]) == (True, ["serving"])
    assert (put.json()["threshold"], put.json()["watch_seconds"]) == ("0.3", 172_800)


def test_what_is_wrong_with_a_rule_is_said(late, otto):
    address = "pools/h100/reclaim-rule"
    for wrong, code in (
        ({"watch_seconds": 360_000}, "watch_out_of_range"),
        ({"window_seconds": 0}, "window_out_of_range"),
        ({"window_seconds": 259_201}, "window_out_of_range"),
        ({"threshold": "1.5"}, "share_out_of_range"),
    ):
        is_problem(otto.send("PUT", address, wrong | {"reason": "x"}), 400, code)
    unknown = {"exempt": ["nobody"], "reason": "x"}
    is_problem(otto.send("PUT", address, unknown), 404, "account_unknown")
    is_problem(otto.get("pools/none/reclaim"), 404, "pool_unknown")


def test_where_guarantees_stand_and_one_click_back(late, otto):
    late.rule(now=datetime.now(UTC))
    late.run(datetime.now(UTC) - timedelta(hours=26))
    late.run(datetime.now(UTC))
    (one,) = otto.get("pools/h100/reclaim").json()["guarantees"]
    assert (one["account"], one["state"], one["units"]) == ("nlp", "demoted", 40)
    alice = signed_in(late.place, "alice")
    assert len(alice.get("pools/h100/reclaim").json()["guarantees"]) == 1
    bob = signed_in(late.place, "bob")
    why = {"reason": "the run begins"}
    is_problem(bob.post("pools/h100/reclaim/nlp/restore", why), 403, "role_missing")
    back = alice.post("pools/h100/reclaim/nlp/restore", why).json()
    assert (back["changed"], back["guarantee"]) == (True, 40)
    is_problem(otto.post("pools/h100/reclaim/nlp/return", why), 422, "not_demoted")


def test_others_see_and_do_nothing(late, globex):
    machine = speaking(fresh_token(late.place, "preemption:write", "admission:write"))
    trial = machine.post("pools/h100/reclaim-rule/try", {})
    is_problem(trial, 403, "people_only")
    late.rule(now=datetime.now(UTC))
    late.run(datetime.now(UTC))
    charlie = signed_in(globex, "charlie")
    assert charlie.get("pools/h100/reclaim").json()["guarantees"] == []
    assert charlie.get("pools/h100/reclaim-rule").json()["enabled"] is False
    answer = charlie.post("pools/h100/reclaim/serving/restore", {"reason": "x"})
    is_problem(answer, 404, "account_unknown")


def test_the_guide_says_what_is_sent(late, otto):
    blocks = re.findall(r"```json\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    tried, rule, follow, why = map(json.loads, blocks)
    assert otto.post("pools/h100/reclaim-rule/try", tried).status_code == 200
    put = otto.send("PUT", "pools/h100/reclaim-rule", rule)
    assert put.json()["maintenance"] == rule["maintenance"]
    assert otto.send("PUT", "reclaim-rule", rule).status_code == 200
    back = otto.post("pools/h100/reclaim-rule/follow", follow)
    assert back.json()["set_for"] == "organization"
    is_problem(otto.post("pools/h100/reclaim/nlp/restore", why), 422, "not_demoted")


def test_the_organizations_rule_is_set_tried_and_followed(late, otto):
    assert otto.get("reclaim-rule").json()["set_for"] is None
    tried = otto.post("reclaim-rule/try", {"days": 12}).json()["guarantees"]
    assert [(one["pool"], one["account"], one["units"]) for one in tried] == [("h100", "nlp", 40)]
    why = {"reason": "one rule for all"}
    put = otto.send("PUT", "reclaim-rule", why | {"threshold": "0.3", "expected_version": 0})
    assert (put.status_code, put.json()["pool"], put.json()["version"]) == (200, None, 1)
    followed = otto.get("pools/h100/reclaim-rule").json()
    assert (followed["set_for"], followed["threshold"], followed["version"]) == (
        *("organization", "0.3"),
        0,
    )
    # None explicitly: its own, which is off. What has its own is no part of the trial.
    off = otto.send("PUT", "pools/h100/reclaim-rule", why | {"enabled": False}).json()
    assert (off["set_for"], off["enabled"], off["version"]) == ("pool", False, 1)
    assert otto.post("reclaim-rule/try", {"days": 12}).json()["guarantees"] == []
    stale = why | {"expected_version": 0}
    for method, address in (
        ("PUT", "reclaim-rule"),
        ("PUT", "pools/h100/reclaim-rule"),
        ("POST", "pools/h100/reclaim-rule/follow"),
    ):
        is_problem(otto.send(method, address, stale), 409, "stale_version")
    back = otto.post("pools/h100/reclaim-rule/follow", why | {"expected_version": 1}).json()
    assert (back["set_for"], back["enabled"]) == ("organization", True)


def test_only_operators_set_it_and_other_organizations_have_their_own(late, globex):
    alice = signed_in(late.place, "alice")
    for method, address in (
        ("PUT", "reclaim-rule"),
        ("POST", "pools/h100/reclaim-rule/follow"),
    ):
        is_problem(alice.send(method, address, {"reason": "x"}), 403, "role_missing")
    is_problem(alice.post("reclaim-rule/try", {}), 403, "role_missing")
    assert alice.get("reclaim-rule").status_code == 200
    late.place.run(SetReclaimRule(pool_id=None), reason="test")
    assert signed_in(globex, "charlie").get("reclaim-rule").json()["set_for"] is None


def test_a_trial_that_is_too_large_says_what_fits(late, otto, monkeypatch):
    monkeypatch.setattr(reclaim_queries, "GUARANTEE_DAYS_MAX", 20)
    answer = otto.post("pools/h100/reclaim-rule/try", {"days": 21})
    is_problem(answer, 422, "trial_too_large")
    assert "at most 20 days" in answer.json()["detail"] and answer.json()["days_max"] == 20
    assert otto.post("pools/h100/reclaim-rule/try", {"days": 20}).status_code == 200
