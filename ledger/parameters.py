"""Parameters of statements in PostgreSQL's binary format, by the type that the statement names.

psycopg finds the type of each value anew, for every statement; here it is written beside the
parameter, `%b::uuid`, and what encodes it is looked up once per statement.
"""

import re
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from operator import attrgetter
from typing import Any

import psycopg

Encode = Callable[[Any], bytes]

_PARAMETER = re.compile(r"%b::(\w+(?:\[\])?)")
_EPOCH = datetime(2000, 1, 1, tzinfo=UTC)
_LENGTH = struct.Struct("!i").pack
_NULL = _LENGTH(-1)
_ARRAY = struct.Struct("!iiIii").pack
_BIGINT = struct.Struct("!q").pack


def _instant(value: datetime) -> bytes:
    since = value - _EPOCH
    seconds = since.days * 86_400 + since.seconds
    return _BIGINT(seconds * 1_000_000 + since.microseconds)


# Type name: (oid, what encodes a value that is not None).
_TYPES: dict[str, tuple[int, Encode]] = {
    "boolean": (16, struct.Struct("!?").pack),
    "bytea": (17, bytes),
    "bigint": (20, _BIGINT),
    "smallint": (21, struct.Struct("!h").pack),
    "int": (23, struct.Struct("!i").pack),
    "text": (25, str.encode),
    "timestamptz": (1184, _instant),
    "uuid": (2950, attrgetter("bytes")),
}


def _elements(values: Sequence[Any], encode: Encode) -> Iterable[bytes]:
    for value in values:
        if value is None:
            yield _NULL
        else:
            encoded = encode(value)
            yield _LENGTH(len(encoded))
            yield encoded


def _array(oid: int, encode: Encode) -> Encode:
    none, alone = _ARRAY(0, 0, oid, 0, 0)[:12], _ARRAY(1, 0, oid, 1, 1)

    def encoded(values: Sequence[Any]) -> bytes:
        count = len(values)
        if not count:
            return none
        first = values[0]
        if count == 1 and first is not None:
            only = encode(first)
            return alone + _LENGTH(len(only)) + only
        if values.count(first) == count:
            # What a batch has in common is encoded once.
            body = b"".join(_elements(values[:1], encode)) * count
        else:
            body = b"".join(_elements(values, encode))
        return _ARRAY(1, 1, oid, count, 1) + body

    return encoded


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL with `$1`, `$2`, and what encodes the parameters."""

    sql: bytes
    encoders: tuple[Encode, ...]
    formats: tuple[int, ...]

    def encode(self, values: Sequence[Any]) -> list[bytes | None]:
        """The parameters as the server takes them.

        Raises:
            psycopg.DataError: a number is out of its type's range.
            UnicodeEncodeError: a text holds half of a character.
        """
        try:
            return [
                None if value is None else encode(value)
                for encode, value in zip(self.encoders, values, strict=True)
            ]
        except struct.error as error:
            # An error of the data, as the server's would be.
            raise psycopg.DataError(f"a number is out of range: {error}") from error


@lru_cache(maxsize=512)
def statement(sql: str) -> Statement:
    """The statement for SQL in which each parameter is written with its type, `%b::uuid` or
    `%b::uuid[]`.

    Raises:
        ValueError: a parameter without a type, or of one that is not known here.
    """
    encoders: list[Encode] = []

    def numbered(match: re.Match) -> str:
        encoders.append(_encoder(match[1]))
        return f"${len(encoders)}::{match[1]}"

    text = _PARAMETER.sub(numbered, sql)
    if "%" in text:
        raise ValueError(f"a parameter without its type: {sql}")
    return Statement(text.encode(), tuple(encoders), (1,) * len(encoders))


def _encoder(name: str) -> Encode:
    known = _TYPES.get(name.removesuffix("[]"))
    if known is None:
        raise ValueError(f"parameters of type {name} are not known")
    return _array(*known) if name.endswith("[]") else known[1]
