"""Record what time has done to pools: holds and leases that lapsed, and who rises into what became
free. Every command about allocations does this for the pools it has locked; a task does it for
the pools that nobody asks about."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from ledger.execution import Unit, handles
from ledger.types import Event
from quota import allocation_events as ev
from quota import allocation_facts as facts
from quota.allocation_facts import StoredAllocation
from quota.domain import lifecycle
from quota.domain.promotion import promotions
from quota.loading import allocations as loading
from quota.loading import standings
from quota.loading.standings import Standing
from quota.measuring_events import AllocationWorkMeasured
from quota.reservation_events import ReservationEnded, ReservationSet
from tenancy.domain.roles import SYSTEM_ONLY

_ORDER = (
    ev.AllocationExpired,
    ev.AllocationReleased,
    ev.AllocationPreempted,
    ev.AllocationStarted,
    ev.AllocationResized,
    ev.AllocationLeasesRenewed,
    AllocationWorkMeasured,
    ev.AllocationDemoted,
    ev.AllocationPromoted,
    ev.AllocationAdopted,
    ev.AllocationHeld,
    ReservationEnded,
    ReservationSet,
    ev.PoolSnapshotReconciled,
)


def record(unit: Unit, events: Iterable[Event]) -> None:
    """Record events kind by kind, units that go before units that come: so projectors work on
    whole sets, and no counter passes through a value that it never had."""
    unit.record(*sorted(events, key=lambda event: _ORDER.index(type(event))))


def end_lapsed(
    unit: Unit, pool_ids: Collection[UUID], standing: Standing | None = None
) -> list[ev.Ended]:
    """Ends of everything in locked pools that is over by now, taken out of the holdings."""
    if standing is not None and not standing.has_lapses:
        return []
    found = []
    for stored in loading.lapsed(unit.organization_id, pool_ids, now=unit.now):
        if standing is not None:
            stored = standing.measured(stored)
        after = lifecycle.judge(stored.value, now=unit.now)
        found.append(facts.change(stored, after))
        if standing is not None:
            leave(standing, stored)
    return found


def leave(standing: Standing, stored: StoredAllocation) -> None:
    """Take an allocation out of the holdings."""
    value = stored.value
    standing.move(value.pool, value.account, value.tier, -value.units, slow=stored.slow)
    standing.gave(stored.id)


def promote(
    unit: Unit,
    standing: Standing,
    pool_id: UUID,
    *,
    gone: Collection[UUID] = (),
    changed: Mapping[UUID, StoredAllocation] | None = None,
) -> list[ev.AllocationPromoted]:
    """Who rises in a locked pool. What has lapsed must have been ended before.

    Args:
        gone: allocations that this command has ended.
        changed: those it has changed otherwise, as they are now.
    """
    holdings = standing.holdings.get(pool_id, {})
    if not any(held.borrowed or held.spot for held in holdings.values()):
        return []
    state = standing.state(pool_id)
    with_room = [
        account
        for account, quota in state.quotas.items()
        if account not in holdings or quota.guaranteed > holdings[account].guaranteed
    ]
    here = changed or {}
    stored = {
        (one.value.key, one.value.attempt): here.get(one.id, standing.measured(one))
        for one in loading.risers(unit.organization_id, pool_id, accounts=with_room)
        if one.id not in gone
    }
    rising = promotions(
        accounts=standing.tree(),
        pool_tree=standing.pool_tree(pool_id),
        pool=pool_id,
        state=state,
        allocations=[one.value for one in stored.values()],
    )
    found = []
    for rise in rising:
        one = stored[rise.allocation.key, rise.allocation.attempt]
        outcome = lifecycle.promote(one.value, rise.tier, now=unit.now)
        if outcome.changed:
            found.append(facts.change(one, outcome.allocation))
            value = one.value
            standing.move(pool_id, value.account, value.tier, -value.units, slow=one.slow)
            standing.move(pool_id, value.account, rise.tier, value.units, slow=one.slow)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class SettlePools:
    """Record lapses and promotions of pools."""

    pool_ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolsSettled:
    """How many allocations were over, and how many rose."""

    expired: int
    promoted: int


@handles(SettlePools, permission=SYSTEM_ONLY)
def settle_pools(command: SettlePools, unit: Unit) -> PoolsSettled:
    """Lock, end what is over, let rise who can."""
    standing = standings.locked_standing(
        unit.organization_id, pool_ids=command.pool_ids, now=unit.now
    )
    pools = standing.pools
    ended = end_lapsed(unit, list(pools), standing)
    gone = {event.allocation_id for event in ended}
    risen = [event for pool_id in pools for event in promote(unit, standing, pool_id, gone=gone)]
    record(unit, [*ended, *risen])
    return PoolsSettled(expired=len(ended), promoted=len(risen))


def as_of(stored: StoredAllocation, value: lifecycle.Allocation) -> StoredAllocation:
    """The stored allocation with what has become of it."""
    return replace(stored, value=value)
