"""Usage records in CloudEvents 1.0 envelopes: structured events, one a line, or a batch. Pure.

``id`` is the record's key and ``source`` its source: CloudEvents make the pair unique, which is
our exactly-once identity. ``data`` holds the other fields of a native record; where it names no
account, ``subject`` is the account. Events of types other than ``options.types`` are skipped.
(CloudEvents specification 1.0.2, JSON format.)
"""

import base64
import binascii
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from accounting.importers import fields
from accounting.importers.json_values import values
from accounting.importers.native import read_zoned
from accounting.importers.options import ImportOptions
from accounting.importers.record import (
    KEY_LENGTH_MAX,
    FieldError,
    ImportItem,
    ImportProblem,
    Skipped,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudEventsOptions(ImportOptions):
    """``types`` are the event types that are usage; None takes all."""

    types: frozenset[str] | None = None


def read(lines: Iterable[str], *, options: CloudEventsOptions) -> Iterator[ImportItem]:
    """The records, problems and skipped events of a file, in its order."""
    for item in values(lines):
        if isinstance(item, ImportProblem):
            yield item
            continue
        line, value = item
        try:
            yield _item(value, line, options)
        except FieldError as error:
            yield error.problem(line)


def _item(event: Any, line: int, options: CloudEventsOptions) -> ImportItem:
    if not isinstance(event, dict):
        raise FieldError("line", "wrong_type", "An event is a JSON object.", event)
    if event.get("specversion") != "1.0":
        raise FieldError(
            "specversion", "unknown_specversion", "specversion is 1.0.", event.get("specversion")
        )
    key = fields.text(event.get("id"), field="id", length_max=KEY_LENGTH_MAX)
    source = fields.text(event.get("source"), field="source")
    event_type = fields.text(event.get("type"), field="type")
    if options.types is not None and event_type not in options.types:
        return Skipped(line=line, reason="other_type", detail=f"Events of {event_type} are no use.")
    data = _data(event)
    for name in ("key", "source"):
        if name in data:
            raise FieldError(
                f"data.{name}", "unknown_field", f"The {name} is said by the envelope.", data[name]
            )
    record = {**data, "key": key, "source": source}
    if event.get("subject") is not None:
        record.setdefault("account", event["subject"])
    return fields.record(record, line=line, default_tier=options.tier, read_time=read_zoned)


def _data(event: dict[str, Any]) -> dict[str, Any]:
    data = event.get("data")
    content_type = event.get("datacontenttype") or "application/json"
    media_type = str(content_type).partition(";")[0].strip().lower()
    if media_type != "application/json" and not media_type.endswith("+json"):
        raise FieldError(
            "datacontenttype", "not_json", "The data of a usage event is JSON.", content_type
        )
    if data is None and isinstance(event.get("data_base64"), str):
        try:
            data = msgspec.json.decode(base64.b64decode(event["data_base64"], validate=True))
        except (binascii.Error, ValueError) as error:
            raise FieldError("data_base64", "bad_json", f"The data is no JSON: {error}.") from None
    if not isinstance(data, dict):
        raise FieldError("data", "wrong_type", "The data of a usage event is an object.", data)
    return data
