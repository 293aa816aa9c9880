"""Job records from the output of Slurm's ``sacct --parsable2``. Pure.

    sacct -a -D -P --noconvert --delimiter='|' -S ... -E ... --format=Cluster,JobIDRaw,JobID,\\
        SLUID,JobName,Account,User,Partition,QOS,State,Submit,Start,End,ElapsedRaw,Suspended,\\
        Restarts,AllocTRES,WCKey

Columns are found by name, in any order; see REQUIRED_COLUMNS. One job row becomes one record for
each kind of device it held (nearly always one). Steps are parts of their job and are dropped.

**Identity.** The key is ``cluster/sluid`` where the row has an SLUID, which Slurm never uses
twice, else ``cluster/job id/submit/restarts``: job ids wrap, and a requeued job keeps its id.
``submit`` is in seconds since 1970; ``restarts`` is 0 where the column is missing. A job with
several kinds of device adds ``/kind``. So the same columns and zone must be used each time.

**Running jobs** give an open record under ``<identity>#open``; the finished job has the identity
itself as key and supersedes the open one, seen or not (see ImportedRecord). Reading a running job
again is a duplicate; reading a finished job again is one too.

**Times** without a zone are read in ``options.timezone``, see accounting.importers.times.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, tzinfo
from typing import Final, Literal

from accounting.importers import fields, times, tres
from accounting.importers.columns import base_state
from accounting.importers.options import ImportOptions
from accounting.importers.pools import CPU_KIND
from accounting.importers.record import (
    KEY_LENGTH_MAX,
    OPEN_SUFFIX,
    FieldError,
    ImportedRecord,
    ImportItem,
    ImportProblem,
    Skipped,
)
from accounting.importers.sacct_table import Row, Table

HELD_STATES: Final = frozenset(
    [
        "COMPLETING",
        "CONFIGURING",
        "RESIZING",
        "RUNNING",
        "SIGNALING",
        "STAGE_OUT",
        "STOPPED",
        "SUSPENDED",
    ]
)
"""States in which a job without an end still holds its devices."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SacctOptions(ImportOptions):
    """``cluster`` is used where the file has no Cluster column. ``gres`` names the generic
    resources that count as devices. ``qos_tiers`` gives the tier by QOS. ``subtract_suspended``
    shortens finished jobs by their suspended time, for sites whose suspended jobs give their
    devices back. ``identity`` "job" ignores SLUID, for a history that began without it."""

    cluster: str | None = None
    delimiter: str = "|"
    gres: tuple[str, ...] = ("gpu",)
    qos_tiers: Mapping[str, str] = field(default_factory=dict)
    subtract_suspended: bool = False
    identity: Literal["auto", "job"] = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """What all records of one row have in common."""

    identity: str
    cluster: str
    partition: str
    tier: str
    account: str
    person: str
    start: datetime
    end: datetime | None
    labels: dict[str, str]
    line: int


class _NoRecordError(Exception):
    """The row is rightly no record."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail


def read(lines: Iterable[str], *, options: SacctOptions) -> Iterator[ImportItem]:
    """The records, problems and skipped rows of a file, in its order."""
    table = Table(lines, delimiter=options.delimiter)
    try:
        zone = times.zone(options.timezone)
        table.read_header(needs_cluster=options.cluster is None)
    except FieldError as error:
        yield error.problem(table.line, fatal=True)
        return
    for row in table.rows():
        if not isinstance(row, Row):
            yield row
            continue
        try:
            yield from _row_items(row, options, zone)
        except _NoRecordError as skipped:
            yield Skipped(line=row.line, reason=skipped.reason, detail=skipped.detail)
        except FieldError as error:
            yield error.problem(row.line)


def _row_items(row: Row, options: SacctOptions, zone: tzinfo) -> Iterator[ImportItem]:
    state = base_state(row.get("state"))
    if state == "REVOKED":
        raise _NoRecordError("revoked", "The job ran in another cluster of the federation.")
    if state == "PENDING" or times.is_no_time(row.get("start")):
        raise _NoRecordError("never_started", "The job had not started.")
    amounts = tres.parse(row.get("alloctres"), field="AllocTRES")
    if not amounts and row.get("elapsedraw") in ("", "0"):
        raise _NoRecordError("never_started", "The job ended before anything was allocated to it.")
    job = _job(row, state, options, zone)
    if job.end == job.start:
        raise _NoRecordError("no_time", "The job ended in the second in which it started.")
    devices = tres.devices(amounts, gres=options.gres)
    if devices.units_by_kind:
        several = len(devices.units_by_kind) > 1
        for kind, units in devices.units_by_kind.items():
            yield _device_item(job, kind, units, several, options)
    else:
        yield _cpu_record(job, amounts.get("cpu", 0), options)
    if devices.untyped_left:
        yield ImportProblem(
            line=row.line,
            field="AllocTRES",
            code="untyped_devices",
            detail=f"{devices.untyped_left} devices are of no type that Slurm tracks and were not "
            "counted: add their type to AccountingStorageTRES.",
            value=row.get("alloctres"),
        )


def _job(row: Row, state: str | None, options: SacctOptions, zone: tzinfo) -> _Job:
    cluster = row.get("cluster") or options.cluster or ""
    cluster = fields.text(cluster, field="Cluster")
    qos = row.get("qos")
    start, end = _start_and_end(row, state, options, zone)
    return _Job(
        identity=_identity(row, cluster, options, zone),
        cluster=cluster,
        partition=row.get("partition"),
        tier=options.qos_tiers.get(qos, options.tier),
        account=fields.text(row.get("account"), field="Account"),
        person=fields.text(row.get("user"), field="User"),
        start=start,
        end=end,
        labels=_labels(row, state if end is not None else None),
        line=row.line,
    )


def _identity(row: Row, cluster: str, options: SacctOptions, zone: tzinfo) -> str:
    sluid = row.get("sluid")
    if sluid and options.identity == "auto":
        return f"{cluster}/{fields.text(sluid, field='SLUID')}"
    submit = row.get("submit")
    if times.is_no_time(submit):
        raise FieldError("Submit", "missing", "A job is told apart by its submit time.", submit)
    submitted = int(times.instant(submit, field="Submit", zone=zone).timestamp())
    return f"{cluster}/{row.job_id}/{submitted}/{_count(row, 'restarts', 'Restarts') or 0}"


def _start_and_end(
    row: Row, state: str | None, options: SacctOptions, zone: tzinfo
) -> tuple[datetime, datetime | None]:
    start_text, end_text = row.get("start"), row.get("end")
    # ``sacct -T`` writes the end of its window as the end of a running job: it is not over.
    if times.is_no_time(end_text) or state in ("RUNNING", "SUSPENDED"):
        if state is not None and state not in HELD_STATES:
            raise FieldError(
                "End", "end_unknown", f"The job is {state} but its end is not known.", end_text
            )
        return times.instant(start_text, field="Start", zone=zone), None
    start, end = times.interval(
        start_text,
        end_text,
        zone=zone,
        elapsed_seconds=_count(row, "elapsedraw", "ElapsedRaw"),
        start_field="Start",
        end_field="End",
    )
    if options.subtract_suspended:
        end = max(start, end - _duration(row.get("suspended")))
    return start, end


def _labels(row: Row, state: str | None) -> dict[str, str]:
    """What the job was called. The state only once it is final, or an open record would differ
    from itself when it is read again."""
    found = {
        "partition": row.get("partition"),
        "qos": row.get("qos"),
        "job_id": row.get("jobid") or row.job_id,
        "job_name": row.get("jobname"),
        "state": state or "",
        "wckey": row.get("wckey").lstrip("*"),
    }
    cleaned = {name: fields.label_text(value) for name, value in found.items()}
    return {name: value for name, value in cleaned.items() if value}


def _device_item(
    job: _Job, kind: str | None, units: int, several: bool, options: SacctOptions
) -> ImportItem:
    pool = options.pool(cluster=job.cluster, partition=job.partition, kind=kind)
    if pool is None:
        what = f"kind {kind}" if kind else "devices of unknown kind"
        return ImportProblem(
            line=job.line,
            field="pool",
            code="unknown_pool",
            detail=f"No pool is known for {what} in partition {job.partition or '(none)'} of "
            f"cluster {job.cluster}: map the kind or the partition to a pool.",
            value=kind or job.partition,
        )
    suffix = f"/{kind or 'gpu'}" if several else ""
    try:
        return _record(job, pool=pool, units=units, suffix=suffix)
    except FieldError as error:
        return error.problem(job.line)


def _cpu_record(job: _Job, cores: int, options: SacctOptions) -> ImportedRecord:
    pool = options.pools.find(cluster=job.cluster, partition=job.partition, kind=CPU_KIND)
    if pool is None or cores == 0:
        raise _NoRecordError("no_devices", "The job held no device; cores have no pool.")
    return _record(job, pool=pool, units=cores, suffix="")


def _record(job: _Job, *, pool: str, units: int, suffix: str) -> ImportedRecord:
    key = job.identity + suffix
    fields.text(key + OPEN_SUFFIX, field="key", length_max=KEY_LENGTH_MAX)
    closed = job.end is not None
    return ImportedRecord(
        key=key if closed else key + OPEN_SUFFIX,
        account=job.account,
        person=job.person,
        pool=pool,
        tier=job.tier,
        units=fields.units(units),
        start=job.start,
        end=job.end,
        labels=job.labels,
        supersedes=key + OPEN_SUFFIX if closed else None,
        supersedes_optional=closed,
        line=job.line,
    )


def _count(row: Row, column: str, shown_as: str) -> int | None:
    text = row.get(column)
    if text == "":
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise FieldError(shown_as, "wrong_type", f"{shown_as} must be a whole number.", text)
    return int(text)


def _duration(text: str) -> timedelta:
    """``[days-]hours:minutes:seconds`` or ``minutes:seconds``; blank is none."""
    days, _, clock = text.rpartition("-")
    parts = clock.split(":") if clock else ["0"]
    if not all(part.isascii() and part.isdigit() for part in [*parts, days or "0"]):
        raise FieldError(
            "Suspended", "bad_duration", "A duration looks like 1-02:03:04 or 03:04.", text
        )
    seconds = 0
    for part in parts:
        seconds = seconds * 60 + int(part)
    return timedelta(days=int(days or 0), seconds=seconds)
