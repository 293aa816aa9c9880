"""Durable admissions: one by one at eight connections against pgbench, a batch over HTTP, and one
by one in the pool of the batch, where 10,000 accounts have a quota.

The single ones are the whole command: permission, receipt, locks, decision, events with their
chain, projections, commit with fsync. Both take turns on the same server.
"""

import http.client
import multiprocessing
import statistics
import subprocess
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlsplit
from uuid import UUID

import msgspec
import psycopg
from django.db import connections
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from bench.measure import Report, seconds
from bench.world import World
from config.collector import leave_loaded
from ledger import scope
from ledger.execution import Context, Unit, execute, handles
from ledger.ids import new_id
from ledger.types import SYSTEM
from quota import events
from quota.commands.admissions import AdmitBatch
from quota.commands.pools import DefineFlavor, OpenPool
from quota.commands.settling import SettlePools
from quota.loading.allocations import pools_with_lapses
from quota.wire import Ask
from tenancy import queries
from tenancy.commands.accounts import OpenAccount
from tenancy.commands.organizations import CreateOrganization
from tenancy.commands.people import AddPerson
from tenancy.domain.roles import SYSTEM_ONLY

TENANTS = 50
CONNECTIONS = 8
SINGLE_SECONDS = 5
ROUNDS = 3
BATCH = 10_000
SCALE = 50
UNITS = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PromiseAll:
    """The same guarantee for many accounts."""

    pool_id: UUID
    account_ids: tuple[UUID, ...]
    units: int


@handles(PromiseAll, permission=SYSTEM_ONLY)
def promise_all(command: PromiseAll, unit: Unit) -> int:
    """Record the quotas at once."""
    for account_id in command.account_ids:
        unit.record(
            events.QuotaSet(
                account_id=account_id,
                pool_id=command.pool_id,
                quota=events.QuotaValues(guaranteed=command.units),
            )
        )
    return len(command.account_ids)


def run(report: Report, world: World, address: str, superuser_url: str) -> None:
    """Single admissions over many tenants and on one, then batches."""
    tenants = [_tenant(number) for number in range(TENANTS)]
    pgbench = _Pgbench(superuser_url)
    spread, hot, ceiling = [], [], []
    for _ in range(ROUNDS):
        ceiling.append(pgbench.rate())
        spread.append(_rate(tenants))
        hot.append(_rate(tenants[:1]))
    most = statistics.median(ceiling)
    report.add("pgbench TPC-B, scale 50, 8 connections", most, "tps")
    for name, found, bound in (("50 tenants", spread, 0.25), ("one hot tenant", hot, 0.125)):
        mine = statistics.median(found)
        report.add(f"single durable admissions, {name}", mine, "/s")
        report.add(f"single admissions, {name} / pgbench", mine / most, "ratio", at_least=bound)
    _batches(report, world, address)


def _tenant(number: int) -> UUID:
    """An organization with a team, a person and a pool that nobody fills; made once. What an
    earlier run has left to lapse is recorded before anything is measured."""
    slug = f"bench-admit-{number}"
    organization_id = queries.organization_id_by_slug(slug)
    if organization_id is not None:
        with scope.reading(organization_id):
            pools = pools_with_lapses(organization_id, now=datetime.now(UTC))
        context = Context(organization_id=organization_id, actor=SYSTEM, reason="benchmark")
        execute(SettlePools(pool_ids=tuple(pools)), context)
        return organization_id
    organization_id = new_id()
    context = Context(organization_id=organization_id, actor=SYSTEM, reason="benchmark")
    root = execute(
        CreateOrganization(slug=slug, name=slug, currency="EUR", time_zone="Europe/Berlin"),
        context,
    ).result.root_account_id
    department = execute(OpenAccount(parent_id=root, name="department"), context).result.account_id
    team = execute(OpenAccount(parent_id=department, name="team"), context).result.account_id
    execute(AddPerson(name="ana", display_name="", email=""), context)
    pool_id = _pool(context)
    accounts = (root, department, team)
    execute(PromiseAll(pool_id=pool_id, account_ids=accounts, units=UNITS // 4), context)
    return organization_id


def _pool(context: Context) -> UUID:
    flavor = execute(DefineFlavor(name="admission"), context).result.flavor_id
    pool = OpenPool(name="admission", flavor_id=flavor, cluster="bench", capacity=UNITS)
    return execute(pool, context).result.pool_id


def _rate(tenants: list[UUID]) -> float:
    """Admissions a second of eight processes with a connection each."""
    connections.close_all()
    context = multiprocessing.get_context("fork")
    counts = context.Queue()
    start = context.Barrier(CONNECTIONS)
    workers = [
        context.Process(target=_work, args=(tenants, number, start, counts))
        for number in range(CONNECTIONS)
    ]
    for worker in workers:
        worker.start()
    total = sum(counts.get(timeout=120) for _ in workers)
    for worker in workers:
        worker.join()
    return total


def _work(tenants: list[UUID], number: int, start, counts) -> None:
    connections.close_all()
    leave_loaded()  # as every process that serves does
    turn = number
    _admit(tenants[turn % len(tenants)])  # connect and warm up
    start.wait()
    begin = time.perf_counter()
    done = 0
    while (elapsed := time.perf_counter() - begin) < SINGLE_SECONDS:
        turn += CONNECTIONS + 1
        _admit(tenants[turn % len(tenants)])
        done += 1
    counts.put(done / elapsed)
    connections.close_all()


def _admit(organization_id: UUID, account: str = "team", person: str = "ana") -> None:
    key = str(new_id())
    ask = Ask(key=key, account=account, person=person, pool="admission", units=1, tier=None)
    outcome = execute(
        AdmitBatch(requests=(ask,)),
        Context(organization_id=organization_id, actor=SYSTEM, idempotency_key=key),
    )
    if outcome.result.admitted != 1:
        raise SystemExit(f"not admitted: {outcome.result}")


class _Pgbench:
    """The TPC-B-like load of PostgreSQL's own benchmark, in a database beside ours."""

    def __init__(self, superuser_url: str) -> None:
        from config.postgres import program

        self._program = program("pgbench")
        self._url = make_conninfo(superuser_url, dbname="pgbench")
        with psycopg.connect(superuser_url, autocommit=True) as connection:
            if connection.execute("SELECT 1 FROM pg_database WHERE datname = 'pgbench'").fetchone():
                return
            connection.execute("CREATE DATABASE pgbench")
        self._run("-i", "-q", "-s", str(SCALE))

    def _run(self, *arguments: str) -> str:
        parts = conninfo_to_dict(self._url)
        environment = {
            f"PG{name.upper()}": str(value)
            for name, value in parts.items()
            if name in ("host", "port", "user", "password")
        }
        done = subprocess.run(
            [self._program, *arguments, "pgbench"],
            env={"PATH": "", **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    def rate(self) -> float:
        """Transactions a second."""
        out = self._run(
            *("-n", "-c", str(CONNECTIONS), "-j", "2", "-T", str(SINGLE_SECONDS), "-M", "simple")
        )
        line = next(line for line in out.splitlines() if line.startswith("tps"))
        return float(line.split("=")[1].split()[0])


def _batches(report: Report, world: World, address: str) -> None:
    """10,000 jobs of as many accounts, each with a quota; released again between the rounds."""
    context = Context(organization_id=world.organization_id, actor=SYSTEM, reason="benchmark")
    accounts = [f"account{number}" for number in range(world.accounts)]
    from ledger.sql import server_cursor

    with scope.reading(world.organization_id), server_cursor() as cursor:
        made = cursor.execute("SELECT 1 FROM quota_pool WHERE name = 'admission'").fetchone()
        ids = [row[0] for row in cursor.execute("SELECT id FROM tenancy_account").fetchall()]
    if not made:
        command = PromiseAll(pool_id=_pool(context), account_ids=tuple(ids), units=200)
        execute(command, context)
    took = []
    for _ in range(ROUNDS):
        prefix = str(new_id())
        jobs = [
            {
                "key": f"{prefix}/{number}",
                "account": accounts[number % len(accounts)],
                "person": f"person{number % world.people}",
                "pool": "admission",
                "units": 1 + number % 200,
                "class": ("P1", "P2", "P3")[number % 3],
            }
            for number in range(BATCH)
        ]
        body = msgspec.json.encode({"requests": jobs})
        answers: list[dict] = []
        took.append(
            seconds(
                lambda body=body, answers=answers: answers.append(
                    _post(address, world, "/api/v1/admissions", body)
                )
            )
        )
        if answers[0]["admitted"] != BATCH:
            raise SystemExit(f"the batch was not admitted whole: {answers[0]['admitted']}")
        messages = [{"key": job["key"]} for job in jobs]
        released = msgspec.json.encode({"messages": messages})
        _post(address, world, "/api/v1/allocations/release", released)
    mine = statistics.median(took)
    report.add("10,000 admissions of 10,000 accounts over HTTP", mine, "s", at_most=1.5)
    alone = [
        seconds(lambda: _admit(world.organization_id, "account7", "person7")) for _ in range(9)
    ]
    mine = statistics.median(alone) * 1000
    report.add("one admission in a pool with quotas of 10,000 accounts", mine, "ms")


def _post(address: str, world: World, path: str, body: bytes) -> dict:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=300)
    headers = {"Authorization": f"Bearer {world.token}", "Content-Type": "application/json"}
    connection.request("POST", path, body, headers)
    answer = connection.getresponse()
    content = answer.read()
    if answer.status != 200:
        raise SystemExit(f"{path} answered {answer.status}: {content[:300]!r}")
    return msgspec.json.decode(content)
