"""Whose guarantee covers which use, where accounts below have guarantees as well. Pure.

    use(n) = own use(n) + sum over children of max(0, use(c) - guaranteed(c))

What an account uses counts for its own guarantee first, and what exceeds it for that of the account
above: so no guarantee is called idle that somebody below needs.
"""

from collections.abc import Mapping
from uuid import UUID

import numpy as np

from preemption.domain.series import Ints


def covered_use(
    *,
    own: Mapping[UUID, Ints],
    parents: Mapping[UUID, UUID | None],
    depth: Mapping[UUID, int],
    guarantees: Mapping[UUID, int],
) -> dict[UUID, Ints]:
    """Use that counts for each account's own guarantee, at each of the same instants.

    Args:
        own: units that each account uses itself, one array of one length each.
        depth: greater below than above.
    """
    found = dict(own)
    for account in sorted(parents, key=lambda each: -depth[each]):
        use = found.get(account)
        above = parents[account]
        if use is None or above is None:
            continue
        excess = np.maximum(0, use - guarantees.get(account, 0))
        if excess.any():
            found[above] = found[above] + excess if above in found else excess
    return found
