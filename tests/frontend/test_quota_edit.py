"""An operator's pages of quota and pools: tried, previewed, saved once, refused at the fields."""

import re
from datetime import timedelta

import pytest

from ledger import scope
from quota import wire
from quota.commands.admissions import AdmitBatch
from quota.commands.quotas import SetQuota
from quota.queries.allocations import allocations
from quota.queries.quotas import coming, quotas_of_account
from tests.frontend.forms import hidden, save, text
from tests.world import NOW

NLP = "/accounts/nlp/quota/h100"
DAY = timedelta(days=1)


def _set(acme, account, guaranteed, *, now=NOW - DAY, **more):
    command = SetQuota(
        account_id=acme.accounts[account], pool_id=acme.pools["h100"], guaranteed=guaranteed, **more
    )
    return acme.run(command, reason="the plan", now=now).result


@pytest.fixture
def busy(acme):
    """research has 20 of its own, nlp 40 and borrows 10, vision lends 30."""
    _set(acme, "research", 20)
    _set(acme, "nlp", 40, borrowing_limit=20)
    _set(acme, "vision", 30)
    asks = tuple(
        wire.Ask(key=f"job-{n}", account="nlp", person="bob", pool="h100", units=units)
        for n, units in ((1, 40), (2, 10))
    )
    acme.run(AdmitBatch(requests=asks), now=NOW)
    return acme


@pytest.fixture
def otto(busy, browse):
    return browse(busy, "otto")


def quota(acme, account="nlp"):
    with scope.reading(acme.id):
        rows = quotas_of_account(acme.id, acme.accounts[account], now=NOW)
    return next((row for row in rows if row.pool == "h100"), None)


def to_come(acme):
    with scope.reading(acme.id):
        return coming(acme.id, now=NOW)


def test_the_form_shows_what_stands_and_who_could_lend(otto):
    page = text(otto.get(NLP))
    assert "Now 40 guaranteed, borrowing limit 20, lending limit none" in page
    assert "research, which has 20 of its own" in page and "root, which has 0 of its own" in page
    assert "promise itself, which has 10 left" in page and "Time in Europe/Berlin" in page


def test_a_limit_of_zero_stays_zero(busy, otto):
    _set(busy, "vision", 30, borrowing_limit=0, lending_limit=0)
    page = otto.get("/accounts/vision/quota/h100").content.decode()
    assert len(re.findall(r'name="(?:borrowing|lending)_limit"[^>]* value="0"', page)) == 2


def test_carving_takes_from_the_account_above(busy, otto):
    assert save(otto, NLP, guaranteed="55", carve_from="research").status_code == 302
    assert quota(busy).quota.guaranteed == 55
    assert quota(busy, "research").quota.guaranteed == 5


@pytest.mark.parametrize("lender", ["vision", "nlp", "elsewhere"])
def test_only_accounts_above_can_lend(busy, otto, lender):
    answer = save(otto, NLP, guaranteed="45", carve_from=lender)
    assert answer.status_code == 400 and b'id="id_carve_from-errors"' in answer.content
    assert quota(busy).quota.guaranteed == 40


def test_too_much_is_refused_at_its_field_with_what_is_short(busy, otto):
    page = save(otto, NLP, guaranteed="60", carve_from="")
    assert page.status_code == 400 and b'id="id_guaranteed-errors"' in page.content
    assert "20 are asked: 10 short" in text(page)
    # The key is spent with the refusal: the same form, corrected, goes through.
    key = hidden(page, "key")
    assert save(otto, NLP, guaranteed="45", carve_from="", key=key).status_code == 302
    assert quota(busy).quota.guaranteed == 45


def test_the_reason_is_asked_for_when_saving_only(busy, otto):
    tried = otto.post(NLP, {"guaranteed": "45", "reason": "", "step": "preview"})
    assert tried.status_code == 200 and "Not saved yet" in text(tried)
    page = save(otto, NLP, guaranteed="45", reason="  ")
    assert page.status_code == 400 and b'id="id_reason-errors"' in page.content
    assert quota(busy).quota.guaranteed == 40


def test_the_preview_tells_who_gains_and_who_loses(busy, otto):
    page = text(otto.post(NLP, {"guaranteed": "50", "carve_from": "", "borrowing_limit": "20"}))
    assert "Promised 90 → to 100" in page and "Left to promise 10 → to 0" in page
    assert re.search(r"nlp 40 → to 50 10 → to 20 60 → to 70", page), page
    assert "Jobs that would rise job-2 of nlp, 10 units, borrowed to guaranteed" in page
    assert quota(busy).quota.guaranteed == 40


def test_the_preview_names_the_lender_and_those_who_would_be_over(busy, otto):
    cut = {"guaranteed": "20", "carve_from": "", "borrowing_limit": "0"}
    page = text(otto.post(NLP, cut))
    assert "1 account would use more than it could get by right" in page
    assert "over by 30" in page
    lent = text(otto.post(NLP, {"guaranteed": "50", "carve_from": "research"}))
    assert "research lends 20 → to 10" in lent and "Promised 90 Can" in lent


def test_the_preview_says_which_jobs_a_cut_exposes(otto):
    cut = {"guaranteed": "20", "carve_from": ""}
    kept = text(otto.post(NLP, cut))
    assert "Jobs above the guarantee that would keep their tier job-1 of nlp, 40 units" in kept
    exposed = text(otto.post(NLP, cut | {"expose": "on"}))
    assert "Jobs that would lose their guarantee job-1 of nlp, 40 units, would become" in exposed


def test_htmx_gets_the_preview_alone_and_errors_in_it(otto):
    htmx = {"HX-Request": "true", "HX-Target": "preview"}
    page = otto.post(NLP, {"guaranteed": "50", "carve_from": ""}, headers=htmx)
    assert page.status_code == 200 and b"<html" not in page.content
    assert b'id="preview"' in page.content and b"Promised 100 of 100" in page.content
    page = otto.post(NLP, {"guaranteed": "999", "carve_from": ""}, headers=htmx)
    assert page.status_code == 200 and b'href="#id_guaranteed"' in page.content
    assert b'value="save"' not in page.content


def test_saving_over_a_temporary_quota_keeps_its_end_and_says_so(busy, otto):
    ends = NOW + 5 * DAY + timedelta(seconds=17)
    _set(busy, "nlp", 45, ends_at=ends, carve_from_id=busy.accounts["research"])
    page = text(otto.get(NLP))
    assert "It is temporary:" in page and "Keep its end: 2026-12-04 13:00:17 CET" in page
    assert save(otto, NLP, guaranteed="50", carve_from="research").status_code == 302
    row = quota(busy)
    assert (row.quota.guaranteed, row.ends_at, row.base.guaranteed) == (50, ends, 40)
    assert "until 2026-12-04 13:00:17 CET" in text(otto.get("/accounts/nlp/quota"))
    assert save(otto, NLP, guaranteed="50", carve_from="research", lasts="good").status_code == 302
    assert quota(busy).ends_at is None


def test_times_are_the_organizations_own(busy, otto):
    temporary = {"guaranteed": "45", "lasts": "until", "ends_at": "2026-12-24T18:00"}
    assert save(otto, NLP, carve_from="", **temporary).status_code == 302
    assert quota(busy).ends_at.isoformat() == "2026-12-24T17:00:00+00:00"


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"lasts": "until"}, "ends_at"),
        ({"lasts": "until", "ends_at": "2026-11-01T12:00"}, "ends_at"),
        ({"lasts": "until", "ends_at": "soon"}, "ends_at"),
        ({"starts": "later"}, "effective_at"),
        ({"starts": "later", "effective_at": "2026-11-01T12:00"}, "effective_at"),
        ({"starts": "later", "effective_at": "2027-03-28T02:30"}, "effective_at"),
        ({"borrowing_limit": "-1"}, "borrowing_limit"),
        ({"lending_limit": "many"}, "lending_limit"),
        ({"guaranteed": ""}, "guaranteed"),
        ({"guaranteed": "9" * 40}, "guaranteed"),
    ],
)
def test_what_cannot_be_is_said_at_its_field(busy, otto, values, field):
    page = save(otto, NLP, **({"guaranteed": "45"} | values))
    assert page.status_code == 400
    assert f'id="id_{field}-errors"'.encode() in page.content
    assert not to_come(busy) and quota(busy).quota.guaranteed == 40


def test_a_change_to_come_is_listed_previewed_and_cancelled(busy, otto, globex, browse):
    later = {"guaranteed": "50", "carve_from": "", "starts": "later"}
    later["effective_at"] = "2026-12-01T08:00"
    assert "From 2026-12-01 08:00:00 CET, with what runs now" in text(otto.post(NLP, later))
    assert not to_come(busy)
    assert save(otto, NLP, **later).status_code == 302
    (change,) = to_come(busy)
    assert change.starts_at.isoformat() == "2026-12-01T07:00:00+00:00"
    address = f"{NLP}/changes/{change.change_id}/cancel"
    assert address.encode() in otto.get(NLP).content
    assert browse(globex, "charlie").get(address).status_code == 404
    assert otto.post(address, {"reason": "", "step": "save"}).status_code == 400
    assert save(otto, address).status_code == 302 and not to_come(busy)
    again = otto.get(address, follow=True)
    assert "took effect, lapsed or was cancelled" in text(again)
    unknown = address.replace(str(change.change_id), str(busy.accounts["nlp"]))
    assert otto.get(unknown).status_code == 404


def test_a_change_to_come_that_would_lapse_is_foreseen(busy, otto):
    later = {"guaranteed": "70", "carve_from": "", "starts": "later"}
    later["effective_at"] = "2026-12-01T08:00"
    assert "It would lapse." in text(otto.post(NLP, later))
    saved = otto.post(NLP, later | {"step": "save", "reason": "x"}, follow=True)
    assert "it would be refused then" in text(saved)


def test_the_preview_foresees_what_others_lose_later(busy, otto):
    _set(busy, "vision", 40, effective_at=NOW + DAY, now=NOW)
    page = text(otto.post(NLP, {"guaranteed": "50", "carve_from": ""}))
    assert "A change to come of vision would lapse" in page


def test_a_temporary_quota_is_ended_early_after_confirming(busy, otto):
    _set(busy, "nlp", 50, ends_at=NOW + DAY, carve_from_id=busy.accounts["research"])
    page = text(otto.get(f"{NLP}/end"))
    assert "Ended now, it returns to 40, and research gets back what it lent" in page
    assert "research gets back 10 → to 20" in page
    assert otto.post(f"{NLP}/end", {"step": "save"}).status_code == 400
    assert save(otto, f"{NLP}/end").status_code == 302
    assert (quota(busy).quota.guaranteed, quota(busy, "research").quota.guaranteed) == (40, 20)
    assert "is not temporary now" in text(otto.get(f"{NLP}/end", follow=True))


def test_a_stale_form_is_not_saved_and_loses_nothing(busy, otto):
    version = hidden(otto.get(NLP), "version")
    _set(busy, "nlp", 42, now=NOW)
    mine = {"guaranteed": "48", "carve_from": "", "reason": "my reason", "version": version}
    page = save(otto, NLP, **mine)
    assert page.status_code == 409 and quota(busy).quota.guaranteed == 42
    assert "Not saved" in text(page) and "42 guaranteed" in text(page)
    assert b'value="48"' in page.content and b'value="my reason"' in page.content
    mine |= {"version": hidden(page, "version"), "key": hidden(page, "key")}
    assert save(otto, NLP, **mine).status_code == 302
    assert quota(busy).quota.guaranteed == 48


def test_sent_twice_a_form_acts_once(busy, otto):
    page = otto.get(NLP)
    form = {name: hidden(page, name) for name in ("key", "version")}
    form |= {"guaranteed": "45", "carve_from": "research"}
    assert save(otto, NLP, **form).status_code == 302
    assert save(otto, NLP, **form).status_code == 302
    assert quota(busy, "research").quota.guaranteed == 15
    changed = save(otto, NLP, **form | {"guaranteed": "47"})
    assert changed.status_code == 409 and b'value="47"' in changed.content


EDITS = (
    NLP,
    f"{NLP}/end",
    f"{NLP}/changes/00000000-0000-0000-0000-000000000000/cancel",
    "/capacity/h100/edit",
    "/pools/open",
    "/pools/flavors/new",
    "/pools/flavors/h100-80gb",
)


@pytest.mark.parametrize("address", EDITS)
def test_only_operators_of_the_whole_may_use_them(busy, browse, address):
    busy.person("rita")
    busy.role("rita", "operator", on="research")
    for name in ("alice", "uma", "rita"):
        assert browse(busy, name).get(address).status_code == 403, name
        assert browse(busy, name).post(address, {"step": "save"}).status_code == 403, name
        for page in ("/capacity", "/capacity/h100", "/accounts/nlp/quota"):
            seen = browse(busy, name).get(page)
            assert f'href="{address}"'.encode() not in seen.content, (name, page)


@pytest.mark.parametrize(
    "address", ["/accounts/vision/quota/h100", "/accounts/vision/quota/h100/end"]
)
def test_another_tenants_operator_finds_nothing(busy, globex, browse, address):
    client = browse(globex, "charlie")
    assert client.get(address).status_code == 404
    assert client.post(address, {"guaranteed": "1", "step": "save"}).status_code == 404


@pytest.mark.parametrize(
    ("address", "form"),
    [
        (NLP, {"guaranteed": "30", "carve_from": "", "expose": "on"}),
        ("/capacity/h100/edit", {"what": "unavailable", "value": "40"}),
    ],
)
def test_a_preview_asks_as_often_of_many_accounts_and_jobs_and_stays_short(
    busy, otto, statements, address, form
):
    otto.post(address, form)  # what is read once a process
    statements.clear()
    otto.post(address, form)
    first = len(statements)
    for number in range(30):
        busy.account(f"team-{number}", under="nlp")
        _set(busy, f"team-{number}", 0, borrowing_limit=1, now=NOW)
        _set(busy, f"team-{number}", 0, effective_at=NOW + DAY, now=NOW)
    asks = tuple(
        wire.Ask(key=f"more-{n}", account=f"team-{n}", person="bob", pool="h100", units=1)
        for n in range(30)
    )
    busy.run(AdmitBatch(requests=asks), now=NOW)
    statements.clear()
    page = otto.post(address, form).content.decode()
    assert len(statements) <= first + 1, "\n".join(statements)  # the tree is read anew once
    assert page.count("team-") <= 20


def test_the_quota_page_leads_an_operator_to_every_form(busy, otto, browse):
    _set(busy, "nlp", 50, ends_at=NOW + DAY, carve_from_id=busy.accounts["research"])
    _set(busy, "nlp", 41, effective_at=NOW + 2 * DAY, now=NOW)
    page = otto.get("/accounts/nlp/quota").content.decode()
    for address in (NLP, f"{NLP}/end", "/accounts/nlp/quota/a100"):
        assert f'href="{address}"' in page
    assert f'href="{NLP}/changes/' in page
    assert NLP not in browse(busy, "alice").get("/accounts/nlp/quota").content.decode()
    assert b'href="/pools/open"' in otto.get("/capacity").content
    assert b"/pools/open" not in browse(busy, "alice").get("/capacity").content


def test_an_exposed_job_makes_room_for_others_in_the_preview_and_in_fact(busy, otto):
    cut = {"guaranteed": "20", "carve_from": "", "borrowing_limit": "", "expose": "on"}
    page = text(otto.post(NLP, cut))
    assert "job-1 of nlp, 40 units, would become borrowed" in page
    assert "job-2 of nlp, 10 units, borrowed to guaranteed" in page
    assert save(otto, NLP, **cut).status_code == 302
    with scope.reading(busy.id):
        found = {one.key: one.tier for one in allocations(busy.id, now=NOW)}
    assert found == {"job-1": "borrowed", "job-2": "guaranteed"}


def test_an_end_that_is_no_more_is_not_kept_silently(busy, otto):
    page = save(otto, NLP, guaranteed="45", carve_from="", lasts="keep")
    assert page.status_code == 400 and "no end any more" in text(page)
    assert quota(busy).quota.guaranteed == 40


@pytest.mark.parametrize(
    "odd",
    [
        {"version": "9" * 30},
        {"version": "-1", "key": "a\x00b"},
        {"key": "k" * 500},
        {"reason": "a\x00b", "guaranteed": "4\x005"},
        {"carve_from": "\x00", "lasts": "x" * 1000, "starts": "☃"},
        {"effective_at": "2026-12-01T08:00+05:00", "starts": "later"},
        {"ends_at": "0001-01-01T00:00", "lasts": "until"},
        {"guaranteed": "1e3", "borrowing_limit": "0x10"},
    ],
)
def test_odd_values_never_break_a_form(busy, otto, odd):
    for step in ("preview", "save"):
        form = {"guaranteed": "45", "carve_from": "", "reason": "x", "step": step} | odd
        assert otto.post(NLP, form).status_code in (200, 302, 400, 409)
        pool = {"what": "capacity", "value": "100", "reason": "x", "step": step} | odd
        assert otto.post("/capacity/h100/edit", pool).status_code in (200, 302, 400, 409)
    assert quota(busy).quota.guaranteed in (40, 45)
