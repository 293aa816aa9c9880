"""The pages of detections: list, one with its evidence, decisions, the policy, files and links."""

import csv
import io
import re
from datetime import timedelta

import pytest

from ledger import scope
from notices import reading
from notices.models import Notice
from tests.preemption.detections.conftest import Detections, prepared
from tests.world import NOW

pytestmark = pytest.mark.django_db
HOUR = timedelta(hours=1)


@pytest.fixture
def detections(acme) -> Detections:
    return prepared(acme)


@pytest.fixture
def found(detections) -> Detections:
    """Job a of Bob's in nlp is idle, nlp used four times its usual day; seen at NOW."""
    start = NOW - HOUR
    detections.running("a", at=start)
    detections.works("a", 0.04, start=start, minutes=60)
    detections.used(*[10] * 14, 40)
    assert detections.look(NOW).found == 1
    assert detections.look(NOW, consumption=True).found == 1
    return detections


def text(answer) -> str:
    assert answer.status_code == 200, answer.status_code
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", answer.content.decode()))


def ids(found) -> dict[str, str]:
    return {kind: str(id_) for kind, id_ in found.rows("kind, id")}


def test_the_list_tells_kind_evidence_and_cost(found, browse):
    told = text(browse(found.place, "otto").get("/detections"))
    assert "Idle: a" in told and "bob" in told
    assert "4.0 % busy, below 10.0 %" in told.replace("\u202f", " ").replace("\xa0", " ")
    assert "40.0 unit-h on 2026-11-28: 4.0 times the usual 10.0" in told
    assert "15.36" in told and "2.50" in told
    assert "Acknowledge" in told and "Release" in told


@pytest.mark.parametrize(
    ("query", "jobs"),
    [
        ("kind=idle", 1),
        ("kind=zombie", 0),
        ("pool=a100", 0),
        ("account=research", 2),
        ("account=production", 0),
        ("state=acknowledged", 0),
        ("state=all", 2),
    ],
)
def test_filters(found, browse, query, jobs):
    told = browse(found.place, "otto").get(f"/detections?{query}").content.decode()
    assert f'data-status="{jobs} detections"' in told
    assert ("Nothing fits the filters" in told) == (jobs == 0)


def test_nothing_odd_is_said_so(acme, browse):
    assert "Nothing is odd now" in text(browse(acme, "otto").get("/detections"))


def test_pages_follow_each_other(found, browse, monkeypatch):
    monkeypatch.setattr("frontend.views.detections.PAGE_ROWS", 1)
    otto = browse(found.place, "otto")
    first = otto.get("/detections").content.decode()
    address = re.search(r'href="(/detections\?[^"]*after=[^"]*)"', first)[1]
    second = otto.get(address.replace("&amp;", "&")).content.decode()
    assert "Surge" in first and "Next page" not in second
    assert ids(found)["idle"] in second and ids(found)["surge"] not in second


def test_one_has_its_evidence_as_chart_and_table(found, browse):
    otto = browse(found.place, "otto")
    idle = otto.get(f"/detections/{ids(found)['idle']}").content.decode()
    assert 'data-chart="work"' in idle and "<caption" in idle and "Threshold" in idle
    assert "idle found, 8 units" in idle
    surge = otto.get(f"/detections/{ids(found)['surge']}").content.decode()
    assert 'data-chart="use"' in surge
    assert "The median of 14 known days before is 10.0 unit-h" in surge
    assert "request" in surge and "account=nlp" in surge


def test_a_lead_acknowledges_with_a_reason(found, browse):
    address = f"/detections/{ids(found)['idle']}/acknowledge"
    alice = browse(found.place, "alice")
    assert "Quiet until" in text(alice.get(address))
    wrong = alice.post(address, {"step": "save", "key": "k", "reason": ""})
    assert wrong.status_code == 400 and "Say why" in wrong.content.decode()
    past = {"step": "save", "key": "k", "reason": "debugging", "until": "2020-01-01T00:00"}
    assert "within 366 days" in alice.post(address, past).content.decode()
    done = alice.post(address, {"step": "save", "key": "k2", "reason": "debugging"})
    assert done.status_code == 302
    assert "debugging" in text(alice.get(done["Location"]))
    assert found.rows("state")[0] == ("acknowledged",)


def test_a_release_says_what_will_happen_then_does_it_once(found, browse):
    address = f"/detections/{ids(found)['idle']}/release"
    alice = browse(found.place, "alice")
    told = text(alice.get(address))
    assert "8 units of h100 are free at once" in told and "cannot be undone" in told
    assert found.jobs.state("a") == "running"
    for _ in range(2):
        sent = {"step": "save", "key": "once", "reason": "forgotten"}
        assert alice.post(address, sent).status_code == 302
    assert found.jobs.state("a") == "released"
    told = text(alice.get(f"/detections/{ids(found)['idle']}"))
    assert "it was released" in told and "forgotten" in told


def test_a_job_that_works_again_is_refused_in_words(found, browse):
    found.works("a", 0.8, start=NOW, minutes=10)
    alice = browse(found.place, "alice")
    sent = {"step": "save", "key": "k", "reason": "forgotten"}
    answer = alice.post(f"/detections/{ids(found)['idle']}/release", sent)
    assert answer.status_code == 400
    assert "The job has told of work since" in answer.content.decode()


def test_a_member_sees_and_cannot_decide(found, browse):
    bob = browse(found.place, "bob")
    address = f"/detections/{ids(found)['idle']}"
    told = bob.get(address).content.decode()
    assert f"{address}/release" not in told
    assert bob.get(f"{address}/release").status_code == 403
    assert f"{address}/release" not in bob.get("/detections").content.decode()


def test_others_see_nothing(found, globex, browse):
    place = found.place
    place.person("vera", "vision")
    place.role("vera", "lead", on="vision")
    for who, where in (("vera", place), ("charlie", globex)):
        it = browse(where, who)
        assert 'data-status="0 detections"' in it.get("/detections?state=all").content.decode()
        for word in ("", "/acknowledge", "/release"):
            assert it.get(f"/detections/{ids(found)['idle']}{word}").status_code == 404
        file = b"".join(it.get("/detections.csv?state=all").streaming_content).decode()
        assert len(list(csv.reader(io.StringIO(file)))) == 1


def test_the_file_has_what_the_filters_choose(found, browse):
    otto = browse(found.place, "otto")
    answer = otto.get("/detections.csv?kind=idle")
    assert 'filename="detections-2026-11-29.csv"' in answer["Content-Disposition"]
    (row,) = csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode()))
    assert (row["kind"], row["job"], row["person"], row["units"]) == ("idle", "a", "bob", "8")
    assert (row["worth_per_hour"], row["currency"]) == ("15.360000", "EUR")
    assert "below 10.0" in row["evidence"]


POLICY = {
    "idle": "on",
    "idle_below": "20",
    "idle_minutes": "30",
    "zombie_below": "5",
    "progress_seconds_max": "600",
    "surge": "on",
    "baseline_factor": "3",
    "baseline_spread": "3",
    "baseline_days_min": "14",
    "reason": "from December on",
    "step": "save",
}


def test_an_operator_sets_what_is_found(found, browse):
    otto = browse(found.place, "otto")
    form = otto.get("/detections/policy").content.decode()
    assert 'value="10"' in form and 'value="60"' in form and "these are the defaults" in form
    assert otto.post("/detections/policy", POLICY | {"key": "k"}).status_code == 302
    told = otto.get("/detections/policy").content.decode()
    assert 'value="20"' in told and 'value="30"' in told and "from December on" in told
    same = otto.post("/detections/policy", POLICY | {"key": "k2"}, follow=True)
    assert "is so already" in text(same)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("idle_below", "51", "whole percents from 1 to 50"),
        ("idle_below", "7.5", "whole percents from 1 to 50"),
        ("idle_minutes", "4", "greater than or equal to 5"),
        ("baseline_factor", "1", "greater than or equal to 2"),
        ("zombie_below", "", "This field is required"),
        ("reason", "", "Say why"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(found, browse, field, value, said):
    answer = browse(found.place, "otto").post("/detections/policy", POLICY | {field: value})
    assert answer.status_code == 400
    assert said in answer.content.decode()


def test_only_operators_set_it(found, browse):
    assert browse(found.place, "alice").get("/detections/policy").status_code == 403
    assert (
        "/detections/policy" not in browse(found.place, "alice").get("/detections").content.decode()
    )


def test_other_pages_lead_to_it(found, browse):
    otto = browse(found.place, "otto")
    addresses = ids(found)
    assert f"/detections/{addresses['idle']}" in otto.get("/allocations/a").content.decode()
    quota = otto.get("/accounts/nlp/quota").content.decode()
    for kind in ("idle", "surge"):
        assert f"/detections/{addresses[kind]}" in quota
    assert 'href="/detections"' in otto.get("/").content.decode()


def test_a_notice_leads_to_it(found, browse):
    reading.read_events(found.place.id, now=NOW)
    with scope.reading(found.place.id):
        links = set(Notice.objects.filter(kind="detection.found").values_list("link", flat=True))
    alice = browse(found.place, "alice")
    assert len(links) == 2
    for link in links:
        assert alice.get(link).status_code == 200


def test_the_number_of_questions_does_not_grow_with_rows(found, browse, statements):
    otto = browse(found.place, "otto")

    def asked() -> int:
        statements.clear()
        assert otto.get("/detections").status_code == 200
        return len(statements)

    asked()
    few = asked()
    start = NOW - HOUR
    for number in range(6):
        found.running(f"more-{number}", 1, at=start)
        found.works(f"more-{number}", 0.01, start=start, minutes=60)
    assert found.look(NOW).found == 6
    assert asked() == few
