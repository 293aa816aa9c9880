"""What a change of guarantees makes of the tiers of what runs, in the same command.

Whatever command opened a pool's book, when all is decided `reclassify` runs: what exposes lets go
first, then opportunistic allocations rise into what has become free for them. So a raised guarantee
is used at once, and not when a sweeper comes by.

A new reclaim target says anew which allocations are slow. It is recorded before, so that all that
follows is measured by it.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import UUID

from ledger.execution import Unit
from quota import allocation_events as ev
from quota import allocation_facts as facts
from quota.commands import settling
from quota.domain import lifecycle
from quota.domain.exposure import demotions
from quota.loading import allocations as loading
from quota.loading import standings
from quota.loading.quotas import parents_of
from quota.loading.standings import LivePool, Standing

if TYPE_CHECKING:
    from quota.recording import Books


@dataclass(frozen=True, slots=True)
class Reclassified:
    """How many allocations fell, and how many rose."""

    demoted: int = 0
    promoted: int = 0


def reclassify(unit: Unit, books: "Books") -> Reclassified:
    """Record who falls and who rises in the pools of a command's books, which it has under lock.
    Once in a command: by itself in the end, or before by whoever has to know or to go on."""
    if books.is_reclassified:
        return Reclassified()
    books.is_reclassified = True
    here = unit.organization_id
    crowded = {*loading.pools_with_opportunists(here, among=books.of.keys()), *books.exposed}
    if not crowded:
        return Reclassified()
    pools = standings.lock_pools(here, ids=crowded)
    standing = standings.standing(here, pools, now=unit.now)
    _follow(unit, standing, books)
    ended = settling.end_lapsed(unit, list(pools), standing)
    gone = {event.allocation_id for event in ended}
    fallen, risen = [], []
    for pool_id in pools:
        fallen += _demote(unit, standing, pool_id, books.exposed.get(pool_id, set()), gone)
        risen += settling.promote(unit, standing, pool_id, gone=gone)
    settling.record(unit, [*ended, *fallen, *risen])
    return Reclassified(demoted=len(fallen), promoted=len(risen))


def _follow(unit: Unit, standing: Standing, books: "Books") -> None:
    """Let the standing be what the command has decided and not projected yet."""
    for pool_id, live in standing.pools.items():
        book = books.of[pool_id]
        standing.pools[pool_id] = LivePool(pool_id, book.pool)
        if book.pool.reclaim_target_seconds != live.pool.reclaim_target_seconds:
            _measure(unit, standing, pool_id)
        quotas = {account: cell.quota for account, cell in book.cells.items()}
        standing.quotas = {**standing.quotas, pool_id: quotas}
    if books.parents is not None:
        standing.accounts = dict(books.parents)
        return
    quoted = {account for quotas in standing.quotas.values() for account in quotas}
    if missing := quoted - standing.accounts.keys():
        above = parents_of(unit.organization_id, missing)
        standing.accounts = {**standing.accounts, **above}


def _measure(unit: Unit, standing: Standing, pool_id: UUID) -> None:
    """Count what is slow by the pool's new target."""
    standing.retargeted.add(pool_id)
    target = standing.pools[pool_id].pool.reclaim_target_seconds
    slow = loading.slow_units(unit.organization_id, pool_id, target_seconds=target)
    for account, held in standing.holdings.get(pool_id, {}).items():
        borrowed, spot = slow.get(account, (0, 0))
        standing.holdings[pool_id][account] = replace(held, slow_borrowed=borrowed, slow_spot=spot)


def _demote(
    unit: Unit, standing: Standing, pool_id: UUID, exposed: set[UUID], gone: set[UUID]
) -> list[ev.AllocationDemoted]:
    holdings, quotas = standing.holdings.get(pool_id, {}), standing.quotas[pool_id]
    guarantees = {
        account: quotas[account].guaranteed if account in quotas else 0
        for account in exposed & holdings.keys()
    }
    over = {
        account: units
        for account, units in guarantees.items()
        if holdings[account].guaranteed > units
    }
    if not over:
        return []
    stored = {
        (one.value.key, one.value.attempt): standing.measured(one)
        for one in loading.guaranteed_of(unit.organization_id, pool_id, accounts=over)
        if one.id not in gone
    }
    found = []
    allocations = [one.value for one in stored.values()]
    for value in demotions(guarantees=over, allocations=allocations):
        one = stored[value.key, value.attempt]
        outcome = lifecycle.demote(value, now=unit.now)
        found.append(facts.change(one, outcome.allocation))
        settling.leave(standing, one)
        tier = outcome.allocation.tier
        standing.move(pool_id, value.account, tier, value.units, slow=one.slow)
    return found
