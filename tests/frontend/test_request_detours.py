"""Detours over the pages: races of real threads, own requests, texts that want to be more."""

import csv
import io
from datetime import timedelta
from functools import partial

import pytest
from django.test import Client

from ledger.errors import Refused
from quota.commands.requests import Attach, Comment, SaveDraft, Submit
from quota.domain.requests import State
from tests import world
from tests.frontend.forms import text
from tests.frontend.test_review_pages import decision, page
from tests.quota.requests.conftest import staffed
from tests.races import became
from tests.world import NOW

HOSTILE = "<img src=x onerror=alert(1)> [x](javascript:alert(1)) {{ 7*7 }}"


def test_two_approvers_on_two_pages_provision_once(transactional_db, browse):
    desk = staffed(world.acme())
    desk.people_only()
    it = desk.ask("nlp", 60)
    address = f"/requests/{it.request_id}/decide"
    clients = [browse(desk.place, name) for name in ("petra", "rita", "rolf")]
    forms = [decision(page(client, address)) for client in clients]

    def press(client: Client, form: dict) -> tuple[int, str]:
        answer = client.post(address, form | {"what": "approve", "step": "save", "reason": "ok"})
        return answer.status_code, answer.content.decode()

    answers = became(partial(press, *one) for one in zip(clients, forms, strict=True))
    codes = sorted(code for code, _ in answers)
    assert codes == [302, 409, 409], answers
    late = next(said for code, said in answers if code == 409)
    assert "cannot be approved" in late or "changed by someone else" in late
    assert desk.quotas.stored() == {"nlp": 60}
    assert len(desk.request(it).approvals) == 1


@pytest.mark.django_db
def test_an_own_request_is_nobodys_to_approve_over_pages(acme, browse):
    desk = staffed(acme)
    desk.people_only()
    desk.place.role("petra", "lead", on="nlp")
    it = desk.ask("nlp", 60, by="petra")
    petra = browse(desk.place, "petra")
    shown = page(petra, f"/requests/{it.request_id}")
    assert "what=approve" not in shown
    hidden = {"version": str(it.version), "key": "k", "reason": "mine", "step": "save"}
    one = petra.post(f"/requests/{it.request_id}/decide", hidden | {"what": "approve"})
    assert one.status_code == 409 and "Nobody decides their own request" in text(one)
    several = {"request": f"{it.request_id}/{it.version}", "what": "approve"} | hidden
    petra.post("/reviews", several)
    assert (desk.request(it).state, desk.quotas.stored()) == (State.SUBMITTED, {})


@pytest.mark.django_db
def test_words_stay_words(acme, browse):
    desk = staffed(acme)
    it = desk.ask("nlp", 60, purpose=HOSTILE)
    desk.run(Comment(request_id=it.request_id, text=HOSTILE), by="petra")
    desk.ask_changes(it, by="petra", reason=HOSTILE)
    for who in ("alice", "petra"):
        client = browse(desk.place, who)
        for address in (f"/requests/{it.request_id}", "/requests", "/reviews"):
            shown = page(client, address)
            assert "<img src=x" not in shown and 'href="javascript:' not in shown
            assert "49" not in shown.split("onerror=alert(1)")[-1][:40]


@pytest.mark.django_db
@pytest.mark.parametrize("start", ["=", "+", "-", "@", "＝", "＠"])
def test_a_decision_in_a_spreadsheet_is_no_formula(acme, browse, start):
    desk = staffed(acme)
    before = NOW - timedelta(hours=1)
    it = desk.ask("nlp", 60, now=before)
    desk.reject(it, by="petra", reason=f"{start}cmd|' /C calc'!A0", now=before)
    client = browse(desk.place, "uma")
    answer = client.get("/reviews/decisions.csv")
    assert answer.status_code == 200, answer.status_code
    content = b"".join(answer) if answer.streaming else answer.content
    cells = [cell for row in csv.reader(io.StringIO(content.decode())) for cell in row]
    assert f"'{start}cmd|' /C calc'!A0" in cells


@pytest.mark.django_db
def test_a_file_is_a_download_whatever_its_name_and_bytes_say(acme, browse):
    desk = staffed(acme)
    it = desk.ask("nlp", 60)
    polyglot = b"%PDF-1.7\n<html><script>alert(1)</script></html>"
    names = ('../../etc/"pässe; x=1".pdf', "計画.pdf", "a%0d%0ab.pdf")
    for name in names:
        made = desk.run(Attach(request_id=it.request_id, name=name, content=polyglot), by="alice")
        answer = browse(desk.place, "petra").get(
            f"/requests/{it.request_id}/files/{made.attachment_id}"
        )
        assert answer.status_code == 200
        assert answer["Content-Type"] == "application/pdf"
        assert answer["Content-Disposition"].startswith("attachment")
        assert "/" not in answer["Content-Disposition"].replace("utf-8''", "")
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in answer["Content-Security-Policy"]
    for name in ("a\u202efdp.txt", "x" * 200 + ".pdf", ".pdf", "a.pdf\x00.txt"):
        with pytest.raises(Exception) as refused:
            desk.run(Attach(request_id=it.request_id, name=name, content=polyglot), by="alice")
        assert refused.value.code == "file_name_malformed"


@pytest.mark.django_db
def test_what_a_draft_said_is_not_seen_by_looking_back(acme, browse):
    desk = staffed(acme)
    draft = desk.run(
        SaveDraft(terms=desk.terms("nlp", 77, purpose="secret thoughts")),
        by="alice",
        now=NOW - timedelta(hours=2),
    )
    desk.run(
        Submit(terms=desk.terms("nlp", 60, purpose="public"), request_id=draft.request_id),
        by="alice",
        now=NOW - timedelta(hours=1),
    )
    petra = browse(desk.place, "petra")
    shown = page(petra, f"/requests/{draft.request_id}")
    assert "secret thoughts" not in shown and "77 units" not in shown
    past = (NOW - timedelta(minutes=90)).strftime("%Y-%m-%dT%H:%M+00:00")
    back = petra.get(f"/requests/{draft.request_id}", {"as_of": past})
    said = back.content.decode()
    assert "secret thoughts" not in said and "77 units" not in said
    assert back.status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("kind", "units", "ends", "after"),
    [
        ("boost", 40, True, 48),
        ("raise", 40, False, 48),
        ("ceiling", 40, False, 8),
        ("lower", 1, False, None),
    ],
)
def test_what_is_asked_beside_a_boost_can_be_read_decided_and_given(
    acme, browse, kind, units, ends, after
):
    desk = staffed(acme)
    desk.people_only()
    boost = desk.approve(desk.ask("nlp", 8, days=7), by="petra")
    fields = {"kind": kind} | ({"days": 7} if ends else {"days": None})
    if after is None:
        with pytest.raises(Refused, match="has 0 units here to give back"):
            desk.ask("nlp", units, **fields)
        return
    it = desk.ask("nlp", units, **fields)
    petra = browse(desk.place, "petra")
    assert f"{units} units" in text(petra.get(f"/requests/{it.request_id}"))
    address = f"/requests/{it.request_id}/decide"
    form = decision(page(petra, address + "?what=approve"))
    done = petra.post(address, form | {"what": "approve", "step": "save", "reason": "ok"})
    assert done.status_code == 302
    assert desk.request(it).state == desk.request(boost).state == State.PROVISIONED
    assert desk.quotas.stored() == {"nlp": after}
    assert page(petra, f"/requests/{it.request_id}") and page(petra, "/accounts/nlp/quota")
