"""Whatever somebody changes behind the ledger's back, verify finds and names it."""

import json
from datetime import timedelta
from io import StringIO

import psycopg
import pytest
from django.core.management import CommandError, call_command

from accounting.commands.fairshare import SetFairsharePolicy
from accounting.partitions import ensure
from ledger import projection, rebuild, scope, store, verification
from ledger.commands import RecordLaneHeads
from ledger.ids import new_id
from quota.commands.admissions import AdmitBatch
from quota.commands.policies import SetAdmissionPolicy
from quota.commands.quotas import SetQuota
from quota.wire import Ask
from tests import world
from tests.accounting import sample_statements
from tests.accounting.budgets import sample_budgets
from tests.ledger.sample import Note, machine
from tests.ledger.tampering import changes, undetected, undone
from tests.preemption import sample_detections, sample_plans, sample_reclaim
from tests.quota.cycles import sample_cycles
from tests.quota.requests import sample_requests
from tests.world import NOW, Tenant, record


@pytest.fixture
def place(owner) -> Tenant:
    """acme with usage of every kind, a second lane, and a record of that lane's head."""
    acme = world.acme()
    acme.use(
        record("a", labels={"project": "x"}, compute_util=0.5, memory_gb=3.5),
        record("b", hours=None, productive_util=0.25),
    )
    acme.use(record("c", supersedes="a"), record("d", hours=5))
    pool = acme.pools["h100"]
    acme.run(Note(note_id=new_id(), lines=("p", "q"), pool_id=pool), by=machine(1))
    acme.run(RecordLaneHeads())
    acme.token()
    acme.run(Note(note_id=new_id(), lines=("r",), pool_id=pool), by=machine(1), reason="why")
    return acme


def findings(place: Tenant) -> list[verification.Finding]:
    return verification.verify(place.id).findings


def test_what_nobody_touched_is_clean(place):
    report = verification.verify(place.id)
    assert report.findings == []
    assert report.lanes == 2
    assert report.checks == ["chain", *verification._verifiers, "projections"]
    assert {"usage", "allocations", "preemption"} < set(report.checks)
    assert report.events == 25 + 5


def test_every_column_of_a_stored_event_is_covered(place, owner):
    event_id, position, event_type = owner.execute(
        "SELECT id, position, type FROM ledger_event WHERE organization_id = %s "
        "AND type = 'account.opened' ORDER BY position OFFSET 2 LIMIT 1",
        (place.id,),
    ).fetchone()
    columns = changes(owner, "ledger_event")
    assert len(columns) == 21

    def found(column: str) -> bool:
        first = findings(place)[0]
        if column in ("organization_id", "lane", "lane_seq"):  # it is gone from its place
            return first.check == "chain" and "missing" in first.problem
        seen = first.position, first.event_id, first.event_type
        want = position, event_id, event_type
        moved = {"position": 0, "id": 1, "type": 2}.get(column)
        same = all(a == b for n, (a, b) in enumerate(zip(seen, want, strict=True)) if n != moved)
        return first.check == "chain" and same

    statements = {
        name: f"UPDATE ledger_event SET {name} = {value} WHERE position = {position}"
        for name, value in columns.items()
    }
    assert undetected(owner, "ledger_event", statements, found) == []


def test_every_byte_of_a_payload_is_covered(place, owner):
    position, payload = owner.execute(
        "SELECT position, payload::text FROM ledger_event WHERE organization_id = %s "
        "AND type = 'usage.batch_recorded' ORDER BY position LIMIT 1",
        (place.id,),
    ).fetchone()
    statements = {}
    for index, byte in enumerate(payload):
        changed = payload[:index] + chr(ord(byte) ^ 1) + payload[index + 1 :]
        try:
            if json.loads(changed) == json.loads(payload):
                continue
        except ValueError:
            continue  # jsonb would refuse it
        statements[f"{index}: {changed}"] = (
            f"UPDATE ledger_event SET payload = '{changed}' WHERE position = {position}"
        )
    assert len(statements) > 250

    def found(_: str) -> bool:
        return not verification.verify_chains(place.id).clean

    chosen = dict(list(statements.items())[::5])
    assert undetected(owner, "ledger_event", chosen, found) == []


@pytest.mark.parametrize(
    "change",
    [
        "occurred_at = 'infinity'",
        "recorded_at = '44444-01-01'",
        "payload = '123456789012345678901234567890'",
        "payload = '[1, 2]'",
        "payload = 'null'",
        "payload = payload || '{\"shares\": 1e300}'",
        "type = 'no.such'",
        "schema_version = 9",
        "version = 7",
        "hash = ''",
    ],
)
def test_values_that_cannot_be_read_are_named_and_not_stumbled_over(place, owner, change):
    with undone(owner, "ledger_event"):
        row = owner.execute(
            f"UPDATE ledger_event SET {change} WHERE organization_id = %s AND lane_seq = 3 "
            "AND lane = organization_id RETURNING position, id",
            (place.id,),
        ).fetchone()
        first = findings(place)[0]
    assert (first.check, first.lane_seq, first.position, first.event_id) == ("chain", 3, *row)


@pytest.mark.parametrize("which", ["min", "max"])
def test_a_removed_event_is_missed_wherever_it_was(place, owner, which):
    for lane in (place.id, place.pools["h100"]):
        with undone(owner, "ledger_event"):
            owner.execute(
                "DELETE FROM ledger_event e WHERE lane = %s AND lane_seq = "
                f"(SELECT {which}(lane_seq) FROM ledger_event WHERE lane = e.lane)",
                (lane,),
            )
            assert findings(place)[0].lane == lane


def test_an_added_event_is_found_at_the_end_and_in_a_lane_of_its_own(place, owner):
    copy = (
        "INSERT INTO ledger_event SELECT (e.x).* FROM (SELECT jsonb_populate_record(e, %s) AS x "
        "FROM ledger_event e WHERE lane = organization_id AND organization_id = %s "
        "ORDER BY lane_seq DESC LIMIT 1) e"
    )
    for lane, lane_seq in ((place.id, 1_000), (new_id(), 1)):
        change = {
            "position": 999_999,
            "lane": str(lane),
            "lane_seq": lane_seq,
            "stream": "a:b",
            "id": str(new_id()),
        }
        with undone(owner, "ledger_event"):
            owner.execute(copy, (json.dumps(change), place.id))
            assert any(f.position == 999_999 for f in findings(place))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE ledger_lane SET seq = seq - 1 WHERE lane <> organization_id",
        "UPDATE ledger_lane SET hash = set_byte(hash, 0, get_byte(hash, 0) # 1)",
        "UPDATE ledger_lane SET lane = gen_random_uuid() WHERE lane <> organization_id",
        "DELETE FROM ledger_lane WHERE lane <> organization_id",
        "DELETE FROM ledger_lane",
    ],
)
def test_heads_are_covered_too(place, owner, statement):
    with undone(owner, "ledger_lane"):
        owner.execute(statement)
        assert {f.check for f in findings(place)} >= {"chain"}


def test_a_lane_that_was_cut_off_together_with_its_head_is_betrayed_by_the_main_lane(place, owner):
    pool = place.pools["h100"]
    with undone(owner, "ledger_event", "ledger_lane"):
        owner.execute("DELETE FROM ledger_event WHERE lane = %s AND lane_seq > 1", (pool,))
        owner.execute(
            "UPDATE ledger_lane l SET seq = 1, hash = e.hash FROM ledger_event e "
            "WHERE e.lane = l.lane AND e.lane_seq = 1 AND l.lane = %s",
            (pool,),
        )
        first = findings(place)[0]
    assert first.event_type == "ledger.lane_heads_recorded"
    assert f"event 2 of lane {pool} is gone" in first.problem


def test_an_organization_is_found_when_all_but_its_events_is_gone(place, owner):
    with undone(owner, "ledger_lane", "tenancy_organization"):
        owner.execute("DELETE FROM ledger_lane")
        owner.execute("DELETE FROM tenancy_organization")
        assert scope.organization_ids() == []
        assert verification.organization_ids() == [place.id]
        assert not verification.verify(place.id).clean


def test_every_column_of_a_usage_row_is_covered(place, owner):
    columns = changes(owner, "accounting_usagerecord")
    assert len(columns) == 19
    statements = {
        name: f"UPDATE accounting_usagerecord SET {name} = {value} WHERE key = 'a' AND sign = 1"
        for name, value in columns.items()
    }

    def found(_: str) -> bool:
        seen = findings(place)
        return bool(seen) and seen[0].check == "usage"

    assert undetected(owner, "accounting_usagerecord", statements, found) == []


def test_removed_and_planted_usage_rows_are_found(place, owner):
    ensure((NOW - timedelta(days=400)).date(), (NOW + timedelta(days=400)).date())
    copy = (
        "INSERT INTO accounting_usagerecord SELECT (r.x).* FROM (SELECT "
        "jsonb_populate_record(r, '{change}') AS x FROM accounting_usagerecord r "
        "WHERE key = 'd' AND sign = 1) r"
    )
    statements = {
        "removed": "DELETE FROM accounting_usagerecord WHERE key = 'd'",
        "removed reversal": "DELETE FROM accounting_usagerecord WHERE sign = -1",
        "removed batch": "DELETE FROM accounting_usagerecord",
        "planted beside": copy.format(change='{"row_no": 77, "key": "n"}'),
        "planted in no batch": copy.format(change=f'{{"batch_id": "{new_id()}"}}'),
        "planted in another month": copy.format(
            change='{"row_no": 78, "started_at": "2026-06-01T00:00:00Z"}'
        ),
        "planted at the same instant of another year": copy.format(
            change='{"row_no": 79, "started_at": "2027-11-01T00:00:00Z", '
            '"ended_at": "2027-11-01T01:00:00Z"}'
        ),
    }

    def found(_: str) -> bool:
        seen = findings(place)
        return bool(seen) and seen[0].check == "usage"

    assert undetected(owner, "accounting_usagerecord", statements, found) == []


def test_a_usage_finding_names_the_event_of_the_batch(place, owner):
    with undone(owner, "accounting_usagerecord"):
        owner.execute("UPDATE accounting_usagerecord SET units = 9 WHERE key = 'd'")
        first = findings(place)[0]
    assert first.event_type == "usage.batch_recorded"
    assert first.facts["wrong"] == ["unit_seconds", "digest"]
    with scope.reading(place.id):
        assert store.read_ids(place.id, [first.event_id])[0].position == first.position


@pytest.fixture
def with_quota(place) -> Tenant:
    """The same with a quota now, one to come, and an allocation."""
    quota = {"account_id": place.accounts["nlp"], "pool_id": place.pools["h100"], "guaranteed": 8}
    place.run(SetQuota(**quota), reason="test")
    place.run(SetQuota(**quota, effective_at=NOW + timedelta(days=1)), reason="test")
    sample_statements.closed(place)
    sample_requests.asked(place)
    sample_cycles.reviewed(place)
    sample_plans.planned(place)
    sample_reclaim.demoted(place)
    sample_budgets.spoken(place)
    sample_detections.found(place)
    ask = Ask(key="job", account="nlp", person="bob", pool="h100", units=2, labels={"a": "b"})
    times = {"hold_seconds": 60, "lease_seconds": 600, "heartbeat_seconds": 60}
    place.run(SetAdmissionPolicy(**times, interactive_seconds_max=3600), reason="test")
    place.run(AdmitBatch(requests=(ask,)))
    return place


def test_every_column_of_every_projection_is_covered(place, with_quota, owner):
    """Whatever is changed in a projected table, but its counters, differs from a rebuild."""
    for table in projection.tables():
        facts = {
            column: value
            for column, value in changes(owner, table.name).items()
            if column not in (*table.key, *table.ignored)
        }
        one_row = f"WHERE ctid = (SELECT ctid FROM {table.name} LIMIT 1)"
        assignments = ", ".join(f"{column} = {value}" for column, value in facts.items())
        statements = {f"DELETE FROM {table.name} {one_row}": ()}
        if facts:
            statements[f"UPDATE {table.name} SET {assignments} {one_row}"] = tuple(facts)
        for statement, seen in statements.items():
            with undone(owner, table.name):
                assert owner.execute(statement).rowcount > 0, f"{table.name} is empty"
                with scope.snapshot(place.id):
                    (difference,) = rebuild.compare(place.id).differences
            assert (difference.table, difference.columns) == (table.name, seen)


def test_a_row_of_a_projection_that_differs_is_named_with_its_columns(place, owner):
    with undone(owner, "tenancy_account"):
        owner.execute("UPDATE tenancy_account SET shares = 99 WHERE name = 'nlp'")
        (finding,) = findings(place)
    assert finding.check == "projections"
    assert finding.facts["columns"] == ["shares"]
    assert str(place.accounts["nlp"]) in finding.facts["example"]


def test_the_command_exits_with_1_and_names_the_event(place, owner):
    out = StringIO()
    call_command("ledger", "verify", "--organization", "acme", stdout=out)
    checks = ", ".join(["chain", *verification._verifiers, "projections"])
    assert f"30 events in 2 lanes; {checks}: all right" in out.getvalue()
    with undone(owner, "ledger_event"):
        event_id = owner.execute(
            "UPDATE ledger_event SET reason = 'no' WHERE organization_id = %s AND lane_seq = 5 "
            "AND lane = organization_id RETURNING id",
            (place.id,),
        ).fetchone()[0]
        for arguments in ((), ("--json",)):
            out = StringIO()
            with pytest.raises(SystemExit) as caught:
                call_command("ledger", "verify", *arguments, stdout=out)
            assert caught.value.code == 1
            assert str(event_id) in out.getvalue()
    assert json.loads(out.getvalue())["organizations"][0]["findings"][0]["lane_seq"] == 5


def test_an_unknown_organization_is_said_to_be_unknown(db):
    for name in ("nowhere", str(new_id())):
        with pytest.raises(CommandError, match="no organization"):
            call_command("ledger", "verify", "--organization", name)


def test_verification_sees_one_instant_while_commands_go_on(place, monkeypatch):
    """A command that commits between two checks belongs to neither."""
    plain = verification._verifiers["usage"]
    from tests.ledger.sample import together

    def during(organization_id):
        together([lambda: place.use(record("meanwhile"))])
        together(
            [
                lambda: place.run(
                    SetFairsharePolicy(
                        algorithm="fair_tree", half_life_seconds=86_400, weights={}, boosts={}
                    )
                )
            ]
        )
        yield from plain(organization_id)

    monkeypatch.setitem(verification._verifiers, "usage", during)
    report = verification.verify(place.id)
    assert (report.findings, report.events) == ([], 30)
    monkeypatch.setitem(verification._verifiers, "usage", plain)
    assert verification.verify(place.id).findings == []
    with pytest.raises(psycopg.errors.UndefinedTable), scope.reading(place.id):
        from ledger.sql import server_cursor

        with server_cursor() as cursor:
            cursor.execute("SELECT 1 FROM pg_temp.tenancy_account")
