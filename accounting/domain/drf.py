"""Dominant resource fairness: the largest part of any resource that somebody holds.

Source: Ghodsi et al., "Dominant Resource Fairness" (NSDI 2011); docs/design.md part 5:

    d = max over r of use_r / capacity_r,   weighted: d / w

*Hierarchical* here is the definition by subtree sums: the use of an account is the sum of all use
below it, its dominant share is taken of that sum, and siblings are compared by d / w with their
own weights. Two people are told apart at the level where their paths part, so the order is that of
the paths of weighted shares from the top down. (Bhattacharya et al., "Hierarchical Scheduling for
Diverse Datacenter Workloads", 2013, rescale the children before they sum, to let complementary
siblings grow at once; that answers which task to start next, where this reports what is held.)

Exact: shares are fractions of integers, so equal shares tie. Amounts are whole units.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from ledger.errors import Invalid

Amounts = Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class DominantShare:
    """`share` of `resource`, the one of which the most is held; None while nothing is held.

    `weighted` is share / weight; None stands for infinite (weight 0 and something held).
    """

    resource: str | None
    share: Fraction
    weighted: Fraction | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """A node of the tree: parent (None on top), weight among its siblings, its own use."""

    name: str
    parent: str | None
    weight: Fraction | int = 1
    use: Amounts


def dominant_share(use: Amounts, capacity: Amounts, *, weight: Fraction | int = 1) -> DominantShare:
    """d = max over r of use_r / capacity_r, and d / w. Equal parts: the first name wins.

    Resources of which nothing is held do not matter, whatever their capacity.

    Raises:
        Invalid: `drf_out_of_bounds`: a negative amount or weight, or use of what has no capacity.
    """
    if weight < 0 or any(amount < 0 for amount in use.values()):
        raise Invalid("drf_out_of_bounds", "Amounts and weights are never negative.")
    found: tuple[Fraction, str] | None = None
    for resource in sorted(use):
        if use[resource] == 0:
            continue
        if capacity.get(resource, 0) <= 0:
            raise Invalid(
                "drf_out_of_bounds",
                f"{resource} is held although it has no capacity.",
                facts={"resource": resource},
            )
        part = Fraction(use[resource], capacity[resource])
        if found is None or part > found[0]:
            found = part, resource
    if found is None:
        return DominantShare(resource=None, share=Fraction(0), weighted=Fraction(0))
    share, resource = found
    return DominantShare(
        resource=resource, share=share, weighted=share / weight if weight else None
    )


def hierarchical_shares(holders: Sequence[Holder], capacity: Amounts) -> dict[str, DominantShare]:
    """The dominant share of every node's subtree. `holders` lists parents before children.

    Raises:
        Invalid: `drf_tree` (unknown or later parent, name given twice), `drf_out_of_bounds`.
    """
    sums: dict[str, dict[str, int]] = {}
    for holder in holders:
        if holder.name in sums or (holder.parent is not None and holder.parent not in sums):
            raise Invalid(
                "drf_tree", "Names are unique, parents come first.", facts={"name": holder.name}
            )
        sums[holder.name] = dict(holder.use)
    for holder in reversed(holders):
        if holder.parent is not None:
            above = sums[holder.parent]
            for resource, amount in sums[holder.name].items():
                above[resource] = above.get(resource, 0) + amount
    return {
        holder.name: dominant_share(sums[holder.name], capacity, weight=holder.weight)
        for holder in holders
    }


def furthest_above_share(
    holders: Sequence[Holder], shares: Mapping[str, DominantShare]
) -> list[str]:
    """Leaves, those to take from first: compared level by level from the top, largest d / w first.

    Ties are ordered by name.
    """
    parents = {holder.name: holder.parent for holder in holders}
    inner = {parent for parent in parents.values() if parent is not None}

    def path(name: str) -> list[tuple[bool, Fraction, str]]:
        steps, here = [], name
        while here is not None:
            weighted = shares[here].weighted
            # Infinite first, then falling shares; the name keeps tied branches apart.
            steps.append((weighted is not None, -(weighted or Fraction(0)), here))
            here = parents[here]
        return steps[::-1]

    return sorted((name for name in parents if name not in inner), key=path)
