"""How the quotas of a review cycle were used, as its pages show it and its events keep it."""

from collections.abc import Collection
from datetime import datetime, timedelta
from uuid import UUID

from quota.cycle_events import CycleFigures
from quota.ports import UNKNOWN_USE, Place, ports


def figures_of(
    organization_id: UUID, places: Collection[Place], *, window_days: int, now: datetime
) -> dict[Place, CycleFigures]:
    """Use over the days before `now`, and the recommended figure, by accounting; asked for all
    places at once. What is not known is None, never zero."""
    if not places:
        return {}
    since = now - timedelta(days=window_days)
    use = ports().utilization.utilizations(organization_id, places, since, now)
    costs = ports().price.idle_costs(organization_id, places, since, now)
    found = {}
    for place in places:
        known, cost = use.get(place, UNKNOWN_USE), costs.get(place)
        found[place] = CycleFigures(
            since=since,
            until=now,
            guaranteed=known.guaranteed,
            p50=known.p50,
            p95=known.p95,
            peak=known.peak,
            use_percent=None if known.mean is None else round(known.mean * 100),
            idle_units=known.idle_units,
            recommended=known.recommended,
            idle_cost=cost.amount if cost else None,
            currency=cost.currency if cost else None,
            coverage_percent=int(known.coverage * 100),
        )
    return found
