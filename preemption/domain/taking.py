"""Which allocations a plan takes, and how much of each. Pure, deterministic, near linear.

Steps are walked in order, and in each first everything elastic is shrunk, then allocations are
stopped whole. Within a step the node furthest above its share is followed from the root down, as
`quota.domain.shares.GivingBack` does; where siblings tie, the one whose candidate costs least per
unit, then the youngest. Every inner node keeps its children in a heap; a take changes shares on
one path only, so the heaps on that path get new entries and the old ones are known by their stamp.

What turns out superfluous at the end is given back, the last taken first: an early small victim is
kept before a later one, unless the later one alone is enough.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from typing import Any

from preemption.domain.ground import Ground
from preemption.domain.values import Running
from quota.domain.tree import NO_PARENT

_TOP = NO_PARENT


@dataclass(slots=True, kw_only=True, eq=False)
class Candidate:
    """An allocation that may be taken.

    Attributes:
        leaf: where its account's own use stands in the levels.
        step: index of the step it belongs to.
        cost: time lost per unit taken, then the youngest, then the key: what orders an account's.
        most: units that one action may take, by the pool's budget; None: any number.
        taken: units so far.
    """

    running: Running
    leaf: int
    step: int
    cost: tuple[Any, ...]
    most: int | None = None
    taken: int = 0

    @property
    def slack(self) -> int:
        """What it can give and go on."""
        units = self.running.units - self.running.min_units
        return units if self.most is None else min(units, self.most)

    @property
    def is_stoppable(self) -> bool:
        return self.most is None or self.running.units <= self.most


@dataclass(slots=True)
class _Queue:
    """The candidates of one step, the next one found along the levels."""

    ground: Ground
    waiting: dict[int, list[Candidate]]
    _heaps: dict[int, list[tuple[Any, ...]]] = field(default_factory=dict)
    _stamp: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for candidates in self.waiting.values():
            candidates.sort(key=lambda c: c.cost, reverse=True)
        parent = self.ground.levels.parent
        rows: set[int] = set()
        for leaf in self.waiting:
            rows.update(self.ground.levels.path(leaf))
        depth = {row: len(self.ground.levels.path(row)) for row in rows}
        for row in sorted(rows, key=lambda row: -depth[row]):
            # Deeper rows come first, so a row's own heap is complete before the row is entered.
            heapify(self._heaps.get(row, []))
            entry = self._entry(row)
            if entry is not None:
                self._heaps.setdefault(parent[row], []).append(entry)
        heapify(self._heaps.setdefault(_TOP, []))

    def next(self) -> Candidate | None:
        """The candidate to look at now; it stays until `drop`, `pop` or `changed`."""
        row = _TOP
        while True:
            heap = self._heaps.get(row, [])
            while heap and heap[0][2] != self._stamp.get(heap[0][3], 0):
                heappop(heap)
            if not heap:
                return None
            row = heap[0][3]
            if row in self.waiting:
                return self.waiting[row][-1]

    def pop(self, leaf: int) -> None:
        """The leaf's candidate has been dealt with."""
        self.waiting[leaf].pop()
        self.changed(leaf)

    def drop(self, leaf: int) -> None:
        """Nothing more is to be taken from the leaf."""
        self.waiting[leaf].clear()
        self.changed(leaf)

    def changed(self, leaf: int) -> None:
        """Shares on the leaf's path moved, or its candidates did."""
        for row in self.ground.levels.path(leaf):
            self._stamp[row] = self._stamp.get(row, 0) + 1
            entry = self._entry(row)
            if entry is not None:
                heappush(self._heaps.setdefault(self.ground.levels.parent[row], []), entry)

    def _entry(self, row: int) -> tuple[Any, ...] | None:
        """Share, best candidate's cost, stamp, row: the smallest is followed."""
        best = self._best(row)
        if best is None:
            return None
        return -self.ground.levels.rank(row), best, self._stamp.get(row, 0), row

    def _best(self, row: int) -> tuple[Any, ...] | None:
        if row in self.waiting:
            return self.waiting[row][-1].cost if self.waiting[row] else None
        heap = self._heaps.get(row, [])
        while heap and heap[0][2] != self._stamp.get(heap[0][3], 0):
            heappop(heap)
        return heap[0][1] if heap else None


class Taking:
    """Takes from the ground until the request fits; `undo` puts everything back."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        self.taken: list[Candidate] = []
        self.refused: dict[int, tuple[str, Candidate]] = {}

    def cover(self, steps: int, candidates: Callable[[int], list[Candidate]]) -> bool:
        """Take what the request needs and no more; False (and nothing taken) if it is not there.

        What the asking account's own lower classes give up lowers its share, and may make legal
        what was not before: as long as a round takes something, another is made.

        Args:
            candidates: of a step, asked for when it is reached.
        """
        progress = -1
        while progress != (progress := sum(each.taken for each in self.taken)):
            for step in map(candidates, range(steps)):
                elastic = [each for each in step if each.slack > each.taken]
                if self._walk(elastic, whole=False):
                    return self._settle()
                whole = [e for e in step if e.is_stoppable and e.taken < e.running.units]
                if self._walk(whole, whole=True):
                    return self._settle()
        self.undo()
        return False

    def _settle(self) -> bool:
        self._give_back_superfluous()
        self.taken.sort(key=lambda each: each.step)
        return True

    def undo(self) -> None:
        for candidate in self.taken:
            self._give(candidate, candidate.taken)
        self.taken = []

    def illegal(self) -> list[tuple[str, Candidate]]:
        """Of the final set, those that may not be taken after all."""
        found = []
        for candidate in self.taken:
            legality = self.ground.legality(candidate.running, candidate.leaf)
            if legality != "legal":
                found.append((legality, candidate))
        return found

    def _walk(self, candidates: list[Candidate], *, whole: bool) -> bool:
        """Take in order; True as soon as the request fits."""
        gaps = self.ground.gaps()
        if not any(gaps):
            return True
        by_leaf: dict[int, list[Candidate]] = {}
        for candidate in candidates:
            by_leaf.setdefault(candidate.leaf, []).append(candidate)
        queue = _Queue(self.ground, by_leaf)
        entitled = self.ground.tier == "guaranteed"
        while (candidate := queue.next()) is not None:
            tier = candidate.running.tier
            if tier == "spot" and not gaps[0] and (entitled or not gaps[2]):
                return False  # spot makes room in the pool, not in the quotas
            if tier == "borrowed" and not self.ground.is_above(candidate.leaf):
                self._refuse("share", candidate)
                queue.drop(candidate.leaf)
                continue
            gaps = self._try(candidate, gaps, whole=whole)
            if not any(gaps):
                return True
            queue.pop(candidate.leaf)
        return False

    def _try(self, candidate: Candidate, gaps: tuple[int, ...], *, whole: bool) -> tuple[int, ...]:
        """Take a candidate if that is legal and helps; the gaps that are left."""
        before = candidate.taken
        most = candidate.running.units if whole else candidate.slack
        units = most - before if whole else min(most - before, max(gaps))
        self._take(candidate, units)
        left = self.ground.gaps()
        if not any(new < old for new, old in zip(left, gaps, strict=True)):
            self._give(candidate, units)
            return gaps
        legality = self.ground.legality(candidate.running, candidate.leaf)
        if legality != "legal":
            self._refuse(legality, candidate)
            self._give(candidate, units)
            # The share after the move falls with every unit: some of them may be legal.
            units = 0 if whole else self._most(candidate, units)
            self._take(candidate, units)
            left = self.ground.gaps()
        if units and not before:
            self.taken.append(candidate)
        return left

    def _most(self, candidate: Candidate, units: int) -> int:
        low, high = 0, units - 1
        while low < high:
            middle = (low + high + 1) // 2
            self._take(candidate, middle)
            legality = self.ground.legality(candidate.running, candidate.leaf)
            self._give(candidate, middle)
            low, high = (middle, high) if legality == "legal" else (low, middle - 1)
        return low

    def _give_back_superfluous(self) -> None:
        for candidate in reversed(list(self.taken)):
            for units in self._returnable(candidate):
                self._give(candidate, units)
                if any(self.ground.gaps()):
                    self._take(candidate, units)
                    continue
                break
            if not candidate.taken:
                self.taken.remove(candidate)
            elif candidate.taken < candidate.running.units:
                self._give_back_part(candidate, candidate.taken - 1)

    def _returnable(self, candidate: Candidate) -> Iterator[int]:
        """All of it; or of an elastic one that is stopped, what lets it go on."""
        yield candidate.taken
        if candidate.slack and candidate.taken == candidate.running.units:
            yield candidate.running.min_units

    def _give_back_part(self, candidate: Candidate, most: int) -> None:
        """A shrunk one keeps every unit that is not needed."""
        low, high = 0, most
        while low < high:
            middle = (low + high + 1) // 2
            self._give(candidate, middle)
            fits = not any(self.ground.gaps())
            self._take(candidate, middle)
            low, high = (middle, high) if fits else (low, middle - 1)
        if low:
            self._give(candidate, low)

    def _take(self, candidate: Candidate, units: int) -> None:
        self.ground.take(candidate.running, candidate.leaf, units)
        candidate.taken += units

    def _give(self, candidate: Candidate, units: int) -> None:
        self._take(candidate, -units)

    def _refuse(self, why: str, candidate: Candidate) -> None:
        self.refused[id(candidate)] = why, candidate
