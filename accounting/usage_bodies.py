"""A request body with usage records into a batch: decoded in one go, or record by record when
something in it is wrong, so that each bad record gets its own verdict and the others count."""

from datetime import datetime

import msgspec

from accounting.staging import KEY_LENGTH_MAX, RECORDS_MAX, Batch
from accounting.wire import LooseBatch, Usage, UsageBatch
from config.api.faults import Fault, fault
from ledger.errors import Invalid

NDJSON = "application/x-ndjson"
# No honest record has as many members and labels; what has is refused before it fills memory.
_COMMAS_MAX = 50 * RECORDS_MAX
_FAILURES = (msgspec.DecodeError, RecursionError)

_record = msgspec.json.Decoder(Usage)
_whole = msgspec.json.Decoder(UsageBatch | list[Usage])
_loose = msgspec.json.Decoder(LooseBatch | list[msgspec.Raw])


class _KeyOnly(msgspec.Struct):
    key: str | None = None


_key_only = msgspec.json.Decoder(_KeyOnly)


def read_batch(body: bytes, *, ndjson: bool, source: str, now: datetime) -> Batch:
    """The records of a body, checked as far as that goes without the database.

    Args:
        source: stands for records that name none, and gives way to the body's own.

    Raises:
        Invalid: no records, too many, or JSON that cannot be read as a whole.
    """
    batch = Batch(now=now)
    if ndjson:
        _read_lines(batch, body, source)
    else:
        _read_json(batch, body, source)
    return batch


def _read_lines(batch: Batch, body: bytes, source: str) -> None:
    lines = body.count(b"\n") + (not body.endswith(b"\n"))
    # Blank lines do not count, but nobody needs more of them than records.
    if lines > 2 * RECORDS_MAX:
        raise _too_many()
    try:
        records = _record.decode_lines(body)
    except _FAILURES:
        records = None
    if records is not None and len(records) == lines:
        _check_count(lines)
        batch.add_all(enumerate(records, 1), source=source)
        return
    texts = [(n, text) for n, text in enumerate(body.split(b"\n"), 1) if text.strip()]
    _check_count(len(texts))
    for line, text in texts:
        _add_loosely(batch, line, text, source)


def _read_json(batch: Batch, body: bytes, source: str) -> None:
    # Every record names its units: a body with far more is not even decoded.
    if body.count(b'"units"') > 2 * RECORDS_MAX:
        raise _too_many()
    try:
        whole = _whole.decode(body)
    except msgspec.ValidationError:
        _read_json_loosely(batch, body, source)
        return
    except _FAILURES as error:
        raise _malformed(fault(error)) from None
    if isinstance(whole, UsageBatch):
        whole, source = whole.records, whole.source or source
    _check_count(len(whole))
    batch.add_all(enumerate(whole, 1), source=source)


def _read_json_loosely(batch: Batch, body: bytes, source: str) -> None:
    if body.count(b",") > _COMMAS_MAX:
        raise _too_many()
    try:
        loose = _loose.decode(body)
    except msgspec.ValidationError as error:
        found = fault(error)
        raise Invalid(found.code, found.detail, field=found.field or "") from None
    except _FAILURES as error:
        raise _malformed(fault(error)) from None
    if isinstance(loose, LooseBatch):
        loose, source = loose.records, loose.source or source
    _check_count(len(loose))
    for line, text in enumerate(loose, 1):
        _add_loosely(batch, line, text, source)


def _add_loosely(batch: Batch, line: int, text: bytes | msgspec.Raw, source: str) -> None:
    try:
        record = _record.decode(text)
    except _FAILURES as error:
        found = fault(error)
        batch.reject(line, _key_of(text), found.code, found.field, found.detail)
        return
    batch.add_all([(line, record)], source=source)


def _key_of(text: bytes | msgspec.Raw) -> str | None:
    """The key of a bad record, if that much can be read."""
    try:
        key = _key_only.decode(text).key
    except _FAILURES:
        return None
    return key[:KEY_LENGTH_MAX] if key else None


def _check_count(count: int) -> None:
    if count > RECORDS_MAX:
        raise _too_many()
    if count == 0:
        raise Invalid("records_missing", "The request holds no record.", field="records")


def _too_many() -> Invalid:
    return Invalid(
        "too_many_records",
        f"One request takes at most {RECORDS_MAX} records. Send the rest in further ones.",
        field="records",
        facts={"limit": RECORDS_MAX},
    )


def _malformed(found: Fault) -> Invalid:
    return Invalid("malformed_body", found.detail, field="")
