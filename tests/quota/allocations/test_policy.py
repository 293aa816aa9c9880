"""An organization's own times of admission."""

from datetime import timedelta

import pytest

from ledger import scope
from ledger.errors import Denied, Invalid
from quota.commands.admissions import AdmitBatch
from quota.commands.policies import SetAdmissionPolicy
from quota.commands.snapshots import ReconcilePool
from quota.domain.batch import POLICY_BOUNDS, AdmissionPolicy
from quota.loading.standings import admission_policy
from quota.wire import Ask, SnapshotJob
from tests.world import NOW, Tenant

TIMES = {
    "hold_seconds": 60,
    "lease_seconds": 600,
    "heartbeat_seconds": 120,
    "interactive_seconds_max": 3600,
}


def set_times(place: Tenant, **changes):
    by = changes.pop("by", None)
    actor = {"by": place.actor(by)} if by else {}
    return place.run(SetAdmissionPolicy(**TIMES | changes), reason="quicker", **actor).result


def in_force(place: Tenant) -> AdmissionPolicy:
    with scope.reading(place.id):
        return admission_policy(place.id)


def admitted(place: Tenant, key: str, **values):
    ask = Ask(key=key, account="nlp", person="bob", pool="h100", units=1, **values)
    (result,) = place.run(AdmitBatch(requests=(ask,))).result.results
    assert result.status == "admitted", result
    return result.allocations[0]


def test_the_defaults_hold_until_something_is_set(acme):
    assert in_force(acme) == AdmissionPolicy()
    assert set_times(acme).changed
    assert in_force(acme) == AdmissionPolicy(**TIMES)
    assert not set_times(acme).changed, "it was so already"


def test_what_is_admitted_afterwards_gets_the_times(acme, quotas):
    quotas.set("nlp", 8)
    before = admitted(acme, "before", job_class="P2")
    assert before.duration_seconds == 8 * 3600
    set_times(acme)
    after = admitted(acme, "after", job_class="P2")
    assert after.hold_until == NOW + timedelta(seconds=60)
    assert (after.lease_seconds, after.duration_seconds) == (600, 3600)


def test_the_answer_tells_how_often_to_send_heartbeats(acme):
    ask = Ask(key="k", account="nlp", person="bob", pool="h100", units=1)
    assert acme.run(AdmitBatch(requests=(ask,))).result.heartbeat_seconds == 300
    set_times(acme)
    assert acme.run(AdmitBatch(requests=(ask,))).result.heartbeat_seconds == 120


def test_one_organization_does_not_set_the_times_of_another(acme, globex):
    set_times(acme)
    assert in_force(globex) == AdmissionPolicy()


def test_a_snapshot_is_judged_by_the_organizations_lease(acme):
    job = SnapshotJob(key="j", account="nlp", person="bob", units=1)
    old = ReconcilePool(pool="h100", at=NOW - timedelta(seconds=700), jobs=(job,))
    set_times(acme)
    with pytest.raises(Invalid) as raised:
        acme.run(old)
    assert raised.value.code == "snapshot_too_old"
    set_times(acme, lease_seconds=1200)
    (difference,) = acme.run(old).result.differences
    assert difference.allocation.lease_seconds == 1200


@pytest.mark.parametrize("name", list(POLICY_BOUNDS))
@pytest.mark.parametrize("end", [0, 1])
def test_times_have_bounds(acme, name, end):
    bound = POLICY_BOUNDS[name][end]
    with pytest.raises(Invalid) as raised:
        set_times(acme, **{name: bound + (1 if end else -1)})
    assert (raised.value.code, raised.value.field) == ("out_of_range", name)
    assert (raised.value.facts["minimum"], raised.value.facts["maximum"]) == POLICY_BOUNDS[name]


def test_a_lease_lasts_two_heartbeats(acme):
    with pytest.raises(Invalid) as raised:
        set_times(acme, heartbeat_seconds=301)
    assert raised.value.code == "heartbeat_too_rare"
    assert set_times(acme, heartbeat_seconds=300).changed


def test_only_operators_set_them_and_say_why(acme):
    with pytest.raises(Denied):
        set_times(acme, by="alice")
    assert set_times(acme, by="otto").changed
    with pytest.raises(Invalid):
        acme.run(SetAdmissionPolicy(**TIMES))
