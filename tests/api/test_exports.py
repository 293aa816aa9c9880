"""Exports over REST: asked for, watched, downloaded in parts, deleted, scheduled; and the walls."""

import base64
import csv
import hashlib
import io
import json
from decimal import Decimal

import pytest

from accounting import tasks
from accounting.domain import exports as domain
from accounting.exports import files, making
from ledger import scope
from ledger.sql import server_cursor
from tests.accounting.exports.conftest import close, own_files, place  # noqa: F401 (fixtures)
from tests.accounting.exports.test_files import statement
from tests.api.conftest import Api, fresh_token, is_problem, signed_in, speaking
from tests.world import Tenant

OCTOBER = {"month": "2026-10"}


@pytest.fixture
def october(place: Tenant) -> Tenant:  # noqa: F811
    close(place)
    return place


@pytest.fixture
def machine(october) -> Api:
    return speaking(fresh_token(october, "export:read"))


@pytest.fixture
def slow(monkeypatch) -> list:
    """Everything is large, and no worker comes by."""
    waiting: list = []
    monkeypatch.setattr(making, "is_small", lambda *a, **k: False)
    monkeypatch.setattr(
        tasks.make_export, "apply_async", lambda args, **options: waiting.append((args, options))
    )
    return waiting


def asked(api: Api, **body) -> dict:
    answer = api.post("exports", OCTOBER | {"what": "lines"} | body)
    assert answer.status_code == 201, answer.content
    return answer.json()


def content(answer) -> bytes:
    return b"".join(answer.streaming_content) if answer.streaming else answer.content


def test_a_small_one_is_there_at_once_and_is_the_statement(october, machine):
    answer = machine.post("exports", OCTOBER | {"what": "lines", "format": "csv"})
    made = answer.json()
    assert answer.status_code == 201 and made["state"] == "ready" and made["progress"] == 1
    assert answer["Location"] == f"/api/v1/exports/{made['id']}"
    assert machine.get(f"exports/{made['id']}").json() == made
    file = machine.get(f"exports/{made['id']}/file")
    body = content(file)
    total = sum(Decimal(one["amount"]) for one in csv.DictReader(io.StringIO(body.decode())))
    assert f"{total:.2f}" == made["total"] == f"{statement(october).total.amount:.2f}"
    digest = hashlib.sha256(body).digest()
    assert (len(body), digest.hex()) == (made["size"], made["sha256"])
    assert file["Repr-Digest"] == f"sha-256=:{base64.b64encode(digest).decode()}:"
    assert "attachment" in file["Content-Disposition"]
    assert "2026-10-root-lines.csv" in file["Content-Disposition"]
    listed = machine.get("exports").json()
    assert [one["id"] for one in listed["exports"]] == [made["id"]] and listed["next"] is None


def test_a_download_goes_on_where_it_was_cut_off(machine):
    made = asked(machine, what="records")
    path = f"exports/{made['id']}/file"
    whole = machine.get(path)
    body, etag = content(whole), whole["ETag"]
    assert etag == f'"{made["sha256"]}"' and whole["Accept-Ranges"] == "bytes"
    got = b""
    while len(got) < len(body):
        until = min(len(got) + 700, len(body)) - 1
        headers = {"Range": f"bytes={len(got)}-{until}", "If-Range": etag}
        part = machine.get(path, **headers)
        assert part.status_code == 206
        assert part["Content-Range"] == f"bytes {len(got)}-{until}/{len(body)}"
        got += content(part)
    assert got == body
    for given, wanted in (
        ("bytes=10-", body[10:]),
        ("bytes=-10", body[-10:]),
        (f"bytes=5-{10**12}", body[5:]),
    ):
        part = machine.get(path, Range=given)
        assert (part.status_code, content(part)) == (206, wanted)
    behind = machine.get(path, Range=f"bytes={len(body)}-")
    assert (behind.status_code, behind["Content-Range"]) == (416, f"bytes */{len(body)}")
    for whole_again in (
        {"Range": "bytes=1-", "If-Range": '"another"'},
        {"Range": "bytes=1-2,4-5"},
        {"Range": "bytes=9-3"},
        {"Range": "lines=1-"},
    ):
        answer = machine.get(path, **whole_again)
        assert (answer.status_code, content(answer)) == (200, body)
    assert machine.get(path, **{"If-None-Match": etag}).status_code == 304


def test_a_large_one_waits_for_a_worker_and_tells_how_far_it_is(october, machine, slow):
    made = asked(machine, format="parquet")
    assert (made["state"], made["file"], made["progress"]) == ("requested", None, 0)
    ((args, options),) = slow
    assert args == (str(october.id), made["id"]) and options["queue"] == "exports"
    watched = machine.get(f"exports/{made['id']}")
    assert watched["Retry-After"] == "5"
    is_problem(machine.get(f"exports/{made['id']}/file"), 404, "export_not_ready")
    making.cache.set(f"export:{made['id']}", (50, 200), 60)
    assert machine.get(f"exports/{made['id']}").json()["progress"] == 0.25
    tasks.make_export(*args)
    assert machine.get(f"exports/{made['id']}").json()["state"] == "ready"
    assert len(content(machine.get(f"exports/{made['id']}/file"))) > 1000


def test_the_same_key_is_the_same_export(machine):
    key = {"Idempotency-Key": "october"}
    body = OCTOBER | {"what": "lines"}
    first = machine.post("exports", body, **key)
    again = machine.post("exports", body, **key)
    assert again["Idempotency-Replayed"] == "true" and again.json() == first.json()
    is_problem(machine.post("exports", body | {"format": "xlsx"}, **key), 409,
               "idempotency_key_reused")  # fmt: skip


def test_focus_brings_its_schema(machine):
    made = asked(machine, what="focus")
    assert made["focus_version"] == "1.4"
    schema = machine.get(f"exports/{made['id']}/schema").json()
    head = content(machine.get(f"exports/{made['id']}/file")).split(b"\n")[0].decode()
    assert [one["ColumnName"] for one in schema["ColumnDefinition"]] == head.split(",")
    assert schema["FocusVersion"] == "1.4"
    lines = asked(machine)
    is_problem(machine.get(f"exports/{lines['id']}/schema"), 404, "export_unknown")


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"what": "lines", "month": "2026-13"}, 400, None),
        ({"what": "everything"}, 400, None),
        ({"what": "focus", "format": "xlsx"}, 400, "export_format_unknown"),
        ({"what": "lines", "focus_version": "1.4"}, 400, "focus_version_unknown"),
        ({"what": "lines", "month": "2098-01"}, 422, "month_not_begun"),
        ({"what": "lines", "account": "nowhere"}, 404, "account_unknown"),
        ({"what": "lines", "color": "red"}, 400, None),
    ],
)
def test_a_wrong_wish_is_refused_by_name(machine, body, status, code):
    answer = machine.post("exports", OCTOBER | body)
    assert answer.status_code == status
    if code:
        is_problem(answer, status, code)


def test_there_is_room_for_so_many(machine, slow, monkeypatch):
    monkeypatch.setattr(domain, "PENDING_MAX", 2)
    asked(machine), asked(machine)
    answer = machine.post("exports", OCTOBER | {"what": "lines"})
    is_problem(answer, 422, "exports_too_many")


def test_a_deleted_one_is_gone_and_stays_in_the_ledger(october, machine):
    made = asked(machine)
    name = files.name_of(october.id, made["id"], made["sha256"])
    assert files.storage().exists(name)
    removed = machine.send("DELETE", f"exports/{made['id']}")
    assert removed.status_code == 200 and removed.json()["state"] == "removed"
    assert not files.storage().exists(name)
    is_problem(machine.get(f"exports/{made['id']}/file"), 404, "export_gone")
    assert machine.get("exports").json()["exports"] == []
    with scope.reading(october.id), server_cursor() as cursor:
        events = cursor.execute(
            "SELECT type, actor_label, payload->>'digest' FROM ledger_event "
            "WHERE stream = %b ORDER BY version",
            (f"export:{made['id']}",),
        ).fetchall()
    assert [one[0] for one in events] == ["export.requested", "export.made", "export.removed"]
    assert events[1][2] == made["sha256"] and events[0][1] == events[2][1] != "system"


def test_a_lead_exports_their_own_subtree_and_sees_no_other(october, machine):
    alice = signed_in(october, "alice")
    everything = asked(machine)
    made = asked(alice, account="nlp", what="records")
    rows = csv.DictReader(io.StringIO(content(alice.get(f"exports/{made['id']}/file")).decode()))
    assert {one["account"] for one in rows} == {"nlp"}
    for account in ("research", "vision", None):
        answer = alice.post("exports", OCTOBER | {"what": "lines", "account": account})
        assert answer.status_code in (403, 404)
    assert [one["id"] for one in alice.get("exports").json()["exports"]] == [made["id"]]
    for path in ("", "/file", "/schema"):
        is_problem(alice.get(f"exports/{everything['id']}{path}"), 404, "export_unknown")
    is_problem(alice.send("DELETE", f"exports/{everything['id']}"), 404, "export_unknown")
    assert len(machine.get("exports").json()["exports"]) == 2


def test_members_and_weak_tokens_export_nothing(october):
    bob = signed_in(october, "bob")
    is_problem(bob.get("exports"), 403, "role_missing")
    is_problem(bob.post("exports", OCTOBER | {"what": "lines", "account": "nlp"}), 403,
               "role_missing")  # fmt: skip
    weak = speaking(fresh_token(october, "priority:read"))
    is_problem(weak.get("exports"), 403, "scope_missing")
    bound = speaking(fresh_token(october, "export:read", pools=frozenset({october.pools["h100"]})))
    is_problem(bound.post("exports", OCTOBER | {"what": "lines"}), 403, "pool_denied")


def test_an_auditor_exports_everything_and_schedules_nothing(october):
    october.person("audrey")
    october.role("audrey", "auditor")
    audrey = signed_in(october, "audrey")
    for what in ("lines", "records", "focus"):
        made = asked(audrey, what=what)
        assert audrey.get(f"exports/{made['id']}/file").status_code == 200
    refused = audrey.send("PUT", "export-schedules/root", {"files": [{"what": "lines"}]})
    is_problem(refused, 403, "role_missing")


def test_a_file_that_is_over_or_lost_is_gone_and_nothing_breaks(october, machine, settings):
    made = asked(machine)
    path = f"exports/{made['id']}/file"
    files.remove(files.name_of(october.id, made["id"], made["sha256"]))
    is_problem(machine.get(path), 404, "export_gone")
    is_problem(machine.get(path, Range="bytes=1-"), 404, "export_gone")
    assert machine.send("DELETE", f"exports/{made['id']}").status_code == 200
    over = asked(machine)
    with scope.writing(october.id), server_cursor() as cursor:
        cursor.execute(
            "UPDATE accounting_export SET expires_at = now() - interval '1 second' "
            "WHERE id = %b::uuid",
            (over["id"],),
        )
    assert machine.get(f"exports/{over['id']}").json()["state"] == "expired"
    is_problem(machine.get(f"exports/{over['id']}/file"), 404, "export_gone")


def test_a_download_that_runs_is_not_cut_off_by_a_delete(machine):
    made = asked(machine, what="records", format="json")
    path = f"exports/{made['id']}/file"
    running, other = machine.get(path), machine.get(path, Range="bytes=10-")
    assert machine.send("DELETE", f"exports/{made['id']}").status_code == 200
    assert hashlib.sha256(content(running)).hexdigest() == made["sha256"]
    assert len(content(other)) == made["size"] - 10
    is_problem(machine.get(path), 404, "export_gone")


@pytest.mark.parametrize(
    ("wanted", "status"),
    [
        ("bytes=", 200),
        ("bytes=-", 200),
        ("bytes=a-b", 200),
        ("bytes=--5", 200),
        ("bytes=0-0,-1", 200),
        ("bytes=1-" + "9" * 30, 200),
        ("bytes=-0", 416),
        ("bytes=999999999-", 416),
        ("bytes=-999999999", 206),
        ("bytes=0-0", 206),
    ],
)
def test_odd_ranges_are_ignored_or_refused(machine, wanted, status):
    made = asked(machine)
    answer = machine.get(f"exports/{made['id']}/file", Range=wanted)
    assert answer.status_code == status
    if status == 416:
        assert answer["Content-Range"] == f"bytes */{made['size']}"
    elif status == 200:
        assert len(content(answer)) == made["size"]
    else:
        assert len(content(answer)) == int(answer["Content-Length"])


def test_a_file_without_a_byte_is_downloaded_too(machine):
    made = asked(machine, month="2026-07", format="jsonl")
    path = f"exports/{made['id']}/file"
    assert (made["rows"], made["size"]) == (0, 0)
    assert content(machine.get(path)) == b""
    assert machine.get(path, Range="bytes=0-").status_code == 416


def test_another_tenant_sees_none_of_it(october, machine, globex):
    made = asked(machine)
    other = speaking(fresh_token(globex, "export:read"))
    assert other.get("exports").json()["exports"] == []
    for path in ("", "/file", "/schema"):
        is_problem(other.get(f"exports/{made['id']}{path}"), 404, "export_unknown")
    is_problem(other.send("DELETE", f"exports/{made['id']}"), 404, "export_unknown")


def test_pages_of_the_list_follow_each_other(machine):
    made = [asked(machine, format=one)["id"] for one in ("csv", "json", "jsonl")]
    page = machine.get("exports", {"limit": 2}).json()
    assert [one["id"] for one in page["exports"]] == made[:0:-1]
    rest = machine.client.get(page["next"], headers={"Authorization": f"Bearer {machine.token}"})
    assert [one["id"] for one in rest.json()["exports"]] == [made[0]]


def test_finance_schedules_and_others_do_not(october, machine):
    fay = signed_in(october, "fay")
    wish = {"files": [{"what": "focus", "format": "parquet"}], "store": True}
    answer = fay.send("PUT", "export-schedules/root", wish)
    assert answer.status_code == 200 and answer.json()["set_by"]
    assert machine.get("export-schedules").json()["schedules"] == [answer.json()]
    for api in (machine, signed_in(october, "alice")):
        refused = api.send("PUT", "export-schedules/nlp", wish)
        assert refused.status_code == 403
    twice = {"files": [{"what": "lines"}, {"what": "lines"}]}
    is_problem(fay.send("PUT", "export-schedules/root", twice), 400, "schedule_malformed")
    ended = fay.send("PUT", "export-schedules/root", {"files": []})
    assert ended.json()["set_at"] is None
    assert machine.get("export-schedules").json()["schedules"] == []


def test_what_the_document_shows_is_what_is_answered(machine):
    from accounting.api import exports_examples as examples

    made = asked(machine, what="focus")
    assert set(made) == set(examples.ONE.value)
    assert json.loads(json.dumps(examples.NEW.value)) == {
        "month": "2026-10",
        "what": "focus",
        "format": "csv",
    }
