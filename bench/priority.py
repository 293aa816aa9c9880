"""Priorities for 100,000 jobs, and one job's priority against a view that answers a constant."""

import http.client
import random
import statistics
import time
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import msgspec

from accounting import fairshare_state
from accounting.domain import priority as domain
from accounting.domain.fairshare import evaluate
from bench.measure import Report, median_seconds
from bench.world import POOLS, World

JOBS = 100_000
SINGLE_SECONDS = 4.0
CONNECTIONS_ROUNDS = 3


def run(report: Report, world: World, address: str) -> None:
    """In process first (the computation), then over HTTP (the whole request)."""
    _computation(report, world)
    body = _body(world, JOBS)
    elapsed = []
    for _ in range(5):
        start = time.perf_counter()
        status, answer = _once(address, world, body)
        elapsed.append(time.perf_counter() - start)
        if status != 200:
            raise SystemExit(f"priorities answered {status}: {answer[:500]!r}")
    report.add("100,000 priorities over HTTP", statistics.median(elapsed), "s", at_most=1.0)
    _single(report, world, address)


def _computation(report: Report, world: World) -> None:
    cold = median_seconds(lambda: _cold(world), rounds=2)
    report.add("loading the tree of 110,000 nodes, cold", cold, "s")
    state = fairshare_state.current(world.organization_id)
    at = int(time.time())
    usage = fairshare_state.usage_at(state, at)
    tree_ms = 1000 * median_seconds(
        lambda: evaluate(state.tree, usage, algorithm=state.algorithm), rounds=9
    )
    standing = evaluate(state.tree, usage, algorithm=state.algorithm)
    chance = random.Random(3)
    people = [chance.randrange(world.people) for _ in range(JOBS)]
    jobs = domain.Jobs.of(
        [f"job{n}" for n in range(JOBS)],
        fair_share=standing.people.fairshare[people],
        submitted=[at - chance.randrange(20_000) for _ in range(JOBS)],
        class_index=[n % 4 for n in range(JOBS)],
        units=[1 + n % 64 for n in range(JOBS)],
        capacity=[4096] * JOBS,
        boost=[0.0] * JOBS,
    )
    rank_ms = 1000 * median_seconds(
        lambda: domain.evaluate(jobs, now=at, policy=state.policy), rounds=9
    )
    report.add("fair tree of 10,000 accounts and 100,000 people", tree_ms, "ms")
    report.add("factors and ranks of 100,000 jobs", rank_ms, "ms")
    report.add("computation together, arrays warm", tree_ms + rank_ms, "ms", at_most=100)


def _cold(world: World) -> None:
    fairshare_state.forget()
    fairshare_state.current(world.organization_id)


def _body(world: World, count: int) -> bytes:
    chance = random.Random(4)
    now = datetime.now(UTC).replace(microsecond=0)
    jobs = []
    for number in range(count):
        account, person = world.person_of(chance.randrange(world.people))
        jobs.append(
            {
                "key": f"job{number}",
                "account": account,
                "person": person,
                "pool": POOLS[number % 4],
                "units": 1 + number % 64,
                "class": ("P1", "P2", "P3")[number % 3],
                "submitted_at": now - timedelta(seconds=chance.randrange(20_000)),
            }
        )
    return msgspec.json.encode({"jobs": jobs})


def _headers(world: World) -> dict[str, str]:
    return {"Authorization": f"Bearer {world.token}", "Content-Type": "application/json"}


def _once(address: str, world: World, body: bytes) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=120)
    connection.request("POST", "/api/v1/priorities", body, _headers(world))
    answer = connection.getresponse()
    return answer.status, answer.read()


def _single(report: Report, world: World, address: str) -> None:
    """One kept-alive connection each, taking turns."""
    body = _body(world, 1)
    ours, constant = [], []
    for _ in range(CONNECTIONS_ROUNDS):
        constant.append(_rate(address, "GET", "/bench/constant", None, {}))
        ours.append(_rate(address, "POST", "/api/v1/priorities", body, _headers(world)))
    mine, ceiling = statistics.median(ours), statistics.median(constant)
    report.add("one priority over HTTP, one connection", mine, "req/s")
    report.add("a Django view that answers a constant", ceiling, "req/s")
    report.add("one priority / constant view", mine / ceiling, "ratio", at_least=0.5)


def _rate(address: str, method: str, path: str, body: bytes | None, headers: dict) -> float:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=30)
    count = 0
    start = time.perf_counter()
    while (elapsed := time.perf_counter() - start) < SINGLE_SECONDS / 2:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise SystemExit(f"{path} answered {answer.status}")
        count += 1
    return count / elapsed
