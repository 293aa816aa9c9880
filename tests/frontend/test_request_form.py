"""The form of a request: tried as it is typed, kept as a draft, refused at its fields."""

import re

import pytest

from quota.domain.requests import State
from tenancy.commands.accounts import ArchiveAccount
from tenancy.commands.people import RevokeRole
from tests.frontend.asking import ASK, END, filled, stored
from tests.frontend.forms import hidden, text
from tests.quota.requests.conftest import DAY
from tests.world import NOW, tenant


@pytest.fixture
def alice(desk, browse):
    return browse(desk.place, "alice")


def test_the_form_starts_with_what_is_usual(alice):
    page = alice.get(ASK)
    assert page.status_code == 200
    content = page.content.decode()
    assert re.search(r'value="new" checked', content), "nlp has nothing in h100 yet"
    assert f'name="ends_at" id="id_ends_at" value="{END}"' in content
    assert "Time in Europe/Berlin" in text(page)


def test_without_a_pool_the_form_says_who_opens_one(browse):
    place = tenant("empty")
    place.person("ada")
    place.role("ada", "lead")
    page = text(browse(place, "ada").get("/requests/new"))
    assert "There is no pool yet" in page and "An operator opens pools" in page
    tried = text(browse(place, "ada").post("/requests/new", {"step": "check", "units": "3"}))
    assert "Choose a pool." in tried


def test_twenty_four_for_six_weeks_are_granted_at_once(alice, desk):
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


def test_all_that_was_left_empty_is_told_at_once(alice, desk):
    page = text(alice.post(ASK, filled(units="", purpose="", step="save")))
    assert "How many units: Say how many units." in page
    assert "What they are for: Say what the units are for." in page
    assert stored(desk) == ()


def test_sent_twice_it_is_one_request(alice, desk):
    first = alice.post(ASK, filled(step="save", key="k1"))
    again = alice.post(ASK, filled(step="save", key="k1"))
    assert first["Location"] == again["Location"]
    assert len(stored(desk)) == 1


def test_what_does_not_fit_offers_what_would(alice, desk):
    desk.quotas.set("production", 60)
    desk.quotas.set("serving", 30, ends_at=NOW + 10 * DAY)
    seen = alice.post(ASK, filled(units="40", step="check"))
    assert "30 units short" in text(seen) and "10 units, same time" in text(seen)
    start = re.search(r'name="take_start" value="([^"]+)"', seen.content.decode())[1]
    taken = alice.post(ASK, filled(units="40", take_units="10"))
    assert 'id="id_units" value="10"' in taken.content.decode()
    assert "It fits" in text(taken)
    moved = alice.post(ASK, filled(units="40", take_start=start))
    assert "It fits" in text(moved) and start.split("|")[0] in moved.content.decode()
    # A shortage may be handed in all the same: people can make room.
    answer = alice.post(ASK, filled(units="40", step="save"))
    assert answer.status_code == 302 and stored(desk)[0].state == State.SUBMITTED


def test_the_route_is_told_with_its_reason(alice, desk):
    seen = text(alice.post(ASK, filled(units="60", step="check")))
    assert "Petra decides" in seen and "Automatic up to 32 units, 60 are asked." in seen
    desk.policy(two_approvals_units=50)
    seen = text(alice.post(ASK, filled(units="60", step="check")))
    assert "Two different people approve" in seen


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"ends_at": "2020-01-01T00:00"}, "ends_at"),
        ({"ends_at": ""}, "ends_at"),
        ({"ends_at": "soon"}, "ends_at"),
        ({"starts_at": "2020-01-01T00:00"}, "starts_at"),
        ({"units": "0"}, "units"),
        ({"units": ""}, "units"),
        ({"units": "101"}, "units"),
        ({"units": "many"}, "units"),
        ({"units": "1e3"}, "units"),
        ({"units": "2.5"}, "units"),
        ({"units": "9" * 30}, "units"),
        ({"ends_at": "2026-11-29T12:59", "starts_at": "2026-11-29T13:30"}, "ends_at"),
        ({"starts_at": "2027-03-28T02:30", "ends_at": "2027-04-28T00:00"}, "starts_at"),
        ({"starts_at": "2030-01-01T00:00", "ends_at": "2030-02-01T00:00"}, "starts_at"),
        ({"budget": "-1"}, "budget"),
        ({"budget": "NaN"}, "budget"),
        ({"budget": "Infinity"}, "budget"),
        ({"budget": "1e400"}, "budget"),
        ({"purpose": " "}, "purpose"),
        ({"purpose": "x" * 4001}, "purpose"),
        ({"account": "vision"}, "account"),
        ({"account": "root"}, "account"),
        ({"account": "nowhere"}, "account"),
        ({"kind": "transfer", "to_account": "nowhere"}, "to_account"),
        ({"kind": "transfer", "to_account": ""}, "to_account"),
        ({"kind": "transfer", "to_account": "nlp"}, "to_account"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(alice, desk, wrong, field):
    page = alice.post(ASK, filled(step="save", **wrong))
    assert page.status_code == 400, text(page)
    assert f'id="id_{field}-errors"' in page.content.decode()
    assert stored(desk) == ()


@pytest.mark.parametrize("wrong", [{"pool": "elsewhere"}, {"kind": "gift"}])
def test_what_is_forged_is_refused(alice, desk, wrong):
    assert alice.post(ASK, filled(step="save", **wrong)).status_code == 400
    assert stored(desk) == ()


def test_fields_that_the_kind_does_not_need_do_no_harm(alice, desk):
    desk.quotas.set("nlp", 20)
    wrong = filled(kind="lower", units="5", ends_at="soon", starts_at="x", budget="y", step="save")
    answer = alice.post(ASK, wrong)
    assert answer.status_code == 302, text(answer)
    assert stored(desk)[0].request.terms.ends_at is None


def test_the_address_fills_the_form(alice, desk):
    desk.quotas.set("nlp", 20)
    page = alice.get(f"{ASK}?account=nlp&pool=h100&units=3").content.decode()
    assert re.search(r'value="boost" checked', page) and "It fits" in page
    assert alice.get(f"{ASK}?account=vision").status_code == 404
    assert alice.get(f"{ASK}?pool=elsewhere").status_code == 400
    assert alice.get(f"{ASK}?kind=gift").status_code == 400


def test_drafts_are_kept_while_one_types(alice, desk):
    htmx = {"HX-Request": "true", "HX-Target": "draft"}
    part = alice.post(ASK, filled(units="7", purpose="", step="autosave"), headers=htmx)
    assert "Draft kept" in text(part) and b"<h1" not in part.content
    (row,) = stored(desk)
    assert (row.state, row.request.terms.units) == (State.DRAFT, 7)
    assert part["HX-Replace-Url"] == f"/requests/{row.request.id}/edit"
    same = {"draft": hidden(part, "draft"), "version": hidden(part, "version")}
    alice.post(ASK, filled(units="7", purpose="", step="autosave") | same, headers=htmx)
    assert stored(desk)[0].request.version == row.request.version, "nothing new, nothing kept"
    part = alice.post(ASK, filled(units="8", step="autosave") | same, headers=htmx)
    same["version"] = hidden(part, "version")
    wrong = alice.post(ASK, filled(units="x", step="autosave") | same, headers=htmx)
    assert "Not kept as a draft yet" in text(wrong)
    assert "8 units of h100 for nlp" in text(alice.get("/requests"))
    page = alice.get(f"/requests/{row.request.id}/edit")
    assert 'id="id_units" value="8"' in page.content.decode()
    answer = alice.post(ASK, filled(units="8", step="save") | same)
    assert answer["Location"] == f"/requests/{row.request.id}"
    assert [one.state for one in stored(desk)] == [State.PROVISIONED]


def test_a_draft_is_kept_by_its_button_and_thrown_away(alice, desk, browse):
    answer = alice.post(ASK, filled(purpose="", step="draft", key="k"))
    (row,) = stored(desk)
    assert answer["Location"] == f"/requests/{row.request.id}/edit"
    desk.place.person("anna")
    desk.place.role("anna", "lead", on="nlp")
    anna = browse(desk.place, "anna")
    for address in (f"/requests/{row.request.id}", answer["Location"]):
        assert anna.get(address).status_code == 404, "drafts are their authors' alone"
    assert anna.post(ASK, filled(step="save", draft=str(row.request.id))).status_code == 404
    page = alice.get(f"/requests/{row.request.id}")
    assert "Only you see it" in text(page)
    assert alice.post(f"/requests/{row.request.id}", {"step": "discard"}).status_code == 302
    assert stored(desk)[0].state == State.DISCARDED
    assert "drafts-title" not in alice.get("/requests").content.decode()


def test_a_stale_draft_is_not_overwritten(alice, desk):
    alice.post(ASK, filled(step="draft"))
    (row,) = stored(desk)
    edit = f"/requests/{row.request.id}/edit"
    version = hidden(alice.get(edit), "version")
    alice.post(edit, filled(units="9", step="draft", version=version, draft=str(row.request.id)))
    page = alice.post(edit, filled(units="5", step="save", version=version))
    assert page.status_code == 409 and "changed by someone else meanwhile" in text(page)
    assert stored(desk)[0].request.terms.units == 9
    again = filled(units="5", step="save", version=hidden(page, "version"), key="new")
    assert alice.post(edit, again).status_code == 302
    assert stored(desk)[0].request.terms.units == 5


def test_a_role_lost_while_the_page_is_open(alice, desk):
    alice.post(ASK, filled(step="draft"))
    (row,) = stored(desk)
    place = desk.place
    command = RevokeRole(
        account_id=place.accounts["nlp"], person_id=place.people["alice"], role="lead"
    )
    place.run(command)
    assert alice.post(ASK, filled(step="save")).status_code == 403
    htmx = {"HX-Request": "true", "HX-Target": "preview"}
    assert "lead" in alice.post(ASK, filled(step="check"), headers=htmx)["X-Problem"]
    draft = f"/requests/{row.request.id}/edit"
    sent = filled(step="save", version=hidden(alice.get(draft), "version"))
    assert alice.post(draft, sent).status_code == 403
    assert stored(desk)[0].state == State.DRAFT


def test_an_account_archived_meanwhile(alice, desk):
    alice.post(ASK, filled(step="draft"))
    (row,) = stored(desk)
    desk.place.run(ArchiveAccount(account_id=desk.place.accounts["nlp"]))
    assert alice.get(ASK).status_code == 200
    draft = f"/requests/{row.request.id}/edit"
    page = alice.post(draft, filled(step="save"))
    assert page.status_code in (400, 403, 404, 409) and "archived" in text(page)
    assert stored(desk)[0].state == State.DRAFT


def test_instants_in_refusals_are_on_the_organizations_clock(alice, desk):
    late = NOW.replace(hour=23, minute=30)
    desk.ask("nlp", 8, ends_at=late + 7 * DAY)
    wanted = filled(kind="extension", units="", ends_at="2026-12-01T00:00", step="save")
    answer = alice.post(ASK, wanted)
    text = answer.content.decode()
    assert answer.status_code == 400
    assert "It lasts until 2026-12-07 00:30 already" in text and "UTC already" not in text


def test_a_form_sent_again_with_other_values(alice, desk):
    alice.post(ASK, filled(step="save", key="k1"))
    page = alice.post(ASK, filled(step="save", key="k1", pool="a100"))
    assert page.status_code == 409 and "sent before with other values" in text(page)
    again = filled(step="save", key=hidden(page, "key"), pool="a100")
    assert alice.post(ASK, again).status_code == 302
    assert len(stored(desk)) == 2


def test_use_and_price_are_told_or_unknown(alice, desk, known):
    desk.quotas.set("nlp", 20)
    asked = filled(kind="boost", units="10", step="check")
    assert "unknown: no use was reported" in text(alice.post(ASK, asked))
    known.mean, known.price = 0.625, "100"
    seen = text(alice.post(ASK, asked))
    assert "62.5" in seen and "at most 8 units" in seen
    assert "1,000.00 EUR" in seen and "for the whole time" in seen


@pytest.mark.parametrize(
    ("kind", "fields", "state"),
    [
        ("boost", {"units": "4"}, State.PROVISIONED),
        ("raise", {"units": "4", "lasts": "good"}, State.SUBMITTED),
        ("lower", {"units": "4"}, State.PROVISIONED),
        ("ceiling", {"units": "4"}, State.PROVISIONED),
        ("transfer", {"units": "4", "to_account": "vision"}, State.SUBMITTED),
        ("justification", {}, State.SUBMITTED),
    ],
)
def test_every_kind_is_asked_for(alice, desk, kind, fields, state):
    desk.policy(unknown_use_passes=True)
    desk.quotas.set("nlp", 20)
    sent = filled(kind=kind, step="save") | fields
    seen = text(alice.post(ASK, sent | {"step": "check"}))
    assert "Who decides" in seen
    answer = alice.post(ASK, sent)
    assert answer.status_code == 302, text(answer)
    row = stored(desk)[0]
    assert (row.request.terms.kind, row.state) == (kind, state)
    assert alice.get(answer["Location"]).status_code == 200
    assert alice.get("/requests").status_code == 200


def test_room_that_went_meanwhile_is_told(alice, desk):
    seen = alice.post(ASK, filled(step="check"))
    assert "you get it at once" in text(seen)
    desk.quotas.set("production", 90)
    answer = alice.post(ASK, filled(step="save", key=hidden(seen, "key")), follow=True)
    assert "It waits for Petra. The pool cannot promise it over the whole period." in text(answer)
    assert stored(desk)[0].state == State.SUBMITTED
    assert desk.quotas.stored() == {"production": 90}


def test_beside_a_boost_the_form_proposes_its_end_and_says_what_remains(desk, browse):
    desk.ask("nlp", 8, days=7)
    alice = browse(desk.place, "alice")
    form = alice.get(f"{ASK}?account=nlp&pool=h100&units=4").content.decode()
    assert 'value="2026-12-06T13:00"' in form
    good = filled(kind="raise", units="4", lasts="good", ends_at="", step="check")
    said = text(alice.post(ASK, good))
    assert "8 guaranteed, then 12; 4 after 2026-12-06 13:00, when the temporary quota ends" in said
    later = filled(kind="boost", units="4", ends_at="2027-01-10T00:00", step="check")
    assert "A temporary quota runs until 2026-12-06 13:00." in (text(alice.post(ASK, later)))


def test_before_it_is_handed_in_the_form_says_what_moves_with_it(desk, browse):
    desk.ask("nlp", 8, days=7)
    alice = browse(desk.place, "alice")
    same_day = filled(kind="boost", units="4", ends_at="2026-12-06T20:00", step="check")
    said = text(alice.post(ASK, same_day))
    assert "Together with 8 units that are there for a while already: all end at 2026-12-06" in said
    longer = filled(kind="extension", units="", ends_at="2026-12-20T00:00", step="check")
    said = text(alice.post(ASK, longer))
    assert "8 units that are there for a while: all last until 2026-12-20 00:00" in said
    good = filled(kind="raise", units="4", lasts="good", ends_at="", step="check")
    assert "for a while already" not in text(alice.post(ASK, good))
