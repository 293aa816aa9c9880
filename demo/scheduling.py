"""A plain scheduler for the demo: first come, first served, within capacity and ceilings. Pure.

It only has to be believable: jobs wait when a pool is full, a team stops at its ceiling without
holding up the others, and small jobs slip past a large one that waits.
"""

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from demo.values import DemoQuota
from demo.workload import WantedJob

SMALL_UNITS_MAX: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedJob:
    """A job that has run or runs, with the tier it was admitted to."""

    job: WantedJob
    tier: str
    start: datetime
    end: datetime


@dataclass(slots=True)
class PoolScheduler:
    """Places the jobs of one pool. ``units`` is what services leave of its capacity."""

    units: int
    quotas: Mapping[str, DemoQuota]
    guaranteed_by_services: Mapping[str, int]
    waiting: list[WantedJob] = field(default_factory=list)
    _used: int = 0
    _used_by: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    _guaranteed_by: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    _endings: list[tuple[datetime, int, PlacedJob]] = field(default_factory=list)
    _count: int = 0

    def run(self, jobs: Iterable[WantedJob], *, until: datetime) -> Iterator[PlacedJob]:
        """Every job that starts by ``until``; what still waits then is in ``waiting``.

        ``jobs`` come in the order of submission.
        """
        for job in jobs:
            yield from self._advance(job.submitted_at)
            self.waiting.append(job)
            yield from self._start(job.submitted_at)
        yield from self._advance(until)

    def _advance(self, moment: datetime) -> Iterator[PlacedJob]:
        while self._endings and self._endings[0][0] <= moment:
            ended_at, _, placed = heapq.heappop(self._endings)
            account, units = placed.job.stream.account, placed.job.units
            self._used -= units
            self._used_by[account] -= units
            if placed.tier == "guaranteed":
                self._guaranteed_by[account] -= units
            yield from self._start(ended_at)

    def _start(self, now: datetime) -> Iterator[PlacedJob]:
        still: list[WantedJob] = []
        held_up = False
        for job in self.waiting:
            fits = job.units <= self.units - self._used
            small_enough = not held_up or job.units <= SMALL_UNITS_MAX
            if fits and small_enough and self._below_ceiling(job):
                yield self._place(job, now)
                continue
            held_up = held_up or not fits
            still.append(job)
        self.waiting = still

    def _below_ceiling(self, job: WantedJob) -> bool:
        quota = self.quotas.get(job.stream.account)
        if quota is None or quota.borrowing_limit is None or job.stream.scavenges:
            return True
        ceiling = quota.guaranteed + quota.borrowing_limit
        by_services = self.guaranteed_by_services.get(job.stream.account, 0)
        return self._used_by[job.stream.account] + by_services + job.units <= ceiling

    def _place(self, job: WantedJob, now: datetime) -> PlacedJob:
        account = job.stream.account
        tier = self._tier(job)
        placed = PlacedJob(job=job, tier=tier, start=now, end=now + job.duration)
        self._used += job.units
        self._used_by[account] += job.units
        if tier == "guaranteed":
            self._guaranteed_by[account] += job.units
        self._count += 1
        heapq.heappush(self._endings, (placed.end, self._count, placed))
        return placed

    def _tier(self, job: WantedJob) -> str:
        account = job.stream.account
        quota = self.quotas.get(account)
        if job.stream.scavenges or quota is None:
            return "spot"
        by_services = self.guaranteed_by_services.get(account, 0)
        held = self._guaranteed_by[account] + by_services
        return "guaranteed" if held + job.units <= quota.guaranteed else "borrowed"
