"""The formats that can be imported, by the name a person types. Pure."""

import gzip
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, Final

from accounting.importers import cloudevents, csv, native, sacct, swf
from accounting.importers.options import ImportOptions
from accounting.importers.record import ImportItem

_GZIP_MAGIC: Final = b"\x1f\x8b"


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """``read(lines, options=...)`` takes an instance of ``options``."""

    name: str
    title: str
    read: Callable[..., Iterator[ImportItem]]
    options: type[ImportOptions]

    def items(self, lines: Iterable[str], **options: Any) -> Iterator[ImportItem]:
        """Read with options given by name; TypeError for one the format does not have."""
        return self.read(lines, options=self.options(**options))


FORMATS: Final[Mapping[str, Format]] = {
    found.name: found
    for found in (
        Format(name="sacct", title="Slurm sacct -P", read=sacct.read, options=sacct.SacctOptions),
        Format(name="swf", title="Standard Workload Format", read=swf.read, options=swf.SwfOptions),
        Format(name="csv", title="CSV", read=csv.read, options=csv.CsvOptions),
        Format(
            name="cloudevents",
            title="CloudEvents 1.0",
            read=cloudevents.read,
            options=cloudevents.CloudEventsOptions,
        ),
        Format(
            name="native", title="NDJSON records", read=native.read, options=native.NativeOptions
        ),
    )
}


def text_lines(stream: BinaryIO) -> Iterator[str]:
    """The lines of a file, inflated when it is gzip. Bytes that are no UTF-8 become U+FFFD.

    Raises ``EOFError`` or ``gzip.BadGzipFile`` where compressed data is cut short or damaged.
    """
    buffered = io.BufferedReader(stream) if isinstance(stream, io.RawIOBase) else stream
    peek = getattr(buffered, "peek", None)
    if peek is not None and peek(2)[:2] == _GZIP_MAGIC:
        buffered = gzip.GzipFile(fileobj=buffered)
    return io.TextIOWrapper(buffered, encoding="utf-8-sig", errors="replace", newline="\n")
