"""A tree from YAML. Pure.

    accounts:
      - name: research
        shares: 60
        description: All research
        people:
          - {name: max, shares: 1}
        accounts:
          - {name: nlp, shares: parent, people: [ana]}
    people:
      - {name: ana, display_name: Ana Ruiz, email: ana@example.org}

Accounts nest, or name their ``parent``. A person in a list may be the name alone. The file is read
as nodes with their lines, never as objects: tags mean nothing, aliases are refused (a few lines of
them can stand for billions).
"""

from collections.abc import Iterable, Iterator
from typing import Final

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tenancy.importers.tree import (
    PARENT,
    AccountEntry,
    AssociationEntry,
    PersonEntry,
    Shares,
    TreeBuilder,
    TreeReading,
    parse_shares,
)

_NESTING_MAX: Final = 64
_TOP: Final = ("accounts", "people")
_ACCOUNT: Final = ("name", "parent", "shares", "description", "people", "accounts")
_PERSON: Final = ("name", "display_name", "email")
_PLACE: Final = ("name", "shares", "display_name", "email")


def read(lines: Iterable[str]) -> TreeReading:
    """The tree, or every problem by line."""
    builder = TreeBuilder()
    text = "".join(line if line.endswith("\n") else line + "\n" for line in lines)
    try:
        root = _composed(text, builder)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        builder.problem(line, "file", "bad_yaml", f"The file is not YAML: {error.problem}.")
        root = None
    except (yaml.YAMLError, RecursionError) as error:
        builder.problem(1, "file", "bad_yaml", f"The file is not YAML: {str(error)[:200]}.")
        root = None
    if root is not None:
        reader = _Reader(builder)
        fields = reader.fields(root, _TOP, "file")
        reader.accounts(fields.get("accounts"), parent=None)
        reader.people(fields.get("people"))
    return builder.finish()


def _composed(text: str, builder: TreeBuilder) -> Node | None:
    """The file's nodes, None where there is nothing or it may not be read."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent):
            builder.problem(line, "file", "alias", "Aliases are not read: write it out.")
            return None
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _NESTING_MAX:
            builder.problem(line, "file", "too_deep", "The file is nested too deep.")
            return None
    return yaml.compose(text, Loader=yaml.SafeLoader)


class _Reader:
    def __init__(self, builder: TreeBuilder) -> None:
        self.builder = builder

    def accounts(self, node: Node | None, *, parent: str | None) -> None:
        for item in self._items(node, "accounts"):
            fields = self.fields(item, _ACCOUNT, "account")
            name = self._text(fields.get("name"), "name")
            if not name:
                self.builder.problem(_line(item), "name", "missing", "An account needs a name.")
                continue
            own_parent = self._text(fields.get("parent"), "parent") or None
            if own_parent and parent and own_parent != parent:
                self.builder.problem(
                    _line(item),
                    "parent",
                    "two_parents",
                    f"Account {name} lies under {parent} and names {own_parent} as parent.",
                    own_parent,
                )
            self.builder.account(
                _line(item),
                AccountEntry(
                    name=name,
                    parent=own_parent or parent,
                    shares=self._shares(fields.get("shares")),
                    description=self._text(fields.get("description"), "description"),
                ),
            )
            self._places(fields.get("people"), account=name)
            self.accounts(fields.get("accounts"), parent=name)

    def people(self, node: Node | None) -> None:
        for item in self._items(node, "people"):
            self._person(item, self.fields(item, _PERSON, "person"))

    def _places(self, node: Node | None, *, account: str) -> None:
        for item in self._items(node, "people"):
            fields = (
                {"name": item}
                if isinstance(item, ScalarNode)
                else self.fields(item, _PLACE, "person")
            )
            name = self._person(item, fields)
            if name:
                shares = self._shares(fields.get("shares"))
                self.builder.association(
                    _line(item), AssociationEntry(account=account, person=name, shares=shares)
                )

    def _person(self, item: Node, fields: dict[str, Node]) -> str:
        name = self._text(fields.get("name"), "name")
        if not name:
            self.builder.problem(_line(item), "name", "missing", "A person needs a name.")
            return ""
        self.builder.person(
            _line(item),
            PersonEntry(
                name=name,
                display_name=self._text(fields.get("display_name"), "display_name"),
                email=self._text(fields.get("email"), "email"),
            ),
        )
        return name

    def fields(self, node: Node, known: tuple[str, ...], what: str) -> dict[str, Node]:
        """The parts of a mapping; unknown and repeated ones are problems."""
        if not isinstance(node, MappingNode):
            self.builder.problem(
                _line(node), what, "wrong_type", f"Expected {', '.join(known)} with values."
            )
            return {}
        found: dict[str, Node] = {}
        for key, value in node.value:
            name = key.value if isinstance(key, ScalarNode) else ""
            if name not in known:
                self.builder.problem(
                    _line(key), name, "unknown_field", f"Known here: {', '.join(known)}.", name
                )
            elif name in found:
                self.builder.problem(_line(key), name, "repeated_field", f"{name} comes twice.")
            else:
                found[name] = value
        return found

    def _items(self, node: Node | None, what: str) -> Iterator[Node]:
        if isinstance(node, SequenceNode):
            yield from node.value
        elif node is not None and not _is_null(node):
            self.builder.problem(_line(node), what, "wrong_type", f"{what} must be a list.")

    def _text(self, node: Node | None, what: str) -> str:
        if node is None or _is_null(node):
            return ""
        if not isinstance(node, ScalarNode):
            self.builder.problem(_line(node), what, "wrong_type", f"{what} must be text.")
            return ""
        return node.value.strip()

    def _shares(self, node: Node | None) -> Shares:
        text = self._text(node, "shares")
        try:
            return parse_shares(text)
        except ValueError as error:
            self.builder.problem(_line(node) if node else 1, "shares", "bad_shares", str(error))
            return PARENT


def _line(node: Node) -> int:
    return node.start_mark.line + 1


def _is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.tag == "tag:yaml.org,2002:null"
