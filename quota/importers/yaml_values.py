"""YAML as plain values that know their lines. Pure.

Scalars stay text, as written: a quantity of `010` or a name of `no` means what it says. Tags mean
nothing; aliases are refused, for a few lines of them can stand for billions; so is a field that
comes twice.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tenancy.importers.tree import TreeProblem

NESTING_MAX: Final = 64
_NULL: Final = "tag:yaml.org,2002:null"


class Text(str):
    """A scalar and its line."""

    line: int

    __slots__ = ("line",)


class Map(dict[str, "Value"]):
    """A mapping, its line, and those of its fields."""

    line: int
    lines: dict[str, int]

    __slots__ = ("line", "lines")


class Items(list["Value"]):
    """A list and its line."""

    line: int

    __slots__ = ("line",)


Value = Text | Map | Items | None


class Unreadable(Exception):
    """Reading cannot go on; the problem says where."""

    def __init__(self, problem: TreeProblem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


@dataclass(slots=True)
class Problems:
    """What is wrong with a file, collected."""

    found: list[TreeProblem] = field(default_factory=list)

    def add(self, line: int, place: str, code: str, detail: str, value: object = "") -> None:
        self.found.append(
            TreeProblem(line=line, field=place, code=code, detail=detail, value=str(value)[:200])
        )

    def record(self, value: Value, place: str, known: tuple[str, ...], *, line: int = 1) -> Map:
        """A mapping of known fields. Unknown ones are problems."""
        if not isinstance(value, Map):
            said = ", ".join(known)
            at = getattr(value, "line", line)
            self.add(at, place, "wrong_type", f"Expected fields: {said}.")
            return empty(at)
        for name in value:
            if name not in known:
                self.add(
                    line_of(value, name),
                    f"{place}.{name}",
                    "unknown_field",
                    f"Known here: {', '.join(known)}.",
                    name,
                )
        return value

    def items(self, value: Value, place: str) -> Iterator[tuple[str, Value]]:
        """Entries of a list with their places; nothing for null."""
        if value is None:
            return
        if not isinstance(value, Items):
            self.add(getattr(value, "line", 1), place, "wrong_type", f"{place} must be a list.")
            return
        for number, item in enumerate(value):
            yield f"{place}[{number}]", item

    def text(self, record: Map, name: str, place: str, *, required: bool = False) -> str | None:
        """A scalar, trimmed; None where it is absent or empty."""
        value = record.get(name)
        if value is not None and not isinstance(value, Text):
            self.add(value.line, f"{place}.{name}", "wrong_type", f"{name} must be one value.")
            return None
        text = value.strip() if value else ""
        if not text and required:
            self.add(record.line, f"{place}.{name}", "missing", f"{name} is required.")
        return text or None

    def whole(self, record: Map, name: str, place: str, *, maximum: int) -> int | None:
        """A whole number from 0 to `maximum`; None where it is absent or null."""
        text = self.text(record, name, place)
        if text is None:
            return None
        if not (text.isascii() and text.isdigit() and len(text) <= 18) or int(text) > maximum:
            self.add(
                line_of(record, name),
                f"{place}.{name}",
                "out_of_range",
                f"{name} must be a whole number from 0 to {maximum}.",
                text,
            )
            return None
        return int(text)


def line_of(record: Map, name: str) -> int:
    """The line of a field, or that of its record."""
    return record.lines.get(name, record.line)


def documents(text: str) -> list[Value]:
    """Every document of a file, empty ones left out.

    Raises:
        Unreadable: no YAML, an alias, a field that comes twice, too deep.
    """
    try:
        _check_events(text)
        nodes = list(yaml.compose_all(text, Loader=yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise _unreadable(line, "bad_yaml", f"The file is not YAML: {error.problem}.") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise _unreadable(1, "bad_yaml", f"The file is not YAML: {str(error)[:200]}.") from error
    found = [_value(node) for node in nodes if node is not None]
    return [value for value in found if value is not None]


def _check_events(text: str) -> None:
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent):
            raise _unreadable(line, "alias", "Aliases are not read. Write the values out.")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > NESTING_MAX:
            raise _unreadable(line, "too_deep", "The file is nested too deep.")


def _value(node: Node) -> Value:
    line = node.start_mark.line + 1
    if isinstance(node, ScalarNode):
        if node.tag == _NULL:
            return None
        text = Text(node.value)
        text.line = line
        return text
    if isinstance(node, SequenceNode):
        items = Items(_value(item) for item in node.value)
        items.line = line
        return items
    assert isinstance(node, MappingNode)
    record = empty(line)
    for key, value in node.value:
        if not isinstance(key, ScalarNode):
            raise _unreadable(line, "wrong_type", "The name of a field must be text.")
        if key.value in record:
            raise _unreadable(
                key.start_mark.line + 1, "repeated_field", f"{key.value[:80]} comes twice."
            )
        record[key.value] = _value(value)
        record.lines[key.value] = key.start_mark.line + 1
    return record


def empty(line: int) -> Map:
    """A mapping of nothing."""
    record = Map()
    record.line, record.lines = line, {}
    return record


def _unreadable(line: int, code: str, detail: str) -> Unreadable:
    return Unreadable(TreeProblem(line=line, field="file", code=code, detail=detail))
