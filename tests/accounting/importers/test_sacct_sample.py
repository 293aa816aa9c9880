"""The real dump in demo/samples, against totals made by hand from its rows.

GPU-seconds are units x ElapsedRaw of each job row, worked out outside this code:
ana 8x60; bo 4x30 + 4x70; cy 1x64; dee in nlp 2x25 + 2x75; max 1x19 + 1x50 + 1x64;
jo 1x70; hal 2x25 + 2x75; ivy 2x25 + 2x65; gus 1x45; dee in vision 4x(4x20);
eli 2x(3x62); fay 32x50.
"""

from collections import Counter
from pathlib import Path

import pytest

from accounting.importers.formats import text_lines
from accounting.importers.pools import PoolMap
from accounting.importers.record import ImportedRecord, ImportItem, Skipped
from accounting.importers.sacct import SacctOptions, read

SAMPLE = Path(__file__).parents[3] / "demo" / "samples" / "sacct.txt"

WANT_GPU_SECONDS = {
    ("nlp", "ana"): 480,
    ("nlp", "bo"): 400,
    ("nlp", "cy"): 64,
    ("nlp", "dee"): 200,
    ("research", "max"): 133,
    ("retrain", "jo"): 70,
    ("serving", "hal"): 200,
    ("serving", "ivy"): 180,
    ("speech", "gus"): 45,
    ("vision", "dee"): 320,
    ("vision", "eli"): 372,
    ("vision", "fay"): 1600,
}


@pytest.fixture(scope="module")
def items() -> list[ImportItem]:
    options = SacctOptions(pools=PoolMap.parse(["kind:h100=lab-h100"]))
    with SAMPLE.open("rb") as stream:
        return list(read(text_lines(stream), options=options))


@pytest.fixture(scope="module")
def records(items: list[ImportItem]) -> list[ImportedRecord]:
    return [item for item in items if isinstance(item, ImportedRecord)]


def test_totals_are_those_made_by_hand(records: list[ImportedRecord]) -> None:
    totals: Counter[tuple[str, str]] = Counter()
    for record in records:
        seconds = int((record.end - record.start).total_seconds())
        totals[record.account, record.person] += record.units * seconds
    assert totals == WANT_GPU_SECONDS
    assert sum(totals.values()) == 4064


def test_every_row_is_a_record_or_skipped_for_a_reason(items: list[ImportItem]) -> None:
    reasons = Counter(item.reason for item in items if isinstance(item, Skipped))
    assert reasons == {"step": 30, "no_devices": 4}
    assert len(items) == 56


def test_the_requeued_job_is_two_attempts_with_two_keys(records: list[ImportedRecord]) -> None:
    attempts = [record for record in records if record.labels["job_id"] == "11"]
    assert [record.labels["state"] for record in attempts] == ["REQUEUED", "COMPLETED"]
    assert len({record.key for record in attempts}) == 2


def test_array_tasks_are_told_apart_by_their_raw_ids(records: list[ImportedRecord]) -> None:
    tasks = [record for record in records if record.labels["job_name"] == "detect"]
    assert [record.labels["job_id"] for record in tasks] == ["3_0", "3_1", "3_2", "3_3"]
    assert [record.key.split("/")[1] for record in tasks] == ["14", "15", "16", "3"]


def test_the_name_with_a_bar_is_whole_again(records: list[ImportedRecord]) -> None:
    (record,) = [record for record in records if record.person == "bo" and record.line == 4]
    assert record.labels["job_name"] == "eval|pipe name"
    assert record.units == 4


def test_cores_are_counted_where_they_have_a_pool() -> None:
    options = SacctOptions(pools=PoolMap.parse(["kind:h100=lab-h100", "kind:cpu=lab-cpu"]))
    with SAMPLE.open("rb") as stream:
        found = list(read(text_lines(stream), options=options))
    cores = [item for item in found if isinstance(item, ImportedRecord) and item.pool == "lab-cpu"]
    assert [(record.person, record.units) for record in cores] == [
        ("kim", 1),
        ("lou", 1),
        ("kim", 2),
        ("lou", 1),
    ]
