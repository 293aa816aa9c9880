"""How much a process keeps, and that nothing of it can change without the head of the main lane
telling."""

import ast
import re
from pathlib import Path

import pytest

from ledger import registry
from ledger.projection import Projector, projectors
from ledger.types import Event
from quota import projectors as quota_projectors
from quota import wire
from quota.loading import grounds
from tests.ledger.sample import Noted
from tests.quota.allocations.grounds_kept import Process
from tests.test_tidy import ROOT, name_of, sources

KEPT = {
    "quota_admissionpolicy",
    "quota_pool",
    "quota_quota",
    "tenancy_account",
    "tenancy_person",
}
WRITES = re.compile(rf"(INSERT INTO|UPDATE|DELETE FROM)\s+(public\.)?({'|'.join(sorted(KEPT))})\b")
PROJECTORS = ("tenancy/projectors.py", "quota/projectors.py", "quota/allocation_projectors.py")


def in_another_lane(name: str) -> bool:
    return registry._types[name].lane is not Event.lane


def types_that_write() -> set[str]:
    """Event types whose projectors own one of the tables, or have the words that write it."""
    writers = {name for path in PROJECTORS for name in writing_functions(ROOT / path)}
    found: set[str] = set()
    for projector in projectors():
        owns = KEPT & {table.name for table in projector.tables}
        if owns or function_of(projector) in writers:
            assert projector.types, f"{projector.name} takes every event, of every lane"
            found |= projector.types
    return found


def function_of(projector: Projector) -> str:
    return f"{projector.project.__module__}.{projector.project.__name__}"


def writing_functions(path: Path) -> set[str]:
    """Functions of a module that write one of the tables, themselves or through another."""
    module = name_of(path).removesuffix(".py").replace("/", ".")
    functions = [node for node in ast.parse(path.read_text()).body if hasattr(node, "args")]
    found = {one.name for one in functions if WRITES.search(words_of(one))}
    while True:
        used = {one.name for one in functions if found & names_in(one)} | found
        if used == found:
            return {f"{module}.{name}" for name in found}
        found = used


def words_of(tree: ast.AST) -> str:
    """All texts in it, those with holes as well."""
    return " ".join(
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def names_in(tree: ast.AST) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def test_what_is_kept_changes_by_events_of_the_main_lane_alone():
    types = types_that_write()
    assert {"account.moved", "quota.set", "quota.ended", "pool.opened"} <= types
    kinds = {name.split(".")[0] for name in types}
    assert kinds == {"account", "admission", "person", "pool", "quota"}
    assert not {name for name in types if in_another_lane(name)}


def test_the_check_of_lanes_would_notice():
    assert in_another_lane("allocation.held") and in_another_lane(Noted.event_type)
    assert "quota.projectors.quota_became" in writing_functions(ROOT / "quota/projectors.py")


def test_nobody_but_projectors_writes_what_is_kept():
    found = {
        name_of(path)
        for path in sources()
        if "migrations" not in path.parts and WRITES.search(words_of(ast.parse(path.read_text())))
    }
    assert found == set(PROJECTORS)


def test_the_pool_that_a_name_means_stays_the_same():
    """Sizes are read every time."""
    assert "name" not in quota_projectors._SIZES


def ask(account: str = "nlp", **values) -> wire.Ask:
    values = {"pool": "h100", "units": 1, "person": "bob"} | values
    return wire.Ask(key="j", account=account, **values)


def rows_in(process: Process) -> int:
    return sum(ground.rows for ground in process.kept._grounds.values())


def test_the_pools_used_last_are_kept(acme, jobs):
    acme.pool("a10")
    process = Process(jobs)
    in_pool = {pool: ask(pool=pool) for pool in ("h100", "a100", "a10")}
    process.would(in_pool["h100"])
    process = Process(jobs, rows_max=2 * rows_in(process))
    process.would(in_pool["h100"])
    process.would(in_pool["a100"])
    process.would(in_pool["h100"])
    process.would(in_pool["a10"])
    assert {pool: process.knows(one) for pool, one in in_pool.items()} == {
        "h100": True,
        "a100": False,
        "a10": True,
    }
    assert rows_in(process) == process.kept._rows <= process.kept._rows_max


def test_rows_are_counted_as_they_are_when_more_is_asked_or_all_is_read_again(acme, jobs, quotas):
    process = Process(jobs)
    process.would(ask())
    before = rows_in(process)
    process.would(ask("vision", person="alice"))
    assert rows_in(process) == process.kept._rows == before + 3, "vision, its place, and alice"
    quotas.set("serving", 5)
    process.would(ask())
    after = rows_in(process)
    assert after == process.kept._rows == before + 5, "two accounts, their places, a quota"
    acme.person("dora")
    process.would(ask())
    assert rows_in(process) == process.kept._rows == after


def test_more_than_fits_is_decided_and_not_kept(acme, jobs, quotas):
    quotas.set("nlp", 20)
    process = Process(jobs, rows_max=3)
    for _ in range(2):
        assert process.would(ask()) == "guaranteed 1"
        assert not process.knows(ask())
    assert process.kept._rows == 0
    assert process.admit(ask()) == ["guaranteed 1"]


def test_what_does_not_fit_drives_nothing_else_out(acme, jobs):
    process = Process(jobs)
    process.would(ask())
    process = Process(jobs, rows_max=rows_in(process))
    process.would(ask())
    both = [wire.PoolNeed(pool=pool, units=1) for pool in ("h100", "a100")]
    process.would(wire.Ask(key="j", account="nlp", person="bob", needs=both))
    assert process.knows(ask())
    assert rows_in(process) == process.kept._rows


@pytest.mark.parametrize("bound", [10, 10_000])
def test_what_was_asked_before_is_forgotten_before_it_is_too_much(acme, jobs, monkeypatch, bound):
    """Names add up while nothing else happens; a tenth of what is kept may be of one's pools."""
    monkeypatch.setattr(grounds, "ROWS_MAX", bound)
    process = Process(jobs)
    process.would(ask())
    process.would(ask("vision"))
    assert process.knows(ask("vision"))
    assert process.knows(ask()) == (bound > 10)


def test_other_names_of_the_same_pools_are_together(acme, jobs):
    process = Process(jobs)
    both = [wire.PoolNeed(pool=pool, units=1) for pool in ("h100", "a100")]
    companions = ask(pool=None, units=None, needs=both)
    process.would(companions)
    assert process.knows(companions) and not process.knows(ask())
    process.would(ask(pool="a100"))
    assert process.knows(companions) and process.knows(ask(pool="a100"))
    assert process.would(ask(pool="none")) == "invalid: pool_unknown"
    assert not process.knows(ask(pool="none"))
    acme.pool("none")
    assert process.would(ask(pool="none")) == "denied by guarantees"
