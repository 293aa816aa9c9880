"""Fair Tree: rank everybody by one walk down the tree, level by level.

Source: Slurm, "Fair Tree Fairshare Algorithm", with its *documented* rules for ties:

- `LF = S / U` among siblings; S = shares / shares of the level, U = usage / usage of the account.
- Highest LF first, depth first; rank starts at the number of people and counts down.
- People with equal LF share a rank, and consume the ranks that follow.
- A person whose LF equals a sibling account's shares the rank of that account's best person.
- Sibling accounts with equal LF have their children merged before descending; each child keeps
  the LF it has against its own siblings.
- Shares 0: LF = 0 even without usage. No usage: LF is infinite. A transparent person: infinite.

The walk is not recursive here. All nodes of one distance from the root are sorted at once, inside
*blocks*. A block is the children of one account, or of accounts merged by a tie; a *run* is a set
of nodes of a block with equal LF. A run occupies as many places as it holds people, so where each
begins follows from sums, and the accounts of one run are the next block.
"""

import numpy as np
from numpy.typing import NDArray

from accounting.domain.fairshare.exact import NEAR, settle, signs_of
from accounting.domain.fairshare.tree import Bools, FairshareTree, Floats, Ints
from accounting.domain.fairshare.usage import Usage


def level_logs(tree: FairshareTree, usage: Usage) -> Floats:
    """log2 LF of every node; +inf for the unused and transparent people, -inf for shares 0."""
    used = usage.log2
    idle = np.isneginf(used)
    shareless = np.isneginf(tree.share_fraction_log2)
    with np.errstate(invalid="ignore"):
        logs = tree.share_fraction_log2 + used[tree.fs_parent] - used
    logs[idle] = np.inf
    logs[shareless] = -np.inf
    people = tree.people
    logs[people][tree.transparent[people]] = np.inf
    return logs


def person_ranks(tree: FairshareTree, usage: Usage) -> Ints:
    """Rank of each person: N for the first, smaller for those after, ties share the larger."""
    logs = level_logs(tree, usage)
    ranks = np.zeros(tree.node_count, dtype=np.int64)
    block_of = np.zeros(tree.node_count, dtype=np.int64)
    block_first = np.zeros(1, dtype=np.int64)
    block_rank = np.full(1, tree.person_count, dtype=np.int64)

    def compare(left: Ints, right: Ints) -> NDArray[np.int8]:
        return _compare_levels(tree, usage, left, right)

    for level in tree.ranked_levels:
        blocks = block_of[tree.fs_parent[level]]
        order = np.lexsort((-logs[level], blocks))
        nodes, blocks = level[order], blocks[order]
        keys = logs[nodes]
        new_block = np.ones(len(nodes), dtype=np.bool_)
        new_block[1:] = blocks[1:] != blocks[:-1]
        near = _near(keys, new_block)
        starts = new_block.copy()
        starts[1:] |= keys[1:] != keys[:-1]
        nodes, starts = settle(nodes, starts, near, compare)

        is_person = nodes >= tree.account_count
        held = np.where(is_person, 1, tree.people_below[nodes])
        run = np.cumsum(starts) - 1
        at = np.flatnonzero(starts)
        before = np.concatenate([[0], np.cumsum(held)[:-1]])
        block_starts = np.flatnonzero(new_block)
        place_in_level = before - np.repeat(
            before[block_starts], np.diff(np.append(block_starts, len(nodes)))
        )
        run_first = block_first[blocks[at]] + place_in_level[at]
        # The first run of a block takes over the rank handed down by a tie above.
        run_rank = np.where(new_block[at], block_rank[blocks[at]], tree.person_count - run_first)
        ranks[nodes] = run_rank[run]
        block_of[nodes] = run
        block_first = run_first + np.add.reduceat(is_person.astype(np.int64), at)
        block_rank = run_rank
    return ranks[tree.people]


def _near(keys: Floats, new_block: Bools) -> Bools:
    """Positions whose float is finite and too close to the one before, in the same block."""
    near = np.zeros(len(keys), dtype=np.bool_)
    with np.errstate(invalid="ignore"):
        near[1:] = (keys[:-1] - keys[1:]) < NEAR
    near[1:] &= np.isfinite(keys[1:]) & np.isfinite(keys[:-1])
    return near & ~new_block


def _compare_levels(tree: FairshareTree, usage: Usage, left: Ints, right: Ints) -> NDArray[np.int8]:
    """Exact order by LF, larger first: -1 left goes first, 0 equal, 1 right goes first.

    LF = (s U) / (S u) with shares s, level shares S, usage u, usage U of the account; compared by
    cross products of integers. Same account: s u' against s' u is enough, and s = s', u = u' (two
    of a kind, the common tie) needs no product at all.
    """
    shares, level_shares, exact = tree.shares, tree.level_shares, usage.exact
    left_above, right_above = tree.fs_parent[left], tree.fs_parent[right]
    alike = (
        (shares[left] == shares[right])
        & (level_shares[left] == level_shares[right])
        & (exact[left] == exact[right]).astype(np.bool_)
        & (exact[left_above] == exact[right_above]).astype(np.bool_)
    )
    signs = np.zeros(len(left), dtype=np.int8)
    rest = np.flatnonzero(~alike)
    if not len(rest):
        return signs
    a, b = left[rest], right[rest]
    left_side = shares[a].astype(object) * exact[b]
    right_side = shares[b].astype(object) * exact[a]
    apart = np.flatnonzero(left_above[rest] != right_above[rest])
    if len(apart):
        c, d = a[apart], b[apart]
        left_side[apart] *= exact[tree.fs_parent[c]] * level_shares[d].astype(object)
        right_side[apart] *= exact[tree.fs_parent[d]] * level_shares[c].astype(object)
    signs[rest] = signs_of(right_side, left_side)
    return signs
