"""A plan over 20,000 running allocations of one pool; a reclaim pass over 10,000 quotas."""

import random
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np

from bench.measure import Report, median_seconds
from preemption.domain.reclaim import QuotaHistory, stages
from preemption.domain.series import UseSeries
from preemption.domain.values import PlanRequest, PlanState, Running
from preemption.domain.victims import plan
from quota.domain.values import Pool, Quota

ALLOCATIONS = 20_000
QUOTAS = 10_000
DAYS = 90
TEAMS = 400
AT = datetime(2026, 11, 29, 12, tzinfo=UTC)


def run(report: Report) -> None:
    """Pure computation: no database, no server."""
    state = _pool()
    for units in (100, 1000):
        request = PlanRequest(account="asking", units=units, priority_class="P2")
        found = plan(state, request, at=AT)
        report.add(
            f"a plan of {units} units over 20,000 allocations",
            1000 * median_seconds(lambda request=request: plan(state, request, at=AT), rounds=5),
            "ms",
            at_most=300,
            note=f"{found.outcome}, {len(found.actions)} actions",
        )
    request = PlanRequest(account="asking", units=5000, min_units=10, priority_class="P2")
    found = plan(state, request, at=AT)
    report.add(
        "a plan of 10 to 5,000 units, as many as can be had",
        1000 * median_seconds(lambda: plan(state, request, at=AT), rounds=5),
        "ms",
        at_most=300,
        note=f"{found.outcome} of {found.for_units} units, {len(found.actions)} actions",
    )
    series = [_use(seed) for seed in range(100)]
    start = time.perf_counter()
    events = sum(
        len(stages(QuotaHistory(guarantee=100, use=series[n % len(series)]))) for n in range(QUOTAS)
    )
    report.add(
        "reclaim over 10,000 quotas x 90 days of hours",
        time.perf_counter() - start,
        "s",
        at_most=30,
        note=f"{events} stages",
    )


def _pool() -> PlanState:
    """20 departments of 20 teams, each promised 50 units, and one account that asks."""
    chance = random.Random(8)
    parents: dict[str, str | None] = {"root": None, "asking": "root"}
    parents |= {f"department-{n}": "root" for n in range(20)}
    teams = [f"team-{n}" for n in range(TEAMS)]
    parents |= {team: f"department-{n % 20}" for n, team in enumerate(teams)}
    held = dict.fromkeys(teams, 0)
    running = []
    for n in range(ALLOCATIONS):
        team, units = chance.choice(teams), chance.choice([1, 1, 1, 2])
        held[team] += units
        tier = "guaranteed" if held[team] <= 50 else chance.choice(["borrowed", "spot"])
        running.append(
            Running(
                key=f"job-{n}",
                account=team,
                units=units,
                min_units=chance.choice([1, units]),
                tier=tier,
                priority_class=chance.choice(["P1", "P2", "P3", "P3"]),
                since=AT - timedelta(seconds=chance.randrange(400, 100_000)),
            )
        )
    return PlanState(
        pool=Pool(name="h100", capacity=sum(held.values())),
        accounts=parents,
        quotas={team: Quota(guaranteed=50) for team in teams} | {"asking": Quota(guaranteed=6000)},
        running=running,
        price=Decimal(2),
    )


def _use(seed: int) -> UseSeries:
    """Busy, low, low with peaks, or by the day."""
    chance = np.random.default_rng(seed)
    hours = DAYS * 24
    units = (
        chance.integers(0, 100, hours),
        chance.integers(0, 25, hours),
        np.where(chance.random(hours) < 0.08, 100, 3),
        np.repeat(chance.integers(0, 100, DAYS), 24),
    )[seed % 4]
    start = int(AT.timestamp()) + 3600 * np.arange(hours)
    return UseSeries.of(start, start + 3600, units.astype(np.int64))
