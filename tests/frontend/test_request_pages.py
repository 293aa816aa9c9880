"""Pages of those who ask: the form with its pre-check, drafts, the list, a request's own page."""

import re
from datetime import timedelta

import pytest

from ledger import scope
from quota.commands.reviews import AskChanges
from quota.domain.requests import State
from quota.loading import requests as loading
from quota.queries.requests import attachments, comments, requests
from tests.frontend.forms import hidden, text
from tests.quota.requests.conftest import DAY, Desk, desk, known  # noqa: F401  (fixtures)
from tests.world import NOW

ASK = "/requests/new"
END = (NOW + 42 * DAY).strftime("%Y-%m-%dT00:00")


def filled(**values):
    """24 units for nlp for six weeks."""
    return {
        "account": "nlp",
        "pool": "h100",
        "kind": "new",
        "units": "24",
        "lasts": "until",
        "ends_at": END,
        "starts_at": "",
        "workload": "training",
        "tier": "guaranteed",
        "purpose": "train the next model",
        "budget": "",
        "to_account": "",
    } | values


@pytest.fixture
def alice(desk, browse):  # noqa: F811
    return browse(desk.place, "alice")


def stored(desk, **states):  # noqa: F811
    """Requests of everybody, newest first."""
    with scope.reading(desk.place.id):
        return requests(
            desk.place.id, now=NOW, drafts_of=desk.place.people["alice"]
        ).rows


def address_of(it):
    return f"/requests/{it.request_id}"


def test_the_form_starts_with_what_is_usual(alice):
    page = alice.get(ASK)
    assert page.status_code == 200
    content = page.content.decode()
    assert re.search(r'value="new" checked', content), "nlp has nothing in h100 yet"
    assert f'name="ends_at" id="id_ends_at" value="{END}"' in content
    assert "Time in Europe/Berlin" in text(page)


def test_twenty_four_for_six_weeks_are_granted_at_once(alice, desk):  # noqa: F811
    seen = alice.post(ASK, filled(step="check"))
    assert seen.status_code == 200
    assert "It fits, and you get it at once." in text(seen)
    assert "no price is set" in text(seen) and "100 units can be promised now" in text(seen)
    assert stored(desk) == ()
    answer = alice.post(ASK, filled(step="save", key=hidden(seen, "key")))
    assert answer.status_code == 302
    (row,) = stored(desk)
    assert (row.state, answer["Location"]) == (State.PROVISIONED, f"/requests/{row.request.id}")
    page = text(alice.get(answer["Location"]))
    assert "24 units of h100 for nlp" in page and "Granted" in page
    assert "then goes back by itself" in page and "handed it in" in page


def test_sent_twice_it_is_one_request(alice, desk):  # noqa: F811
    first = alice.post(ASK, filled(step="save", key="k1"))
    again = alice.post(ASK, filled(step="save", key="k1"))
    assert first["Location"] == again["Location"]
    assert len(stored(desk)) == 1
