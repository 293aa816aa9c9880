"""A tree of accounts, people and shares as a file describes it, checked. Pure.

Formats give what they read to a TreeBuilder, line by line; the builder finds duplicates, unknown
parents, cycles, depth and bounds, and makes a TreePlan with parents before their children. Rules
of names, depth and shares are those of tenancy.domain.tree.
"""

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from ledger.errors import Invalid
from tenancy.domain.tree import DEPTH_MAX, SHARES_MAX, check_name, check_shares

Shares: TypeAlias = int | None
PARENT: Final[Shares] = None
"""Shares ``parent``: the node is transparent to fair-share (docs/design.md part 5)."""

SHARES_DEFAULT: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountEntry:
    """An account; ``parent`` None puts it directly under the organization's root account."""

    name: str
    parent: str | None = None
    shares: Shares = SHARES_DEFAULT
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonEntry:
    """A person by the short name that schedulers use."""

    name: str
    display_name: str = ""
    email: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssociationEntry:
    """A person under an account, with shares among its people and children."""

    account: str
    person: str
    shares: Shares = SHARES_DEFAULT


@dataclass(frozen=True, slots=True, kw_only=True)
class TreePlan:
    """A whole tree. Accounts come after their parents, people and associations as written."""

    accounts: tuple[AccountEntry, ...] = ()
    people: tuple[PersonEntry, ...] = ()
    associations: tuple[AssociationEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeProblem:
    """A place in the file that cannot be used: line from 1, field, stable code, one sentence."""

    line: int
    field: str
    code: str
    detail: str
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeSkipped:
    """A line that was understood and left out, and why."""

    line: int
    reason: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeReading:
    """What a file came to. ``plan`` is None as soon as there is one problem: half a tree would
    move shares between people who have done nothing."""

    plan: TreePlan | None
    problems: tuple[TreeProblem, ...]
    skipped: tuple[TreeSkipped, ...]


@dataclass(slots=True)
class TreeBuilder:
    """Collects a tree from lines in any order; parents may be declared after their children."""

    _accounts: dict[str, tuple[int, AccountEntry]] = field(default_factory=dict)
    _people: dict[str, tuple[int, PersonEntry]] = field(default_factory=dict)
    _associations: dict[tuple[str, str], tuple[int, AssociationEntry]] = field(default_factory=dict)
    _problems: list[TreeProblem] = field(default_factory=list)
    _skipped: list[TreeSkipped] = field(default_factory=list)

    def problem(
        self, line: int, field_name: str, code: str, detail: str, value: object = ""
    ) -> None:
        """Report a place that cannot be used."""
        self._problems.append(
            TreeProblem(
                line=line, field=field_name, code=code, detail=detail, value=str(value)[:200]
            )
        )

    def skip(self, line: int, reason: str, detail: str) -> None:
        """Report a line that is left out on purpose."""
        self._skipped.append(TreeSkipped(line=line, reason=reason, detail=detail))

    def account(self, line: int, entry: AccountEntry) -> None:
        """An account. The same one twice is one; two that differ are a problem."""
        if not (self._name(line, entry.name, "account") and self._shares(line, entry.shares)):
            return
        before = self._accounts.setdefault(entry.name, (line, entry))
        if before[1] != entry:
            self.problem(
                line,
                "account",
                "duplicate_account",
                f"Account {entry.name} is already declared in line {before[0]}, differently.",
                entry.name,
            )

    def person(self, line: int, entry: PersonEntry) -> None:
        """A person. Mentions that say less add nothing; two that contradict are a problem."""
        if not self._name(line, entry.name, "person"):
            return
        known_line, known = self._people.setdefault(entry.name, (line, entry))
        merged = replace(
            known,
            display_name=known.display_name or entry.display_name,
            email=known.email or entry.email,
        )
        self._people[entry.name] = (known_line, merged)
        if entry.display_name not in ("", merged.display_name) or entry.email not in (
            "",
            merged.email,
        ):
            self.problem(
                line,
                "person",
                "duplicate_person",
                f"Person {entry.name} is already described in line {known_line}, differently.",
                entry.name,
            )

    def association(self, line: int, entry: AssociationEntry) -> None:
        """A person's place under an account; makes the person known."""
        if not (self._name(line, entry.person, "person") and self._shares(line, entry.shares)):
            return
        self.person(line, PersonEntry(name=entry.person))
        place = (entry.account, entry.person)
        before = self._associations.setdefault(place, (line, entry))
        if before[1] != entry:
            self.problem(
                line,
                "person",
                "duplicate_association",
                f"{entry.person} is already in account {entry.account} in line {before[0]}, with "
                "other shares.",
                entry.person,
            )

    def finish(self) -> TreeReading:
        """Check the whole and give the plan, or every problem by line."""
        ordered = self._parents_first()
        for line, entry in self._associations.values():
            if entry.account not in self._accounts:
                self.problem(
                    line,
                    "account",
                    "unknown_account",
                    f"Account {entry.account} of {entry.person} is not declared in the file.",
                    entry.account,
                )
        plan = TreePlan(
            accounts=tuple(ordered),
            people=tuple(person for _, person in self._people.values()),
            associations=tuple(entry for _, entry in self._associations.values()),
        )
        problems = sorted(self._problems, key=lambda found: found.line)
        return TreeReading(
            plan=None if problems else plan,
            problems=tuple(problems),
            skipped=tuple(self._skipped),
        )

    def _parents_first(self) -> list[AccountEntry]:
        """Accounts level by level from the top; reports unknown parents, depth and cycles."""
        below: dict[str | None, list[AccountEntry]] = defaultdict(list)
        for line, entry in self._accounts.values():
            below[entry.parent].append(entry)
            if entry.parent is not None and entry.parent not in self._accounts:
                self.problem(
                    line,
                    "parent",
                    "unknown_parent",
                    f"Parent {entry.parent} of account {entry.name} is not declared in the file.",
                    entry.parent,
                )
        unknown = [name for name in below if name is not None and name not in self._accounts]
        level = [entry for name in (None, *unknown) for entry in below[name]]
        ordered: list[AccountEntry] = []
        depth = 0
        while level:
            depth += 1
            if depth == DEPTH_MAX + 1:
                entry = level[0]
                self.problem(
                    self._accounts[entry.name][0],
                    "parent",
                    "too_deep",
                    f"Account {entry.name} is more than {DEPTH_MAX} levels deep.",
                    entry.name,
                )
            ordered += level
            level = [child for entry in level for child in below[entry.name]]
        self._report_cycle(reached={entry.name for entry in ordered})
        return ordered

    def _report_cycle(self, *, reached: set[str]) -> None:
        unreached = [entry for name, entry in self._accounts.items() if name not in reached]
        if not unreached:
            return
        path = [unreached[0][1].name]
        while True:
            parent = self._accounts[path[-1]][1].parent
            if parent is None or parent in path:
                break
            path.append(parent)
        cycle = path[path.index(parent) :] if parent in path else path
        self.problem(
            self._accounts[cycle[0]][0],
            "parent",
            "cycle",
            f"Accounts lie below each other in a circle: {' < '.join([*cycle, cycle[0]])}.",
            cycle[0],
        )

    def _name(self, line: int, name: str, field_name: str) -> bool:
        try:
            check_name(name, field=field_name)
        except Invalid as error:
            self.problem(line, field_name, error.code, error.detail, name)
            return False
        return True

    def _shares(self, line: int, shares: Shares) -> bool:
        try:
            check_shares(shares)
        except Invalid as error:
            self.problem(line, "shares", error.code, error.detail, shares)
            return False
        return True


def parse_shares(text: str) -> Shares:
    """Shares as people write them: a whole number, ``parent``, blank for the default.

    ValueError, with a sentence, for anything else.
    """
    cleaned = text.strip()
    if cleaned == "":
        return SHARES_DEFAULT
    if cleaned.lower() == "parent":
        return PARENT
    if not (cleaned.isascii() and cleaned.isdigit() and len(cleaned) <= 18):
        raise ValueError(f"Shares must be a whole number from 0 to {SHARES_MAX}, or parent.")
    return int(cleaned)
