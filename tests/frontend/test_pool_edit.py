"""An operator's pages of pools and flavors: opened, changed, shrunk under their promises."""

from datetime import timedelta

import pytest

from ledger import scope
from quota import wire
from quota.commands.admissions import AdmitBatch
from quota.commands.quotas import SetQuota
from quota.queries import flavors, pools_with_weights
from tests.frontend.forms import hidden, save, text
from tests.world import NOW


@pytest.fixture
def busy(acme):
    """90 of 100 units are promised, nlp uses 50."""
    for account, guaranteed in (("research", 20), ("nlp", 40), ("vision", 30)):
        command = SetQuota(
            account_id=acme.accounts[account], pool_id=acme.pools["h100"], guaranteed=guaranteed
        )
        acme.run(command, reason="the plan", now=NOW - timedelta(days=1))
    asks = tuple(
        wire.Ask(key=f"job-{n}", account="nlp", person="bob", pool="h100", units=units)
        for n, units in ((1, 40), (2, 10))
    )
    acme.run(AdmitBatch(requests=asks), now=NOW)
    return acme


@pytest.fixture
def otto(busy, browse):
    return browse(busy, "otto")


def test_shrinking_a_pool_shows_who_was_promised_what(busy, otto):
    shrink = {"what": "capacity", "value": "60"}
    page = otto.post("/capacity/h100/edit", shrink)
    assert page.status_code == 400 and b'id="id_value-errors"' in page.content
    assert "Over-promised by 30 units" in text(page) and b'value="save"' not in page.content
    assert "Who was promised what" in text(page) and "vision 30 0" in text(page)
    accepted = otto.post("/capacity/h100/edit", shrink | {"accept_over_promise": "on"})
    assert accepted.status_code == 200 and b'value="save"' in accepted.content
    lost = text(otto.post("/capacity/h100/edit", {"what": "unavailable", "value": "60"}))
    assert "10 units run beyond what the pool would have" in lost


def test_a_stale_pool_form_is_not_saved(busy, otto):
    version = hidden(otto.get("/capacity/h100/edit"), "version")
    mine = {"what": "unavailable", "version": version}
    assert save(otto, "/capacity/h100/edit", value="5", **mine).status_code == 302
    page = save(otto, "/capacity/h100/edit", value="6", **mine)
    assert page.status_code == 409 and "Pool h100 now has 5 units unavailable" in text(page)


def test_a_pool_of_a_new_flavor_is_opened(busy, otto):
    answer = save(otto, "/pools/flavors/new", name="b200", weight="2.5")
    assert answer.headers["Location"] == "/pools/open?flavor=b200"
    assert b'<option value="b200" selected>' in otto.get(answer.headers["Location"]).content
    pool = {"name": "b200-lab", "flavor": "b200", "cluster": "lab", "capacity": "64"}
    pool |= {"unavailable": "0", "safety_margin": "4", "reclaim_target_seconds": "300"}
    assert save(otto, "/pools/open", **pool | {"capacity": ""}).status_code == 400
    assert save(otto, "/pools/open", **pool | {"key": "k"}).status_code == 302
    assert save(otto, "/pools/open", **pool | {"key": "k"}).status_code == 302
    taken = save(otto, "/pools/open", **pool)
    assert taken.status_code == 400 and b'id="id_name-errors"' in taken.content
    with scope.reading(busy.id):
        (row,) = (one for one in pools_with_weights(busy.id) if one.name == "b200-lab")
    assert (row.capacity, row.safety_margin, row.flavor) == (64, 4, "b200")
    assert save(otto, "/pools/flavors/b200", weight="3").status_code == 302
    with scope.reading(busy.id):
        assert {one.name: str(one.weight.normalize()) for one in flavors(busy.id)}["b200"] == "3"
