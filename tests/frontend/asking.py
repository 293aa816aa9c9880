"""Words of tests about asking: a filled form, what is stored."""

from ledger import scope
from quota.queries.requests import requests
from tests.quota.requests.conftest import DAY
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


def stored(desk):
    """Requests of everybody and Alice's drafts, newest first."""
    with scope.reading(desk.place.id):
        return requests(desk.place.id, now=NOW, drafts_of=desk.place.people["alice"]).rows


def address_of(it):
    return f"/requests/{it.request_id}"
