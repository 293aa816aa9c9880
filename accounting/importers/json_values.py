"""JSON values one by one, from lines of one value each or from one big array. Pure.

Newline-delimited JSON is read line by line. A file that begins with ``[`` is one array, however it
is broken into lines: its elements are cut out at their ends without parsing the whole, so memory
holds one element and one line at a time.
"""

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import msgspec

from accounting.importers.record import FieldError, ImportProblem

VALUE_LENGTH_MAX: Final = 1_000_000
"""Characters of one value. A record has a few hundred; more is no record."""

_MARKS = re.compile(r'["\\{}\[\],]')


class _Cutter:
    """Finds the ends of the elements of one array in text that arrives line by line."""

    def __init__(self) -> None:
        self.closed = False
        self._depth = 0
        self._parts: list[str] = []
        self._length = 0
        self._line = 0

    def feed(self, text: str, line: int) -> Iterator[tuple[int, str | None]]:
        """(line on which it begins, element) of the elements that end in this text.

        The element is None when it is longer than VALUE_LENGTH_MAX.
        """
        taken = 0
        # A JSON string never spans lines, so each line begins outside one.
        in_string = False
        for match in _MARKS.finditer(text):
            mark, place = match.group(), match.start()
            if mark == '"':
                in_string = not (in_string and not _is_escaped(text, place))
            elif in_string or mark == "\\":
                continue
            elif mark in "{[":
                self._depth += 1
                if self._depth == 1:
                    taken = place + 1
            elif mark in "}]":
                self._depth -= 1
                if self._depth == 0:
                    self._keep(text[taken:place], line)
                    if self._parts:
                        yield self._cut()
                    self.closed = True
                    taken = place + 1
            elif mark == "," and self._depth == 1:
                self._keep(text[taken:place], line)
                yield self._cut()
                taken = place + 1
        self._keep(text[taken:], line)

    def _keep(self, text: str, line: int) -> None:
        if not self._parts:
            text = text.lstrip()
            self._line = line
        if text:
            self._length += len(text)
            if self._length <= VALUE_LENGTH_MAX:
                self._parts.append(text)
            elif not self._parts:
                self._parts.append("")

    def _cut(self) -> tuple[int, str | None]:
        element = None if self._length > VALUE_LENGTH_MAX else "".join(self._parts)
        self._parts, self._length = [], 0
        return self._line, element

    @property
    def has_rest(self) -> bool:
        """True when text came after the end of the array."""
        return bool(self._parts)


def _is_escaped(text: str, place: int) -> bool:
    """True when an odd number of backslashes comes right before the place."""
    count = 0
    while count < place and text[place - count - 1] == "\\":
        count += 1
    return count % 2 == 1


def values(lines: Iterable[str]) -> Iterator[tuple[int, Any] | ImportProblem]:
    """(line, decoded value) of each line or element; a problem for each that is no JSON.

    Numbers that JSON does not know (NaN, Infinity) are no JSON. Blank lines are passed over.
    """
    numbered = enumerate(lines, start=1)
    for number, line in numbered:
        text = line.removeprefix("\ufeff")
        if text.strip():
            if text.lstrip().startswith("["):
                yield from _elements(number, text, numbered)
                return
            yield _decoded(number, text)
            break
    for number, line in numbered:
        if line.strip():
            yield _decoded(number, line)


def _elements(
    number: int, text: str, numbered: Iterator[tuple[int, str]]
) -> Iterator[tuple[int, Any] | ImportProblem]:
    cutter = _Cutter()
    last, trailing = number, False
    for piece_number, piece in itertools.chain([(number, text)], numbered):
        last = piece_number
        if cutter.closed:
            trailing = trailing or bool(piece.strip())
            continue
        for line, element in cutter.feed(piece, piece_number):
            yield _decoded(line, element)
    if not cutter.closed:
        error = FieldError("line", "bad_json", "The array is not closed: the file was cut short.")
        yield error.problem(last, fatal=True)
    elif trailing or cutter.has_rest:
        error = FieldError("line", "bad_json", "Text follows the end of the array.")
        yield error.problem(last, fatal=True)


def _decoded(line: int, text: str | None) -> tuple[int, Any] | ImportProblem:
    if text is None or len(text) > VALUE_LENGTH_MAX:
        error = FieldError("line", "too_long", f"The value is longer than {VALUE_LENGTH_MAX}.")
        return error.problem(line)
    try:
        return line, msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError) as error:
        return FieldError("line", "bad_json", f"The line is not JSON: {error}.", text).problem(line)
