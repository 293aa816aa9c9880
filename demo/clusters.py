"""What the demo's clusters tell in their last hours before `now`, message by message. Pure.

Before SINCE the clusters only reported what had run. Then they begin to ask for admission: a
snapshot tells what runs, and from there on every job is asked for, started and ended at its time,
with a sign of life of all that run every hour. The jobs are those of the usage records,
under the same keys, so what was held and what was reported are the same use.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from accounting.importers.record import ImportedRecord
from demo import working
from quota import wire
from quota.commands.admissions import AdmitBatch
from quota.commands.allocations import HeartbeatAllocations, ReleaseAllocations, StartAllocations
from quota.commands.policies import SetAdmissionPolicy
from quota.commands.snapshots import ReconcilePool

SINCE: Final = timedelta(hours=24)
POLICY: Final = SetAdmissionPolicy(
    hold_seconds=300,
    lease_seconds=7 * 86_400,
    heartbeat_seconds=3_600,
    interactive_seconds_max=8 * 3_600,
)
"""Long leases: no cluster is there to give signs of life once the demo is loaded."""
BEAT: Final = timedelta(seconds=POLICY.heartbeat_seconds)
HELD: Final = timedelta(seconds=20)
"""From the admission of a job to its start."""
INTERACTIVE_MAX: Final = timedelta(seconds=POLICY.interactive_seconds_max)
"""P2 is bounded to this; work that takes longer is asked for as P3."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One message of a cluster: the command, when, and a name for it that stays the same."""

    at: datetime
    cluster: str
    step: str
    command: Any


def messages(
    records: Iterable[ImportedRecord], *, clusters: Mapping[str, str], now: datetime
) -> list[Told]:
    """Everything that is told from `now - SINCE` to `now`, in its order.

    `clusters` are those of the pools by name.
    """
    since = now - SINCE
    lately = [one for one in records if one.end is None or one.end > since]
    told = []
    for pool, cluster in sorted(clusters.items()):
        running = [one for one in lately if one.pool == pool and one.start <= since]
        command = ReconcilePool(pool=pool, at=since, jobs=snapshot(running))
        told.append(Told(at=since, cluster=cluster, step=f"snapshot/{pool}", command=command))
    for cluster in sorted(set(clusters.values())):
        mine = [one for one in lately if clusters[one.pool] == cluster]
        told += _beats(mine, cluster, since=since, now=now)
        told += _lives(mine, cluster, since=since, now=now)
    return sorted(told, key=lambda one: (one.at, one.step))


def snapshot(records: Iterable[ImportedRecord]) -> tuple[wire.SnapshotJob, ...]:
    """Running jobs as their scheduler sees them, the most important first: it is served first."""
    ordered = sorted(records, key=lambda one: (one.labels["class"], one.start, one.key))
    return tuple(
        wire.SnapshotJob(
            key=one.key,
            account=one.account,
            person=one.person,
            units=one.units,
            started_at=one.start,
            job_class=one.labels["class"],
            labels=dict(one.labels),
        )
        for one in ordered
    )


def _beats(
    records: list[ImportedRecord], cluster: str, *, since: datetime, now: datetime
) -> Iterator[Told]:
    at, number = since + BEAT, 1
    odd = working.odd_ones(records, now=now)
    ordered = sorted(records, key=lambda one: one.key)
    while at <= now:
        alive = [one for one in ordered if one.start < at and (one.end is None or one.end > at)]
        if alive:
            beats = tuple(working.beat(one, odd, at=at, now=now) for one in alive)
            command = HeartbeatAllocations(messages=beats)
            yield Told(at=at, cluster=cluster, step=f"beat/{cluster}/{number}", command=command)
        # The last one is at `now`, so that every lease is whole when somebody looks.
        at, number = (min(at + BEAT, now) if at < now else now + BEAT), number + 1


def _lives(
    records: list[ImportedRecord], cluster: str, *, since: datetime, now: datetime
) -> Iterator[Told]:
    for one in records:
        if one.start > since:
            asked_at = max(since, one.start - HELD)
            admit = AdmitBatch(requests=(ask(one),))
            started = StartAllocations(messages=(wire.Message(key=one.key),))
            yield Told(at=asked_at, cluster=cluster, step=f"admit/{one.key}", command=admit)
            yield Told(at=one.start, cluster=cluster, step=f"start/{one.key}", command=started)
        if one.end is not None and one.end <= now:
            ended = ReleaseAllocations(messages=(wire.ReleaseMessage(key=one.key),))
            yield Told(at=one.end, cluster=cluster, step=f"stop/{one.key}", command=ended)


def ask(record: ImportedRecord) -> wire.Ask:
    """The request of a job that ran. Where its entitlement does not reach, spot will do."""
    job_class = record.labels["class"]
    length = None if record.end is None else record.end - record.start
    if job_class == "P2" and (length is None or length > INTERACTIVE_MAX):
        job_class = "P3"
    return wire.Ask(
        key=record.key,
        account=record.account,
        person=record.person,
        pool=record.pool,
        units=record.units,
        job_class=job_class,
        tier="spot" if record.tier == "spot" else None,
        spot_allowed=True,
        labels=dict(record.labels),
    )
