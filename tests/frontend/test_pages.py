"""What the pages show, that each bad value is refused by name, and that queries stay few."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from frontend.navigation import groups
from ledger import scope
from ledger.queries import history
from tenancy.commands.people import AddPerson, SetAssociation
from tenancy.domain.roles import PERMISSIONS
from tests.world import NOW, record, tenant

QUERIES_MAX = {
    "/": 28,
    "/fairshare": 16,
    "/fairshare/nlp/bob": 16,
    "/usage": 24,
    "/usage/records": 18,
    "/ledger": 18,
    "/settings/people": 19,
    "/settings/tokens": 14,
    "/search?q=b": 16,
}


@pytest.fixture
def used(acme):
    """Use of the last days, and a record that runs."""
    start = NOW - timedelta(days=2)
    acme.use(
        record("a", start=start, hours=2),
        record("b", start=start, hours=1, person="alice", pool="a100", units=4),
        record("run", hours=None, units=16),
        record("c", start=start, hours=3, account="serving", person="alice"),
    )
    return acme


def test_the_overview_shows_cards_use_standing_and_changes(used, browse):
    page = browse(used, "alice").get("/").content.decode()
    assert "My fair-share factor" in page
    assert "16 on h100" in page
    assert 'data-chart="use-by-day"' in page and '"type": "bar"' in page
    assert "Standing in nlp" in page
    assert "Alice became lead on nlp" in page


def test_the_operator_sees_the_top_of_the_tree_as_cards(used, browse):
    page = browse(used, "otto").get("/").content.decode()
    assert "?open=research" in page and "?open=production" in page
    assert "Standing in root" in page


def test_the_explorer_opens_and_closes_by_plain_links(used, browse):
    client = browse(used, "otto")
    shut = client.get("/fairshare?open=").content.decode()
    assert "Open root" in shut and "research" not in shut.split("<tbody>")[1]
    opened = client.get("/fairshare?open=nlp").content.decode()
    assert "Close nlp" in opened and "/fairshare/nlp/bob" in opened
    assert "Open production" in opened


def test_the_explorer_looks_back(used, browse):
    client = browse(used, "otto")
    before = client.get("/fairshare?at=2026-11-01T12:00").content.decode()
    assert "As of" in before and "2026-11-01 12:00:00 CET" in before
    assert "%3A00Z" in before or "11:00:00Z" in before


def test_the_explanation_goes_down_to_records_and_their_events(used, browse):
    page = browse(used, "alice").get("/fairshare/nlp/bob").content.decode()
    for name in ("root", "research", "nlp", "Bob"):
        assert name in page
    assert "level = S / U" in page
    assert "/usage/batches/" in page and "/ledger/" in page
    assert "Points at factor 1" in page


def test_the_history_of_an_account_takes_in_what_is_below_if_asked(used, browse):
    client = browse(used, "otto")
    above = client.get("/ledger?account=research").content.decode()
    assert "Account research opened" in above and "Alice became lead on nlp" not in above
    below = client.get("/ledger?account=research&below=1").content.decode()
    assert "Account research opened" in below and below.count("Alice became lead on nlp") == 1
    assert "serving" not in below.split("<tbody>")[1]
    assert client.get("/ledger?account=research&below=x").status_code == 400


def test_a_number_of_use_leads_to_the_records_it_is_the_sum_of(used, browse):
    client = browse(used, "alice")
    page = client.get("/usage?account=nlp&by=person&by=pool").content.decode()
    address = re.search(r'href="(/usage/records[^"]*person=bob[^"]*)">16.0<', page).group(1)
    shown = client.get(address.replace("&amp;", "&")).content.decode()
    rows = shown.split("<tbody>")[1]
    assert ">a</a>" in rows and ">run</a>" in rows and "16.0" in rows
    assert ">b</a>" not in rows and ">c</a>" not in rows
    assert "/usage/batches/" in rows and "/ledger/" in rows


def test_records_are_paged_and_a_corrected_one_is_not_among_them(acme, browse):
    start = NOW - timedelta(days=2)
    acme.use(*(record(f"r{n:02}", start=start + timedelta(minutes=n)) for n in range(60)))
    acme.use(record("fixed", start=start, hours=1) | {"supersedes": "r00"})
    client = browse(acme, "otto")
    first = client.get("/usage/records?account=nlp").content.decode()
    following = re.search(r'href="(/usage/records[^"]*after=[^"]*)"', first).group(1)
    second = client.get(following.replace("&amp;", "&")).content.decode()
    keys = re.findall(r'class="mono">([^<]+)</a>', first + second)
    assert sorted(keys) == sorted(["fixed", *(f"r{n:02}" for n in range(1, 60))])


def test_records_of_other_accounts_stay_unseen(used, browse):
    client = browse(used, "alice")
    assert client.get("/usage/records?account=serving").status_code == 403
    assert ">c</a>" not in client.get("/usage/records").content.decode()


@pytest.mark.parametrize("after", ["x", "x&after=y&after=z", "2026-11-29&after=y&after=z"])
def test_a_page_of_records_that_does_not_exist_is_refused(used, browse, after):
    assert browse(used, "otto").get(f"/usage/records?after={after}").status_code == 400


def test_from_a_record_to_its_batch_to_the_event(used, browse):
    client = browse(used, "alice")
    page = client.get("/fairshare/nlp/bob").content.decode()
    batch = page.split("/usage/batches/")[1].split('"')[0]
    shown = client.get(f"/usage/batches/{batch}").content.decode()
    # Alice leads nlp: records of other accounts in the same batch are not hers to see.
    assert ">a<" in shown and ">run<" in shown and "serving" not in shown
    event = shown.split("/ledger/")[1].split('"')[0]
    told = client.get(f"/ledger/{event}").content.decode()
    assert "usage.batch_recorded" in told and f"/usage/batches/{batch}" in told


def test_from_a_quota_to_the_request_it_was_granted_for(desk, browse):
    asked = desk.ask("nlp", 8, days=30)
    with scope.reading(desk.place.id):
        (set_,) = history(desk.place.id, types=["quota.set"], limit=1).rows
    client = browse(desk.place, "otto")
    page = client.get(f"/ledger/{set_.id}").content.decode()
    assert "In the same step" in page and "granted by the policy" in page
    (granted,) = re.findall(r'<li><a href="(/ledger/[^"]*)">[^<]*granted by the policy', page)
    assert f'href="/requests/{asked.request_id}"' in client.get(granted).content.decode()


def test_a_lead_does_not_see_events_of_others(used, browse):
    used.token()
    with scope.reading(used.id):
        rows = history(used.id, types=["token.issued"]).rows
        rows += history(used.id, subject_id=used.accounts["vision"], types=["account.opened"]).rows
    client, operator = browse(used, "alice"), browse(used, "otto")
    for row in rows:
        assert client.get(f"/ledger/{row.id}").status_code == 404
        assert operator.get(f"/ledger/{row.id}").status_code == 200


def test_usage_keeps_unknown_apart_from_zero_and_flavors_apart(used, browse):
    page = browse(used, "alice").get("/usage?account=nlp&by=account").content.decode()
    assert "unknown" in page and "mixed" in page
    assert (
        "0.0 %"
        not in page.split("How well it was used")[1]
        .split("Running now")[0]
        .split("Compute")[1]
        .split("Productive")[0]
    )


def test_pages_of_the_ledger_follow_each_other(used, browse, monkeypatch):
    monkeypatch.setattr("frontend.views.ledger.PAGE_ROWS", 5)
    client = browse(used, "otto")
    address, seen = "/ledger", []
    for _ in range(3):
        page = client.get(address)
        lines = page.context["lines"]
        seen += [line.event.position for line in lines]
        address = page.context["next"]
    assert len(seen) == 15 and seen == sorted(set(seen), reverse=True)


def test_a_part_asked_by_htmx_comes_without_the_page(used, browse):
    client = browse(used, "alice")
    part = client.get("/?days=7", headers={"HX-Request": "true", "HX-Target": "use-panel"})
    content = part.content.decode()
    assert content.strip().startswith('<section class="panel" id="use-panel"')
    assert "<html" not in content
    assert "HX-Request" in part["Vary"] and "private" in part["Cache-Control"]


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("/?days=8", "days"),
        ("/?days=9999999999999999999999", "days"),
        ("/fairshare?at=yesterday", "at"),
        ("/fairshare?at=9999-01-01T00:00", "at"),
        ("/fairshare?at=2099-01-01T00:00", "at"),
        ("/fairshare?sort=luck", "sort"),
        ("/usage?since=2026-13-01", "since"),
        ("/usage?since=2026-11-20&until=2026-11-01", "period"),
        ("/usage?since=2020-01-01", "period"),
        ("/usage?pool=gold", "pool"),
        ("/usage?tier=gold", "tier"),
        ("/usage?by=colour", "by"),
        ("/usage?after=1&after=2&after=3&after=4", "page"),
        ("/usage?account=a%00b", "account"),
        ("/usage?person=" + "x" * 300, "person"),
        ("/ledger?type=nothing", "type"),
        ("/ledger?before=-1", "before"),
        ("/ledger?before=99999999999999999999", "before"),
        ("/search?q=%00", "q"),
    ],
)
def test_a_bad_value_is_refused_by_name(used, browse, address, name):
    answer = browse(used, "otto").get(address)
    assert answer.status_code == 400
    assert name in answer.content.decode().split("<main")[1]


@pytest.mark.parametrize(
    "address",
    ["/nothing", "/ledger/x", "/ledger/" + "0" * 32, "/usage/batches/x", "/fairshare/nlp/nobody"],
)
def test_what_does_not_exist_is_a_404_page(used, browse, address):
    answer = browse(used, "otto").get(address)
    assert answer.status_code == 404
    assert b"There is nothing here" in answer.content


@pytest.mark.parametrize("address", QUERIES_MAX)
def test_statements_stay_few_however_much_there_is(used, browse, statements, address):
    client = browse(used, "otto")
    client.get(address)
    statements.clear()
    assert client.get(address).status_code == 200
    first = len(statements)
    for number in range(8):
        used.account(f"team-{number}", under="research")
        used.person(f"person-{number}", f"team-{number}", "nlp")
    client.get(address)
    statements.clear()
    client.get(address)
    assert len(statements) <= first <= QUERIES_MAX[address], "\n".join(statements)


def test_the_guide_names_every_key_that_leads_to_a_page():
    guide = (Path(__file__).parents[2] / "docs/user/keyboard.md").read_text()
    everything = frozenset().union(*PERMISSIONS.values())
    keys = [one.key for group in groups("/", everything) for one in group.entries]
    assert len(keys) == len(set(keys))
    assert [key for key in (*keys, "n") if f"| `g` then `{key}` |" not in guide] == []


def test_one_person_is_no_people(browse):
    place = tenant("small")
    place.account("nlp")
    place.person("ada", "nlp")
    place.role("ada", "lead", on="nlp")
    assert b"1 person ranked" in browse(place, "ada").get("/fairshare").content


def test_names_are_never_markup(acme, browse):
    made = acme.run(AddPerson(name="mallory", display_name="<script>alert(1)</script>")).result
    acme.run(SetAssociation(account_id=acme.accounts["nlp"], person_id=made.person_id))
    client = browse(acme, "otto")
    for address in ("/fairshare?open=nlp", "/search?q=mallory", "/fairshare/nlp/mallory"):
        assert b"<script>alert" not in client.get(address).content
