"""One pool while a batch is decided: what is in use, and what each tier still lets through. Pure.

Two flows go up the tree. *Entitled* use (guaranteed and borrowed) flows as in `tree`, spot does
not: it has no entitlement and takes none away. *Lasting* use is what no claim gets back within the
pool's reclaim target: guaranteed units, borrowed ones that are slow, and whatever an account uses
within its own guarantee, for nobody may take that. It flows up, too, each node's own guarantee
absorbing what it covers, and through no borrowing limit.

The reclaimability rule (docs/design.md part 3),

    unused guarantees <= free + opportunistic units that can be reclaimed in time,

counts a guarantee as used by whoever uses it by right: its own account or one below. Opportunistic
units that merely fill their own path's guarantees are nobody's to reclaim, so neither side counts
them, and with free = usable - use the rule becomes two:

    lasting entitled use stays within the guarantees of its own path;
    slow spot <= usable - sum of guarantees.

What is not promised is no room for slow borrowing: a claim would find it free, and the tree full.
Why every guarantee then comes back in time: docs/decisions/0014-preemption.md.
"""

from collections.abc import Iterator, Mapping, Sequence

from quota.domain.batch import Block, LimitName, Need, PoolState
from quota.domain.column import PoolTree
from quota.domain.tree import DEPTH_MAX, NO_PARENT, Shape
from quota.domain.values import NO_QUOTA, AccountKey, Quota, Tier


class Accounts:
    """The tree of accounts as rows, shared by the pools of a batch."""

    __slots__ = ("_shape", "keys", "order", "parents", "row_of")

    def __init__(self, parents: Mapping[AccountKey, AccountKey | None]) -> None:
        """Account to parent, in any order.

        Raises:
            KeyError: a parent is not among the accounts.
            Invalid: `quota_tree`: a circle, or too deep.
        """
        self.keys = tuple(parents)
        self.row_of = {key: row for row, key in enumerate(self.keys)}
        self.parents = [
            NO_PARENT if above is None else self.row_of[above] for above in parents.values()
        ]
        self._shape: Shape | None = None
        self.order = self._from_the_top()

    @classmethod
    def of(cls, accounts: "Mapping[AccountKey, AccountKey | None] | Accounts") -> "Accounts":
        """The rows, if they are not made already."""
        return accounts if isinstance(accounts, cls) else cls(accounts)

    @property
    def shape(self) -> Shape:
        """The same as arrays; made when somebody asks."""
        if self._shape is None:
            self._shape = Shape.build(self.parents)
        return self._shape

    def pool_tree(self, quotas: Mapping[AccountKey, Quota]) -> PoolTree:
        """One pool's quotas on these accounts; who has none has nothing."""
        rows = [quotas.get(key, NO_QUOTA) for key in self.keys]
        return PoolTree(self.parents, self.order, rows)

    def _from_the_top(self) -> list[int]:
        """Rows, parents before their children."""
        parents = self.parents
        depth = [-1] * len(parents)
        for start in range(len(parents)):
            path, row = [], start
            while row != NO_PARENT and depth[row] < 0 and len(path) <= DEPTH_MAX:
                path.append(row)
                row = parents[row]
            above = -1 if row == NO_PARENT else depth[row]
            if (row != NO_PARENT and above < 0) or above + len(path) > DEPTH_MAX:
                Shape.build(parents)  # refuses it, and says which row
                raise AssertionError("neither too deep nor in a circle")
            for steps, passed in enumerate(reversed(path), start=1):
                depth[passed] = above + steps
        return sorted(range(len(parents)), key=depth.__getitem__)


class Book:
    """The state of one pool, open to change. Built from frozen values, thrown away after."""

    def __init__(
        self, key: AccountKey, state: PoolState, accounts: Accounts, tree: PoolTree | None = None
    ) -> None:
        """`tree` is what `accounts.pool_tree(state.quotas)` gives, if somebody has it already."""
        self.key = key
        self.pool = state.pool
        self._accounts = accounts
        tree = tree or accounts.pool_tree(state.quotas)
        self._guarantee = tree.guaranteed
        rows = len(self._guarantee)
        entitled, firm, self._guaranteed_use = [0] * rows, [0] * rows, [0] * rows
        self._slow_spot = 0
        in_use = 0
        for account, holding in state.holdings.items():
            row = accounts.row_of[account]
            self._guaranteed_use[row] = holding.guaranteed
            entitled[row] = holding.guaranteed + holding.borrowed
            firm[row] = holding.guaranteed + holding.slow_borrowed
            self._slow_spot += holding.slow_spot
            in_use += holding.total
        self.column = tree.entitled(entitled)
        self._entitled, self._firm = entitled, firm
        self._lasting = tree.lasting()
        self._lasting_beyond = sum(
            self._lasting.add(row, self._own_lasting(row))
            for row in range(rows)
            if entitled[row] or firm[row]
        )
        self._promised = tree.promised
        self.in_use = in_use

    @property
    def free(self) -> int:
        """Units nobody holds; negative where the pool shrank under what runs."""
        return self.pool.usable - self.in_use

    def headrooms(self) -> list[int]:
        """`available` of every account now, not clamped."""
        return [self.column.headroom(row) for row in range(len(self._guarantee))]

    def is_slow(self, reclaim_seconds: int) -> bool:
        return reclaim_seconds > self.pool.reclaim_target_seconds

    def guarantee_left(self, row: int) -> int:
        """What guaranteed use has left of an account's own guarantee; negative after a cut."""
        return self._guarantee[row] - self._guaranteed_use[row]

    def own_room(self, row: int) -> int:
        """Units that the account's own guarantee has for more of guaranteed use."""
        left = self.guarantee_left(row)
        room = self.reclaim_room(row, "guaranteed", slow=False)
        return left if room is None else min(left, room)

    def most(self, row: int, tier: Tier, *, slow: bool) -> int:
        """The most units that the tier lets through for the account now."""
        units = self.free
        if tier != "spot":
            units = min(units, self.column.headroom(row))
        if tier == "guaranteed":
            units = min(units, self.guarantee_left(row))
        room = self.reclaim_room(row, tier, slow=slow)
        if room is not None:
            units = min(units, room)
        return max(0, units)

    def reclaim_room(self, row: int, tier: Tier, *, slow: bool) -> int | None:
        """Units that keep the rule; below 0 by what it is broken already; None: any number.

        Where it is broken, by failures or by changes of quotas, a guarantee can be used all the
        same, and nothing opportunistic is added.
        """
        if tier == "guaranteed":
            is_whole = self._firm[row] == self._guaranteed_use[row] and self._is_own(row)
            return None if is_whole else self._path_room(row)
        room = self.pool.usable - self._promised - self._lasting_beyond - self._slow_spot
        if room < 0:
            return room
        if tier == "spot":
            return room if slow else None
        if slow:
            return self._path_room(row)
        return self._fast_room(row)

    def _own_lasting(self, row: int) -> int:
        return max(self._firm[row], min(self._entitled[row], self._guarantee[row]))

    def _is_own(self, row: int) -> bool:
        """Does nothing from below lie on the account's guarantee? So it is with most."""
        return self._lasting.used[row] == self._own_lasting(row)

    def _lasting_most(self, row: int) -> int:
        """How far the account's own lasting use may go: all stays in its own guarantee, or what
        passes on up is let through to guarantees that are unused."""
        spare = self._guarantee[row] - self._lasting.used[row]
        return self._own_lasting(row) + max(spare, self._lasting.headroom(row))

    def _fast_room(self, row: int) -> int | None:
        """More units that come back in time: those within the own guarantee last."""
        used, guarantee = self._entitled[row], self._guarantee[row]
        if used >= guarantee or self._is_own(row):
            return None
        most = self._lasting_most(row)
        return None if guarantee <= most else most - used

    def _path_room(self, row: int) -> int:
        """More units that last."""
        units = self._lasting_most(row) - self._firm[row]
        within = self._fast_room(row)
        return units if within is None else min(units, within)

    def add(self, row: int, tier: Tier, units: int, *, slow: bool) -> None:
        """Enter use, or take it back (negative units)."""
        self.in_use += units
        if tier == "spot":
            self._slow_spot += units if slow else 0
            return
        self.column.add(row, units)
        before = self._own_lasting(row)
        self._entitled[row] += units
        if tier == "guaranteed":
            self._guaranteed_use[row] += units
        if slow or tier == "guaranteed":
            self._firm[row] += units
        self._lasting_beyond += self._lasting.add(row, self._own_lasting(row) - before)

    def blocks(self, need: Need, row: int, tiers: Sequence[Tier], *, slow: bool) -> list[Block]:
        """Every bound on the tiers that is smaller than the least the job needs, once each."""
        found: dict[tuple[int | None, LimitName], Block] = {}
        for tier in tiers:
            for at, limit, units in self._bounds(row, tier, slow=slow):
                if units < need.least and (at, limit) not in found:
                    found[at, limit] = Block(
                        pool=self.key,
                        account=None if at is None else self._accounts.keys[at],
                        limit=limit,
                        available=max(0, units),
                        short_by=need.least - units,
                    )
        return list(found.values())

    def _bounds(
        self, row: int, tier: Tier, *, slow: bool
    ) -> Iterator[tuple[int | None, LimitName, int]]:
        """What `most` is the least of: account row or None, the limit's name, units."""
        if tier == "guaranteed":
            yield row, "guarantee", self.guarantee_left(row)
        if tier != "spot":
            for bound in self.column.bounds(row):
                yield bound.row, bound.limit, bound.units
        yield None, "capacity", self.free
        room = self.reclaim_room(row, tier, slow=slow)
        if room is not None:
            yield None, "reclaim_target", room
