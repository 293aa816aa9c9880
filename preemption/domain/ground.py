"""The pool of a plan, open to trial: what is free, what quotas let through, who is above. Pure.

Admission's own book judges whether the request would be admitted, so a plan that is carried out is
one whose job gets in. A second set of rows holds the shares, with the request already entered: they
are judged *after* the move.
"""

from collections import defaultdict
from dataclasses import dataclass
from typing import Literal

from preemption.domain.levels import NO_SHARE, Levels, Standing
from preemption.domain.values import PlanRequest, PlanState, Running
from quota.domain.batch import Block, Holding, Need, PoolState
from quota.domain.book import Accounts, Book
from quota.domain.tree import QuotaTree
from quota.domain.values import CLASSES, AccountKey, Tier

CLASS_RANK = {name: rank for rank, name in enumerate(CLASSES)}

Legality = Literal["legal", "share", "class"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Use:
    """Units of one account by tier."""

    holdings: dict[AccountKey, Holding]
    entitled: dict[AccountKey, int]


class Ground:
    """One pool and one request. `take` and `give` change it; everything else looks."""

    def __init__(self, state: PlanState, request: PlanRequest) -> None:
        """Raises `KeyError` where an allocation's account is not among the accounts."""
        self.request = request
        self.accounts = Accounts(dict(state.accounts))
        self.row = self.accounts.row_of[request.account]
        use = _use(state)
        pool = PoolState(pool=state.pool, quotas=state.quotas, holdings=use.holdings)
        self.book = Book("pool", pool, self.accounts)
        self.target_seconds = state.pool.reclaim_target_seconds
        self.tier = request.tier or self._tier()
        self._slow = self.book.is_slow(request.reclaim_seconds)
        quotas = [pool.quota(account) for account in self.accounts.keys]
        tree = QuotaTree.build(
            self.accounts.shape,
            guaranteed=[[quota.guaranteed] for quota in quotas],
            borrowing=[[quota.borrowing_limit] for quota in quotas],
            lending=[[quota.lending_limit] for quota in quotas],
        )
        self.potential = int(tree.potential[self.row, 0])
        self.levels = Levels(
            accounts=self.accounts,
            tree=tree,
            use=use.entitled,
            weights=state.weights,
            elsewhere=state.elsewhere,
        )
        self._path = self.levels.path(self.levels.leaf(self.row))
        if self.tier != "spot":
            self.levels.add(self._path[0], request.units)
        self._meeting: dict[int, tuple[int, int] | None] = {}

    def _tier(self) -> Tier:
        """P0 may not borrow. Others borrow where their own guarantee has no room."""
        if self.request.priority_class == "P0":
            return "guaranteed"
        room = self.book.own_room(self.row)
        return "guaranteed" if room >= self.request.units else "borrowed"

    def gaps(self) -> tuple[int, ...]:
        """Units that each bound is short of: capacity, quotas, own guarantee or reclaim target."""
        units = self.request.units
        rest = 0
        if self.tier == "guaranteed":
            rest = units - self.book.own_room(self.row)
        else:
            room = self.book.reclaim_room(self.row, self.tier, slow=self._slow)
            if room is not None:
                rest = units - room
        quotas = 0 if self.tier == "spot" else units - self.book.column.headroom(self.row)
        return max(0, units - self.book.free), max(0, quotas), max(0, rest)

    def blocks(self) -> list[Block]:
        """Every bound that stops the request as things stand, for the answer."""
        need = Need(pool="pool", units=self.request.units)
        return self.book.blocks(need, self.row, [self.tier], slow=self._slow)

    def take(self, victim: Running, leaf: int, units: int) -> None:
        """The victim gives units up; negative gives them back to it."""
        row = self.accounts.row_of[victim.account]
        slow = self.book.is_slow(victim.reclaim_seconds)
        self.book.add(row, victim.tier, -units, slow=slow)
        if victim.tier != "spot":
            self.levels.add(leaf, -units)

    def leaf_of(self, account: AccountKey) -> int:
        return self.levels.leaf(self.accounts.row_of[account])

    def meeting(self, leaf: int) -> tuple[int, int] | None:
        """The rows below the node where the request's path meets a leaf's; None: its own."""
        if leaf not in self._meeting:
            self._meeting[leaf] = self.levels.meeting(self._path, leaf)
        return self._meeting[leaf]

    def is_above(self, leaf: int) -> bool:
        """Is something borrowed to take back, all the way below the node where the paths meet?

        A team within its guarantee is left alone even where its department is above its own
        (Kueue's rule as well): somebody beside it is who borrows.
        """
        meeting = self.meeting(leaf)
        if meeting is None:
            return True
        row = leaf
        while self.levels.borrows(row):
            if row == meeting[1]:
                return True
            row = self.levels.parent[row]
        return False

    def returns_guarantee(self) -> bool:
        """With the request entered, is there a guarantee on its path that is not exceeded?

        Its own, or an ancestor's, which it may claim as well. What others borrow inside a node
        makes that node exceed its own, so one that does not is enough; a root has nobody outside
        to claim from, unless it asks itself.
        """
        claims = self._path[:-1] or self._path
        return not all(self.levels.borrows(row) for row in claims)

    def legality(self, victim: Running, leaf: int) -> Legality:
        """May the request have what the victim gave up, as use stands now, after the move?

        - P0 is never touched.
        - Own jobs: only a strictly lower class makes room; spot of the same class for a guarantee.
        - *Borrowed and spot*: the asking side's share is at most the victim's; a claim within a
          guarantee has share 0, whatever others of its side borrow. Spot counts in no
          share, so who borrows cannot take it from somebody who borrows less: that one could ask
          for as much with a better right, and take it back.
        - *Guaranteed*, of another account: for P0 alone, and only while it stays within its own
          guarantee. Were it any higher class, what took its guarantee back from somebody of a
          higher class could lose it to the same one again.
        - P1 gives way to P0, and gives back what it holds beyond its guarantee to who claims its
          own: that is a return, not a preemption.
        """
        asks, gives = CLASS_RANK[self.request.priority_class], CLASS_RANK[victim.priority_class]
        if victim.priority_class == "P0":
            return "class"
        meeting = self.meeting(leaf)
        mine = NO_SHARE if meeting is None else self._asking_share(meeting[0])
        within = self.tier == "guaranteed" if meeting is None else mine == NO_SHARE
        lower = asks < gives
        if victim.priority_class == "P1" and asks != 0 and not within:
            return "class"
        if victim.tier == "guaranteed" and not lower:
            return "class"
        if meeting is None:
            spot = victim.tier == "spot" and within and asks <= gives
            return "legal" if lower or spot else "class"
        if victim.tier == "guaranteed" and asks:
            return "class"
        if victim.tier == "guaranteed" and self.levels.borrows(meeting[0]):
            return "share"
        return "legal" if mine <= self.levels.standing(meeting[1]) else "share"

    def _asking_share(self, top: int) -> Standing:
        """Who stays within a guarantee on its path up to here claims what is its own: share 0,
        whatever it borrows in other pools, or others of its side borrow in this one. So every
        guarantee can be claimed; and from outside that guarantee nobody can take it back, for
        there nothing is borrowed (`is_above`)."""
        for row in self._path:
            if not self.levels.borrows(row):
                return NO_SHARE
            if row == top:
                break
        return self.levels.standing(top)


def _use(state: PlanState) -> _Use:
    """What is in use: what is ending counts as freed, what open plans were promised as taken."""
    by_tier: dict[tuple[AccountKey, Tier], int] = defaultdict(int)
    slow: dict[tuple[AccountKey, Tier], int] = defaultdict(int)
    target = state.pool.reclaim_target_seconds
    for each in state.running:
        units = each.units - each.ending_units
        by_tier[each.account, each.tier] += units
        if each.tier != "guaranteed" and each.reclaim_seconds > target:
            slow[each.account, each.tier] += units
    for plan in state.open_plans:
        by_tier[plan.account, plan.tier] += plan.units
    accounts = dict.fromkeys(account for account, _ in by_tier)
    return _Use(
        holdings={
            account: Holding(
                guaranteed=by_tier[account, "guaranteed"],
                borrowed=by_tier[account, "borrowed"],
                spot=by_tier[account, "spot"],
                slow_borrowed=slow[account, "borrowed"],
                slow_spot=slow[account, "spot"],
            )
            for account in accounts
        },
        entitled={
            account: by_tier[account, "guaranteed"] + by_tier[account, "borrowed"]
            for account in accounts
        },
    )
