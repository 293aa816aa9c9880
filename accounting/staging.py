"""A batch of usage records on its way into the database: checked one by one, then copied.

`Batch.add` takes a record in plain values, checks what can be checked without the database and
writes its line of `COPY` text. What fails is listed with its line, field and reason; the rest goes
on. Names become ids later, in SQL, against what the organization knows at that moment.

The digest of that text (16 bytes of BLAKE2b over all columns from `source` to `labels`) is the
record's content: by it a record sent again is known as a duplicate. It is stored for good, so the
text must never be written differently; a test holds two digests fixed.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any

import msgspec

RECORDS_MAX = 100_000
"""Records of one batch."""
KEY_LENGTH_MAX = 255
NAME_LENGTH_MAX = 128
LABELS_MAX = 32
LABEL_LENGTH_MAX = 255
DURATION_DAYS_MAX = 3_660
DURATION_MAX = timedelta(days=DURATION_DAYS_MAX)
AHEAD_DAYS_MAX = 366
EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
TIERS = {"guaranteed": 0, "borrowed": 1, "spot": 2}
TIER_NAMES = tuple(TIERS)

COLUMNS = (
    "line, source, account, person, pool, tier, key, units, started_at, ended_at, compute_util, "
    "productive_util, memory_gb, supersedes, labels, content, supersedes_optional"
)
CREATE = """
CREATE TEMPORARY TABLE IF NOT EXISTS staged_usage (
    line integer, source text, key text, account text, person text, pool text, tier smallint,
    units bigint, started_at timestamptz, ended_at timestamptz, compute_util numeric,
    productive_util numeric, memory_gb numeric, supersedes text, labels jsonb, content uuid,
    supersedes_optional boolean
) ON COMMIT DELETE ROWS
"""

_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NULL = r"\N"
_PLAIN_END = "\t\\N" * 4
_encoder = msgspec.json.Encoder(order="sorted")


@dataclass(frozen=True, slots=True)
class RecordVerdict:
    """What became of a record that was not accepted. `status` is duplicate, conflict, rejected."""

    line: int
    key: str | None
    status: str
    code: str
    field: str | None
    detail: str


@dataclass(slots=True)
class Batch:
    """Records of one command. `now` bounds how far ahead a record may start.

    `supersedes` holds the line that supersedes each (source, key), `replaced` the lines that are
    superseded by others of this batch, by those. The first and the last start are in UTC, as the
    months of the partitions are.
    """

    now: datetime
    verdicts: list[RecordVerdict] = field(default_factory=list)
    sources: set[str] = field(default_factory=set)
    supersedes: dict[tuple[str, str], int] = field(default_factory=dict)
    replaced: dict[int, int] = field(default_factory=dict)
    first_started_at: datetime | None = None
    last_started_at: datetime | None = None
    _latest: datetime = field(init=False)
    _staged: dict[int, str] = field(default_factory=dict)
    _seen: dict[tuple[str, str], tuple[int, str]] = field(default_factory=dict)
    _who: dict[tuple[str, ...], str] = field(default_factory=dict)
    _newest: dict[tuple[str, str], str] = field(default_factory=dict)
    _oldest: dict[tuple[str, str], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._latest = self.now + timedelta(days=AHEAD_DAYS_MAX)

    def reject(self, line: int, key: str | None, code: str, where: str | None, detail: str) -> None:
        """List a record as rejected."""
        self.verdicts.append(RecordVerdict(line, key, "rejected", code, where, detail))

    def add(
        self,
        *,
        line: int,
        source: str,
        key: str,
        account: str,
        person: str,
        pool: str,
        tier: str,
        units: int,
        start: datetime,
        end: datetime | None,
        compute_util: Any,
        productive_util: Any,
        memory_gb: Any,
        supersedes: str | None,
        supersedes_optional: bool,
        labels: Mapping[str, str] | None,
    ) -> None:
        """Check a record and stage it, or list why not. `line` counts from 1 in the input.

        Most records are plain, so one condition lets them pass; what is wrong with the others is
        found out afterwards. A batch of 100,000 spends its time here.
        """
        plain = (
            key.isprintable()
            and "\\" not in key
            and 1 <= len(key) <= KEY_LENGTH_MAX
            and source in self.sources
            and EARLIEST <= start <= self._latest
            and (end is None or (end >= start and end - start <= DURATION_MAX))
            and (compute_util is None or 0 <= compute_util <= 1)
            and productive_util is None
            and memory_gb is None
            and supersedes is None
            and not labels
        )
        if not plain:
            problem = self._fault(
                source,
                *(key, start, end, compute_util, productive_util, memory_gb, supersedes, labels),
            )
            if problem is not None:
                self.reject(line, key[:KEY_LENGTH_MAX], *problem)
                return
        who = self._who.get((source, account, person, pool, tier))
        if who is None:
            who = self._names(line, key, source, account, person, pool, tier)
            if who is None:
                return
        when = _interval(start, end)
        use = r"\N" if compute_util is None else compute_util
        if plain:
            values = f"{who}\t{key}\t{units}\t{when}\t{use}{_PLAIN_END}"
        else:
            values = (
                f"{who}\t{_text(key)}\t{units}\t{when}\t{use}\t{_number(productive_util)}\t"
                f"{_number(memory_gb)}\t{_NULL if supersedes is None else _text(supersedes)}\t"
                f"{_labels_text(labels) if labels else _NULL}"
            )
        self._stage(line, source, key, values, start, supersedes, supersedes_optional)

    def add_all(self, records: Iterable[tuple[int, Any]], *, source: str) -> None:
        """Add records, each with its line: `accounting.wire.Usage` or `ImportedRecord` of
        `accounting.importers.record`. `source` stands for those that name none."""
        for line, record in records:
            self.add(
                line=line,
                source=record.source or source,
                key=record.key,
                account=record.account,
                person=record.person,
                pool=record.pool,
                tier=record.tier,
                units=record.units,
                start=record.start,
                end=record.end,
                compute_util=record.compute_util,
                productive_util=record.productive_util,
                memory_gb=record.memory_gb,
                supersedes=record.supersedes,
                supersedes_optional=record.supersedes_optional,
                labels=record.labels,
            )

    def _names(self, line, key, source, account, person, pool, tier) -> str | None:
        """The columns of who and where, made once for all records alike; None when rejected."""
        for where, value in (("account", account), ("person", person), ("pool", pool)):
            if _CONTROL.search(value):
                detail = f"{where} holds control characters."
                self.reject(line, key, "control_character", where, detail)
                return None
        names = (_text(name) for name in (source, account, person, pool))
        who = "\t".join((*names, str(TIERS[tier])))
        self._who[source, account, person, pool, tier] = who
        return who

    def _fault(
        self, source, key, start, end, compute_util, productive_util, memory_gb, supersedes, labels
    ):
        """(code, field, detail) of the first thing wrong, in a fixed order, or None."""
        if _CONTROL.search(key) or _CONTROL.search(source):
            return "control_character", "key", "Keys and sources must not hold control characters."
        if not 1 <= len(key) <= KEY_LENGTH_MAX:
            return "key_length", "key", f"A key has 1 to {KEY_LENGTH_MAX} characters."
        if end is not None and end < start:
            return "end_before_start", "end", "The record ends before it starts."
        if not EARLIEST <= start <= self._latest:
            return (
                "start_out_of_range",
                "start",
                f"A record starts between 2000 and {AHEAD_DAYS_MAX} days from now.",
            )
        if end is not None and end - start > DURATION_MAX:
            return "too_long", "end", f"A record lasts at most {DURATION_DAYS_MAX} days."
        for where, value in (("compute_util", compute_util), ("productive_util", productive_util)):
            if value is not None and not 0 <= value <= 1:
                return "utilization_range", where, f"{where} is a share from 0 to 1."
        if memory_gb is not None and not 0 <= memory_gb < 1e9:
            return "memory_range", "memory_gb", "memory_gb is a number from 0 to below 1e9."
        if supersedes is not None:
            if supersedes == key:
                return "supersedes_itself", "supersedes", "A record cannot supersede itself."
            if not 1 <= len(supersedes) <= KEY_LENGTH_MAX or _CONTROL.search(supersedes):
                return "key_length", "supersedes", f"A key has 1 to {KEY_LENGTH_MAX} characters."
        return _labels_fault(labels) if labels else None

    def _stage(self, line, source, key, values, start, supersedes, optional) -> None:
        content = blake2b(values.encode(), digest_size=16).hexdigest()
        known = self._seen.setdefault((source, key), (line, content))
        if known[0] != line:
            self._repeated(line, key, same=known[1] == content, first_line=known[0])
            return
        if supersedes is not None:
            problem = self._supersede(line, source, key, supersedes)
            if problem is not None:
                self.verdicts.append(problem)
                del self._seen[source, key]
                return
            older = self._seen.get((source, supersedes))
            if older is not None:
                self.replaced[line] = older[0]
                optional = True
        self.sources.add(source)
        self._staged[line] = f"{line}\t{values}\t{content}\t{'t' if optional else 'f'}\n"
        if self.supersedes and (source, key) in self.supersedes:
            newer = self.supersedes[source, key]
            self.replaced[newer] = line
            self._staged[newer] = f"{self._staged[newer][:-2]}t\n"
        if self.first_started_at is None:
            self.first_started_at = self.last_started_at = start.astimezone(UTC)
        elif start < self.first_started_at:
            self.first_started_at = start.astimezone(UTC)
        elif start > self.last_started_at:
            self.last_started_at = start.astimezone(UTC)

    def _supersede(self, line: int, source: str, key: str, supersedes: str) -> RecordVerdict | None:
        """Note that a record takes another's place, or say why it cannot.

        Whether the other is in this batch or was sent before, and which of the two comes first,
        makes no difference: both are stored, and the older one is taken back.
        """
        older = (source, supersedes)
        if older in self.supersedes:
            detail = f"Line {self.supersedes[older]} of this batch supersedes the same record."
            return RecordVerdict(line, key, "conflict", "already_superseded", "supersedes", detail)
        # Of every chain its two ends are known, so that a ring is seen without a walk.
        newest = self._newest.get((source, key), key)
        if newest == supersedes:
            detail = "By way of others the record would supersede itself."
            return RecordVerdict(line, key, "rejected", "supersedes_itself", "supersedes", detail)
        oldest = self._oldest.get(older, supersedes)
        self._newest[source, oldest] = newest
        self._oldest[source, newest] = oldest
        self.supersedes[older] = line
        return None

    def _repeated(self, line: int, key: str, *, same: bool, first_line: int) -> None:
        if same:
            self.verdicts.append(
                RecordVerdict(
                    line, key, "duplicate", "duplicate", None, f"Same as line {first_line}."
                )
            )
        else:
            self.verdicts.append(
                RecordVerdict(
                    line,
                    key,
                    "conflict",
                    "key_conflict",
                    "key",
                    f"Line {first_line} of this batch has the same key with other content.",
                )
            )

    @property
    def staged(self) -> int:
        """How many records go on to the database."""
        return len(self._staged)

    @property
    def copy_text(self) -> bytes:
        """The staged records as `COPY` text, one line each, in the order of COLUMNS."""
        return "".join(self._staged.values()).encode()

    @property
    def content_digest(self) -> bytes:
        """What an idempotency key is bound to: the content of all records, good and bad."""
        rejected = _encoder.encode([(v.line, v.code) for v in self.verdicts])
        contents = "".join([content for _, content in self._seen.values()]).encode()
        return hashlib.sha256(hashlib.sha256(contents).digest() + rejected).digest()


def _labels_fault(labels: Mapping[str, str]) -> tuple[str, str, str] | None:
    if len(labels) > LABELS_MAX:
        return "too_many_labels", "labels", f"A record has at most {LABELS_MAX} labels."
    for name, value in labels.items():
        if not 1 <= len(name) <= LABEL_LENGTH_MAX or len(value) > LABEL_LENGTH_MAX:
            return "label_length", "labels", f"Labels have at most {LABEL_LENGTH_MAX} characters."
        if "\x00" in name or "\x00" in value:
            return "control_character", "labels", "Labels must not hold NUL characters."
    return None


def _text(value: str) -> str:
    """A text field of `COPY`: the few characters that mean something there are escaped."""
    if "\\" in value or not value.isprintable():
        return (
            value.replace("\\", "\\\\")
            .replace("\t", "\\t")
            .replace("\n", "\\n")
            .replace("\r", "\\r")
        )
    return value


def _interval(start: datetime, end: datetime | None) -> str:
    """Two columns of `COPY` in UTC. The encoder writes instants thrice as fast as `isoformat`."""
    if start.tzinfo is not UTC:
        start = start.astimezone(UTC)
    if end is None:
        return f"{_encoder.encode(start).decode()[1:-1]}\t{_NULL}"
    if end.tzinfo is not UTC:
        end = end.astimezone(UTC)
    return _encoder.encode((start, end)).decode()[2:-2].replace('","', "\t")


def _number(value: Any) -> str:
    return _NULL if value is None else str(value)


def _labels_text(labels: Mapping[str, str]) -> str:
    return _encoder.encode(labels).decode().replace("\\", "\\\\")
