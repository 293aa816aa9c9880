"""The page of the times of admission: operators set them, with a reason, within bounds."""

import pytest

from ledger import scope
from quota.domain.batch import AdmissionPolicy
from quota.loading.standings import admission_policy

PAGE = "/settings/admission"
GOOD = {
    "hold_seconds": "120",
    "lease_seconds": "600",
    "heartbeat_seconds": "120",
    "interactive_seconds_max": "3600",
    "reason": "starts are quick here",
    "step": "save",
    "key": "k1",
}

pytestmark = pytest.mark.django_db


def in_force(acme) -> AdmissionPolicy:
    with scope.reading(acme.id):
        return admission_policy(acme.id)


def test_an_operator_sets_the_times_and_sees_who_did(acme, browse):
    otto = browse(acme, "otto")
    before = otto.get(PAGE).content.decode()
    assert "Nobody has set them" in before and 'value="900"' in before
    answer = otto.post(PAGE, GOOD, follow=True)
    text = answer.content.decode()
    assert answer.redirect_chain == [(PAGE, 302)]
    assert "The times of admission are set." in text
    assert "holds 120 s, leases 600 s" in text and "starts are quick here" in text
    assert in_force(acme) == AdmissionPolicy(
        hold_seconds=120, lease_seconds=600, heartbeat_seconds=120, interactive_seconds_max=3600
    )
    again = otto.post(PAGE, GOOD | {"key": "k2"}, follow=True).content.decode()
    assert "nothing was changed" in again


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"reason": ""}, "Say why"),
        ({"hold_seconds": "1"}, "greater than or equal to 10"),
        ({"lease_seconds": "x"}, "whole number"),
        ({"heartbeat_seconds": "301"}, "at least two heartbeats"),
    ],
)
def test_what_is_wrong_stands_at_its_field(acme, browse, change, said):
    answer = browse(acme, "otto").post(PAGE, GOOD | change)
    assert answer.status_code == 400
    assert said in answer.content.decode()
    assert in_force(acme) == AdmissionPolicy()


def test_only_operators_have_the_page(acme, globex, browse):
    assert browse(acme, "alice").get(PAGE).status_code == 403
    assert browse(acme, "alice").post(PAGE, GOOD).status_code == 403
    assert PAGE in browse(acme, "otto").get(PAGE).content.decode()
    assert PAGE not in browse(acme, "alice").get("/allocations").content.decode()
    browse(acme, "otto").post(PAGE, GOOD)
    assert in_force(globex) == AdmissionPolicy()
