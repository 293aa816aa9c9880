"""The tree of accounts and people as arrays, with everything that usage does not change.

Nodes are numbered accounts first (0 to A-1, parents before children), then people (A to A+P-1),
then one *implied root* (A+P). With exactly one top-level account that account is the root, as in
Slurm; with several, the implied root stands above them.

A node whose share is `parent` is *transparent*. A transparent account takes no part in the
sharing: its children count as children of the nearest account above that is not transparent (its
*fair-share parent*), and are normalised together with that account's own children. A transparent
person has no share of its own and comes first in the account (Slurm, `FairShare=parent`).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ledger.errors import Invalid

DEPTH_MAX = 16
SHARES_MAX = 2**31 - 1
NO_PARENT = -1

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FairshareTree:
    """Shape, shares and all orders derived from them. Build with `build`; never changes.

    Attributes:
        account_count, person_count: A and P.
        parent: real parent node of each node (the root's is itself).
        shares: raw shares; 0 where transparent.
        transparent: share is `parent`.
        fs_parent: fair-share parent of each node (the root's is itself).
        level_shares: sum of the shares of each node's siblings and its own, under `fs_parent`.
        share_fraction: shares / level_shares; 0 where nothing is shared out; 1 for the root.
        share_fraction_log2: its log2 (-inf where 0).
        ranked_levels: nodes to rank, by distance from the root along `fs_parent`: people, and
            opaque accounts with somebody below.
        account_levels: accounts (and the root) by real depth, root first.
        root: the root node.
    """

    account_count: int
    person_count: int
    root: int
    parent: Ints
    shares: Ints
    transparent: Bools
    fs_parent: Ints
    level_shares: Ints
    share_fraction: Floats
    share_fraction_log2: Floats
    people_below: Ints
    ranked_levels: tuple[Ints, ...]
    account_levels: tuple[Ints, ...]

    @property
    def node_count(self) -> int:
        return self.account_count + self.person_count + 1

    @property
    def accounts(self) -> slice:
        return slice(0, self.account_count)

    @property
    def people(self) -> slice:
        return slice(self.account_count, self.account_count + self.person_count)

    @classmethod
    def build(
        cls,
        *,
        account_parents: Sequence[int] | Ints,
        account_shares: Sequence[int] | Ints,
        account_transparent: Sequence[bool] | Bools,
        person_accounts: Sequence[int] | Ints,
        person_shares: Sequence[int] | Ints,
        person_transparent: Sequence[bool] | Bools,
    ) -> "FairshareTree":
        """Derive all orders, O(n log n).

        Args:
            account_parents: index of each account's parent, before its own; NO_PARENT for a
                top-level account.
            account_shares, person_shares: whole numbers 0 to 2^31-1; ignored where transparent.
            person_accounts: index of the account that each person (association) belongs to.

        Raises:
            Invalid: `tree_shape` (lengths, order, indexes), `tree_too_deep`,
                `shares_out_of_bounds`.
        """
        parents = np.asarray(account_parents, dtype=np.int64)
        owners = np.asarray(person_accounts, dtype=np.int64)
        transparent = np.concatenate(
            [
                np.asarray(account_transparent, dtype=np.bool_),
                np.asarray(person_transparent, dtype=np.bool_),
                np.zeros(1, dtype=np.bool_),
            ]
        )
        shares = np.concatenate(
            [
                np.asarray(account_shares, dtype=np.int64),
                np.asarray(person_shares, dtype=np.int64),
                np.ones(1, dtype=np.int64),
            ]
        )
        _check_shape(parents, owners, shares, transparent)
        shares = np.where(transparent, 0, shares)
        return _derive(parents, owners, shares, transparent)


def _derive(parents: Ints, owners: Ints, shares: Ints, transparent: Bools) -> FairshareTree:
    account_count, person_count = len(parents), len(owners)
    implied = account_count + person_count
    tops = np.flatnonzero(parents == NO_PARENT)
    root = int(tops[0]) if len(tops) == 1 else implied
    parent = np.concatenate([np.where(parents == NO_PARENT, root, parents), owners, [root]])
    if root != implied:
        transparent[root] = False  # a root has nobody to be transparent to
    account_levels = _account_levels(parent, root, account_count)
    fs_parent = _fair_share_parents(parent, transparent, account_levels)

    level_sums = np.zeros(implied + 1, dtype=np.int64)
    members = np.arange(implied)[np.arange(implied) != root]
    np.add.at(level_sums, fs_parent[members], shares[members])
    level_shares = level_sums[fs_parent]
    fraction = np.divide(shares, level_shares, out=np.zeros(implied + 1), where=level_shares > 0)
    fraction[root], level_shares[root] = 1.0, shares[root]
    with np.errstate(divide="ignore"):
        fraction_log2 = np.log2(fraction)

    people_below = _people_below(parent, account_levels, account_count, person_count)
    tree = FairshareTree(
        account_count=account_count,
        person_count=person_count,
        root=root,
        parent=parent,
        shares=shares,
        transparent=transparent,
        fs_parent=fs_parent,
        level_shares=level_shares,
        share_fraction=fraction,
        share_fraction_log2=fraction_log2,
        people_below=people_below,
        ranked_levels=_ranked_levels(fs_parent, transparent, people_below, root, account_count),
        account_levels=account_levels,
    )
    for array in (parent, shares, transparent, fs_parent, level_shares, fraction, fraction_log2):
        array.flags.writeable = False
    return tree


def _check_shape(parents: Ints, owners: Ints, shares: Ints, transparent: Bools) -> None:
    account_count, person_count = len(parents), len(owners)
    expected = account_count + person_count + 1
    if len(shares) != expected or len(transparent) != expected:
        raise Invalid("tree_shape", "Shares and transparency must be given for every node.")
    indexes = np.arange(account_count)
    if bool(np.any((parents < NO_PARENT) | (parents >= indexes))):
        raise Invalid("tree_shape", "An account's parent must come before the account.")
    if person_count and bool(np.any((owners < 0) | (owners >= account_count))):
        raise Invalid("tree_shape", "A person belongs to an account of the tree.")
    bad = np.flatnonzero(~transparent & ((shares < 0) | (shares > SHARES_MAX)))
    if len(bad):
        raise Invalid(
            "shares_out_of_bounds",
            f"Shares are whole numbers from 0 to {SHARES_MAX}, or `parent`.",
            facts={"node": int(bad[0]), "shares": int(shares[bad[0]])},
        )


def _account_levels(parent: Ints, root: int, account_count: int) -> tuple[Ints, ...]:
    """Accounts by distance from the root, which alone is level 0."""
    depth = [0] * (len(parent))
    for account, above in enumerate(parent[:account_count].tolist()):
        depth[account] = 0 if account == root else depth[above] + 1
    deepest = max(depth[:account_count], default=0)
    if deepest > DEPTH_MAX:
        raise Invalid(
            "tree_too_deep",
            f"An account tree has at most {DEPTH_MAX} levels below its root.",
            facts={"levels_max": DEPTH_MAX},
        )
    depths = np.asarray(depth[:account_count], dtype=np.int64)
    below = [np.flatnonzero(depths == level) for level in range(1, deepest + 1)]
    return (np.asarray([root], dtype=np.int64), *below)


def _fair_share_parents(parent: Ints, transparent: Bools, account_levels: tuple[Ints, ...]) -> Ints:
    """Nearest ancestor that is not transparent: accounts level by level, then everybody."""
    fs_parent = parent.copy()
    for level in account_levels[1:]:
        above = parent[level]
        fs_parent[level] = np.where(transparent[above], fs_parent[above], above)
    return np.where(transparent[parent], fs_parent[parent], parent)


def _people_below(
    parent: Ints, account_levels: tuple[Ints, ...], account_count: int, person_count: int
) -> Ints:
    """How many people each node holds in its real subtree; a person holds itself."""
    below = np.zeros(len(parent), dtype=np.int64)
    people = np.arange(account_count, account_count + person_count)
    below[people] = 1
    np.add.at(below, parent[people], 1)
    for level in reversed(account_levels[1:]):
        np.add.at(below, parent[level], below[level])
    return below


def _ranked_levels(
    fs_parent: Ints, transparent: Bools, people_below: Ints, root: int, account_count: int
) -> tuple[Ints, ...]:
    """Opaque accounts with people below, and all people, by distance along `fs_parent`."""
    nodes = np.arange(len(fs_parent) - 1)
    opaque = (~transparent[nodes]) | (nodes >= account_count)
    ranked = opaque & (people_below[nodes] > 0) & (nodes != root)
    distance = np.zeros(len(fs_parent), dtype=np.int64)
    frontier = nodes[ranked]
    hops = fs_parent[frontier]
    steps = np.ones(len(frontier), dtype=np.int64)
    while bool(np.any(hops != root)):
        steps += hops != root
        hops = np.where(hops != root, fs_parent[hops], root)
    distance[frontier] = steps
    deepest = int(steps.max(initial=0))
    return tuple(frontier[steps == level] for level in range(1, deepest + 1))
