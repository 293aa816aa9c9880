"""An export can be verified by somebody who has nothing of ours but the file."""

import hashlib
import json
import unicodedata
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from io import StringIO
from pathlib import Path
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given
from hypothesis import strategies as st

from ledger import chain, export, registry
from ledger.commands import RecordLaneHeads
from ledger.ids import new_id
from ledger.types import RecordedEvent
from tests.ledger.sample import Note, Noted, machine
from tests.world import Tenant, record

# The program of docs/operator/ledger.md, word for word; test_the_guide_prints_it says so.
VERIFY = '''\
import hashlib, json, sys

FIELDS = """position id organization_id lane lane_seq stream version type schema_version
occurred_at recorded_at actor_kind actor_id actor_label command command_id idempotency_key
reason payload""".split()
ends = {}
for number, line in enumerate(open(sys.argv[1], encoding="utf-8"), start=1):
    event = json.loads(line)
    if event["line"] == "heads":
        for lane, head in event["heads"].items():
            if lane in ends and ends[lane] != (head["seq"], head["hash"]):
                sys.exit(f"line {number}: lane {lane} ends elsewhere")
        continue
    array = [event[field] for field in FIELDS]
    text = json.dumps(array, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    digest = hashlib.sha256(bytes.fromhex(event["previous_hash"]) + text.encode()).hexdigest()
    seq, previous = ends.get(event["lane"], (event["lane_seq"] - 1, event["previous_hash"]))
    if (event["hash"], event["previous_hash"], event["lane_seq"]) != (digest, previous, seq + 1):
        sys.exit(f"line {number}: event {event['id']} does not fit its chain")
    ends[event["lane"]] = (event["lane_seq"], event["hash"])
print("holds:", {lane: seq for lane, (seq, _) in ends.items()})
'''


def check(path) -> str:
    """Run the program on a file; what it prints, or says on the way out."""
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, "-I", "-c", VERIFY, str(path)], capture_output=True, text=True
    )
    return done.stdout + done.stderr


@pytest.fixture
def place(acme) -> Tenant:
    acme.use(record("ä\\|\"'", labels={"n": "☃"}), record("b", hours=None))
    pool = acme.pools["h100"]
    note = Note(note_id=new_id(), lines=('\x7f\u2028 € 😀 \\ " / \t \x1f', "b"), pool_id=pool)
    acme.run(note, by=machine(1), reason="größer\nals")
    acme.run(RecordLaneHeads())
    return acme


def exported(tmp_path, *arguments: str):
    path = tmp_path / "events.ndjson"
    call_command("ledger", "export", "--output", str(path), *arguments, stderr=StringIO())
    return path


def test_a_stranger_verifies_an_export(place, globex, tmp_path):
    path = exported(tmp_path)
    assert check(path).startswith("holds:")
    lines = [json.loads(line) for line in path.read_text().rstrip().split("\n")]
    assert [line["line"] for line in lines].count("heads") == 2
    assert not (tmp_path / "events.ndjson.part").exists()
    assert "".join(map(bytes.decode, export.lines(globex.id))) in path.read_text()


def test_the_guide_prints_it():
    guide = Path(__file__).resolve().parents[2] / "docs" / "operator" / "ledger.md"
    assert f"```python\n{VERIFY}```" in guide.read_text()


def test_a_part_since_a_position_verifies_as_well(place, tmp_path):
    since = json.loads(next(export.lines(place.id)))["position"] + 9
    path = exported(tmp_path, "--organization", "acme", "--since", str(since))
    lines = [json.loads(line) for line in path.read_text().rstrip().split("\n")]
    assert min(line["position"] for line in lines if line["line"] == "event") == since + 1
    assert check(path).startswith("holds:")


def test_any_change_of_a_copy_shows(place, tmp_path):
    path = exported(tmp_path)
    lines = path.open().readlines()
    for change in (
        lambda: [*lines[:4], *lines[5:]],
        lambda: [*lines[:4], lines[5], lines[4], *lines[6:]],
        lambda: lines[:-3] + lines[-1:],
        lambda: [line.replace('"shares":40', '"shares":41') for line in lines],
        lambda: [line.replace("größer", "kleiner") for line in lines],
    ):
        changed = change()
        assert changed != lines
        path.write_text("".join(changed))
        assert "line " in check(path)


def test_standard_output_takes_it_too(place):
    out = StringIO()
    call_command("ledger", "export", "--organization", str(place.id), stdout=out)
    assert json.loads(out.getvalue().splitlines()[-1])["events"] == out.getvalue().count("\n") - 1


def test_an_export_ends_within_the_organization(place, globex):
    assert {json.loads(line)["organization_id"] for line in export.lines(globex.id)} == {
        str(globex.id)
    }


LINK = chain.Link(
    position=1,
    id=UUID(int=1),
    organization_id=UUID(int=2),
    lane=UUID(int=2),
    lane_seq=1,
    stream="a:1",
    version=1,
    type="test.noted",
    schema_version=1,
    occurred_at=datetime(2026, 11, 29, 13, 0, 0, 7, tzinfo=timezone(timedelta(hours=1))),
    recorded_at=datetime(2026, 11, 29, 12, tzinfo=UTC),
    actor_kind="system",
    actor_id=None,
    actor_label="system",
    command="Note",
    command_id=UUID(int=3),
    idempotency_key=None,
    reason="",
    payload={"b": [1, "0.10", None, True], "a": {"z": 1, "y": 2}},
)


def test_the_canonical_form_is_fixed():
    """Every stored hash depends on these bytes: this test may never change."""
    zero = "00000000-0000-0000-0000-00000000000"
    assert chain.canonical(LINK).decode() == (
        f'[1,"{zero}1","{zero}2","{zero}2",1,"a:1",1,"test.noted",1,'
        '"2026-11-29T12:00:00.000007+00:00","2026-11-29T12:00:00.000000+00:00","system",null,'
        f'"system","Note","{zero}3",null,"",'
        '{"a":{"y":2,"z":1},"b":[1,"0.10",null,true]}]'
    )
    assert (
        chain.link_hash(chain.GENESIS, LINK)
        == hashlib.sha256(bytes(32) + chain.canonical(LINK)).digest()
    )


texts = st.text(
    alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=30
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(payload=st.dictionaries(texts, values, max_size=5), reason=texts)
def test_the_standard_library_writes_the_same_bytes(payload, reason):
    link = replace(LINK, payload=payload, reason=reason)
    array = json.loads(chain.canonical(link))
    again = json.dumps(array, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert again.encode() == chain.canonical(link)


@given(text=texts, reason=texts, key=st.none() | texts, pool=st.none() | st.uuids())
def test_the_pieces_of_an_append_make_the_canonical_form(text, reason, key, pool):
    data = Noted(note_id=UUID(int=4), text=text, pool_id=pool)
    names = [name for name in RecordedEvent.__struct_fields__ if hasattr(LINK, name)]
    said = {name: getattr(LINK, name) for name in names}
    said |= {"stream": data.stream, "lane": pool, "reason": reason}
    event = RecordedEvent(**said, data=data)
    place, stream, rest, payload = chain.pieces(event, LINK.organization_id, key)
    link = replace(
        LINK,
        stream=data.stream,
        lane=pool or LINK.organization_id,
        lane_seq=8,
        position=9,
        version=10,
        reason=reason,
        idempotency_key=key,
        payload=registry.to_payload(data),
    )
    assert f"[9{place}8{stream}10{rest}{payload}]".encode() == chain.canonical(link)


def test_text_is_hashed_as_it_is_and_not_normalized():
    composed, decomposed = (unicodedata.normalize(form, "ä") for form in ("NFC", "NFD"))
    hashes = {
        chain.link_hash(chain.GENESIS, replace(LINK, reason=text))
        for text in (composed, decomposed)
    }
    assert len(hashes) == 2


def stored(*links: chain.Link) -> list[tuple[chain.Link, bytes, bytes]]:
    found, previous = [], chain.GENESIS
    for link in links:
        digest = chain.link_hash(previous, link)
        found.append((link, previous, digest))
        previous = digest
    return found


@pytest.mark.parametrize(
    ("change", "seq", "problem"),
    [
        (lambda s: s, None, None),
        (lambda s: s[1:], 1, "event 1 is missing, found 2"),
        (lambda s: [s[0], s[2]], 2, "event 2 is missing, found 3"),
        (lambda s: s[:2], 3, "the lane ends at 2, its head says 3"),
        (lambda s: [*s, (replace(s[2][0], lane_seq=4), s[2][2], s[2][2])], 4, "content"),
        (lambda s: [s[0], (replace(s[1][0], reason="x"), *s[1][1:]), s[2]], 2, "content"),
        (lambda s: [s[0], (s[1][0], bytes(32), s[1][2]), s[2]], 2, "previous hash"),
        (lambda s: [s[0], (s[1][0], s[1][1], bytes(32)), s[2]], 2, "content"),
    ],
)
def test_the_first_fault_of_a_lane_is_named(change, seq, problem):
    links = stored(*(replace(LINK, lane_seq=n, position=n * 2) for n in (1, 2, 3)))
    found = chain.first_break(LINK.lane, change(links), head=(3, links[-1][2]))
    assert (found and found.lane_seq) == seq
    assert problem is None or problem in found.problem


def test_a_file_that_cannot_be_written_is_said_in_one_line(acme: Tenant, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="No such file or directory"):
        call_command("ledger", "export", "--output", str(tmp_path / "nowhere" / "events"))
