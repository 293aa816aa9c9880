"""The tree of a ``sacctmgr dump`` file. Pure.

    Cluster - 'lab':Fairshare=1:QOS='normal'
    Parent - 'root'
    Account - 'research':Description='research':Organization='lab':Fairshare=60
    Parent - 'research'
    User - 'max':DefaultAccount='research':Fairshare=1

Slurm's account ``root`` is the organization itself: its children come to the top. A user directly
under ``root`` (there is one in every dump) is skipped. ``Fairshare=parent`` is dumped as
2147483647. Options other than Fairshare and Description are not ours and are passed over. Of a
user's associations with one account, that without a partition counts.
(Slurm manual, sacctmgr, "FLAT FILE DUMP AND LOAD"; src/sacctmgr/file_functions.c.)
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from tenancy.importers.tree import (
    PARENT,
    AccountEntry,
    AssociationEntry,
    Shares,
    TreeBuilder,
    TreeReading,
    parse_shares,
)

ROOT: Final = "root"
FAIRSHARE_PARENT: Final = "2147483647"
"""SLURMDB_FS_USE_PARENT, as dumped."""

_LINE = re.compile(r"\s*(Cluster|Parent|Account|User)\s*-\s*(.*?)\s*$", re.IGNORECASE)
# A quote ends a value only before a colon or the end of the line: descriptions hold apostrophes,
# which sacctmgr dumps as they are.
_QUOTED = re.compile(r"""(?P<quote>['"])(?P<text>(?:\\.|[^\\])*?)(?P=quote)\s*(?=:|$)""")
_BARE = re.compile(r"[^:]*")
_OPTION = re.compile(r"\s*([A-Za-z_]+)\s*\+?=\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    number: int
    name: str
    options: dict[str, str]


def read(lines: Iterable[str]) -> TreeReading:
    """The tree, or every problem by line."""
    return _Reader().read(lines)


class _Reader:
    def __init__(self) -> None:
        self.builder = TreeBuilder()
        self.parent: str | None = None
        self.clusters = 0
        self.partition_users: list[tuple[_Line, str]] = []
        self.placed: set[tuple[str, str]] = set()

    def read(self, lines: Iterable[str]) -> TreeReading:
        for number, raw in enumerate(lines, start=1):
            text = raw.removeprefix("\ufeff").strip()
            if not text or text.startswith("#"):
                continue
            match = _LINE.fullmatch(text)
            if match is None:
                self.builder.problem(
                    number,
                    "line",
                    "unknown_line",
                    "A line begins with Cluster -, Parent -, Account - or User -.",
                    text,
                )
                continue
            try:
                name, options = _split(match[2])
            except ValueError as error:
                self.builder.problem(number, "line", "bad_line", str(error), text)
                continue
            self._take(match[1].lower(), _Line(number=number, name=name, options=options))
        self._partition_associations()
        return self.builder.finish()

    def _take(self, kind: str, line: _Line) -> None:
        if kind == "cluster":
            self.clusters += 1
            if self.clusters > 1:
                self.builder.problem(
                    line.number,
                    "cluster",
                    "second_cluster",
                    "The file holds more than one cluster: dump each to a file of its own.",
                    line.name,
                )
        elif kind == "parent":
            self.parent = line.name
        elif self.parent is None:
            self.builder.problem(
                line.number, "parent", "no_parent", "No Parent line comes before.", line.name
            )
        elif kind == "account":
            self._account(line, self.parent)
        else:
            self._user(line, self.parent)

    def _account(self, line: _Line, parent: str) -> None:
        if line.name == ROOT:
            self.builder.skip(line.number, "root", "root is the organization itself.")
            return
        self.builder.account(
            line.number,
            AccountEntry(
                name=line.name,
                parent=None if parent == ROOT else parent,
                shares=self._fairshare(line),
                description=line.options.get("description", ""),
            ),
        )

    def _user(self, line: _Line, account: str) -> None:
        if account == ROOT:
            self.builder.skip(
                line.number,
                "user_under_root",
                f"User {line.name} is under root: the organization itself has no shares to give.",
            )
        elif line.options.get("partition"):
            self.partition_users.append((line, account))
        else:
            self.placed.add((account, line.name))
            self._associate(line, account)

    def _partition_associations(self) -> None:
        """Use an association of one partition only where the user has no general one."""
        for line, account in self.partition_users:
            if (account, line.name) in self.placed:
                self.builder.skip(
                    line.number,
                    "partition_association",
                    f"{line.name} has another association with {account}; that of partition "
                    f"{line.options['partition']} is left out.",
                )
            else:
                self.placed.add((account, line.name))
                self._associate(line, account)

    def _associate(self, line: _Line, account: str) -> None:
        self.builder.association(
            line.number,
            AssociationEntry(account=account, person=line.name, shares=self._fairshare(line)),
        )

    def _fairshare(self, line: _Line) -> Shares:
        text = line.options.get("fairshare", line.options.get("shares", ""))
        if text == FAIRSHARE_PARENT:
            return PARENT
        try:
            return parse_shares(text)
        except ValueError as error:
            self.builder.problem(line.number, "Fairshare", "bad_shares", str(error), text)
            return PARENT


def _split(text: str) -> tuple[str, dict[str, str]]:
    """Name and options, names of options in lower case; ValueError where a quote stays open."""
    name, place = _value(text, 0)
    if not name:
        raise ValueError("The line gives no name.")
    options: dict[str, str] = {}
    while place < len(text):
        match = _OPTION.match(text, place + 1)
        if match is None:
            # A flag without a value, or an empty place between two colons.
            _, place = _value(text, place + 1)
            continue
        option, start = match[1].lower(), match.end()
        options[option], place = _value(text, start)
    return name, options


def _value(text: str, start: int) -> tuple[str, int]:
    """The value that begins at a place, unquoted, and the place of the colon (or end) after it."""
    if text[start : start + 1] in ("'", '"'):
        match = _QUOTED.match(text, start)
        if match is None:
            raise ValueError("A quote is not closed.")
        return re.sub(r"\\(.)", r"\1", match["text"]), match.end()
    match = _BARE.match(text, start)
    return match[0].strip(), match.end()
