"""Projections come back from events alone, while others read and write."""

import threading
from datetime import timedelta
from functools import partial
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from accounting.commands.fairshare import ResetFairshare, SetFairsharePolicy
from accounting.commands.usage import SettleUsage
from ledger import projection, rebuild, scope, verification
from ledger.sql import server_cursor
from tenancy.commands.accounts import MoveAccount, RenameAccount
from tests import world
from tests.ledger.sample import together
from tests.ledger.tampering import undone
from tests.world import NOW, Tenant, record


def policy(hours: int) -> SetFairsharePolicy:
    return SetFairsharePolicy(
        algorithm="fair_tree", half_life_seconds=hours * 3600, weights={}, boosts={}
    )


@pytest.fixture
def place(owner) -> Tenant:
    """acme after a while: usage, corrections, settlements, other half-lives, a reset, a move."""
    acme = world.acme()
    acme.use(record("a"), record("b", hours=None), record("c", hours=5))
    acme.run(policy(24))
    acme.use(record("a2", supersedes="a", hours=0.5), record("d", units=3))
    acme.run(SettleUsage(until=NOW + timedelta(hours=4)), now=NOW + timedelta(hours=4))
    acme.run(policy(48), now=NOW + timedelta(hours=5))
    acme.use(record("b2", supersedes="b", hours=2), record("e", account="vision"))
    acme.run(ResetFairshare(), now=NOW - timedelta(hours=1.5))
    acme.use(record("f", hours=1.7))
    nlp, production = acme.accounts["nlp"], acme.accounts["production"]
    acme.run(MoveAccount(account_id=nlp, to_parent_id=production))
    acme.run(RenameAccount(account_id=nlp, name="language", description="moved"))
    acme.token()
    return acme


def tables(place: Tenant, *, ignored: bool = False) -> dict[str, list[tuple]]:
    """Every row of every projected table."""
    found = {}
    with scope.reading(place.id), server_cursor() as cursor:
        for table in projection.tables():
            left_out = () if ignored else table.ignored
            columns = [
                row[0]
                for row in cursor.execute(
                    "SELECT column_name FROM information_schema.columns "
                    "WHERE table_name = %b AND table_schema = 'public' ORDER BY 1",
                    (table.name,),
                )
                if row[0] not in left_out
            ]
            rows = cursor.execute(f"SELECT {', '.join(columns)} FROM {table.name}").fetchall()
            found[table.name] = sorted(map(repr, rows))
    return found


def wreck(owner, *, keep: str = "") -> None:
    """Empty the projections, and put nonsense into one."""
    owner.execute("SET session_replication_role = replica")
    for table in projection.tables():
        if table.name != keep:
            owner.execute(f"DELETE FROM {table.name}")
    owner.execute("SET session_replication_role = DEFAULT")


def test_a_rebuild_of_what_is_right_changes_nothing(place):
    before = tables(place, ignored=True)
    done = rebuild.rebuild(place.id)
    assert done.differences == ()
    assert tables(place, ignored=True) == before


def test_everything_comes_back_from_events_alone(place, owner):
    before = tables(place)
    wreck(owner)
    assert set(map(len, tables(place).values())) == {0}
    done = rebuild.rebuild(place.id)
    assert {d.table for d in done.differences} == set(before) - {
        name for name, rows in before.items() if not rows
    }
    assert tables(place) == before
    assert verification.verify(place.id).findings == []


def test_names_that_were_exchanged_come_back_although_they_are_unique(place, owner):
    owner.execute(
        "UPDATE tenancy_account SET name = name || '-' WHERE name IN ('vision', 'research')"
    )
    owner.execute("UPDATE tenancy_account SET name = 'vision' WHERE name = 'research-'")
    owner.execute("UPDATE tenancy_account SET name = 'research' WHERE name = 'vision-'")
    assert [d.different for d in rebuild.rebuild(place.id).differences] == [2]
    assert verification.verify(place.id).clean


def test_only_the_organization_in_question_is_touched(place, owner):
    other = world.globex()
    owner.execute("UPDATE tenancy_account SET description = 'wrong' WHERE name = 'nlp'")
    owner.execute("UPDATE tenancy_account SET description = 'wrong' WHERE name = 'language'")
    assert [d.different for d in rebuild.rebuild(place.id).differences] == [1]
    assert verification.verify(place.id).clean
    assert not verification.verify(other.id).clean


def test_caches_learn_of_changed_rows(place, owner):
    def versions():
        return owner.execute(
            "SELECT tree_version, usage_version FROM accounting_fairsharestate "
            "WHERE organization_id = %s",
            (place.id,),
        ).fetchone()

    tree, usage = versions()
    owner.execute("UPDATE accounting_decayedusage SET forward = forward + 1")
    assert rebuild.rebuild(place.id).differences
    after = versions()
    assert after[0] == tree + 1
    assert after[1] > usage
    changed = owner.execute("SELECT DISTINCT changed_in FROM accounting_decayedusage").fetchall()
    assert changed == [(after[1],)]
    rebuild.rebuild(place.id)
    assert versions() == after


def test_a_dry_run_tells_and_changes_nothing(place, owner):
    owner.execute("UPDATE tenancy_person SET email = '' WHERE name = 'bob'")
    before = tables(place, ignored=True)
    out = StringIO()
    call_command("ledger", "rebuild", "--organization", "acme", "--dry-run", stdout=out)
    assert "tenancy_person: would change 1 rows" in out.getvalue()
    assert tables(place, ignored=True) == before
    out = StringIO()
    call_command("ledger", "rebuild", stdout=out)
    assert "tenancy_person: changed 1 rows" in out.getvalue()


def test_a_broken_chain_is_not_rebuilt_from_unless_asked(place, owner):
    with undone(owner, "ledger_event"):
        owner.execute(
            "UPDATE ledger_event SET reason = 'x' WHERE organization_id = %s AND lane_seq = 4",
            (place.id,),
        )
        with pytest.raises(CommandError, match="broken chain"):
            call_command("ledger", "rebuild", stdout=StringIO())
        call_command("ledger", "rebuild", "--unverified", stdout=StringIO())


def test_an_event_of_a_later_release_stops_a_rebuild_before_it_changes_anything(place, owner):
    before = tables(place, ignored=True)
    with undone(owner, "ledger_event"):
        owner.execute("UPDATE ledger_event SET schema_version = 9 WHERE type = 'person.added'")
        with pytest.raises(CommandError, match="unknown to this release"):
            call_command("ledger", "rebuild", "--unverified", stdout=StringIO())
    assert tables(place, ignored=True) == before


def test_temporary_tables_are_gone_and_the_search_path_is_back(place):
    rebuild.rebuild(place.id)
    with scope.reading(place.id), server_cursor() as cursor:
        assert cursor.execute("SHOW search_path").fetchone() == ('"$user", public',)
        left = "SELECT relname FROM pg_class WHERE relpersistence = 't' AND relkind = 'r'"
        assert {row[0] for row in cursor.execute(left)} <= {"staged_usage"}


def test_statements_prepared_before_do_not_write_through_the_shadows(place):
    """A prepared statement is bound to the real table; the rebuild's search path unbinds it."""
    with scope.reading(place.id), server_cursor() as cursor:
        people = partial(cursor.execute, "SELECT count(*) FROM tenancy_person", prepare=True)
        assert people().fetchone()[0] == 4
        with rebuild._shadows():
            assert people().fetchone()[0] == 0
        assert people().fetchone()[0] == 4


def test_writers_go_on_during_the_replay_and_nothing_of_theirs_is_lost(place, owner, monkeypatch):
    """Commands that commit during the first replay, and one that has written its rows but not
    yet appended when the swap wants to begin."""
    wreck(owner, keep="tenancy_organization")
    rebuild.rebuild(place.id)
    owner.execute("UPDATE tenancy_account SET description = 'wrong'")
    applied = threading.Event()
    real_replay = rebuild._replay

    def replay(*args):
        done = real_replay(*args)
        if not applied.is_set():
            applied.set()
            together([lambda: place.account("late")])
        return done

    monkeypatch.setattr(rebuild, "_replay", replay)

    def writers(n: int):
        assert applied.wait(timeout=20)
        for step in range(6):
            place.account(f"w{n}-{step}", under="research")
            place.use(record(f"w{n}-{step}"))

    jobs = [lambda n=n: writers(n) for n in (1, 2, 3)]
    outcomes = together([lambda: rebuild.rebuild(place.id), *jobs])
    assert outcomes[1:] == [None] * 3
    assert [d.table for d in outcomes[0].differences] == ["tenancy_account"]
    assert verification.verify(place.id).findings == []


def test_readers_see_the_old_rows_or_the_new_ones_and_never_half(place, owner):
    owner.execute("UPDATE tenancy_account SET description = 'wrong'")
    stop = threading.Event()

    def read() -> set[tuple[int, int]]:
        seen = set()
        while not stop.is_set():
            with scope.reading(place.id), server_cursor() as cursor:
                seen.add(
                    cursor.execute(
                        "SELECT count(*), count(*) FILTER (WHERE description = 'wrong') "
                        "FROM tenancy_account"
                    ).fetchone()
                )
        return seen

    def repair():
        try:
            return rebuild.rebuild(place.id)
        finally:
            stop.set()

    _, seen = together([repair, read])
    assert seen <= {(6, 6), (6, 0)}


def test_two_rebuilds_at_once_take_turns(place, owner):
    owner.execute("UPDATE tenancy_account SET description = 'wrong'")
    outcomes = together([lambda: rebuild.rebuild(place.id)] * 2)
    assert sorted(len(outcome.differences) for outcome in outcomes) == [0, 1]
