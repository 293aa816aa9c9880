"""Decayed usage at an instant in the past, from the records themselves.

The forward sums hold only what ended; at an earlier instant some of it still ran, so the records
are weighed anew with their ends cut at that instant. Reversals have sign -1 and cancel out.
"""

from datetime import UTC, datetime
from math import log2
from uuid import UUID

from accounting.domain import decay
from accounting.domain.decay import Scale, quanta_of
from accounting.domain.fairshare import Usage
from accounting.events import FairshareReset
from accounting.fairshare_state import WEIGHT_SCALE, State
from ledger import store
from ledger.sql import server_cursor

_END = "extract(epoch FROM c.cut)::float8"
_H = "st.half_life_seconds::float8"
_PAST = f"""
SELECT account_id, person_id, pool_id, epoch, sum(weight) FROM (
    SELECT c.account_id, c.person_id, c.pool_id,
        {decay.sql_epoch(end=_END, half_life_seconds=_H)} AS epoch,
        c.sign * {
    decay.sql_forward_weight(
        rate="c.units::float8",
        start="extract(epoch FROM c.since)::float8",
        end=_END,
        half_life_seconds=_H,
    )
} AS weight
    FROM (
        SELECT r.*, least(coalesce(r.ended_at, %b), %b) AS cut,
            greatest(r.started_at, %b::timestamptz) AS since
        FROM accounting_usagerecord r
        WHERE r.organization_id = %b AND r.started_at < %b
    ) c JOIN accounting_fairsharestate st ON st.organization_id = c.organization_id
    WHERE c.cut > c.since
) w GROUP BY account_id, person_id, pool_id, epoch
"""


def usage_in_the_past(state: State, organization_id: UUID, *, at: int) -> Usage:
    """Exact usage of every node at a whole second in the past. Runs inside `scope.reading`.

    Reads every record that had started by then: meant for single questions, not for polling.
    """
    instant = datetime.fromtimestamp(at, UTC)
    reset = reset_before(state, organization_id, at=at)
    with server_cursor() as cursor:
        rows = cursor.execute(_PAST, (instant, instant, reset, organization_id, instant)).fetchall()
    scale = Scale.covering((row[3] for row in rows), state.half_life)
    people = [0] * state.tree.person_count
    residual = [0] * state.tree.account_count
    for account_id, person_id, pool_id, epoch, forward in rows:
        node = state.node_of(account_id, person_id)
        if node is not None:
            is_person, index = node
            weight = state.pool_weights.get(pool_id, WEIGHT_SCALE)
            total = scale.total({epoch: quanta_of(forward)}) * weight
            (people if is_person else residual)[index] += total
    return Usage(
        tree=state.tree,
        people=people,
        residual=residual,
        unit_log2=scale.unit_log2(at) - log2(WEIGHT_SCALE),
    )


def reset_before(state: State, organization_id: UUID, *, at: float) -> datetime | None:
    """The last reset that had happened by `at`: a later one says nothing about that instant."""
    if state.reset_at is None:
        return None
    if state.reset_at <= at:
        return datetime.fromtimestamp(state.reset_at, UTC)
    resets = store.read_type(organization_id, FairshareReset.event_type)
    return max((r.data.at for r in resets if r.data.at.timestamp() <= at), default=None)
