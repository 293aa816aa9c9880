"""Plans applied whole or not at all; a dry run says exactly what applying does."""

import io
from dataclasses import replace
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command

from ledger import scope, verification
from ledger.errors import Denied, DomainError
from quota.commands.plans import ApplyQuotaPlan
from quota.domain.values import NO_QUOTA
from quota.importers import native
from quota.importers.formats import read
from quota.queries import quotas as queries
from quota.queries import standing
from quota.queries.plans import as_plan
from tests import world
from tests.quota.importers.test_kueue import SAMPLE as KUEUE
from tests.world import NOW

PLAN = """
flavors: [{name: h200}]
pools:
  - {name: h100, capacity: 120, safety_margin: 5}
  - {name: h200, flavor: h200, cluster: lab, capacity: 64}
accounts:
  - name: research
    accounts:
      - {name: nlp}
      - {name: speech, shares: 7}
quotas:
  - {account: research, pool: h100, guaranteed: 30}
  - {account: nlp, pool: h100, guaranteed: 80, borrowing_limit: 20}
  - {account: speech, pool: h200, guaranteed: 64, lending_limit: 4}
"""


def apply(acme, text: str = PLAN, **options):
    plan = read(text).plan
    fields = {
        name: options.pop(name) for name in ("prune", "accept_over_promise") if name in options
    }
    return acme.run(ApplyQuotaPlan(plan=plan, **fields), reason="plan", **options)


def exported(acme):
    with scope.reading(acme.id):
        return as_plan(acme.id, now=NOW)


def shell(*args: str) -> str:
    out = io.StringIO()
    call_command("quota", *args, stdout=out, stderr=out)
    return out.getvalue()


@pytest.fixture
def importing(tmp_path):
    """Import a text through the shell."""

    def run(text: str, *options: str) -> str:
        file = tmp_path / "plan.yaml"
        file.write_text(text)
        return shell("import", str(file), *options)

    return run


def sorted_tree(plan):
    accounts = sorted(plan.tree.accounts, key=lambda one: one.name)
    return replace(plan, tree=replace(plan.tree, accounts=tuple(accounts)))


def test_a_plan_makes_pools_tree_and_quotas(acme, quotas):
    answer = apply(acme).result
    assert answer.counts == {
        "flavors defined": 1,
        "pools changed": 2,
        "pools opened": 1,
        "accounts opened": 1,
        "quotas set": 3,
    }
    with scope.reading(acme.id):
        found = {one.pool.name: one for one in queries.promises(acme.id, now=NOW)}
        shares = {one.name: one.shares for one in as_plan(acme.id, now=NOW).tree.accounts}
    assert (found["h100"].promise.promised, found["h100"].promise.promisable) == (110, 115)
    assert (found["h200"].promise.promised, found["h200"].promise.unpromised) == (64, 0)
    assert (shares["research"], shares["nlp"], shares["speech"]) == (60, 40, 7), "kept where unsaid"
    assert verification.verify(acme.id).clean


def test_twice_is_once(acme):
    apply(acme)
    again = apply(acme)
    assert (again.events, again.result.counts, again.result.affected) == ((), {}, ())


def test_a_dry_run_says_what_applying_does_and_does_nothing(acme, quotas):
    quotas.set("vision", 5)
    before = exported(acme)
    dry = apply(acme, dry_run=True).result
    assert exported(acme) == before
    assert apply(acme).result == dry
    assert exported(acme) != before


def test_who_is_affected_is_told_with_numbers_before_and_after(acme, quotas):
    quotas.set("vision", 5, lending_limit=0)

    def all_numbers() -> dict[tuple[str, str], tuple[int, int]]:
        with scope.reading(acme.id):
            here = standing.ground(acme.id, now=NOW)
        return {
            (one.account, here.pools[pool_id].name): (one.available, one.potential)
            for column, pool_id in enumerate(here.pool_ids)
            for one in (here.at(row, column) for row in range(len(here.nodes)))
        }

    before = all_numbers()
    affected = apply(acme).result.affected
    after = all_numbers()
    changed = {key for key in after if after[key] != before.get(key, (0, 0))}
    assert {(one.account, one.pool) for one in affected} == changed
    for one in affected:
        key = (one.account, one.pool)
        assert (one.available_before, one.potential_before) == before.get(key, (0, 0))
        assert (one.available_after, one.potential_after) == after[key]


@pytest.mark.parametrize(
    ("old", "new", "code", "short_by"),
    [
        ("guaranteed: 80", "guaranteed: 86", "promise_exceeded", 1),
        ("guaranteed: 64", "guaranteed: 65", "promise_exceeded", 1),
        ("name: h100, capacity", "name: h100, cluster: moon, capacity", "pool_fixed", None),
        ("flavor: h200,", "flavor: h300,", "flavor_unknown", None),
        ("flavor: h200, cluster: lab,", "", "pool_incomplete", None),
        ("account: speech", "account: singing", "account_unknown", None),
        ("pool: h200", "pool: h300", "pool_unknown", None),
        ("name: speech", "name: root", "account_name_taken", None),
    ],
)
def test_one_fault_and_nothing_is_applied(acme, old, new, code, short_by):
    before = exported(acme)
    with pytest.raises(DomainError) as error:
        apply(acme, PLAN.replace(old, new, 1))
    assert (error.value.code, error.value.facts.get("short_by")) == (code, short_by)
    assert exported(acme) == before


def test_only_the_sum_in_the_end_counts(acme, quotas):
    """nlp gives 60 and vision takes them, in whatever order the file names them."""
    quotas.set("nlp", 100)
    for order in (("vision", 60, "nlp", 40), ("nlp", 90, "vision", 10)):
        entries = ", ".join(
            f"{{account: {order[at]}, pool: h100, guaranteed: {order[at + 1]}}}" for at in (0, 2)
        )
        apply(acme, f"quotas: [{entries}]")
    assert quotas.stored() == {"nlp": 90, "vision": 10}


def test_a_pool_shrinks_together_with_its_quotas_or_not(acme, quotas):
    quotas.set("nlp", 90)
    smaller = "pools: [{name: h100, capacity: 60}]\n"
    with pytest.raises(DomainError) as error:
        apply(acme, smaller)
    assert (error.value.code, error.value.facts["short_by"]) == ("promise_exceeded", 30)
    apply(acme, smaller + "quotas: [{account: nlp, pool: h100, guaranteed: 60}]")
    apply(acme, "pools: [{name: h100, capacity: 50}]", accept_over_promise=True)
    assert exported(acme).pools[1].capacity == 50


def test_pruning_takes_away_what_the_plan_leaves_out_of_its_pools(acme, quotas):
    quotas.set("vision", 5)
    quotas.set("vision", 6, pool="a100")
    text = "quotas: [{account: nlp, pool: h100, guaranteed: 9}]"
    apply(acme, text)
    assert quotas.stored() == {"nlp": 9, "vision": 5}
    assert apply(acme, text, prune=True).result.counts == {"quotas set": 1}
    assert quotas.stored() == {"nlp": 9, "vision": 0}
    assert quotas.stored("a100") == {"vision": 6}


def test_a_plan_speaks_of_what_stands_not_of_what_is_temporary(acme, quotas):
    quotas.set("research", 50)
    quotas.set("nlp", 10)
    end = {"ends_at": NOW + timedelta(days=1)}
    quotas.set("nlp", 30, carve="research", **end)
    plan = exported(acme)
    assert {one.account: one.quota.guaranteed for one in plan.quotas} == {"nlp": 10, "research": 30}
    same = "quotas: [{account: nlp, pool: h100, guaranteed: 10}]"
    assert apply(acme, same).events == ()
    apply(acme, same.replace("guaranteed: 10", "guaranteed: 12"))
    assert quotas.stored() == {"nlp": 12, "research": 50}, "ended, and the lender repaid"


def test_an_export_is_a_plan_that_changes_nothing(acme, quotas, importing):
    apply(acme)
    quotas.set("root", 1, lending_limit=0)
    text = shell("export")
    assert sorted_tree(read(text).plan) == sorted_tree(exported(acme))
    assert "nothing to change" in importing(text)


def test_kueue_objects_go_round(importing):
    """From Kueue to here, out as our own plan, and back without a change."""
    place = world.tenant("place")
    assert "Skipped, says nothing about quotas: v1 Namespace (line 59)" in importing(KUEUE)
    assert "nothing to change" in importing(KUEUE)
    assert "nothing to change" in importing(shell("export"))
    with scope.reading(place.id):
        plan = as_plan(place.id, now=NOW)
    told = {(one.account, one.pool): one.quota for one in plan.quotas}
    wanted = [one for one in read(KUEUE).plan.quotas if one.quota != NO_QUOTA]
    assert told == {(one.account, one.pool): one.quota for one in wanted}
    assert [(one.name, one.capacity, one.cluster) for one in plan.pools] == [
        ("h100", 72, "kueue"),
        ("h100-cpu-core", 66, "kueue"),
        ("h100-ram-gb", 1024, "kueue"),
    ]
    assert verification.verify(place.id).clean


def test_a_pool_that_exists_keeps_its_sizes_when_kueue_names_it(acme, importing):
    """acme's h100 has 100 units of another flavor: the file knows neither."""
    importing(KUEUE)
    (h100,) = (one for one in exported(acme).pools if one.name == "h100")
    assert (h100.flavor, h100.cluster, h100.capacity) == ("h100-80gb", "lab", 100)


def test_only_operators_apply_plans(acme):
    for name in ("alice", "uma"):
        with pytest.raises(Denied):
            apply(acme, by=acme.actor(name))
    assert apply(acme, by=acme.actor("otto"), dry_run=True).result.counts


def test_shell_names_every_fault_with_its_line(acme, importing):
    with pytest.raises(CommandError, match="1 problem"):
        importing(PLAN.replace("guaranteed: 30", "guaranteed: x"))
    with pytest.raises(CommandError, match="1 short"):
        importing(PLAN.replace("guaranteed: 64", "guaranteed: 65"))
    with pytest.raises(CommandError, match="No such file"):
        shell("import", "/nowhere.yaml")
    said = importing(PLAN, "--dry-run")
    assert "quotas set: nlp/h100  0 (borrow any, lend all) -> 80 (borrow 20, lend all)" in said
    assert "h200 speech: available 0 -> 64, potential 0 -> 64" in said
    assert "This was a dry run" in said


def test_written_plans_differ_only_where_they_differ(acme):
    plan = read(PLAN).plan
    assert read(native.write(replace(plan, pools=()))).plan == replace(plan, pools=())
