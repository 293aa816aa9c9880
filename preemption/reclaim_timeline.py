"""One guarantee over time: use that counts for it, what was promised, how it is judged now. Runs
inside `scope.reading`; as many statements as a run of the rule over the pool."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

import numpy as np

from ledger.sql import server_cursor
from preemption import reclaim_loading as loading
from preemption.domain.need import Need, need
from preemption.domain.series import HOUR_SECONDS, UseSeries, seconds
from preemption.reclaim_loading import Guarantee, PoolRule

STEPS_MAX: Final = 10_000
"""Changes of one guarantee that are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """Units guaranteed from an instant on."""

    since: datetime
    units: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A stretch of time. `mean`: units in use where that is known; None: nowhere in it.

    Attributes:
        known: hours of it in which use is known, of `hours`.
        promised: units at its beginning.
    """

    at: datetime
    hours: int
    known: int
    mean: float | None
    promised: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A guarantee's past and how the rule sees it now.

    Attributes:
        steps: oldest first, without gaps between them.
        guarantee: as the rule looks at it; None: nothing was ever promised.
        need: over the rule's last window; None: nothing is known in it.
        left_alone: `temporary`, `exempt` or `unknown`; None: it is judged.
    """

    steps: tuple[Step, ...]
    promised: tuple[Promised, ...]
    guarantee: Guarantee | None
    need: Need | None
    left_alone: str | None

    @property
    def promised_now(self) -> int:
        """Units that are guaranteed at the end."""
        return self.promised[-1].units if self.promised else 0


_PROMISED = """
SELECT valid_from, valid_to, guaranteed FROM quota_quotahistory
WHERE organization_id = %b AND account_id = %b AND pool_id = %b
    AND (valid_to IS NULL OR (valid_to > %b AND valid_to > valid_from))
ORDER BY valid_from DESC, valid_to DESC NULLS FIRST LIMIT %b
"""


def timeline(
    organization_id: UUID,
    account_id: UUID,
    pool_id: UUID,
    pool_rule: PoolRule,
    *,
    start: datetime,
    now: datetime,
    step_hours: int,
) -> Timeline:
    """From `start` to the last full hour, in steps of so many hours.

    A guarantee that left its account whole is looked at as if it were as large as it was: what it
    was used is still told.
    """
    # The rule looks back as far as it must, whatever is shown.
    since = min(start, now - loading.look_back(pool_rule))
    promised = _promised(organization_id, account_id, pool_id, since)
    most = max((one.units for one in promised), default=0)
    if not most:
        return Timeline(steps=(), promised=promised, guarantee=None, need=None, left_alone=None)
    pool = loading.guarantees(
        organization_id,
        pool_id,
        pool_rule,
        start=since,
        now=now,
        also={account_id: most},
        under=account_id,
    )
    one = pool.of.get(account_id)
    if one is None:
        return Timeline(steps=(), promised=promised, guarantee=None, need=None, left_alone=None)
    found = None
    if promised[-1].units:
        history = one.history(pool_rule)
        window = pool_rule.rule.window_seconds
        found = need(history, pool_rule.rule, last=window, in_use=one.in_use)
    return Timeline(
        steps=_steps(one.series, promised, start=start, now=now, hours=step_hours),
        promised=promised,
        guarantee=one,
        need=found,
        left_alone=loading.left_alone(one),
    )


def _promised(
    organization_id: UUID, account_id: UUID, pool_id: UUID, start: datetime
) -> tuple[Promised, ...]:
    with server_cursor() as cursor:
        rows = cursor.execute(
            _PROMISED, (organization_id, account_id, pool_id, start, STEPS_MAX)
        ).fetchall()
    return tuple(Promised(since=low, units=units) for low, _, units in reversed(rows))


def _steps(
    series: UseSeries,
    promised: tuple[Promised, ...],
    *,
    start: datetime,
    now: datetime,
    hours: int,
) -> tuple[Step, ...]:
    last = seconds(now) // HOUR_SECONDS * HOUR_SECONDS
    first = seconds(start) // HOUR_SECONDS * HOUR_SECONDS
    edges = np.arange(first, last, hours * HOUR_SECONDS, dtype=np.int64)
    ends = np.minimum(edges + hours * HOUR_SECONDS, last)
    low, high = np.searchsorted(series.start, edges), np.searchsorted(series.start, ends)
    total = np.concatenate([[0], np.cumsum(series.units)])
    changes = np.array([seconds(one.since) for one in promised], dtype=np.int64)
    holds = np.searchsorted(changes, edges, side="right") - 1
    begin = start.replace(minute=0, second=0, microsecond=0)
    found = []
    for n in range(len(edges)):
        known = int(high[n] - low[n])
        units = int(total[high[n]] - total[low[n]])
        found.append(
            Step(
                at=begin + timedelta(hours=n * hours),
                hours=int(ends[n] - edges[n]) // HOUR_SECONDS,
                known=known,
                mean=units / known if known else None,
                promised=promised[holds[n]].units if holds[n] >= 0 else 0,
            )
        )
    return tuple(found)
