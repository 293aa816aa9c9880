"""Detections over REST: listed, read, acknowledged, released; the policy; telling of work."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from preemption.commands.detection_policy import BOUNDS, SetDetectionPolicy
from tests.api.conftest import Api, fresh_token, is_problem, signed_in, speaking
from tests.preemption.detections.conftest import Detections

DOCS = Path(__file__).resolve().parents[3] / "docs" / "api"
pytestmark = pytest.mark.django_db(transaction=True)


def example(page: str, name: str) -> dict:
    found = re.search(rf"```json {name}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    return json.loads(found[1])


def test_the_guide_has_the_defaults_and_bounds():
    guide = (DOCS / "detections.md").read_text()
    for name, (low, high) in BOUNDS.items():
        default = getattr(SetDetectionPolicy(), name)
        assert f"| `{name}` | {default:} | {low:,} to {high:,} |" in guide


@pytest.fixture
def idle(detections) -> Detections:
    """Jobs a and b have done nothing for an hour until now."""
    start = datetime.now(UTC) - timedelta(hours=1)
    for key in ("a", "b"):
        detections.running(key, at=start)
    for minutes in range(10, 70, 10):
        at = start + timedelta(minutes=minutes)
        detections.jobs.beat("a", "b", now=at, compute_util=0.04)
    assert detections.look(datetime.now(UTC)).found == 2
    return detections


@pytest.fixture
def alice(idle) -> Api:
    return signed_in(idle.place, "alice")


def test_work_is_told_with_heartbeats(detections):
    now = datetime.now(UTC)
    for key in ("48300", "47110"):
        detections.running(key, at=now)
    machine = speaking(fresh_token(detections.place, "admission:write"))
    body = example("allocations.md", "heartbeat")
    told = machine.post("allocations/heartbeat", body).json()
    assert [one["status"] for one in told["results"]] == ["changed", "changed"]
    one = machine.post("allocations/48300/heartbeat", {"compute_util": 0.5, "progress": 1300})
    assert one.json()["results"][0]["code"] == "renewed"


@pytest.mark.parametrize(
    "wrong",
    [{"compute_util": 1.01}, {"compute_util": -0.1}, {"memory_gb": -1}, {"progress": 1.5}],
    ids=["too busy", "negative", "no memory", "half a step"],
)
def test_what_is_told_of_work_is_checked(detections, wrong):
    detections.running("a", at=datetime.now(UTC))
    machine = speaking(fresh_token(detections.place, "admission:write"))
    told = machine.post("allocations/heartbeat", {"messages": [{"key": "a"} | wrong]}).json()
    assert told["results"][0]["status"] == "invalid"
    assert machine.post("allocations/a/heartbeat", wrong).status_code == 400


def test_they_are_listed_in_pages_the_newest_first(alice):
    first = alice.get("detections?limit=1").json()
    second = alice.get(first["next"].removeprefix("/api/v1/")).json()
    assert second["next"] is None
    shown = [one["job"] for page in (first, second) for one in page["detections"]]
    assert sorted(shown) == ["a", "b"]
    (one,) = first["detections"]
    assert (one["kind"], one["state"], one["units"]) == ("idle", "open", 8)
    assert one["worth_per_hour"] == "15.360000"
    assert (one["work"]["compute_util"], one["work"]["below"]) == (0.04, 0.1)
    assert alice.get(f"detections/{one['id']}").json() == one


@pytest.mark.parametrize(
    ("filters", "count"),
    [
        ("", 2),
        ("kind=idle", 2),
        ("kind=zombie", 0),
        ("pool=h100", 2),
        ("pool=a100", 0),
        ("account=nlp", 2),
        ("state=open", 2),
        ("state=acknowledged", 0),
        ("state=all", 2),
    ],
)
def test_filters(alice, filters, count):
    assert len(alice.get(f"detections?{filters}").json()["detections"]) == count


def test_what_a_filter_cannot_mean_is_refused(alice):
    is_problem(alice.get("detections?kind=lazy"), 400, "parameter_invalid")
    is_problem(alice.get("detections?pool=none"), 404, "pool_unknown")
    is_problem(alice.get("detections?account=serving"), 404, "account_unknown")


def test_it_is_acknowledged_and_released(idle, alice):
    ids = [one["id"] for one in alice.get("detections").json()["detections"]]
    wanted = example("detections.md", "acknowledge")
    wanted["until"] = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    told = alice.post(f"detections/{ids[0]}/acknowledge", wanted).json()
    assert told == {"id": ids[0], "changed": True, "state": "acknowledged", "units": 0}
    assert alice.get(f"detections/{ids[0]}").json()["reason"] == wanted["reason"]
    why = example("detections.md", "release")
    told = alice.post(f"detections/{ids[1]}/release", why, idempotency_key="once")
    assert told.json() == {"id": ids[1], "changed": True, "state": "acted", "units": 8}
    again = alice.post(f"detections/{ids[1]}/release", why, idempotency_key="once")
    assert again.json() == told.json()
    is_problem(alice.post(f"detections/{ids[1]}/acknowledge", why), 422, "detection_closed")
    late = wanted | {"until": "2020-01-01T00:00:00Z"}
    is_problem(alice.post(f"detections/{ids[0]}/acknowledge", late), 400, "until_out_of_range")


def test_who_may_do_what(idle, globex):
    (id_, *_), *_ = idle.rows("id")
    why = {"reason": "mine"}
    bob = signed_in(idle.place, "bob")
    assert bob.get(f"detections/{id_}").status_code == 200
    is_problem(bob.post(f"detections/{id_}/release", why), 403, "role_missing")
    machine = speaking(fresh_token(idle.place, "export:read"))
    assert len(machine.get("detections").json()["detections"]) == 2
    is_problem(machine.post(f"detections/{id_}/release", why), 403, "people_only")
    other = speaking(fresh_token(idle.place, "usage:write"))
    is_problem(other.get("detections"), 403, "scope_missing")
    stranger = signed_in(globex, "charlie")
    assert stranger.get("detections?state=all").json()["detections"] == []
    is_problem(stranger.get(f"detections/{id_}"), 404, "detection_unknown")
    is_problem(stranger.post(f"detections/{id_}/acknowledge", why), 404, "detection_unknown")


def test_a_machine_bound_to_other_pools_sees_nothing(idle):
    (id_, *_), *_ = idle.rows("id")
    token = idle.place.token(
        "export:read", now=datetime.now(UTC), pools=frozenset({idle.place.pools["a100"]})
    )
    bound = speaking(token)
    assert bound.get("detections").json()["detections"] == []
    is_problem(bound.get(f"detections/{id_}"), 404, "detection_unknown")


def test_the_policy_is_read_and_set(idle):
    otto = signed_in(idle.place, "otto")
    before = otto.get("detection-policy").json()
    assert (before["idle_below"], before["idle_minutes"]) == ("0.1", 60)
    wanted = example("detections.md", "policy")
    put = otto.send("PUT", "detection-policy", wanted)
    assert put.status_code == 200, put.content
    assert put.json() == otto.get("detection-policy").json()
    assert put.json()["idle_minutes"] == 120
    alice = signed_in(idle.place, "alice")
    assert alice.get("detection-policy").json() == put.json()
    is_problem(alice.send("PUT", "detection-policy", wanted), 403, "role_missing")


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"idle_below": "0.505"}, "share_out_of_range"),
        ({"idle_below": "0.51"}, "share_out_of_range"),
        ({"zombie_below": "0"}, "share_out_of_range"),
        ({"idle_minutes": 4}, "out_of_range"),
        ({"baseline_days_min": 29}, "out_of_range"),
        ({"baseline_factor": 1}, "out_of_range"),
    ],
)
def test_what_is_wrong_with_a_policy_is_said(idle, wrong, code):
    otto = signed_in(idle.place, "otto")
    answer = otto.send("PUT", "detection-policy", wrong | {"reason": "x"})
    is_problem(answer, 400, code)


def test_a_kind_that_there_is_not_is_refused(idle):
    otto = signed_in(idle.place, "otto")
    answer = otto.send("PUT", "detection-policy", {"kinds": ["lazy"], "reason": "x"})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["pointer"] == "#/kinds/0"
