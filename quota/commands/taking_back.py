"""Units that allocations give back for somebody else: what `preemption` may do to a pool, and the
only door through which it does (docs/decisions/0014-preemption.md).

Whoever opens a pool here locks it, records first what has lapsed in it, and in the end who rises
into what became free. What is set aside for a job counts as held, for everybody else.
"""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from ledger.errors import NotFound
from ledger.execution import Unit
from ledger.types import Event
from quota import allocation_events as ev
from quota import allocation_facts as facts
from quota.allocation_facts import StoredAllocation
from quota.commands import settling
from quota.domain import lifecycle
from quota.domain.lifecycle import Outcome
from quota.loading import allocations as loading
from quota.loading import reservations, standings
from quota.loading.standings import Standing
from quota.reservation_events import Claim, ReservationEnded, ReservationSet


class PoolInHand:
    """One pool under lock, for one command."""

    def __init__(
        self,
        unit: Unit,
        *,
        pool_id: UUID | None = None,
        pool: str | None = None,
        accounts: Collection[str] = (),
        allocation_ids: Collection[UUID] = (),
    ) -> None:
        """Raises `NotFound`: no such pool."""
        here = unit.organization_id
        self._unit = unit
        self.standing: Standing = standings.locked_standing(
            here,
            now=unit.now,
            pool_ids=() if pool_id is None else (pool_id,),
            pool_names=() if pool is None else (pool,),
            account_names=accounts,
        )
        if not self.standing.pools:
            raise NotFound("pool_unknown", f"There is no pool {pool or pool_id}.", field="pool")
        (self.pool_id,) = self.standing.pools
        self._events: list[Event] = []
        self._gone: set[UUID] = set()
        self._changed: dict[UUID, StoredAllocation] = {}
        self._is_freed = False
        stored = {one.id: one for one in loading.of_ids(here, allocation_ids)}
        self.allocations: dict[UUID, StoredAllocation] = {
            id_: one for id_, one in stored.items() if one.value.pool == self.pool_id
        }
        for ended in settling.end_lapsed(unit, [self.pool_id], self.standing):
            self._ended(ended)
            mine = self.allocations.get(ended.allocation_id)
            if mine is not None:
                judged = lifecycle.judge(mine.value, now=unit.now)
                self.allocations[mine.id] = settling.as_of(mine, judged)
        for id_ in reservations.past(here, self.pool_id, now=unit.now):
            self.release(id_, why="lapsed")

    def preempt(self, allocation_id: UUID, *, at: datetime) -> Outcome:
        """The job was stopped for another; see `lifecycle.preempt`."""
        one = self.allocations[allocation_id]
        outcome = lifecycle.preempt(one.value, at=at, now=self._unit.now)
        return self._keep(one, outcome)

    def end(self, allocation_id: UUID, *, at: datetime) -> Outcome:
        """The job is not to hold its units any longer; see `lifecycle.release`."""
        one = self.allocations[allocation_id]
        outcome = lifecycle.release(one.value, at=at, now=self._unit.now)
        return self._keep(one, outcome)

    def shrink(self, allocation_id: UUID, *, left: int, at: datetime) -> Outcome:
        """The job goes on with fewer units; see `lifecycle.resize`."""
        one = self.allocations[allocation_id]
        outcome = lifecycle.resize(one.value, units=left, at=at, now=self._unit.now, room=0)
        return self._keep(one, outcome)

    def _keep(self, one: StoredAllocation, outcome: Outcome) -> Outcome:
        if not outcome.changed:
            return outcome
        before, after = one.value, outcome.allocation
        change = facts.change(one, after)
        self.allocations[one.id] = settling.as_of(one, after)
        if isinstance(change, ev.Ended):
            settling.leave(self.standing, one)
            self._ended(change)
        elif isinstance(change, ev.AllocationResized):
            freed = before.units - after.units
            self.standing.move(before.pool, before.account, before.tier, -freed, slow=one.slow)
            self.standing.gave(one.id, freed)
            self._changed[one.id] = self.allocations[one.id]
            self._events.append(change)
            self._is_freed = True
        return outcome

    def _ended(self, ended: ev.Ended) -> None:
        self._events.append(ended)
        self._gone.add(ended.allocation_id)
        self._is_freed = True

    def set_aside(
        self,
        reservation_id: UUID,
        *,
        account_id: UUID,
        key: str,
        tier: str,
        reclaim_seconds: int,
        units: int,
        free_units: int,
        until: datetime,
        claims: Collection[Claim],
    ) -> None:
        """Keep units for a job until an instant; see `ReservationSet`."""
        target = self.standing.pools[self.pool_id].pool.reclaim_target_seconds
        self._events.append(
            ReservationSet(
                reservation_id=reservation_id,
                pool_id=self.pool_id,
                account_id=account_id,
                key=key,
                tier=tier,
                slow=reclaim_seconds > target,
                units=units,
                free_units=free_units,
                until=until,
                claims=tuple(claims),
            )
        )

    def release(self, reservation_id: UUID, *, why: str) -> None:
        """Keep nothing any more."""
        kept = self.standing.reservations
        self.standing.reservations = [one for one in kept if one.id != reservation_id]
        self._events.append(
            ReservationEnded(reservation_id=reservation_id, pool_id=self.pool_id, why=why)
        )
        self._is_freed = True

    def is_set_aside(self, reservation_id: UUID) -> bool:
        """Are units kept for it, or to be kept?"""
        return any(one.id == reservation_id for one in self.standing.reservations)

    def record(self) -> None:
        """Record what changed, and who rises into what became free."""
        risen: list[ev.AllocationPromoted] = []
        if self._is_freed:
            risen = settling.promote(
                self._unit, self.standing, self.pool_id, gone=self._gone, changed=self._changed
            )
        settling.record(self._unit, [*self._events, *risen])
