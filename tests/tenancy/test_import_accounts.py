"""`manage.py import_accounts`: the difference, with history kept; one fault applies nothing."""

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from ledger import scope
from ledger.errors import Conflict, Denied, Refused
from ledger.sql import server_cursor
from tenancy import queries
from tenancy.commands.accounts import ArchiveAccount
from tenancy.commands.imports import CHANGES_LISTED_MAX, ImportTree
from tenancy.commands.people import SetAssociation
from tenancy.importers.tree import AccountEntry, AssociationEntry, PersonEntry, TreePlan
from tests.world import Tenant, record, tenant

SAMPLE = Path(__file__).parents[2] / "demo" / "samples" / "sacctmgr_dump.cfg"
Run = Callable[..., str]


@pytest.fixture
def lab(db: None) -> Tenant:
    return tenant("lab")


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run the command on a text (or path) and return what it printed."""

    def call(content: str | Path, *arguments: str, suffix: str = ".yaml") -> str:
        path = content
        if isinstance(content, str):
            path = tmp_path / f"tree{suffix}"
            path.write_text(content)
        out = io.StringIO()
        call_command("import_accounts", str(path), *arguments, stdout=out, stderr=out)
        return out.getvalue()

    return call


def tree(it: Tenant) -> dict[str, tuple[str | None, int | None]]:
    """(parent, shares) by account, archived ones left out."""
    with scope.reading(it.id), server_cursor() as cursor:
        return {
            name: (parent, shares)
            for name, parent, shares in cursor.execute(
                "SELECT a.name, p.name, a.shares FROM tenancy_account a "
                "LEFT JOIN tenancy_account p ON p.id = a.parent_id WHERE a.archived_at IS NULL"
            ).fetchall()
        }


def places(it: Tenant) -> dict[tuple[str, str], int | None]:
    with scope.reading(it.id), server_cursor() as cursor:
        return {
            (account, person): shares
            for account, person, shares in cursor.execute(
                "SELECT a.name, p.name, s.shares FROM tenancy_association s "
                "JOIN tenancy_account a ON a.id = s.account_id "
                "JOIN tenancy_person p ON p.id = s.person_id"
            ).fetchall()
        }


def events(it: Tenant) -> int:
    with scope.reading(it.id), server_cursor() as cursor:
        return cursor.execute("SELECT count(*) FROM ledger_event").fetchone()[0]


def paths(it: Tenant) -> dict[str, tuple[str, ...]]:
    with scope.reading(it.id):
        rows = [queries.account_by_name(it.id, name) for name in tree(it)]
    return {row.name: row.path for row in rows}


def test_the_sample_of_a_real_cluster(lab: Tenant, run: Run) -> None:
    printed = run(SAMPLE)
    assert tree(lab) == {
        "root": (None, 1),
        "platform": ("root", None),
        "production": ("root", 30),
        "research": ("root", 60),
        "infra": ("platform", 10),
        "retrain": ("production", 1),
        "serving": ("production", 2),
        "nlp": ("research", 40),
        "speech": ("research", 0),
        "vision": ("research", 40),
    }
    assert places(lab) == {
        ("infra", "kim"): 2,
        ("infra", "lou"): 1,
        ("retrain", "jo"): 7,
        ("serving", "hal"): 1,
        ("serving", "ivy"): 1,
        ("research", "max"): 1,
        ("nlp", "ana"): 3,
        ("nlp", "bo"): 1,
        ("nlp", "cy"): None,
        ("nlp", "dee"): 2,
        ("speech", "gus"): 1,
        ("vision", "dee"): 5,
        ("vision", "eli"): 5,
        ("vision", "fay"): 0,
    }
    assert "9  accounts opened" in printed
    assert "user_under_root: 1" in printed
    assert paths(lab)["nlp"] == ("root", "research", "nlp")


def test_running_it_again_changes_nothing(lab: Tenant, run: Run) -> None:
    run(SAMPLE)
    before = events(lab)
    assert "nothing to change" in run(SAMPLE, "--archive-missing", "--end-missing")
    assert events(lab) == before


def test_a_dry_run_shows_the_changes_and_makes_none(lab: Tenant, run: Run) -> None:
    before = events(lab)
    printed = run(SAMPLE, "--dry-run")
    assert "Would change:" in printed
    assert "14  places given" in printed
    assert events(lab) == before


def test_a_move_keeps_the_account_its_people_and_its_use(acme: Tenant, run: Run) -> None:
    acme.use(record("a"))
    with scope.reading(acme.id):
        before = queries.account_by_name(acme.id, "nlp")
    run("accounts: [{name: production, shares: 30, accounts: [{name: nlp, shares: 40}]}]")
    with scope.reading(acme.id), server_cursor() as cursor:
        after = queries.account_by_name(acme.id, "nlp")
        used = cursor.execute(
            "SELECT sum(unit_seconds) FROM accounting_usageday WHERE account_id = %b", (after.id,)
        ).fetchone()[0]
    assert after.id == before.id
    assert after.path == ("root", "production", "nlp")
    assert places(acme)["nlp", "alice"] == 2
    assert used == 8 * 3600


def test_a_tree_turned_upside_down_with_new_accounts_in_between(lab: Tenant, run: Run) -> None:
    run("accounts: [{name: a, accounts: [{name: b, accounts: [{name: c}, {name: d}]}]}]")
    run(
        "accounts: [{name: c, accounts: [{name: new, accounts: "
        "[{name: b, accounts: [{name: a}, {name: newer}]}]}]}]"
    )
    assert paths(lab) == {
        "root": ("root",),
        "c": ("root", "c"),
        "new": ("root", "c", "new"),
        "b": ("root", "c", "new", "b"),
        "a": ("root", "c", "new", "b", "a"),
        "newer": ("root", "c", "new", "b", "newer"),
        # Not named in the second file: stays with its parent.
        "d": ("root", "c", "new", "b", "d"),
    }


def test_only_shares_that_differ_are_set(acme: Tenant, run: Run) -> None:
    printed = run(
        "account,parent,person,shares\nresearch,,,60\nnlp,research,,parent\n"
        "nlp,,alice,5\nnlp,,bob,1\n",
        suffix=".csv",
    )
    assert "accounts with new shares: nlp  40 -> parent" in printed
    assert "places with new shares: nlp/alice  2 -> 5" in printed
    assert tree(acme)["nlp"] == ("research", None)
    assert places(acme)["nlp", "alice"] == 5
    assert "research" not in printed.partition("accounts with")[2].partition("Changed")[0]


def test_what_is_missing_ends_only_when_asked(acme: Tenant, run: Run) -> None:
    file = "accounts: [{name: research, shares: 60, people: [alice]}]"
    run(file)
    assert {"nlp", "serving"} <= tree(acme).keys()
    printed = run(file, "--archive-missing", "--end-missing")
    assert tree(acme).keys() == {"root", "research"}
    assert "4  accounts archived" in printed
    assert places(acme).keys() == {("research", "alice")}
    assert "nothing to change" in run(file, "--archive-missing", "--end-missing")


def test_a_place_at_the_root_is_nothing_a_file_could_name_and_stays(acme: Tenant, run: Run) -> None:
    acme.run(SetAssociation(account_id=acme.root, person_id=acme.people["uma"]))
    run("accounts: [{name: research, shares: 60}]", "--end-missing")
    assert places(acme).keys() == {("root", "uma")}


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("accounts:\n- {name: ok}\n- {name: not ok}\n", ":3: account:"),
        ("accounts:\n- {name: a, parent: b}\n- {name: b, parent: a}\n", "circle"),
        ("accounts:\n- {name: a, shares: -1}\n", ":2: shares:"),
        ("accounts:\n- {name: a}\n- {name: c, parent: nowhere}\n", ":3: parent:"),
    ],
)
def test_one_problem_and_nothing_is_applied(
    acme: Tenant, run: Run, tmp_path: Path, file: str, line: str
) -> None:
    before = events(acme)
    err = io.StringIO()
    (tmp_path / "bad.yaml").write_text(file)
    with pytest.raises(CommandError, match="Nothing was changed") as caught:
        call_command("import_accounts", str(tmp_path / "bad.yaml"), stderr=err)
    assert caught.value.returncode == 1
    assert line in err.getvalue()
    assert events(acme) == before


def test_refusals_of_the_tree_apply_nothing(acme: Tenant) -> None:
    acme.run(ArchiveAccount(account_id=acme.accounts["serving"]))
    before = events(acme)
    archived = TreePlan(accounts=(AccountEntry(name="new"), AccountEntry(name="serving")))
    with pytest.raises(Conflict) as caught:
        acme.run(ImportTree(wanted=archived))
    assert caught.value.code == "account_archived"
    with pytest.raises(Conflict):
        acme.run(ImportTree(wanted=TreePlan(accounts=(AccountEntry(name="root"),))))
    with pytest.raises(Refused) as refused:
        chain = [AccountEntry(name=f"d{n}", parent=f"d{n - 1}" if n else None) for n in range(15)]
        deep = (*chain, AccountEntry(name="research", parent="d14", shares=60))
        acme.run(ImportTree(wanted=TreePlan(accounts=deep)))
    assert refused.value.code == "too_deep"  # nlp, which the plan does not name, would be 17 deep
    assert events(acme) == before


def test_who_may_import(acme: Tenant) -> None:
    plan = TreePlan(
        accounts=(AccountEntry(name="audio"),),
        people=(PersonEntry(name="dora"),),
        associations=(AssociationEntry(account="audio", person="dora"),),
    )
    with pytest.raises(Denied):
        acme.run(ImportTree(wanted=plan), by=acme.actor("alice"))
    answer = acme.run(ImportTree(wanted=plan), by=acme.actor("otto")).result
    assert answer.counts == {"accounts opened": 1, "people added": 1, "places given": 1}


def test_another_organization_with_the_same_names_is_not_touched(
    acme: Tenant, globex: Tenant, run: Run
) -> None:
    before = tree(acme)
    run("accounts: [{name: nlp, shares: 7}]", "--organization", "globex")
    assert tree(globex)["nlp"] == ("root", 7)
    assert tree(acme) == before
    with pytest.raises(CommandError, match="acme, globex"):
        run("accounts: [{name: nlp}]")


def test_the_list_of_changes_is_bounded_the_counts_are_not(lab: Tenant) -> None:
    accounts = [AccountEntry(name=f"a{n}", parent=f"a{n // 10}" if n else None) for n in range(900)]
    plan = TreePlan(
        accounts=tuple(accounts),
        people=tuple(PersonEntry(name=f"p{n}") for n in range(3000)),
        associations=tuple(
            AssociationEntry(account=f"a{n % 900}", person=f"p{n}") for n in range(3000)
        ),
    )
    answer = lab.run(ImportTree(wanted=plan)).result
    assert answer.total == 6900
    assert len(answer.changes) == CHANGES_LISTED_MAX
    assert lab.run(ImportTree(wanted=plan)).result.total == 0


def test_making_the_organization(db: None, run: Run) -> None:
    facts = ("--organization", "new", "--create-organization", "--currency", "CHF")
    with pytest.raises(CommandError, match="--time-zone"):
        run(SAMPLE, *facts)
    facts += ("--time-zone", "Europe/Zurich")
    assert "Would create organization new" in run(SAMPLE, *facts, "--dry-run")
    assert queries.organization_id_by_slug("new") is None
    assert "Created organization new" in run(SAMPLE, *facts)
    assert "nothing to change" in run(SAMPLE, *facts)


def test_currency_and_time_zone_of_an_organization_never_change(db: None, run: Run) -> None:
    facts = ("--organization", "new", "--create-organization")
    zone = ("--time-zone", "Europe/Zurich")
    run(SAMPLE, *facts, "--currency", "CHF", *zone)
    with pytest.raises(CommandError, match="currency of new is CHF for good"):
        run(SAMPLE, *facts, "--currency", "EUR", *zone)
    with pytest.raises(CommandError, match="time zone of new is Europe/Zurich for good"):
        run(SAMPLE, *facts, "--currency", "CHF", "--time-zone", "Asia/Tokyo")
    run(SAMPLE, *facts, "--currency", "CHF", *zone)


def test_standard_input_and_guessed_formats(
    lab: Tenant, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for content, form in (
        (b"account,shares\na,1\n", "csv"),
        (b"\xef\xbb\xbf# a comment\r\naccounts: [{name: a}]\r\n", "yaml"),
        (b"Cluster - 'x'\nParent - 'root'\nAccount - 'a':Fairshare=1\n", "sacctmgr"),
    ):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        assert f"- ({form}): 1 accounts" in run(Path("-"))


def test_files_that_say_nothing(acme: Tenant, run: Run, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="names no account"):
        run("", "--archive-missing")
    with pytest.raises(CommandError, match="No such file"):
        run(tmp_path / "nowhere.yaml")


@pytest.mark.parametrize("name", ["dump.cfg.gz", "dump.gz", "dump"])
def test_a_gzip_file_is_read_like_the_one_inside(
    lab: Tenant, run: Run, tmp_path: Path, name: str
) -> None:
    packed = tmp_path / name
    packed.write_bytes(gzip.compress(SAMPLE.read_bytes()))
    assert "9 accounts, 13 people" in run(packed)
    assert "nothing to change" in run(SAMPLE)


def test_a_gzip_file_cut_short_changes_nothing(lab: Tenant, run: Run, tmp_path: Path) -> None:
    packed = tmp_path / "dump.cfg.gz"
    packed.write_bytes(gzip.compress(SAMPLE.read_bytes())[:-20])
    with pytest.raises(CommandError, match="ended before"):
        run(packed)
    assert set(tree(lab)) == {"root"}
