"""The demo: a believable organization with ninety days of use. Pure and seeded.

The same ``now`` and ``seed`` give the same demo, byte for byte.
"""

import random
from collections.abc import Iterable
from datetime import datetime, timedelta
from heapq import merge
from typing import Final
from zoneinfo import ZoneInfo

from accounting.importers.record import ImportedRecord
from demo import organization, workload
from demo.scheduling import PlacedJob, PoolScheduler
from demo.streams import STREAMS
from demo.values import Demo, DemoPool, PendingJob, Stream
from demo.workload import WantedJob

DAYS: Final = 90
WARM_UP_DAYS: Final = 5
"""Simulated before the history begins, so that its first day is as full as any other."""

_FIRST_JOB_NUMBER: Final = 410_000


def generate(*, now: datetime, seed: int) -> Demo:
    """The organization as it stands at ``now`` (aware), after DAYS days of use."""
    now = now.replace(microsecond=0)
    placed: list[PlacedJob] = []
    waiting: list[WantedJob] = []
    for pool in organization.POOLS:
        pool_placed, pool_waiting = _simulate(pool, now=now, seed=seed)
        placed += pool_placed
        waiting += pool_waiting
    numbers = _numbers([*(one.job for one in placed), *waiting])
    rng = random.Random(f"{seed}/facts")
    placed.sort(key=lambda one: (one.start, numbers[id(one.job)]))
    return Demo(
        name=organization.NAME,
        slug=organization.SLUG,
        currency=organization.CURRENCY,
        time_zone=organization.TIME_ZONE,
        tree=organization.tree(),
        flavors=organization.FLAVORS,
        pools=organization.POOLS,
        quotas=organization.QUOTAS,
        roles=organization.ROLES,
        records=tuple(_record(one, numbers[id(one.job)], now, rng) for one in placed),
        pending=tuple(
            _pending(job, numbers[id(job)])
            for job in sorted(waiting, key=lambda job: numbers[id(job)])
        ),
    )


def _simulate(
    pool: DemoPool, *, now: datetime, seed: int
) -> tuple[list[PlacedJob], list[WantedJob]]:
    """Jobs of one pool that ran in the last DAYS days or run, and jobs that wait."""
    zone = ZoneInfo(organization.TIME_ZONE)
    first_day = (now.astimezone(zone) - timedelta(days=DAYS)).date()
    begin = datetime(first_day.year, first_day.month, first_day.day, tzinfo=zone)
    since = begin - timedelta(days=WARM_UP_DAYS)
    streams = [stream for stream in STREAMS if stream.pool == pool.name]
    served: list[PlacedJob] = []
    reserved: dict[str, int] = {}
    for stream in streams:
        if stream.job_class == "P0":
            reserved[stream.account] = reserved.get(stream.account, 0) + _replica_units(stream)
            served += [
                PlacedJob(
                    job=job, tier="guaranteed", start=job.submitted_at, end=start + job.duration
                )
                for job, start in workload.services(stream, since=since, until=now, seed=str(seed))
            ]
    scheduler = PoolScheduler(
        units=pool.capacity - pool.unavailable - sum(reserved.values()),
        quotas={quota.account: quota for quota in organization.QUOTAS if quota.pool == pool.name},
        guaranteed_by_services=reserved,
    )
    jobs: Iterable[WantedJob] = merge(
        *(
            workload.batch(stream, since=since, until=now, zone=zone, seed=str(seed))
            for stream in streams
            if stream.job_class != "P0"
        ),
        key=lambda job: job.submitted_at,
    )
    ran = [*served, *scheduler.run(jobs, until=now)]
    waiting = list(scheduler.waiting)
    for stream in streams:
        if stream.job_class != "P0":
            waiting += workload.fresh(stream, now=now, seed=str(seed))
    return [one for one in ran if one.end > begin and one.start <= now], waiting


def _replica_units(stream: Stream) -> int:
    """All replicas of a service, each of the one size that services have."""
    return round(stream.jobs_per_day) * max(stream.units)


def _numbers(jobs: list[WantedJob]) -> dict[int, int]:
    """Job numbers in the order of submission, by identity: two jobs may be equal."""
    ordered = sorted(enumerate(jobs), key=lambda place: (place[1].submitted_at, place[0]))
    return {id(job): _FIRST_JOB_NUMBER + count for count, (_, job) in enumerate(ordered)}


def _record(placed: PlacedJob, number: int, now: datetime, rng: random.Random) -> ImportedRecord:
    job, stream = placed.job, placed.job.stream
    running = placed.end > now
    known = rng.random() < 0.9
    busy = _share(rng, stream.busy) if known else None
    productive = _share(rng, stream.productive) if known and not job.ends_badly else None
    if busy is not None and productive is not None:
        productive = min(productive, busy)
    labels = _labels(job, number)
    if not running:
        labels["state"] = "FAILED" if job.ends_badly else "COMPLETED"
    return ImportedRecord(
        key=_key(job, number),
        account=stream.account,
        person=job.person,
        pool=stream.pool,
        tier=placed.tier,
        units=job.units,
        start=placed.start,
        end=None if running else placed.end,
        labels=labels,
        compute_util=busy,
        productive_util=productive,
        memory_gb=round(_memory_gb(stream) * job.units * rng.uniform(0.4, 0.95), 1)
        if busy is not None
        else None,
        line=0,
    )


def _pending(job: WantedJob, number: int) -> PendingJob:
    return PendingJob(
        key=_key(job, number),
        account=job.stream.account,
        person=job.person,
        pool=job.stream.pool,
        units=job.units,
        job_class=job.stream.job_class,
        submitted_at=job.submitted_at,
        labels=_labels(job, number),
    )


def _labels(job: WantedJob, number: int) -> dict[str, str]:
    stream = job.stream
    model = stream.models[number % len(stream.models)]
    return {
        "class": stream.job_class,
        "workload": stream.workload,
        "model": model,
        "project": stream.project,
        "job_name": f"{stream.workload}-{model}",
    }


def _key(job: WantedJob, number: int) -> str:
    return f"{_pool(job.stream.pool).cluster}/{number}"


def _pool(name: str) -> DemoPool:
    return next(pool for pool in organization.POOLS if pool.name == name)


def _memory_gb(stream: Stream) -> int:
    flavor = _pool(stream.pool).flavor
    return next(one.memory_gb for one in organization.FLAVORS if one.name == flavor)


def _share(rng: random.Random, mean: float | None) -> float | None:
    if mean is None:
        return None
    return round(min(1.0, max(0.0, rng.gauss(mean, 0.25 * min(mean, 1 - mean) + 0.02))), 3)
