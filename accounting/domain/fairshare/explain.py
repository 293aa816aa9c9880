"""Why a person stands where it stands: the path down the tree, a step a node."""

from dataclasses import dataclass

from accounting.domain.fairshare.evaluation import Fairshare, Standing
from accounting.domain.fairshare.tree import FairshareTree


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One node of the path, the root first, the person last. Numbers as in `Standing`.

    Attributes:
        account: index of the account, None for the person.
        shares: raw shares, None where `parent`.
        level_shares: shares of the node and its siblings together.
    """

    account: int | None
    shares: int | None
    level_shares: int
    norm_shares: float
    usage: float
    norm_usage: float
    effective_usage: float
    level_fs: float
    fairshare: float
    rank: int


def path_of_person(tree: FairshareTree, result: Fairshare, person: int) -> tuple[Step, ...]:
    """The accounts from the top down to the person, then the person (index from 0)."""
    node = tree.account_count + person
    steps = [_step(tree, result.people, node, person, account=None)]
    while node != tree.root:
        node = int(tree.parent[node])
        if node < tree.account_count:
            steps.append(_step(tree, result.accounts, node, node, account=node))
    return tuple(reversed(steps))


def _step(
    tree: FairshareTree, standing: Standing, node: int, row: int, *, account: int | None
) -> Step:
    return Step(
        account=account,
        shares=None if tree.transparent[node] else int(tree.shares[node]),
        level_shares=int(tree.level_shares[node]),
        norm_shares=float(standing.norm_shares[row]),
        usage=float(standing.usage[row]),
        norm_usage=float(standing.norm_usage[row]),
        effective_usage=float(standing.effective_usage[row]),
        level_fs=float(standing.level_fs[row]),
        fairshare=float(standing.fairshare[row]),
        rank=int(standing.rank[row]),
    )
