"""What accounts use of pools by right. The one place that the arithmetic of quotas asks."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID


def units_in_use(
    organization_id: UUID, pool_ids: Iterable[UUID], *, at: datetime
) -> dict[tuple[UUID, UUID], int]:
    """Units held and running in tiers guaranteed and borrowed, by (account, pool), at an instant.

    Spot use is left out: it has no entitlement and takes none away. Until allocations are
    recorded, nothing is in use.
    """
    return {}
