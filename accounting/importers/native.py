"""Usage records in our own fields, as newline-delimited JSON or one JSON array. Pure.

The fields are those of ``POST /api/v1/usage`` (accounting.importers.fields). Times must say their
zone. An absent or null ``end`` means still running.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from accounting.importers import fields, times
from accounting.importers.json_values import values
from accounting.importers.options import ImportOptions
from accounting.importers.record import FieldError, ImportItem, ImportProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeOptions(ImportOptions):
    """Nothing of its own; ``timezone`` and pool mapping are not used."""


def read_zoned(text: str, field: str) -> times.datetime:
    """A time that must carry its zone."""
    return times.aware(text, field=field)


def read(lines: Iterable[str], *, options: NativeOptions) -> Iterator[ImportItem]:
    """The records and problems of a file, in its order."""
    for item in values(lines):
        if isinstance(item, ImportProblem):
            yield item
            continue
        line, value = item
        try:
            if not isinstance(value, dict):
                raise FieldError("line", "wrong_type", "A record is a JSON object.", value)
            yield fields.record(value, line=line, default_tier=options.tier, read_time=read_zoned)
        except FieldError as error:
            yield error.problem(line)
