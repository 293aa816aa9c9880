"""Job records from the Standard Workload Format 2.2, for demos and simulations. Pure.

Header lines begin with ``;``. A job line has 18 blank-separated numbers, -1 for unknown: job,
submit, wait, run, processors, average CPU time, memory, processors asked, time asked, memory
asked, status, user, group, executable, queue, partition, preceding job, think time. Times are
seconds after ``UnixStartTime`` of the header. Processors become units; the format knows no other
device. (Feitelson et al., "The Standard Workload Format", Parallel Workloads Archive.)

The key is ``cluster/job/submit``. Lines of status 2 to 4 tell parts of a job whose summary line
(status 0 or 1) tells the whole, and are skipped.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from accounting.importers import fields, times
from accounting.importers.options import ImportOptions
from accounting.importers.record import FieldError, ImportedRecord, ImportItem, Skipped

_FIELDS_COUNT: Final = 18
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d+)?", re.ASCII)
_START_TIME = re.compile(r";\s*UnixStartTime\s*:\s*(-?\d+)", re.IGNORECASE)
_STATUS_LABELS: Final = {0: "failed", 1: "completed", 5: "cancelled"}
_PARTIAL_STATUSES: Final = (2, 3, 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class SwfOptions(ImportOptions):
    """``cluster`` names the log and leads each key. ``unix_start`` stands in for the header's
    UnixStartTime: where it lacks, or to replay an old log in another year. Names of accounts and
    people are made from group and user numbers; the partition that pools are mapped by is the
    partition number, as text."""

    cluster: str = "swf"
    unix_start: int | None = None
    account_format: str = "group{}"
    person_format: str = "user{}"


def read(lines: Iterable[str], *, options: SwfOptions) -> Iterator[ImportItem]:
    """The records, problems and skipped lines of a log, in its order."""
    unix_start = options.unix_start
    for line_number, line in enumerate(lines, start=1):
        text = line.removeprefix("\ufeff").strip()
        if not text:
            continue
        if text.startswith(";"):
            match = _START_TIME.match(text)
            if match and options.unix_start is None:
                unix_start = int(match[1])
            continue
        if unix_start is None:
            yield FieldError(
                "UnixStartTime",
                "missing",
                "The header has no UnixStartTime: name the start of the log in the options.",
            ).problem(line_number, fatal=True)
            return
        try:
            yield _item(text.split(), line_number, unix_start, options)
        except FieldError as error:
            yield error.problem(line_number)


def _item(parts: list[str], line: int, unix_start: int, options: SwfOptions) -> ImportItem:
    if len(parts) != _FIELDS_COUNT:
        raise FieldError(
            "line", "wrong_fields", f"A job line has {_FIELDS_COUNT} fields, not {len(parts)}."
        )
    for part in parts:
        if not _NUMBER.fullmatch(part):
            raise FieldError("line", "wrong_type", "Every field is a number, -1 if unknown.", part)
    job, submit, wait, run, processors = (int(float(part)) for part in parts[:5])
    asked, status, user, group = (int(float(parts[index])) for index in (7, 10, 11, 12))
    if status in _PARTIAL_STATUSES:
        return Skipped(line=line, reason="partial_execution", detail="A part of a job told whole.")
    if run < 0 or (run == 0 and status == 5):
        return Skipped(line=line, reason="never_started", detail="The job did not run.")
    if run == 0:
        return Skipped(line=line, reason="no_time", detail="The job ran for no time.")
    _require(submit=submit, wait=wait, user=user, group=group)
    start_seconds = unix_start + submit + wait
    queue, partition = parts[14], parts[15]
    return ImportedRecord(
        key=f"{options.cluster}/{job}/{unix_start + submit}",
        account=fields.text(options.account_format.format(group), field="group"),
        person=fields.text(options.person_format.format(user), field="user"),
        pool=_pool(partition, options),
        tier=options.tier,
        units=fields.units(processors if processors >= 0 else asked, field="processors"),
        start=times.from_epoch(start_seconds, field="submit"),
        end=times.from_epoch(start_seconds + run, field="run"),
        labels=_labels(queue, partition, status),
        compute_util=_busy_share(float(parts[5]), run),
        line=line,
    )


def _require(**known: int) -> None:
    for name, value in known.items():
        if value < 0:
            raise FieldError(name, "missing", f"The {name} of the job is unknown.", str(value))


def _pool(partition: str, options: SwfOptions) -> str:
    pool = options.pool(cluster=options.cluster, partition=partition, kind=None)
    if pool is None:
        raise FieldError(
            "pool", "unknown_pool", f"No pool is mapped to partition {partition}.", partition
        )
    return pool


def _labels(queue: str, partition: str, status: int) -> dict[str, str]:
    found = {"queue": queue, "partition": partition, "state": _STATUS_LABELS.get(status, "-1")}
    return {name: value for name, value in found.items() if value != "-1"}


def _busy_share(cpu_seconds: float, run_seconds: int) -> float | None:
    """Average CPU time of a processor over run time; unknown where it makes no sense."""
    return cpu_seconds / run_seconds if 0 <= cpu_seconds <= run_seconds else None
