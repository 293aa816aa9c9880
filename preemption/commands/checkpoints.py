"""Jobs saved themselves: what they would lose since then is what a plan goes by."""

from dataclasses import dataclass
from uuid import UUID

from ledger.errors import Denied, NotFound
from ledger.execution import Unit, handles
from preemption import loading, wire
from preemption.events import CheckpointsRecorded, Saved
from quota.domain.lifecycle import CLOCK_SKEW_MAX, LIVE, judge
from quota.loading import allocations, standings
from tenancy.domain.roles import Scope

WORDS = {
    "recorded": "Less would be lost now.",
    "nothing_newer": "A later checkpoint is known, or this one.",
    "allocation_unknown": "No allocation of the pool has this key and attempt.",
    "already_ended": "The job has ended.",
    "from_the_future": "The instant lies ahead of our clock.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordCheckpoints:
    """Jobs of a pool saved themselves."""

    pool: str
    checkpoints: tuple[wire.Checkpoint, ...]


@handles(RecordCheckpoints, permission=Scope.PREEMPTION_WRITE)
def record_checkpoints(command: RecordCheckpoints, unit: Unit) -> wire.CheckpointsTold:
    """Under the lock of the pool; the latest of each job counts, whatever the order."""
    here = unit.organization_id
    pools = standings.lock_pools(here, names=(command.pool,))
    if not pools:
        raise NotFound("pool_unknown", f"There is no pool {command.pool}.", field="pool")
    (pool_id,) = pools
    allowed = unit.actor.pool_ids
    if allowed is not None and pool_id not in allowed:
        raise Denied("pool_denied", f"This token may not speak for pool {command.pool}.")
    known = {
        (one.value.key, one.value.attempt): one
        for one in allocations.of_keys(here, {one.key for one in command.checkpoints})
        if one.value.pool == pool_id
    }
    newest = dict(sorted(known))
    stored = loading.checkpoints(here, [one.id for one in known.values()])
    saved_at = {id_: one.saved_at for id_, one in stored.items()}
    made: dict[UUID, Saved] = {}
    results = []
    for told in command.checkpoints:
        attempt = told.attempt or newest.get(told.key)
        one = None if attempt is None else known.get((told.key, attempt))
        at = told.at or unit.now
        if one is None:
            code = "allocation_unknown"
        elif judge(one.value, now=unit.now).state not in LIVE:
            code = "already_ended"
        elif at > unit.now + CLOCK_SKEW_MAX:
            code = "from_the_future"
        elif one.id in saved_at and min(at, unit.now) <= saved_at[one.id]:
            code = "nothing_newer"
        else:
            code = "recorded"
            saved_at[one.id] = min(at, unit.now)
            made[one.id] = Saved(
                allocation_id=one.id,
                saved_at=saved_at[one.id],
                reload_seconds=told.reload_seconds,
                warm_up_seconds=told.warm_up_seconds,
                seconds=told.seconds,
            )
        results.append(
            wire.CheckpointResult(key=told.key, attempt=attempt, code=code, detail=WORDS[code])
        )
    if made:
        unit.record(CheckpointsRecorded(pool_id=pool_id, checkpoints=tuple(made.values())))
    return wire.CheckpointsTold(at=unit.now, changed=len(made), results=results)
