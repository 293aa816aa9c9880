"""Shares of siblings, compared exactly while use changes: who is further above its share. Pure.

    share(n) = max(0, used(n) - subtree(n)) / lendable(parent) / weight(n)

as in `quota/domain/shares.py` (docs/design.md part 8; Kueue's dominant share), for one pool, with
what the node borrows elsewhere on top. Only siblings are ever compared, and siblings share what is
lendable, so each level is scaled by it and by its weights' common denominator: `rank` is a whole
number, exact and quick to compare; where other resources take part, a fraction.

What an account with children uses itself, it uses as one more child: a row of its own under it,
whose guarantee is the account's own addition. So the claim of a department for its own jobs and
the borrowing of a team below it meet at one level, like any two. The roots are siblings, too: they
share the pool, and one is above its share only by overshoot.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import inf, lcm

from preemption.domain.values import NOTHING_ELSEWHERE, Borrowing
from quota.domain.book import Accounts
from quota.domain.column import Column
from quota.domain.tree import NO_PARENT, QuotaTree
from quota.domain.values import AccountKey

Rank = int | float | Fraction
"""Compares exactly; `inf` for weight 0 while borrowing. The only float is that infinity."""

Standing = tuple[Rank, int]
NO_SHARE: Standing = (0, 0)


class Levels:
    """Rows are the accounts' rows, then one row per account for its own use."""

    def __init__(
        self,
        *,
        accounts: Accounts,
        tree: QuotaTree,
        use: Mapping[AccountKey, int],
        weights: Mapping[AccountKey, Fraction],
        elsewhere: Borrowing,
    ) -> None:
        """`tree`: of the one pool. `use`: entitled units by account, entered at itself."""
        count = len(accounts.keys)
        inner = {parent for parent in accounts.parents if parent != NO_PARENT}
        self._leaf = [count + row if row in inner else row for row in range(count)]
        self.parent = [*accounts.parents, *range(count)]
        subtree = [*tree.subtree[:, 0].tolist(), *tree.guaranteed[:, 0].tolist()]
        self._subtree = subtree
        self._column = Column(
            parent=self.parent,
            subtree=subtree,
            local=[*tree.local[:, 0].tolist(), *[0] * count],
            borrowing=[None] * (2 * count),
            used=[0] * (2 * count),
        )
        self.used = self._column.used
        for account, units in use.items():
            self.add(self._leaf[accounts.row_of[account]], units)
        self._scale(accounts, tree.potential[:, 0].tolist(), weights, elsewhere)

    def leaf(self, row: int) -> int:
        """Where the account's own use stands."""
        return self._leaf[row]

    def add(self, leaf: int, units: int) -> None:
        """Enter use at a leaf, or take it back."""
        self._column.add(leaf, units)

    def borrows(self, row: int) -> bool:
        """Is the node above its guarantee?"""
        return self.used[row] > self._subtree[row]

    def rank(self, row: int) -> Rank:
        """The node's share, on the scale of its siblings."""
        above = self.used[row] - self._subtree[row]
        borrowed = max(0, above) + self._borrowed_elsewhere[row]
        floor = self._floor[row]
        if not borrowed and not floor:
            return 0
        factor = self._factor[row]
        if factor is None:
            return inf
        return max(borrowed * factor, floor)

    def standing(self, row: int) -> Standing:
        """The node's share, then its part of this pool's resource.

        Shares that another resource decides may tie and stay tied whatever is taken here; the
        second number moves with every unit, so two that tie do not take from each other in turns.
        """
        share = self.rank(row)
        if not share:
            return NO_SHARE
        borrowed = max(0, self.used[row] - self._subtree[row]) + self._borrowed_elsewhere[row]
        factor = self._factor[row]
        return share, borrowed if factor is None else borrowed * factor

    def path(self, leaf: int) -> list[int]:
        found = [leaf]
        while (above := self.parent[found[-1]]) != NO_PARENT:
            found.append(above)
        return found

    def meeting(self, path: Sequence[int], leaf: int) -> tuple[int, int] | None:
        """Where two paths meet: the rows right below it, first of `path`, then of `leaf`'s.

        None where the leaf is the path's own.
        """
        on_path = {row: place for place, row in enumerate(path)}
        if leaf in on_path:
            return None
        here = leaf
        while (above := self.parent[here]) != NO_PARENT:
            if above in on_path:
                return path[on_path[above] - 1], here
            here = above
        return path[-1], here

    def _scale(
        self,
        accounts: Accounts,
        potential: list[int],
        weights: Mapping[AccountKey, Fraction],
        elsewhere: Borrowing,
    ) -> None:
        count = len(accounts.keys)
        weight = [Fraction(weights.get(key, 1)) for key in accounts.keys]
        weight += [Fraction(1)] * count
        other = [elsewhere.accounts.get(key, NOTHING_ELSEWHERE) for key in accounts.keys]
        other += [elsewhere.own.get(key, NOTHING_ELSEWHERE) for key in accounts.keys]
        common: dict[int, int] = {}
        lendable: dict[int, int] = {}
        for row, parent in enumerate(self.parent):
            if weight[row]:
                common[parent] = lcm(common.get(parent, 1), weight[row].numerator)
            if parent == NO_PARENT:
                lendable[parent] = lendable.get(parent, 0) + potential[row]
        self._factor: list[int | None] = []
        self._floor: list[Rank] = []
        self._borrowed_elsewhere = [each.borrowed for each in other]
        for row, parent in enumerate(self.parent):
            here = lendable[NO_PARENT] if parent == NO_PARENT else potential[parent]
            here += other[row].lendable
            if not weight[row]:
                # Weight 0 is infinitely far above its share as soon as it borrows something.
                self._factor.append(None)
                self._floor.append(inf if other[row].share else 0)
                continue
            scale = common[parent] / weight[row]
            # Where nothing can be lent, nothing is borrowed: the resource takes no part.
            self._factor.append(int(scale) if here > 0 else 0)
            self._floor.append(other[row].share * here * scale if other[row].share else 0)
