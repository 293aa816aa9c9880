"""Slurm's accounting output, one trap at a time."""

from datetime import UTC, datetime
from typing import Any

import pytest

from accounting.importers.pools import PoolMap
from accounting.importers.record import ImportedRecord, ImportItem, ImportProblem, Skipped
from accounting.importers.sacct import SacctOptions, read

POOLS = PoolMap.parse(["kind:h100=lab-h100", "kind:a100=lab-a100", "partition:gpu=lab-any"])
JOB = {
    "Cluster": "lab",
    "JobIDRaw": "123",
    "JobName": "train",
    "Account": "nlp",
    "User": "ana",
    "Partition": "gpu",
    "QOS": "normal",
    "State": "COMPLETED",
    "Submit": "2026-10-05T07:00:00",
    "Start": "2026-10-05T08:00:00",
    "End": "2026-10-05T09:00:00",
    "ElapsedRaw": "3600",
    "AllocTRES": "billing=40,cpu=8,gres/gpu:h100=8,gres/gpu=8,mem=16000M,node=1",
}
SUBMITTED = int(datetime(2026, 10, 5, 7, tzinfo=UTC).timestamp())


def rows(*jobs: dict[str, str], delimiter: str = "|", without: tuple[str, ...] = ()) -> list[str]:
    """Header and rows; each job is the usual one with these columns changed or added."""
    names = [
        name for name in {**JOB, **{k: "" for job in jobs for k in job}} if name not in without
    ]
    lines = [delimiter.join(names)]
    lines += [delimiter.join({**JOB, **job}.get(name, "") for name in names) for job in jobs]
    return lines


def read_all(lines: list[str], **options: Any) -> list[ImportItem]:
    return list(read(lines, options=SacctOptions(**{"pools": POOLS, **options})))


def one(job: dict[str, str], **options: Any) -> ImportItem:
    (item,) = read_all(rows(job), **options)
    return item


def record(job: dict[str, str], **options: Any) -> ImportedRecord:
    item = one(job, **options)
    assert isinstance(item, ImportedRecord), item
    return item


def problem(job: dict[str, str], **options: Any) -> ImportProblem:
    item = one(job, **options)
    assert isinstance(item, ImportProblem), item
    return item


def reason(job: dict[str, str], **options: Any) -> str:
    item = one(job, **options)
    assert isinstance(item, Skipped), item
    return item.reason


# Devices

DEVICES = {
    "typed and plain are the same devices": (
        "gres/gpu=8,gres/gpu:h100=8",
        [("lab-h100", 8, "")],
    ),
    "plain first or last does not matter": (
        "gres/gpu:h100=8,cpu=4,gres/gpu=8",
        [("lab-h100", 8, "")],
    ),
    "typed alone": ("cpu=4,gres/gpu:h100=4", [("lab-h100", 4, "")]),
    "plain alone goes by partition": ("cpu=4,gres/gpu=4", [("lab-any", 4, "")]),
    "two kinds are two records": (
        "gres/gpu=6,gres/gpu:h100=4,gres/gpu:a100=2",
        [("lab-h100", 4, "/h100"), ("lab-a100", 2, "/a100")],
    ),
    "a kind of zero is not there": (
        "gres/gpu=2,gres/gpu:h100=2,gres/gpu:a100=0",
        [("lab-h100", 2, "")],
    ),
    "an unmapped kind falls to its partition": ("gres/gpu:l40s=2", [("lab-any", 2, "")]),
}


@pytest.mark.parametrize(("text", "want"), DEVICES.values(), ids=DEVICES)
def test_devices_of_a_job(text: str, want: list[tuple[str, int, str]]) -> None:
    items = read_all(rows({"AllocTRES": text}))
    base = f"lab/123/{SUBMITTED}/0"
    assert [(item.pool, item.units, item.key.removeprefix(base)) for item in items] == want


def test_devices_that_no_type_accounts_for_are_reported() -> None:
    found, left = read_all(rows({"AllocTRES": "gres/gpu=8,gres/gpu:h100=6"}))
    assert (found.units, found.pool) == (6, "lab-h100")
    assert (left.code, left.field) == ("untyped_devices", "AllocTRES")


def test_other_generic_resources_count_when_named() -> None:
    job = {"AllocTRES": "gres/npu=4,gres/npu:910b=4"}
    assert reason(job) == "no_devices"
    pools = PoolMap.parse(["kind:npu:910b=lab-ascend"])
    found = record(job, gres=("gpu", "npu"), pools=pools)
    assert (found.pool, found.units) == ("lab-ascend", 4)


def test_the_pool_of_a_kind_in_a_cluster_wins_and_the_resolver_comes_last() -> None:
    pools = PoolMap.parse(["kind:h100=any-h100", "kind:lab/h100=lab-h100"])
    assert record({}, pools=pools).pool == "lab-h100"
    assert record({"Cluster": "north"}, pools=pools).pool == "any-h100"
    asked = []

    def resolve(cluster: str, partition: str, kind: str | None) -> str | None:
        asked.append((cluster, partition, kind))
        return "found"

    assert record({}, pools=PoolMap(), resolve_pool=resolve).pool == "found"
    assert asked == [("lab", "gpu", "h100")]


def test_a_job_without_a_pool_is_a_problem_that_says_what_to_map() -> None:
    found = problem({}, pools=PoolMap())
    assert (found.code, found.field) == ("unknown_pool", "pool")
    assert "h100" in found.detail


@pytest.mark.parametrize("text", ["gres/gpu", "gres/gpu=x", "8", "gres/gpu=1K", "cpu=1,cpu=2"])
def test_a_bad_tres_string_is_a_problem(text: str) -> None:
    assert problem({"AllocTRES": text}).code == "bad_tres"


# Identity

IDENTITIES = {
    "job id and submit time": ({}, f"lab/123/{SUBMITTED}/0"),
    "each restart": ({"Restarts": "2"}, f"lab/123/{SUBMITTED}/2"),
    "an array task": ({"JobIDRaw": "128", "JobID": "123_4"}, f"lab/128/{SUBMITTED}/0"),
    "a component of a heterogeneous job": (
        {"JobIDRaw": "124", "JobID": "123+1"},
        f"lab/124/{SUBMITTED}/0",
    ),
    "SLUID where there is one": ({"SLUID": "sABC123"}, "lab/sABC123"),
    "no SLUID in this row": ({"SLUID": ""}, f"lab/123/{SUBMITTED}/0"),
}


@pytest.mark.parametrize(("job", "want"), IDENTITIES.values(), ids=IDENTITIES)
def test_identity(job: dict[str, str], want: str) -> None:
    assert record(job).key == want


def test_identity_by_job_id_can_be_kept() -> None:
    assert record({"SLUID": "sABC123"}, identity="job").key == f"lab/123/{SUBMITTED}/0"


def test_without_raw_ids_the_job_id_serves() -> None:
    (item,) = read_all(rows({"JobID": "123_4"}, without=("JobIDRaw",)))
    assert item.key == f"lab/123_4/{SUBMITTED}/0"


def test_a_wrapped_job_id_is_another_job() -> None:
    first, second = read_all(rows({}, {"Submit": "2027-10-05T07:00:00"}))
    assert first.key != second.key


def test_the_cluster_may_come_from_the_options() -> None:
    lines = rows({}, without=("Cluster",))
    assert read_all(lines, cluster="lab")[0].key == f"lab/123/{SUBMITTED}/0"
    (refusal,) = read_all(lines)
    assert (refusal.code, refusal.fatal, refusal.line) == ("missing_column", True, 1)
    assert "Cluster" in refusal.detail


# What is no record

SKIPPED = {
    "batch step": ({"JobIDRaw": "123.batch"}, "step"),
    "extern step": ({"JobIDRaw": "123.extern"}, "step"),
    "numbered step": ({"JobIDRaw": "123.0"}, "step"),
    "step of a heterogeneous job": ({"JobIDRaw": "123+0.batch"}, "step"),
    "pending": ({"State": "PENDING", "Start": "Unknown", "End": "Unknown"}, "never_started"),
    "pending array": (
        {"JobIDRaw": "123_[1-10%4]", "State": "PENDING", "Start": "Unknown"},
        "never_started",
    ),
    "cancelled before it began": (
        {"State": "CANCELLED by 1001", "Start": "None", "AllocTRES": "", "ElapsedRaw": "0"},
        "never_started",
    ),
    "nothing allocated": (
        {"State": "CANCELLED", "AllocTRES": "", "ElapsedRaw": "0"},
        "never_started",
    ),
    "sibling of a federation": ({"State": "REVOKED"}, "revoked"),
    "no time": ({"End": "2026-10-05T08:00:00", "ElapsedRaw": "0"}, "no_time"),
    "cores only": ({"AllocTRES": "billing=1,cpu=1,node=1"}, "no_devices"),
    "no_consume device": ({"AllocTRES": "cpu=1,gres/gpu=0"}, "no_devices"),
}


@pytest.mark.parametrize(("job", "want"), SKIPPED.values(), ids=SKIPPED)
def test_what_is_skipped_and_why(job: dict[str, str], want: str) -> None:
    assert reason(job) == want


def test_blank_lines_and_repeated_headers_are_skipped() -> None:
    lines = rows({})
    items = read_all([*lines, "", *lines])
    reasons = [item.reason if isinstance(item, Skipped) else "record" for item in items]
    assert reasons == ["record", "blank", "header", "record"]


# States

STATES = {
    "COMPLETED": "COMPLETED",
    "CANCELLED by 1001": "CANCELLED",
    "CANCELLED+": "CANCELLED",
    "OUT_OF_ME+": "OUT_OF_MEMORY",
    "NODE_FAIL": "NODE_FAIL",
    "TIMEOUT": "TIMEOUT",
    "PREEMPTED": "PREEMPTED",
    "REQUEUED": "REQUEUED",
}


@pytest.mark.parametrize(("text", "want"), STATES.items())
def test_states_of_finished_jobs(text: str, want: str) -> None:
    assert record({"State": text}).labels["state"] == want


def test_a_state_of_a_later_slurm_is_no_obstacle() -> None:
    assert "state" not in record({"State": "TELEPORTED"}).labels


# Running jobs


@pytest.mark.parametrize("end", ["Unknown", "None", "", "INVALID", "UNLIMITED"])
def test_a_running_job_is_an_open_record(end: str) -> None:
    found = record({"State": "RUNNING", "End": end})
    assert found.end is None
    assert found.key == f"lab/123/{SUBMITTED}/0#open"
    assert found.supersedes is None
    assert "state" not in found.labels, "it would differ from itself when suspended"


def test_a_finished_job_supersedes_its_open_record_seen_or_not() -> None:
    found = record({})
    assert found.key == f"lab/123/{SUBMITTED}/0"
    assert found.supersedes == found.key + "#open"
    assert found.supersedes_optional


def test_each_kind_of_device_supersedes_its_own() -> None:
    job = {"AllocTRES": "gres/gpu:h100=4,gres/gpu:a100=2"}
    still = read_all(rows({**job, "State": "RUNNING", "End": "Unknown"}))
    done = read_all(rows(job))
    assert [item.supersedes for item in done] == [item.key for item in still]


def test_the_end_of_a_window_is_not_the_end_of_a_running_job() -> None:
    assert record({"State": "RUNNING"}).end is None


def test_a_finished_job_without_an_end_is_a_problem() -> None:
    assert problem({"State": "FAILED", "End": "Unknown"}).code == "end_unknown"


# Times


@pytest.mark.parametrize(
    "text",
    ["2026-10-05T08:00:00Z", "2026-10-05T10:00:00+0200", "1791187200", "2026-10-05T08:00:00"],
)
def test_ways_to_write_a_time(text: str) -> None:
    assert record({"Start": text}).start == datetime(2026, 10, 5, 8, tzinfo=UTC)


def test_naive_times_are_read_in_the_zone() -> None:
    found = record({}, timezone="Asia/Shanghai")
    assert found.start == datetime(2026, 10, 5, 0, tzinfo=UTC)
    assert found.key == f"lab/123/{SUBMITTED - 8 * 3600}/0"


FOLDS = {
    # Berlin sets its clocks back on 2026-10-25, 03:00 to 02:00 (01:00 UTC).
    "the first 02:30 when nothing tells": ("02:30", "04:00", "", (0, 30), (3, 0)),
    "the second when it lasted so long": ("02:30", "04:00", "5400", (1, 30), (3, 0)),
    "an end before its start is of the second hour": ("02:50", "02:10", "", (0, 50), (1, 10)),
    "both in the second hour": ("02:10", "02:50", "2400", (0, 10), (0, 50)),
    "over the change": ("02:10", "02:50", "6000", (0, 10), (1, 50)),
}


@pytest.mark.parametrize(
    ("start", "end", "elapsed", "want_start", "want_end"), FOLDS.values(), ids=FOLDS
)
def test_an_hour_that_happens_twice(
    start: str, end: str, elapsed: str, want_start: tuple[int, int], want_end: tuple[int, int]
) -> None:
    job = {
        "Start": f"2026-10-25T{start}:00",
        "End": f"2026-10-25T{end}:00",
        "ElapsedRaw": elapsed,
    }
    found = record(job, timezone="Europe/Berlin")
    assert (found.start.hour, found.start.minute) == want_start
    assert (found.end.hour, found.end.minute) == want_end


def test_an_hour_that_never_was_means_the_wrong_zone() -> None:
    job = {"Start": "2026-03-29T02:30:00", "End": "2026-03-29T06:00:00"}
    assert problem(job, timezone="Europe/Berlin").code == "nonexistent_time"


def test_an_unknown_zone_is_refused_at_once() -> None:
    (refusal,) = read_all(rows({}), timezone="Mars/Olympus")
    assert (refusal.code, refusal.fatal) == ("unknown_timezone", True)


PROBLEMS = {
    "end before start": ({"End": "2026-10-05T07:59:59"}, "End", "end_before_start"),
    "no time": ({"End": "later"}, "End", "bad_time"),
    "no such day": ({"Start": "2026-02-30T00:00:00"}, "Start", "bad_time"),
    "far years": ({"End": "2999-01-01T00:00:00"}, "End", "time_out_of_range"),
    "no account": ({"Account": ""}, "Account", "missing"),
    "no user": ({"User": ""}, "User", "missing"),
    "no submit": ({"Submit": "Unknown"}, "Submit", "missing"),
    "odd job id": ({"JobIDRaw": "job-7"}, "JobID", "bad_job_id"),
    "odd elapsed": ({"ElapsedRaw": "1h"}, "ElapsedRaw", "wrong_type"),
    "absurd units": ({"AllocTRES": "gres/gpu:h100=99999999999"}, "units", "out_of_range"),
}


@pytest.mark.parametrize(("job", "want_field", "want_code"), PROBLEMS.values(), ids=PROBLEMS)
def test_what_is_a_problem(job: dict[str, str], want_field: str, want_code: str) -> None:
    found = problem(job)
    assert (found.field, found.code, found.line) == (want_field, want_code, 2)


# Suspended time and tiers


def test_suspended_time_is_subtracted_only_when_asked() -> None:
    job = {"Suspended": "00:20:00"}
    assert record(job).end == datetime(2026, 10, 5, 9, tzinfo=UTC)
    assert record(job, subtract_suspended=True).end == datetime(2026, 10, 5, 8, 40, tzinfo=UTC)
    assert reason({"Suspended": "1-00:00:00"}, subtract_suspended=True) == "no_time"


def test_the_tier_goes_by_qos() -> None:
    tiers = {"scavenge": "spot"}
    assert record({"QOS": "scavenge"}, qos_tiers=tiers).tier == "spot"
    assert record({}, qos_tiers=tiers, tier="borrowed").tier == "borrowed"


# Headers and delimiters


def test_a_missing_column_is_one_clear_refusal() -> None:
    (refusal,) = read_all(rows({}, {}, without=("AllocTRES", "User")))
    assert (refusal.code, refusal.fatal) == ("missing_column", True)
    assert "User, AllocTRES" in refusal.detail


def test_optional_columns_may_be_missing() -> None:
    lines = rows({}, without=("State", "JobName", "Partition", "QOS", "ElapsedRaw"))
    (item,) = read_all(lines)
    assert (item.pool, item.units) == ("lab-h100", 8)


def test_another_delimiter() -> None:
    (item,) = read_all(rows({"JobName": "a|b"}, delimiter="\x1f"), delimiter="\x1f")
    assert item.labels["job_name"] == "a|b"


def test_output_with_trailing_delimiters() -> None:
    (item,) = read_all([line + "|" for line in rows({"JobName": "a|b"})])
    assert item.labels["job_name"] == "a|b"


# Bars in free text

NAMES = ["eval|pipe name", "|", "||", "a|b|c", "|COMPLETED", "x|lab", "2026-10-05T07:00:00|y"]


@pytest.mark.parametrize("name", NAMES)
def test_bars_in_the_job_name(name: str) -> None:
    found = record({"JobName": name})
    assert (found.account, found.person, found.units) == ("nlp", "ana", 8)
    assert found.labels.get("job_name", "|").strip() == name.strip()


@pytest.mark.parametrize(
    "job",
    [
        {"Comment": "see a|b"},
        {"NodeList": "n[1-2]|n3"},
        {"JobName": "a|b", "Comment": "c|d"},
    ],
)
def test_bars_in_other_columns(job: dict[str, str]) -> None:
    found = record(job)
    assert (found.account, found.person, found.units) == ("nlp", "ana", 8)


def test_a_label_that_could_be_two_things_is_left_out() -> None:
    names = ["JobIDRaw", "JobName", "WCKey", *[n for n in JOB if n not in ("JobIDRaw", "JobName")]]
    job = {**JOB, "JobName": "a|b", "WCKey": "w"}
    (item,) = read_all(["|".join(names), "|".join(job[name] for name in names)])
    assert isinstance(item, ImportedRecord)
    assert {"job_name", "wckey"}.isdisjoint(item.labels)
    assert item.units == 8


def test_a_name_that_forges_a_row_bills_nobody_else() -> None:
    forged = "x|vision|fay|gpu|normal|COMPLETED|1791183600|1791187200|1791187201|1|gres/gpu:h100=1|"
    found = problem({"JobName": forged, "Comment": ""})
    assert found.code == "ambiguous_fields"
    assert "--delimiter" in found.detail


def test_lines_that_cannot_be_joined_are_problems() -> None:
    lines = rows({}, without=("JobName",))
    too_many = [lines[0], lines[1] + "|more"]
    too_few = [lines[0], lines[1].rsplit("|", 1)[0]]
    assert read_all(too_many)[0].code == "too_many_fields"
    assert read_all(too_few)[0].code == "too_few_fields"
