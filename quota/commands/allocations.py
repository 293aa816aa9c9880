"""What schedulers tell of admitted jobs: they start, live, change size, end.

Every message is answered by itself; a repeated, late or contradictory one changes nothing and says
so. Messages of one command count in their order.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from ledger.errors import Invalid
from ledger.execution import Unit, handles
from quota import allocation_events as ev
from quota import allocation_facts as facts
from quota import allocation_words as words
from quota import measuring_facts as measuring
from quota import wire
from quota.allocation_facts import StoredAllocation
from quota.commands import settling
from quota.commands.admissions import view
from quota.domain import lifecycle
from quota.domain.book import Accounts, Book
from quota.domain.lifecycle import Outcome
from quota.loading import allocations as loading
from quota.loading import standings
from quota.measuring_events import AllocationWorkMeasured, Measurement
from tenancy.domain.roles import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class StartAllocations:
    """Held jobs run."""

    messages: tuple[wire.Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeartbeatAllocations:
    """Running jobs are alive; some tell of their work."""

    messages: tuple[wire.HeartbeatMessage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResizeAllocations:
    """Running jobs have other units."""

    messages: tuple[wire.ResizeMessage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseAllocations:
    """Jobs have ended."""

    messages: tuple[wire.ReleaseMessage, ...]


@handles(StartAllocations, permission=Scope.ADMISSION_WRITE)
def start_allocations(command: StartAllocations, unit: Unit) -> wire.Told:
    """See `lifecycle.start`."""
    return _tell(
        unit,
        command.messages,
        lambda one, message: lifecycle.start(one.value, at=message.at, now=unit.now),
    )


@handles(HeartbeatAllocations, permission=Scope.ADMISSION_WRITE)
def heartbeat_allocations(command: HeartbeatAllocations, unit: Unit) -> wire.Told:
    """See `lifecycle.heartbeat`."""
    return _tell(
        unit,
        command.messages,
        lambda one, message: lifecycle.heartbeat(
            one.value, at=message.at or unit.now, now=unit.now
        ),
    )


@handles(ResizeAllocations, permission=Scope.ADMISSION_WRITE)
def resize_allocations(command: ResizeAllocations, unit: Unit) -> wire.Told:
    """See `lifecycle.resize`; growth needs room in the job's own tier."""
    return _tell(unit, command.messages, None)


@handles(ReleaseAllocations, permission=Scope.ADMISSION_WRITE)
def release_allocations(command: ReleaseAllocations, unit: Unit) -> wire.Told:
    """See `lifecycle.release` and `lifecycle.preempt`; others may rise into what is free now."""

    def end(one: StoredAllocation, message: wire.ReleaseMessage) -> Outcome:
        at = message.at or unit.now
        if message.preempted:
            return lifecycle.preempt(one.value, at=at, now=unit.now)
        return lifecycle.release(one.value, at=at, now=unit.now, started_at=message.started_at)

    return _tell(unit, command.messages, end)


Apply = Callable[[StoredAllocation, wire.AnyMessage], Outcome]


def _tell(unit: Unit, messages: Sequence[wire.AnyMessage], apply: Apply | None) -> wire.Told:
    if len(messages) > wire.MESSAGES_MAX:
        raise Invalid(
            "too_many_items",
            f"One request takes at most {wire.MESSAGES_MAX} messages.",
            field="messages",
            facts={"limit": wire.MESSAGES_MAX},
        )
    desk = _Desk(unit, messages, resizing=apply is None)
    answers = [desk.answer(message, apply or desk.resize) for message in messages]
    results = [result for answer in answers for result in answer]
    desk.record()
    return wire.Told(
        at=unit.now,
        changed=sum(result.status == "changed" for result in results),
        counts=[len(answer) for answer in answers],
        results=results,
    )


class _Desk:
    """The allocations that messages are about, as they are after each message."""

    def __init__(self, unit: Unit, messages: Sequence[wire.AnyMessage], *, resizing: bool) -> None:
        here = unit.organization_id
        self._unit = unit
        keys = sorted({message.key for message in messages})
        self._pools = standings.lock_pools(here, ids=loading.pools_of_keys(here, keys))
        self._pool_names = {id_: one.pool.name for id_, one in self._pools.items()}
        self._of_key: dict[str, list[UUID]] = {}
        self._now: dict[UUID, StoredAllocation] = {}
        for stored in loading.of_keys(here, keys):
            # One of a pool that nobody had when the pools were locked is not known yet.
            if stored.value.pool in self._pools:
                self._of_key.setdefault(stored.value.key, []).append(stored.id)
                self._now[stored.id] = stored
        accounts = {stored.value.account for stored in self._now.values()}
        self._account_names = loading.account_names(here, accounts)
        self._events: list = []
        self._renewals: dict[UUID, list[ev.Renewal]] = {}
        self._measurements: dict[UUID, list[Measurement]] = {}
        self._freed: set[UUID] = set()
        self._books: dict[UUID, tuple[Accounts, Book]] = {}
        if resizing:
            self._open_books()

    def answer(self, message: wire.AnyMessage, apply: Apply) -> list[wire.MessageResult]:
        """What becomes of a message, for each allocation that it is about."""
        found = self._meant(message)
        if not found:
            return [_unknown(message)]
        if apply == self.resize and len(found) > 1:
            detail = "The job has units of several pools; name the one that changes."
            return [_invalid(message, "pool_needed", detail)]
        return [self._apply(message, one, apply) for one in found]

    def _meant(self, message: wire.AnyMessage) -> list[StoredAllocation]:
        known = [self._now[id_] for id_ in self._of_key.get(message.key, ())]
        if message.attempt is None:
            attempt = max((one.value.attempt for one in known), default=None)
        else:
            attempt = message.attempt
        return [
            one
            for one in known
            if one.value.attempt == attempt
            and message.pool in (None, self._pool_names[one.value.pool])
        ]

    def _apply(
        self, message: wire.AnyMessage, one: StoredAllocation, apply: Apply
    ) -> wire.MessageResult:
        allowed = self._unit.actor.pool_ids
        if allowed is not None and one.value.pool not in allowed:
            pool = self._pool_names[one.value.pool]
            return _invalid(message, "pool_denied", f"This token may not speak for pool {pool}.")
        outcome = apply(one, message)
        after = settling.as_of(one, outcome.allocation)
        if outcome.changed:
            self._keep(one, after)
        if outcome.code == "renewed" and message.tells_of_work:
            told = measuring.measurement(after, message)
            self._measurements.setdefault(after.value.pool, []).append(told)
        lapsed = outcome.changed and outcome.code in ("ended_otherwise", "already_ended")
        status = "changed" if outcome.changed and not lapsed else "unchanged"
        return wire.MessageResult(
            key=one.value.key,
            attempt=one.value.attempt,
            pool=self._pool_names[one.value.pool],
            status="contradiction" if outcome.contradiction else status,
            code=outcome.code,
            detail=words.MESSAGES[outcome.code],
            allocation=view(after, self._pool_names, self._account_names),
        )

    def _keep(self, before: StoredAllocation, after: StoredAllocation) -> None:
        change = facts.change(before, after.value)
        self._now[before.id] = after
        pool_id = before.value.pool
        if isinstance(change, ev.Renewal):
            self._renewals.setdefault(pool_id, []).append(change)
        elif change is not None:
            self._events.append(change)
            if isinstance(change, ev.Ended | ev.AllocationResized):
                self._freed.add(pool_id)

    def resize(self, one: StoredAllocation, message: wire.ResizeMessage) -> Outcome:
        """`lifecycle.resize` with the room that there is after the messages before."""
        value = one.value
        accounts, book = self._books[value.pool]
        # Only an account that has neither quota nor units in the pool is missing: the job is over.
        row = accounts.row_of.get(value.account)
        # An archived account takes nothing new, but may give back.
        has_none = row is None or value.account in self._standing.closed
        outcome = lifecycle.resize(
            value,
            units=message.units,
            at=message.at or self._unit.now,
            now=self._unit.now,
            room=0 if has_none else book.most(row, value.tier, slow=one.slow),
        )
        if outcome.code == "resized":
            book.add(row, value.tier, message.units - value.units, slow=one.slow)
        return outcome

    def _open_books(self) -> None:
        """For resizing: what has lapsed is ended first, so that its units count as room."""
        unit = self._unit
        self._standing = standings.standing_on_ground(
            unit.organization_id, self._pools, now=unit.now
        )
        for event in settling.end_lapsed(unit, list(self._pools), self._standing):
            self._events.append(event)
            self._freed.add(event.pool_id)
            mine = self._now.get(event.allocation_id)
            if mine is not None:
                judged = lifecycle.judge(mine.value, now=unit.now)
                self._now[mine.id] = settling.as_of(mine, judged)
        accounts = self._standing.tree()
        for pool_id in self._pools:
            tree = self._standing.pool_tree(pool_id)
            book = Book(pool_id, self._standing.state(pool_id), accounts, tree)
            self._books[pool_id] = (accounts, book)

    def record(self) -> None:
        """Record what changed, and who rises into what became free."""
        unit = self._unit
        events = [
            *self._events,
            *(
                ev.AllocationLeasesRenewed(pool_id=pool_id, renewals=tuple(renewals))
                for pool_id, renewals in self._renewals.items()
            ),
            *(
                AllocationWorkMeasured(pool_id=pool_id, measurements=tuple(measurements))
                for pool_id, measurements in self._measurements.items()
            ),
        ]
        if self._freed:
            crowded = loading.pools_with_opportunists(unit.organization_id, among=self._freed)
            freed = {id_: self._pools[id_] for id_ in crowded}
            if freed:
                events += self._promotions(freed)
        settling.record(unit, events)

    def _promotions(self, pools: dict[UUID, standings.LivePool]) -> list:
        unit = self._unit
        standing = standings.standing_on_ground(unit.organization_id, pools, now=unit.now)
        mine = {e.allocation_id for e in self._events if isinstance(e, ev.Ended)}
        lapsed = [
            event
            for event in settling.end_lapsed(unit, list(pools), standing)
            if event.allocation_id not in mine
        ]
        gone = mine | {event.allocation_id for event in lapsed}
        for event in self._events:
            if event.pool_id not in pools or isinstance(event, ev.AllocationStarted):
                continue
            before = event.units_before if isinstance(event, ev.AllocationResized) else event.units
            after = event.units if isinstance(event, ev.AllocationResized) else 0
            if not isinstance(event, ev.AllocationExpired):
                standing.move(
                    event.pool_id, event.account_id, event.tier, after - before, slow=event.slow
                )
                standing.gave(event.allocation_id, before - after if after else None)
        found: list = list(lapsed)
        for pool_id in pools:
            found += settling.promote(unit, standing, pool_id, gone=gone, changed=self._now)
        return found


def _unknown(message: wire.AnyMessage) -> wire.MessageResult:
    return wire.MessageResult(
        key=message.key,
        attempt=message.attempt,
        pool=message.pool,
        status="unknown",
        code="allocation_unknown",
        detail="No allocation has this key, attempt and pool.",
    )


def _invalid(message: wire.AnyMessage, code: str, detail: str) -> wire.MessageResult:
    return wire.MessageResult(
        key=message.key,
        attempt=message.attempt,
        pool=message.pool,
        status="invalid",
        code=code,
        detail=detail,
    )
