"""`manage.py import_usage`: each record once, every name reported, nothing invented unasked."""

import gzip
import io
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from accounting.importers.record import ImportedRecord
from accounting.importing import UsageImport, pool_resolver
from ledger import scope
from ledger.errors import Invalid
from ledger.sql import server_cursor
from ledger.types import SYSTEM
from quota.queries import PoolRow
from tests.world import NOW, Tenant, tenant

SAMPLES = Path(__file__).parents[2] / "demo" / "samples"
SACCT = SAMPLES / "sacct.txt"
HEADER = "JobIDRaw|Cluster|Account|User|State|Submit|Start|End|AllocTRES"
Run = Callable[..., str]


@pytest.fixture
def lab(db: None) -> Tenant:
    """An organization with one pool and no accounts."""
    it = tenant("lab")
    it.pool("lab-h100")
    return it


@pytest.fixture
def lab_with_tree(lab: Tenant) -> Tenant:
    call_command(
        "import_accounts",
        str(SAMPLES / "sacctmgr_dump.cfg"),
        "--organization=lab",
        stdout=io.StringIO(),
    )
    return lab


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run the command on rows (or a path) and return all it printed, whatever its exit code."""

    def call(content: list[str] | Path, *arguments: str, code: int = 0, form: str = "sacct") -> str:
        path = content
        if isinstance(content, list):
            path = tmp_path / "usage.txt"
            path.write_text("\n".join(content) + "\n")
        out = io.StringIO()
        found = 0
        try:
            call_command(
                "import_usage", "--format", form, str(path), *arguments, stdout=out, stderr=out
            )
        except CommandError as error:
            found = error.returncode
            out.write(str(error))
        assert found == code, out.getvalue()
        return out.getvalue()

    return call


def job(number: int, *, account="nlp", user="ana", state="COMPLETED", end="00:10", kind="h100"):
    finished = f"2026-11-28T{end}:00" if end else "Unknown"
    return (
        f"{number}|lab|{account}|{user}|{state}|2026-11-28T00:00:00|2026-11-28T00:00:00|{finished}"
        f"|cpu=8,gres/gpu:{kind}=2,gres/gpu=2"
    )


def unit_seconds(it: Tenant) -> Decimal:
    with scope.reading(it.id), server_cursor() as cursor:
        sql = "SELECT coalesce(sum(unit_seconds), 0) FROM accounting_usageday"
        return cursor.execute(sql).fetchone()[0]


def count(it: Tenant, table: str) -> int:
    with scope.reading(it.id), server_cursor() as cursor:
        return cursor.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def test_the_sample_of_a_real_cluster(lab_with_tree: Tenant, run: Run) -> None:
    # The flavor is lab-h100-80gb here, which no kind finds: it has to be said.
    printed = run(SACCT, "--map", "kind:h100=lab-h100")
    assert unit_seconds(lab_with_tree) == 4064
    assert "22 accepted, 0 duplicates, 0 conflicts, 0 rejected, 34 skipped" in printed
    assert "Skipped (lines): step (30), no_devices (4)" in printed


def test_running_it_again_counts_nothing_twice(lab_with_tree: Tenant, run: Run) -> None:
    run(SACCT, "--map", "kind:h100=lab-h100")
    batches = count(lab_with_tree, "accounting_usagebatch")
    printed = run(SACCT, "--map", "kind:h100=lab-h100")
    assert "0 accepted, 22 duplicates" in printed
    assert unit_seconds(lab_with_tree) == 4064
    assert count(lab_with_tree, "accounting_usagebatch") == batches


@pytest.mark.parametrize("batch", [1, 3, 100_000])
def test_the_size_of_batches_changes_nothing(lab_with_tree: Tenant, run: Run, batch: int) -> None:
    run(SACCT, "--map", "kind:h100=lab-h100", "--batch", str(batch))
    assert unit_seconds(lab_with_tree) == 4064


def test_a_dry_run_counts_and_stores_nothing(lab_with_tree: Tenant, run: Run) -> None:
    printed = run(SACCT, "--map", "kind:h100=lab-h100", "--dry-run")
    assert "22 accepted" in printed
    assert count(lab_with_tree, "accounting_usagerecord") == 0


def test_unknown_names_are_all_reported_and_the_rest_counts(acme: Tenant, run: Run) -> None:
    rows = [
        HEADER,
        job(1, account="nowhere", user="nobody"),
        job(2, account="nowhere", user="bob"),
        job(3, user="bob"),
        job(4, user="bob", kind="v100"),
    ]
    printed = run(rows, "--map", "kind:h100=h100", code=1)
    assert "1 accepted" in printed
    assert "Unknown accounts (records): nowhere (2)" in printed
    assert "Unknown people (records): nobody (1)" in printed
    assert "Unknown pools (records): v100 (1)" in printed
    assert (
        "Rejected, account_unknown: 2\n  line 2: account: There is no account nowhere." in printed
    )
    assert "line 5: pool: No pool is known for kind v100" in printed
    assert unit_seconds(acme) == 1200
    assert count(acme, "tenancy_account") == 6


def test_accounts_are_created_when_asked(acme: Tenant, run: Run) -> None:
    rows = [
        HEADER,
        job(1, account="audio", user="dora"),
        job(2, account="audio", user="bob"),
        job(3, account="vision", user="alice"),
        job(4, account="bad name", user="bob"),
        job(5, account="root", user="dora"),
    ]
    arguments = ("--map", "kind:h100=h100", "--create-accounts", "--batch", "2")
    for dry_run in (("--dry-run",), ()):
        printed = run(rows, *arguments, *dry_run, code=1)
        assert "4 accepted" in printed
        assert "reate" in printed
        assert ": 1 accounts, 1 people, 3 places." in printed
        assert "Unknown accounts (records): bad name (1)" in printed
        assert count(acme, "tenancy_person") == (4 if dry_run else 5)
    with scope.reading(acme.id), server_cursor() as cursor:
        opened = cursor.execute(
            "SELECT p.name, a.shares FROM tenancy_account a JOIN tenancy_account p "
            "ON p.id = a.parent_id WHERE a.name = 'audio'"
        ).fetchone()
    assert opened == ("root", 1)
    # alice has shares 2 in nlp: a place that exists is left as it is.
    assert "Created" not in run([HEADER, job(6, user="alice")], *arguments)


def test_a_job_seen_running_and_then_finished_counts_once(acme: Tenant, run: Run) -> None:
    arguments = ("--map", "kind:h100=h100")
    run([HEADER, job(1, user="bob", state="RUNNING", end=None)], *arguments)
    assert count(acme, "accounting_openusage") == 1
    run([HEADER, job(1, user="bob")], *arguments)
    assert count(acme, "accounting_openusage") == 0
    assert unit_seconds(acme) == 1200
    # The older file once more, after the newer one: nothing is added, nothing opens again.
    assert "1 duplicates" in run(
        [HEADER, job(1, user="bob", state="RUNNING", end=None)], *arguments
    )
    assert count(acme, "accounting_openusage") == 0
    assert unit_seconds(acme) == 1200


def test_another_end_for_a_counted_job_is_a_conflict_not_an_update(acme: Tenant, run: Run) -> None:
    run([HEADER, job(1, user="bob")], "--map", "kind:h100=h100")
    printed = run([HEADER, job(1, user="bob", end="00:20")], "--map", "kind:h100=h100", code=1)
    assert "1 conflicts" in printed
    assert "Conflict, key_conflict: 1" in printed
    assert unit_seconds(acme) == 1200


def test_a_row_with_two_kinds_of_device_is_two_records(acme: Tenant, run: Run) -> None:
    row = job(1, user="bob").replace("gres/gpu=2", "gres/gpu:a100=3,gres/gpu=5")
    arguments = ("--map", "kind:h100=h100", "--map", "kind:a100=a100")
    assert "2 accepted" in run([HEADER, row], *arguments)
    assert unit_seconds(acme) == 3000
    assert "2 duplicates" in run([HEADER, row], *arguments)


def test_what_cannot_be_read_at_all(acme: Tenant, run: Run, tmp_path: Path) -> None:
    assert "missing_column" in run(["JobIDRaw|Account", "1|nlp"], code=1)
    assert "No such file" in run(tmp_path / "nowhere", code=1)
    assert "no organization other" in run(SACCT, "--organization", "other", code=1)
    assert "means nothing for the format sacct" in run(SACCT, "--types", "x", code=1)
    assert "write NAME=guaranteed" in run(SACCT, "--qos-tiers", "high=best", code=1)
    assert "--map nonsense" in run(SACCT, "--map", "nonsense", code=1)
    assert "A batch has 1 to" in run(SACCT, "--batch", "0", code=1)


def test_gzip_whole_and_cut_short(lab_with_tree: Tenant, run: Run, tmp_path: Path) -> None:
    whole = gzip.compress(SACCT.read_bytes())
    path = tmp_path / "sacct.gz"
    path.write_bytes(whole[: len(whole) // 2])
    assert "cannot be read further" in run(path, "--map", "kind:h100=lab-h100", code=1)
    path.write_bytes(whole)
    run(path, "--map", "kind:h100=lab-h100")
    assert unit_seconds(lab_with_tree) == 4064


def test_the_other_formats_and_their_options(acme: Tenant, run: Run) -> None:
    run(
        ["id;team;from;to", "a;nlp;2026-11-28 01:00;2026-11-28 02:00"],
        *("--delimiter", ";", "--timezone", "Europe/Berlin", "--source", "excel"),
        *("--columns", "key=id", "--columns", "account=team", "--columns", "start=from"),
        *("--columns", "end=to", "--constants", "person=bob", "--constants", "pool=h100"),
        *("--constants", "units=4"),
        form="csv",
    )
    assert unit_seconds(acme) == 4 * 3600
    record = (
        '{"key": "n", "source": "own", "account": "nlp", "person": "bob", "pool": "h100", '
        '"units": 1, "start": "2026-11-28T00:00:00Z", "end": "2026-11-28T01:00:00Z"}'
    )
    run([record], form="native")
    assert unit_seconds(acme) == 5 * 3600
    with scope.reading(acme.id), server_cursor() as cursor:
        names = cursor.execute("SELECT name FROM accounting_usagesource ORDER BY 1").fetchall()
    assert names == [("excel",), ("own",)]


def pool(name: str, flavor: str, cluster: str) -> PoolRow:
    return PoolRow(None, name, cluster, flavor, 1, 0, 0, 1, Decimal(1))


@pytest.mark.parametrize(
    ("cluster", "kind", "found"),
    [
        ("north", "h100", "n-h100"),
        ("south", "h100", "s-h100"),
        ("elsewhere", "h100", None),  # two of that kind, neither near
        ("elsewhere", "H200", "n-h200"),  # the only one of its kind
        ("north", "a100", "n-a100"),  # the exact flavor before a100-mig
        ("south", "a100", None),  # two that both begin so
        ("north", "a10", None),  # no prefix within a word
        ("north", None, None),
        ("north", "cpu", None),  # cores only when mapped
    ],
)
def test_pools_are_found_by_kind_and_cluster(
    cluster: str, kind: str | None, found: str | None
) -> None:
    resolve = pool_resolver(
        [
            pool("n-h100", "h100-80gb", "north"),
            pool("s-h100", "h100-80gb", "south"),
            pool("n-h200", "h200", "north"),
            pool("n-a100", "a100", "north"),
            pool("n-mig", "a100-mig-1g", "north"),
            pool("s-a100", "a100-40gb", "south"),
            pool("s-a100-large", "a100-80gb", "south"),
            pool("n-cpu", "cpu", "north"),
        ]
    )
    assert resolve(cluster, "gpu", kind) == found


def test_an_import_in_code(acme: Tenant) -> None:
    record = ImportedRecord(
        key="a",
        account="nlp",
        person="bob",
        pool="h100",
        tier="spot",
        units=2,
        start=NOW - timedelta(hours=2),
        end=NOW - timedelta(hours=1),
    )
    seen = []
    work = UsageImport(
        organization_id=acme.id, actor=SYSTEM, source="code", clock=lambda: NOW, batch_size=2
    )
    report = work.run(
        [record, replace(record, key="b"), replace(record, key="c", person="nobody"), record],
        progress=lambda report: seen.append((report.records, report.accepted)),
    )
    assert seen == [(2, 2), (4, 2)]
    assert (report.accepted, report.duplicates, report.unknown_people) == (2, 1, {"nobody": 1})
    assert not report.is_clean
    with pytest.raises(Invalid):
        replace(work, batch_size=0)
