"""Fair-share once more, slowly and plainly: recursive, in fractions. The arrays must agree with it.

Also the small notation that the tests share: a tree is a list of `Node`, parents first.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from accounting.domain.fairshare import NO_PARENT, FairshareTree, Usage

INFINITE = None  # a level beyond every fraction


@dataclass(frozen=True, slots=True)
class Node:
    """`shares` None is `parent`. Usage of an account is what belongs to nobody listed."""

    name: str
    parent: str | None
    shares: int | None = 1
    usage: int = 0
    person: bool = False


def account(name: str, parent: str | None, shares: int | None = 1, usage: int = 0) -> Node:
    return Node(name, parent, shares, usage)


def person(name: str, parent: str, shares: int | None = 1, usage: int = 0) -> Node:
    return Node(name, parent, shares, usage, person=True)


def arrays(nodes: Sequence[Node]) -> tuple[FairshareTree, Usage, list[str], list[str]]:
    """The tree, its usage, and the names of accounts and people in order."""
    accounts = [node for node in nodes if not node.person]
    people = [node for node in nodes if node.person]
    index = {node.name: at for at, node in enumerate(accounts)}
    tree = FairshareTree.build(
        account_parents=[NO_PARENT if a.parent is None else index[a.parent] for a in accounts],
        account_shares=[a.shares or 0 for a in accounts],
        account_transparent=[a.shares is None for a in accounts],
        person_accounts=[index[str(p.parent)] for p in people],
        person_shares=[p.shares or 0 for p in people],
        person_transparent=[p.shares is None for p in people],
    )
    usage = Usage(tree=tree, people=[p.usage for p in people], residual=[a.usage for a in accounts])
    return tree, usage, [a.name for a in accounts], [p.name for p in people]


class Reference:
    """Ranks, levels and factors by the documented rules, in exact fractions."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = {node.name: node for node in nodes}
        tops = [node.name for node in nodes if node.parent is None]
        self.root = tops[0] if len(tops) == 1 else ""
        self.people = [node.name for node in nodes if node.person]

    def above(self, name: str) -> str:
        return self.nodes[name].parent or self.root

    def fair_share_parent(self, name: str) -> str:
        above = self.above(name)
        while above != self.root and self.nodes[above].shares is None:
            above = self.above(above)
        return above

    def children(self, name: str) -> list[str]:
        return [
            child
            for child, node in self.nodes.items()
            if child != self.root
            and self.fair_share_parent(child) == name
            and (node.person or node.shares is not None)
        ]

    def usage(self, name: str) -> int:
        below = [n for n in self.nodes if n != self.root and self.above(n) == name]
        own = self.nodes[name].usage if name in self.nodes else 0
        return own + sum(self.usage(child) for child in below)

    def share(self, name: str) -> Fraction:
        level = self.children(self.fair_share_parent(name))
        total = sum(self.nodes[n].shares or 0 for n in level)
        return Fraction(self.nodes[name].shares or 0, total) if total else Fraction(0)

    def level(self, name: str) -> Fraction | None:
        node = self.nodes[name]
        if node.shares is None:
            return INFINITE
        if not self.share(name):
            return Fraction(0)
        used = self.usage(name)
        if not used:
            return INFINITE
        return self.share(name) / Fraction(used, self.usage(self.fair_share_parent(name)))

    def people_below(self, name: str) -> int:
        if self.nodes[name].person:
            return 1
        return sum(self.people_below(child) for child in self.children(name))

    def ranks(self) -> dict[str, int]:
        """Fair Tree."""
        found: dict[str, int] = {}
        self._walk([self.root], 0, len(self.people), found)
        return found

    def _walk(self, parents: Iterable[str], first: int, rank: int, found: dict[str, int]) -> None:
        children = [c for p in parents for c in self.children(p) if self.people_below(c)]
        levels = {child: self.level(child) for child in children}
        distinct = sorted({v for v in levels.values() if v is not None}, reverse=True)
        for value in [INFINITE, *distinct]:
            run = [child for child in children if levels[child] == value]
            people = [child for child in run if self.nodes[child].person]
            for child in people:
                found[child] = rank
            accounts = [child for child in run if child not in people]
            if accounts:
                self._walk(accounts, first + len(people), rank, found)
            if run:
                first += sum(self.people_below(child) for child in run)
                rank = len(self.people) - first

    def loads(self, epsilon: Fraction | None = None) -> dict[str, Fraction | None]:
        """U / S of each person, or (U + eps) / S; None where S is 0."""
        return {name: self._load(name, epsilon) for name in self.people}

    def _load(self, name: str, epsilon: Fraction | None) -> Fraction | None:
        share, used = self.down(name)
        if not share:
            return None
        return (used + (epsilon or 0)) / share

    def down(self, name: str) -> tuple[Fraction, Fraction]:
        """(normalised share, effective usage), told from the root down."""
        total = self.usage(self.root)
        used = Fraction(self.usage(name), total) if total else Fraction(0)
        if name == self.root:
            return Fraction(1), used
        above = self.fair_share_parent(name)
        share_above, used_above = (Fraction(1), used) if above == self.root else self.down(above)
        if self.nodes[name].shares is None:
            return share_above, used_above
        part = self.share(name)
        if above == self.root:
            return part, used
        return part * share_above, used + (used_above - used) * part

    def ranks_by_load(self, epsilon: Fraction | None = None) -> dict[str, int]:
        loads = self.loads(epsilon)

        def better(load: Fraction | None) -> int:
            return sum(
                other is not None and (load is None or other < load) for other in loads.values()
            )

        return {name: len(self.people) - better(load) for name, load in loads.items()}
