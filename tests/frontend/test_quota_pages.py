"""Capacity, quotas, allocations, and the forms that try a change before it is saved."""

import re
from datetime import timedelta

import pytest

from ledger import scope
from quota import wire
from quota.commands.admissions import AdmitBatch
from quota.commands.allocations import ReleaseAllocations, StartAllocations
from quota.commands.quotas import SetQuota
from quota.queries.quotas import promises, quotas_of_account
from tests.world import NOW

PAGES = (
    "/capacity",
    "/capacity/h100",
    "/accounts/nlp/quota",
    "/allocations",
    "/allocations/job-1",
)
EDITS = ("/capacity/h100/edit", "/accounts/nlp/quota/h100")


def _set(acme, account, guaranteed, **more):
    command = SetQuota(
        account_id=acme.accounts[account], pool_id=acme.pools["h100"], guaranteed=guaranteed, **more
    )
    acme.run(command, reason="the plan", now=NOW - timedelta(days=1))


@pytest.fixture
def busy(acme):
    """nlp has 40 and borrows 10; vision lends 30 of its own."""
    _set(acme, "nlp", 40, borrowing_limit=20)
    _set(acme, "vision", 30)
    asks = tuple(
        wire.Ask(key=f"job-{n}", account="nlp", person="bob", pool="h100", units=units)
        for n, units in ((1, 40), (2, 10))
    )
    acme.run(AdmitBatch(requests=asks), now=NOW)
    return acme


def _guaranteed(acme, account="nlp"):
    with scope.reading(acme.id):
        rows = quotas_of_account(acme.id, acme.accounts[account], now=NOW)
    return {row.pool: row.quota.guaranteed for row in rows}


def test_capacity_shows_every_unit_once(busy, browse):
    text = browse(busy, "alice").get("/capacity").content.decode()
    assert "Guaranteed, used 40, Lent and borrowed 10, Guaranteed, idle 20, Free 30" in text
    assert "Promised <strong>70</strong> of 100" in text


def test_the_pool_page_names_only_accounts_that_the_viewer_may_see(busy, browse):
    whole = browse(busy, "otto").get("/capacity/h100").content.decode()
    own = browse(busy, "alice").get("/capacity/h100").content.decode()
    assert "/accounts/vision/quota" in whole and "/accounts/nlp/quota" in whole
    assert "/accounts/vision/quota" not in own and "other accounts" in own


def test_the_quota_page_says_what_stops_it_and_looks_back(busy, browse):
    client = browse(busy, "alice")
    now = client.get("/accounts/nlp/quota").content.decode()
    assert "Promised 40 units, 50 in use here and below, 10 of them borrowed." in now
    assert "Could still get 10." in now and "the plan" in now
    before = client.get("/accounts/nlp/quota?as_of=2026-11-01T12:00").content.decode()
    assert "As of" in before and "nlp was opened after that instant." in before
    assert client.get("/accounts/nlp/quota?as_of=2027-01-01T12:00").status_code == 400


def test_allocations_filter_and_lead_to_a_timeline(busy, browse):
    client = browse(busy, "alice")
    assert b"job-2" in client.get("/allocations?pool=h100&account=nlp").content
    assert b"job-2" not in client.get("/allocations?state=released").content
    for state, title in (("live", "Good until"), ("all", "Good until, or ended")):
        page = client.get(f"/allocations?state={state}").content.decode()
        assert f">{title}</th>" in page and "<td>guaranteed, P3</td>" in page
    text = client.get("/allocations/job-1").content.decode()
    assert "40 units of h100 held for job-1 of nlp (Bob), guaranteed" in text


@pytest.mark.parametrize(
    ("asked", "field", "said"),
    [
        ("sort=ended", "sort", "Only what is released or preempted or expired has this order."),
        ("state=released&sort=lease", "sort", "Only what is live or held or running has"),
        ("account=nlpp", "account", "There is no account nlpp. Leave it empty for all."),
        ("person=bobb", "person", "Nobody is called bobb. Leave it empty for everybody."),
    ],
)
def test_what_allocations_cannot_be_asked_is_told_at_its_field(busy, browse, asked, field, said):
    answer = browse(busy, "alice").get(f"/allocations?{asked}")
    page = answer.content.decode()
    assert answer.status_code == 400
    assert re.search(rf'id="{field}-error">{re.escape(said)}', page)
    assert f'aria-describedby="{field}-error"' in page
    assert "job-2" not in page and "data-poll" not in page


def test_lending_limits_are_told_where_they_keep_guarantees(busy, browse):
    _set(busy, "nlp", 40, lending_limit=5)
    page = browse(busy, "otto").get("/accounts/vision/quota").content.decode()
    assert "All guarantees of the pool together (but for 35 that lending limits keep)" in page


def test_a_preview_changes_nothing_and_saving_does(busy, browse):
    client = browse(busy, "otto")
    form = {"guaranteed": "50", "reason": "growth", "key": "k"}
    page = client.post("/accounts/nlp/quota/h100", form | {"step": "preview"})
    assert b"Not saved yet" in page.content and _guaranteed(busy) == {"h100": 40}
    assert client.post("/accounts/nlp/quota/h100", form | {"step": "save"}).status_code == 302
    assert _guaranteed(busy) == {"h100": 50}


def test_refusals_stand_at_their_fields(busy, browse):
    client = browse(busy, "otto")
    form = {"guaranteed": "90", "reason": "growth", "step": "preview"}
    answer = client.post("/accounts/nlp/quota/h100", form)
    assert answer.status_code == 400 and b'id="id_guaranteed-errors"' in answer.content
    shrink = {"what": "capacity", "value": "60", "reason": "lost a rack", "step": "save"}
    answer = client.post("/capacity/h100/edit", shrink)
    assert answer.status_code == 400 and b'id="id_value-errors"' in answer.content
    assert client.post("/capacity/h100/edit", shrink | {"reason": ""}).status_code == 400
    accepted = shrink | {"accept_over_promise": "on"}
    assert client.post("/capacity/h100/edit", accepted).status_code == 302
    with scope.reading(busy.id):
        over = {one.pool.name: one.promise.over_promised_by for one in promises(busy.id, now=NOW)}
    assert over["h100"] == 10
    assert b"over-promised by 10 units" in client.get("/capacity").content


@pytest.mark.parametrize("address", EDITS)
def test_only_operators_edit(busy, browse, address):
    assert browse(busy, "alice").get(address).status_code == 403
    assert browse(busy, "otto").get(address).status_code == 200


@pytest.mark.parametrize("address", ["/accounts/research/quota", "/allocations/job-1"])
def test_another_tenant_finds_nothing(busy, globex, browse, address):
    assert browse(globex, "charlie").get(address).status_code == 404


def test_pages_answer(busy, browse):
    client = browse(busy, "otto")
    for address in PAGES:
        assert client.get(address).status_code == 200, address


def test_the_ledger_names_jobs_accounts_people_and_pools(busy, browse):
    """Events of allocations carry ids; history says names, of old events as well."""
    messages = (wire.Message(key="job-1"),)
    busy.run(StartAllocations(messages=messages), now=NOW)
    busy.run(ReleaseAllocations(messages=(wire.ReleaseMessage(key="job-1"),)), now=NOW)
    text = browse(busy, "otto").get("/ledger").content.decode()
    assert "40 units of h100 held for job-1 of nlp (Bob), guaranteed" in text
    assert "job-1 runs with 40 units of h100, guaranteed" in text
    assert "job-1 of nlp gave 40 guaranteed units of h100 back" in text
    # A lead of the account may read what her own account's jobs did; others may not.
    timeline = browse(busy, "alice").get("/allocations/job-1").content.decode()
    own = re.findall(r"/ledger/([0-9a-f-]{36})", timeline)
    assert len(own) == 3
    for event_id in own:
        answer = browse(busy, "alice").get(f"/ledger/{event_id}")
        assert answer.status_code == 200 and b"/allocations/job-1" in answer.content
