"""SWF, CSV, CloudEvents and native records: what is particular to each."""

import base64
import gzip
import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from accounting.importers import csv, json_values
from accounting.importers.formats import FORMATS, text_lines
from accounting.importers.pools import PoolMap
from accounting.importers.record import FieldError, ImportedRecord, ImportProblem, Skipped

NATIVE = {
    "key": "job-1",
    "account": "nlp",
    "person": "ana",
    "pool": "lab-h100",
    "units": 8,
    "start": "2026-10-05T08:00:00Z",
    "end": "2026-10-05T09:00:00Z",
}


def items(name: str, text: str, **options: Any) -> list[Any]:
    return list(FORMATS[name].items(io.StringIO(text), **options))


# Native

NATIVE_PROBLEMS = {
    "no key": ({"key": None}, "key", "missing"),
    "blank key": ({"key": ""}, "key", "missing"),
    "number as key": ({"key": 7}, "key", "wrong_type"),
    "long key": ({"key": "k" * 256}, "key", "too_long"),
    "control character": ({"person": "a\u0000b"}, "person", "bad_text"),
    "misspelt field": ({"unit": 8}, "unit", "unknown_field"),
    "unknown tier": ({"tier": "gold"}, "tier", "unknown_tier"),
    "units as text": ({"units": "eight"}, "units", "wrong_type"),
    "fractional units": ({"units": 1.5}, "units", "wrong_type"),
    "true units": ({"units": True}, "units", "wrong_type"),
    "no units": ({"units": 0}, "units", "out_of_range"),
    "negative units": ({"units": -8}, "units", "out_of_range"),
    "absurd units": ({"units": 10**30}, "units", "out_of_range"),
    "naive start": ({"start": "2026-10-05T08:00:00"}, "start", "time_without_zone"),
    "date alone": ({"start": "2026-10-05"}, "start", "bad_time"),
    "end before start": ({"end": "2026-10-05T07:00:00Z"}, "end", "end_before_start"),
    "labels as list": ({"labels": ["a"]}, "labels", "wrong_type"),
    "label not text": ({"labels": {"a": 1}}, "labels.a", "wrong_type"),
    "too many labels": ({"labels": {f"l{n}": "v" for n in range(33)}}, "labels", "too_many"),
    "utilisation above 1": ({"compute_util": 1.01}, "compute_util", "out_of_range"),
    "negative memory": ({"memory_gb": -1}, "memory_gb", "out_of_range"),
}


@pytest.mark.parametrize(("change", "field", "code"), NATIVE_PROBLEMS.values(), ids=NATIVE_PROBLEMS)
def test_native_problems(change: dict[str, Any], field: str, code: str) -> None:
    (problem,) = items("native", json.dumps({**NATIVE, **change}))
    assert (problem.field, problem.code) == (field, code)


def test_native_takes_every_field() -> None:
    full = {
        **NATIVE,
        "source": "prod",
        "tier": "spot",
        "end": None,
        "labels": {"model": "m-7b", "note": ""},
        "compute_util": 0.5,
        "productive_util": 0,
        "memory_gb": 12.5,
        "supersedes": "job-0",
    }
    (record,) = items("native", json.dumps(full))
    assert (record.source, record.tier, record.end) == ("prod", "spot", None)
    assert record.labels == {"model": "m-7b", "note": ""}
    assert (record.compute_util, record.productive_util, record.memory_gb) == (0.5, 0.0, 12.5)
    assert (record.supersedes, record.supersedes_optional) == ("job-0", False)


def test_native_reads_an_offset() -> None:
    (record,) = items("native", json.dumps({**NATIVE, "start": "2026-10-05T10:00:00+02:00"}))
    assert record.start == datetime(2026, 10, 5, 8, tzinfo=UTC)


# JSON arrays


@pytest.mark.parametrize("indent", [None, 0, 2])
def test_an_array_is_read_however_it_is_broken_into_lines(indent: int | None) -> None:
    tricky = {"note": '"]},{[\\" \\\\', "a,b": '[{"x"'}
    rows = [{**NATIVE, "key": f"job-{n}", "labels": tricky} for n in range(3)]
    found = items("native", "\n  " + json.dumps(rows, indent=indent) + "\n\n")
    assert [record.key for record in found] == ["job-0", "job-1", "job-2"]
    assert all(record.labels == tricky for record in found)


def test_a_problem_in_an_array_names_the_line_of_its_element() -> None:
    text = '[\n{"key": "a"},\n\n{"key": "b"}\n]'
    assert [problem.line for problem in items("native", text)] == [2, 4]


ARRAYS = {
    "cut short": '[{"key": "a"}, {"key"',
    "text after": '[{"key": "a"}] x',
    "text on a later line": '[{"key": "a"}]\n\nx',
}


@pytest.mark.parametrize("text", ARRAYS.values(), ids=ARRAYS)
def test_a_broken_array_ends_with_a_fatal_problem(text: str) -> None:
    last = items("native", text)[-1]
    assert (last.code, last.fatal) == ("bad_json", True)


def test_an_empty_array_is_empty() -> None:
    assert items("native", "[]") == []
    assert items("native", "[\n]\n") == []


def test_a_huge_element_is_refused_without_being_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_values, "VALUE_LENGTH_MAX", 300)
    text = json.dumps([{**NATIVE, "key": "x" * 400}, NATIVE], indent=1)
    problem, record = items("native", text)
    assert problem.code == "too_long"
    assert isinstance(record, ImportedRecord)


# CloudEvents


def event(**change: Any) -> dict[str, Any]:
    data = {name: value for name, value in NATIVE.items() if name not in ("key", "account")}
    usual = {
        "specversion": "1.0",
        "id": "e-1",
        "source": "/lab",
        "type": "org.example.usage",
        "subject": "nlp",
        "data": data,
    }
    return {**usual, **change}


def test_an_event_gives_key_source_and_account() -> None:
    (record,) = items("cloudevents", json.dumps(event()))
    assert (record.key, record.source, record.account) == ("e-1", "/lab", "nlp")


def test_a_batch_and_extension_attributes() -> None:
    batch = [event(id=f"e-{n}", traceparent="00-x") for n in range(3)]
    found = items("cloudevents", json.dumps(batch, indent=2))
    assert [record.key for record in found] == ["e-0", "e-1", "e-2"]


def test_data_in_base64() -> None:
    plain = event()
    encoded = base64.b64encode(json.dumps(plain.pop("data")).encode()).decode()
    (record,) = items("cloudevents", json.dumps({**plain, "data_base64": encoded}))
    assert record.units == 8


def test_events_of_other_types_are_skipped() -> None:
    (skipped,) = items("cloudevents", json.dumps(event()), types=frozenset({"other"}))
    assert isinstance(skipped, Skipped)
    assert skipped.reason == "other_type"


EVENT_PROBLEMS = {
    "no id": ({"id": None}, "id", "missing"),
    "no source": ({"source": ""}, "source", "missing"),
    "old version": ({"specversion": "0.3"}, "specversion", "unknown_specversion"),
    "no data": ({"data": None}, "data", "wrong_type"),
    "data is XML": ({"datacontenttype": "text/xml"}, "datacontenttype", "not_json"),
    "key in data": ({"data": NATIVE}, "data.key", "unknown_field"),
    "bad base64": ({"data": None, "data_base64": "%%"}, "data_base64", "bad_json"),
    "subject is no text": ({"subject": 5}, "account", "wrong_type"),
}


@pytest.mark.parametrize(("change", "field", "code"), EVENT_PROBLEMS.values(), ids=EVENT_PROBLEMS)
def test_event_problems(change: dict[str, Any], field: str, code: str) -> None:
    (problem,) = items("cloudevents", json.dumps(event(**change)))
    assert (problem.field, problem.code) == (field, code)


# CSV


def test_csv_with_other_names_constants_and_labels() -> None:
    text = (
        "Job;Team;Who;GPUs;From;To;labels.model;Util;extra\n"
        'j1;nlp;ana;8;2026-10-05 10:00;2026-10-05 11:00;"m;7b";0.5;x\n'
        "j2;nlp;bo;4;2026-10-05 10:00;;;;y\n"
    )
    first, second = items(
        "csv",
        text,
        delimiter=";",
        timezone="Europe/Berlin",
        constants={"pool": "lab-h100", "tier": "borrowed"},
        columns={
            "key": "Job",
            "account": "Team",
            "person": "Who",
            "units": "GPUs",
            "start": "From",
            "end": "To",
            "compute_util": "Util",
        },
    )
    assert first.start == datetime(2026, 10, 5, 8, tzinfo=UTC)
    assert (first.pool, first.tier, first.labels) == ("lab-h100", "borrowed", {"model": "m;7b"})
    assert (first.compute_util, second.compute_util) == (0.5, None)
    assert second.end is None
    assert second.labels == {}


def test_csv_lines_are_physical_lines() -> None:
    text = (
        "key,account,person,pool,units,start,labels.note\n"
        'a,nlp,ana,p,1,2026-10-05T08:00Z,"two\nlines"\n'
        "b,nlp,ana,p,x,2026-10-05T08:00Z,\n"
    )
    record, problem = items("csv", text)
    assert (record.line, record.labels["note"]) == (2, "two lines")
    assert (problem.line, problem.field) == (4, "units")


CSV_REFUSALS = {
    "missing columns": ("key,account\n", {}, "missing_column"),
    "a column twice": ("key,key\n", {}, "repeated_column"),
    "a mapped column that is not there": ("key\n", {"columns": {"pool": "Pool"}}, "missing_column"),
    "an unknown field": ("key\n", {"columns": {"pol": "key"}}, "unknown_field"),
    "empty": ("", {}, "empty_file"),
    "a delimiter of two": ("key\n", {"delimiter": "::"}, "bad_delimiter"),
}


@pytest.mark.parametrize(("text", "options", "code"), CSV_REFUSALS.values(), ids=CSV_REFUSALS)
def test_csv_refusals(text: str, options: dict[str, Any], code: str) -> None:
    (problem,) = items("csv", text, **options)
    assert (problem.code, problem.fatal) == (code, True)


def test_csv_rows_of_the_wrong_length_are_problems() -> None:
    (problem,) = items("csv", "key,account,person,pool,units,start\na,b\n")
    assert problem.code == "wrong_fields"


def test_an_unclosed_quote_is_a_problem_and_reading_goes_on() -> None:
    header = "key,account,person,pool,units,start\n"
    row = "a,nlp,ana,p,1,2026-10-05T08:00Z\n"
    found = list(csv.read([header, '"' + "x" * 200_000 + "\n", row], options=csv.CsvOptions()))
    assert [type(item) for item in found] == [ImportProblem, ImportedRecord]


# SWF


def swf(*rows: str, **options: Any) -> list[Any]:
    text = "; Version: 2.2\n; UnixStartTime: 1000000000\n" + "\n".join(rows)
    pools = PoolMap.parse(["partition:2=grid"])
    return items("swf", text, **{"pools": pools, "cluster": "grid", **options})


def test_swf_times_units_and_labels() -> None:
    (record,) = swf("1 100 20 3600 16 1800.5 -1 32 7200 -1 1 5 3 -1 4 2 -1 -1")
    assert (record.account, record.person, record.pool) == ("group3", "user5", "grid")
    assert record.start.timestamp() == 1000000120
    assert (record.end - record.start).total_seconds() == 3600
    assert record.units == 16
    assert record.key == "grid/1/1000000100"
    assert record.labels == {"queue": "4", "partition": "2", "state": "completed"}
    assert record.compute_util == pytest.approx(0.50014, abs=1e-5)


SWF_ROWS = {
    "cancelled before start": ("1 0 -1 -1 -1 -1 -1 8 -1 -1 5 1 1 -1 1 2 -1 -1", "never_started"),
    "no time": ("1 0 0 0 8 -1 -1 8 -1 -1 1 1 1 -1 1 2 -1 -1", "no_time"),
    "part of a job": ("1 0 0 60 8 -1 -1 8 -1 -1 2 1 1 -1 1 2 -1 -1", "partial_execution"),
    "unknown wait": ("1 0 -1 60 8 -1 -1 8 -1 -1 1 1 1 -1 1 2 -1 -1", "missing"),
    "unknown user": ("1 0 0 60 8 -1 -1 8 -1 -1 1 -1 1 -1 1 2 -1 -1", "missing"),
    "unknown units": ("1 0 0 60 -1 -1 -1 -1 -1 -1 1 1 1 -1 1 2 -1 -1", "out_of_range"),
    "unmapped partition": ("1 0 0 60 8 -1 -1 8 -1 -1 1 1 1 -1 1 3 -1 -1", "unknown_pool"),
    "too short": ("1 0 0 60", "wrong_fields"),
}


@pytest.mark.parametrize(("row", "want"), SWF_ROWS.values(), ids=SWF_ROWS)
def test_swf_rows_that_are_no_record(row: str, want: str) -> None:
    (item,) = swf(row)
    assert getattr(item, "reason", None) or item.code == want


def test_swf_asks_for_processors_when_used_ones_are_unknown() -> None:
    (record,) = swf("1 0 0 60 -1 -1 -1 4 -1 -1 1 1 1 -1 1 2 -1 -1")
    assert record.units == 4


def test_swf_without_a_start_of_the_log() -> None:
    row = "1 0 0 60 8 -1 -1 8 -1 -1 1 1 1 -1 1 2 -1 -1\n"
    (problem,) = items("swf", row)
    assert (problem.field, problem.fatal) == ("UnixStartTime", True)
    pools = PoolMap.parse(["partition:2=grid"])
    (record,) = items("swf", row, unix_start=0, pools=pools)
    assert record.start == datetime(1970, 1, 1, tzinfo=UTC)


def test_swf_can_be_replayed_in_another_year() -> None:
    (record,) = swf("1 0 0 60 8 -1 -1 8 -1 -1 1 1 1 -1 1 2 -1 -1", unix_start=1_790_000_000)
    assert record.start.year == 2026


# Pool maps and files


@pytest.mark.parametrize(
    "entry", ["gpu=lab", "partition:=lab", "kind:h100", "kind:/h100=lab", "node:a=b", "kind:lab/=x"]
)
def test_bad_pool_entries(entry: str) -> None:
    with pytest.raises(FieldError):
        PoolMap.parse([entry])


def test_pool_entries_that_disagree() -> None:
    PoolMap.parse(["kind:h100=a", "kind:h100=a"])
    with pytest.raises(FieldError, match="already mapped"):
        PoolMap.parse(["kind:h100=a", "kind:h100=b"])


def test_files_may_be_gzip_and_bad_bytes_are_replaced() -> None:
    plain = "\ufeffé\nb\n".encode() + b"\xff\n"
    want = ["é\n", "b\n", "\ufffd\n"]
    assert list(text_lines(io.BufferedReader(io.BytesIO(plain)))) == want
    assert list(text_lines(io.BufferedReader(io.BytesIO(gzip.compress(plain))))) == want
