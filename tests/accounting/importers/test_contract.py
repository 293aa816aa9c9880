"""What every importer promises, stated once and asked of each (accounting/importers/record.py)."""

import json
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from accounting.importers.formats import FORMATS
from accounting.importers.pools import PoolMap
from accounting.importers.record import ImportedRecord, ImportItem, ImportProblem, Skipped

START = datetime(2026, 10, 5, 8, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A format and how to write it: ``row(number)`` is job ``number``, all alike."""

    name: str
    header: tuple[str, ...]
    row: Callable[[int], str]
    bad_row: str
    options: dict[str, Any] = field(default_factory=dict)

    def read(self, lines: Iterable[str]) -> list[ImportItem]:
        return list(FORMATS[self.name].items(lines, **self.options))

    def lines(self, rows: Iterable[str]) -> Iterator[str]:
        for line in (*self.header, *rows):
            yield line + "\n"


def _native(number: int) -> dict[str, Any]:
    return {
        "key": f"job-{number}",
        "account": "nlp",
        "person": "ana",
        "pool": "lab-h100",
        "units": 8,
        "start": START.isoformat(),
        "end": (START + HOUR).isoformat(),
    }


def _event(number: int) -> dict[str, Any]:
    data = _native(number)
    return {
        "specversion": "1.0",
        "id": data.pop("key"),
        "source": "/lab",
        "type": "usage",
        "subject": data.pop("account"),
        "data": data,
    }


_SECONDS = int(START.timestamp())
_POOLS = PoolMap.parse(["kind:h100=lab-h100", "partition:1=lab-h100"])

CASES = [
    Case(
        name="sacct",
        header=("Cluster|JobIDRaw|JobName|Account|User|State|Submit|Start|End|AllocTRES",),
        row=lambda n: (
            f"lab|{n}|train|nlp|ana|COMPLETED|2026-10-05T07:00:00|2026-10-05T08:00:00|"
            "2026-10-05T09:00:00|cpu=8,gres/gpu=8,gres/gpu:h100=8"
        ),
        bad_row="lab|x|train|nlp|ana|COMPLETED|2026-10-05T07:00:00|2026-10-05T08:00:00|never|",
        options={"pools": _POOLS},
    ),
    Case(
        name="swf",
        header=("; Version: 2.2", f"; UnixStartTime: {_SECONDS}"),
        row=lambda n: f"{n} 0 0 3600 8 -1 -1 8 -1 -1 1 1 1 -1 1 1 -1 -1",
        bad_row="7 0 0 3600 eight -1 -1 8 -1 -1 1 1 1 -1 1 1 -1 -1",
        options={"pools": _POOLS, "account_format": "nlp", "person_format": "ana"},
    ),
    Case(
        name="csv",
        header=("key,account,person,pool,units,start,end",),
        row=lambda n: f"job-{n},nlp,ana,lab-h100,8,2026-10-05T08:00:00Z,2026-10-05T09:00:00Z",
        bad_row="job-x,nlp,ana,lab-h100,eight,2026-10-05T08:00:00Z,2026-10-05T09:00:00Z",
    ),
    Case(
        name="cloudevents",
        header=(),
        row=lambda n: json.dumps(_event(n)),
        bad_row=json.dumps({**_event(0), "specversion": "0.3"}),
    ),
    Case(
        name="native",
        header=(),
        row=lambda n: json.dumps(_native(n)),
        bad_row='{"key": "job-x", "units": NaN}',
    ),
]

every_format = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def test_every_format_is_asked() -> None:
    assert {case.name for case in CASES} == set(FORMATS)


@every_format
def test_it_reads_the_facts(case: Case) -> None:
    (record,) = case.read(case.lines([case.row(1)]))
    assert isinstance(record, ImportedRecord)
    assert (record.account, record.person, record.pool) == ("nlp", "ana", "lab-h100")
    assert (record.units, record.tier) == (8, "guaranteed")
    assert (record.start, record.end) == (START, START + HOUR)
    assert record.start.tzinfo is UTC
    assert record.line == len(case.header) + 1
    assert record.productive_util is None, "unknown stays unknown"


@every_format
def test_each_job_has_its_own_key_and_the_same_one_each_time(case: Case) -> None:
    rows = [case.row(number) for number in range(1, 51)]
    first = case.read(case.lines(rows))
    assert len({record.key for record in first}) == 50
    assert case.read(case.lines(rows)) == first


@every_format
def test_order_changes_nothing_but_the_line(case: Case) -> None:
    rows = [case.row(number) for number in range(1, 11)]
    forward = {record.key for record in case.read(case.lines(rows))}
    backward = {record.key for record in case.read(case.lines(reversed(rows)))}
    assert forward == backward


@every_format
def test_a_bad_row_never_sinks_the_others(case: Case) -> None:
    items = case.read(case.lines([case.row(1), case.bad_row, case.row(2)]))
    before, problem, after = items
    assert isinstance(before, ImportedRecord)
    assert isinstance(after, ImportedRecord)
    assert isinstance(problem, ImportProblem)
    assert not problem.fatal
    assert problem.line == len(case.header) + 2
    assert problem.field
    assert problem.code
    assert problem.detail.endswith(".")


@every_format
@pytest.mark.parametrize(
    "junk",
    [
        "\x00",
        "|||||||||||||||||||||||||||||||",
        ",,,,,,,,,,,",
        '"unclosed',
        "[" * 5000,
        "{}",
        "null",
        "1",
        "\ud800",
        "é" * 3000,
        "9" * 400,
        "-1 " * 18,
    ],
)
def test_junk_never_raises(case: Case, junk: str) -> None:
    for lines in ([junk], [*case.header, junk], [*case.header, case.row(1), junk]):
        for item in case.read(line + "\n" for line in lines):
            assert isinstance(item, ImportedRecord | ImportProblem | Skipped)


@every_format
def test_an_empty_file_gives_no_record(case: Case) -> None:
    assert not any(isinstance(item, ImportedRecord) for item in case.read([]))


@every_format
def test_line_ends_and_a_byte_order_mark_do_not_matter(case: Case) -> None:
    lines = [line.rstrip("\n") + "\r\n" for line in case.lines([case.row(1)])]
    lines[0] = "\ufeff" + lines[0]
    (record,) = case.read(lines)
    assert isinstance(record, ImportedRecord)


@every_format
def test_it_streams(case: Case) -> None:
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        for line in case.header:
            yield line + "\n"
        while True:
            taken += 1
            yield case.row(taken) + "\n"

    items = FORMATS[case.name].items(endless(), **case.options)
    next(items)
    next(items)
    assert taken <= 3


@every_format
def test_memory_stays_flat(case: Case) -> None:
    items = FORMATS[case.name].items(
        case.lines(case.row(number) for number in range(8_000)), **case.options
    )
    for _ in range(1_000):
        next(items)
    tracemalloc.start()
    for _ in items:
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 500_000
