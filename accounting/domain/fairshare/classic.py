"""`classic` and `ratio`: a factor from share and effective usage, both told against the whole tree.

Source: Slurm, "Classic Fairshare Algorithm". Down the tree, s = shares / shares of the level:

- normalised share    S = s x S_parent                       (children of the root: s)
- normalised usage    N = usage / usage of the whole tree
- effective usage     U = N + (U_parent - N) x s             (children of the root: N)
- classic             F = 2^-(U / S)
- ratio               F = min(1, base x S / (U + eps))       (docs/design.md part 5)

A transparent person takes S and U of the account. Shares 0: S = 0 and F = 0.

Both follow from x = U / S alone (`ratio` from x + eps / S = (U + eps) / S), and x has a recursion
of its own, x = x_parent + N (1 - s) / S, in which an idle node gets exactly its parent's x: idle
siblings tie to the bit, whatever their shares. Near ties are settled in exact fractions.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from accounting.domain.fairshare.exact import NEAR, settle
from accounting.domain.fairshare.ratio_policy import RatioPolicy
from accounting.domain.fairshare.tree import FairshareTree, Floats, Ints
from accounting.domain.fairshare.usage import Usage


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """Per node: normalised share S, normalised usage N, effective usage U, and x = U / S."""

    norm_shares: Floats
    norm_usage: Floats
    effective_usage: Floats
    load: Floats


def flow(tree: FairshareTree, usage: Usage) -> Flow:
    """The recursion above, a level of accounts at a time, then all people at once."""
    norm_usage = normalised_usage(tree, usage)
    state = Flow(
        norm_shares=np.ones(tree.node_count),
        norm_usage=norm_usage,
        effective_usage=norm_usage.copy(),
        load=norm_usage.copy(),
    )
    for level in tree.account_levels[1:]:
        _descend(tree, state, level)
    _descend(tree, state, np.arange(tree.people.start, tree.people.stop))
    return state


def normalised_usage(tree: FairshareTree, usage: Usage) -> Floats:
    """usage / usage of the whole tree; 0 everywhere while nothing was used."""
    total = usage.value[tree.root]
    return usage.value / total if total > 0 else np.zeros(tree.node_count)


def _descend(tree: FairshareTree, state: Flow, nodes: Ints) -> None:
    above = tree.fs_parent[nodes]
    part = tree.share_fraction[nodes]
    used = state.norm_usage[nodes]
    below_root = above == tree.root
    share = part * state.norm_shares[above]
    effective = np.where(below_root, used, used + (state.effective_usage[above] - used) * part)
    with np.errstate(divide="ignore", invalid="ignore"):
        own = np.where(below_root, used, used * (1.0 - part))
        # 0/0 is somebody without shares and usage: as far down as any without shares.
        load = np.where(share > 0, own / share, np.inf)
    load += np.where(below_root, 0.0, state.load[above])

    transparent = tree.transparent[nodes]
    state.norm_shares[nodes] = np.where(transparent, state.norm_shares[above], share)
    state.effective_usage[nodes] = np.where(
        transparent, np.where(below_root, used, state.effective_usage[above]), effective
    )
    state.load[nodes] = np.where(transparent, np.where(below_root, used, state.load[above]), load)


def classic_factors(state: Flow) -> Floats:
    """F = 2^-(U / S) of every node."""
    return np.exp2(-state.load)


def ratio_factors(state: Flow, policy: RatioPolicy) -> Floats:
    """F = min(1, base x S / (U + eps)) of every node."""
    return np.minimum(1.0, policy.base / _burden(state, policy.epsilon))


def _burden(state: Flow, epsilon: float) -> Floats:
    """(U + eps) / S, infinite without shares."""
    with np.errstate(divide="ignore"):
        return np.where(state.norm_shares > 0, state.load + epsilon / state.norm_shares, np.inf)


def person_ranks(
    tree: FairshareTree, usage: Usage, state: Flow, *, ratio: RatioPolicy | None
) -> Ints:
    """Rank of each person, N for the smallest burden; ties share the larger rank.

    The burden is U / S for `classic` (`ratio` None), else (U + eps) / S. `ratio` ranks before the
    cut at 1, so that two people whose factor is 1 still stand in order.
    """
    people = np.arange(tree.people.start, tree.people.stop)
    burden = (state.load if ratio is None else _burden(state, ratio.epsilon))[people]
    places = np.argsort(burden, kind="stable")
    order, keys = people[places], burden[places]
    starts = np.ones(len(order), dtype=np.bool_)
    starts[1:] = keys[1:] != keys[:-1]
    exact = _ExactBurden(tree, usage, None if ratio is None else ratio.exact_epsilon)
    near = np.zeros(len(order), dtype=np.bool_)
    with np.errstate(invalid="ignore"):
        near[1:] = (keys[1:] - keys[:-1]) <= NEAR * np.abs(keys[1:])
    near[1:] &= np.isfinite(keys[1:]) & (keys[1:] > 0)
    order, starts = settle(order, starts, near, exact.compare)

    run = np.cumsum(starts) - 1
    rank_of_run = tree.person_count - np.flatnonzero(starts)
    ranks = np.empty(tree.person_count, dtype=np.int64)
    ranks[order - tree.people.start] = rank_of_run[run]
    return ranks


def _load_sources(tree: FairshareTree, usage: Usage) -> Ints:
    """The node each node has its x = U / S from: the idle and transparent have their parent's."""
    source = np.arange(tree.node_count)
    idle = np.isneginf(usage.log2)
    inherits = (tree.transparent | idle) & (tree.fs_parent != tree.root)
    people = np.arange(tree.people.start, tree.people.stop)
    for nodes in (*tree.account_levels[1:], people):
        source[nodes] = np.where(inherits[nodes], source[tree.fs_parent[nodes]], nodes)
    return source


class _ExactBurden:
    """U / S or (U + eps) / S as fractions, computed only where floats cannot tell."""

    def __init__(self, tree: FairshareTree, usage: Usage, epsilon: Fraction | None) -> None:
        self._tree, self._usage, self._epsilon = tree, usage, epsilon
        self._known: dict[int, tuple[Fraction, Fraction]] = {}
        self._source = _load_sources(tree, usage)

    def compare(self, left: Ints, right: Ints) -> NDArray[np.int8]:
        tree, exact = self._tree, self._usage.exact
        # The common ties need no fractions: two of a kind in one account, and whoever is idle.
        alike = (
            (tree.fs_parent[left] == tree.fs_parent[right])
            & (tree.shares[left] == tree.shares[right])
            & (tree.transparent[left] == tree.transparent[right])
            & (exact[left] == exact[right]).astype(np.bool_)
        )
        if self._epsilon is None:
            alike |= self._source[left] == self._source[right]
        signs = np.zeros(len(left), dtype=np.int8)
        for at in np.flatnonzero(~alike).tolist():
            a, b = self._burden(int(left[at])), self._burden(int(right[at]))
            signs[at] = (a > b) - (a < b)
        return signs

    def _burden(self, node: int) -> Fraction:
        share, load = self._share_and_load(node)
        return load if self._epsilon is None else load + self._epsilon / share

    def _share_and_load(self, node: int) -> tuple[Fraction, Fraction]:
        """(S, x) of a node that has shares all the way up (only finite burdens are compared)."""
        known = self._known.get(node)
        if known is not None:
            return known
        tree, exact = self._tree, self._usage.exact
        used = Fraction(exact[node], exact[tree.root] or 1)
        above = int(tree.fs_parent[node])
        if node == tree.root:
            found = Fraction(1), used
        elif tree.transparent[node]:
            found = (Fraction(1), used) if above == tree.root else self._share_and_load(above)
        else:
            part = Fraction(int(tree.shares[node]), int(tree.level_shares[node]))
            share_above, load_above = self._share_and_load(above)
            share = part * share_above
            if above == tree.root:
                found = share, used / share
            else:
                found = share, load_above + used * (1 - part) / share
        self._known[node] = found
        return found
