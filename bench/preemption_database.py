"""The same with the database: plans as commands over a full pool, a reclaim run over many quotas.

Records of use are put into the table as they are by SQL, for what is measured is what comes after.
"""

import random
import resource
import statistics
import time
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import msgspec
import psutil
import psycopg
from django.db import connection

from accounting import partitions
from bench.admission import PromiseAll
from bench.measure import Report
from bench.world import GrowTree
from config.collector import leave_loaded
from ledger import scope
from ledger.execution import Context, execute
from ledger.ids import new_id
from ledger.sql import server_cursor
from ledger.types import SYSTEM
from preemption import wire
from preemption.commands.plans import PlanPreemption
from preemption.commands.policies import SetPreemptionPolicy
from preemption.commands.reclaim import RunReclaim
from preemption.commands.reclaim_rules import SetReclaimRule
from preemption.commands.settling import CancelPlan
from quota.commands.admissions import AdmitBatch
from quota.commands.allocations import StartAllocations
from quota.commands.pools import DefineFlavor, OpenPool
from quota.commands.quotas import SetQuota
from quota.wire import Ask, Message
from tenancy.commands.accounts import OpenAccount
from tenancy.commands.organizations import CreateOrganization

ALLOCATIONS = 20_000
TEAMS = 400
ROUNDS = 5
QUOTAS = 10_000
DAYS = 90
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(minutes=10)
BATCH = 10_000

# A guarantee of 40: busy, idle, idle with peaks, or by the day, in records of twelve hours.
_FILL = """
INSERT INTO accounting_usagerecord (organization_id, batch_id, source_id, account_id, person_id,
    pool_id, content, started_at, ended_at, units, row_no, sign, tier, key)
SELECT %(organization)s, %(batch)s, %(source)s, a.id, %(batch)s, %(pool)s, %(batch)s, s.at,
    s.at + interval '12 hours', 1 + (CASE a.n %% 4
        WHEN 0 THEN 20 + (a.n * 7 + i * 13) %% 20
        WHEN 1 THEN (a.n + i) %% 5
        WHEN 2 THEN CASE WHEN (a.n + i) %% 13 = 0 THEN 39 ELSE 1 END
        ELSE (i / 2 * 7919 + a.n) %% 40 END), a.n * 1000 + i, 1, 0, a.n || '/' || i
FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM tenancy_account
    WHERE organization_id = %(organization)s AND id <> %(root)s) a
CROSS JOIN generate_series(0, %(days)s * 2 - 1) AS i
CROSS JOIN LATERAL (SELECT %(start)s::timestamptz + i * interval '12 hours' AS at) s
"""
_DAYS = """
INSERT INTO accounting_usageday (organization_id, account_id, day, person_id, pool_id, tier,
    unit_seconds, compute_known, compute_busy, productive_known, productive_busy)
SELECT organization_id, account_id, (started_at AT TIME ZONE 'UTC')::date, person_id, pool_id,
    tier, sum(units * extract(epoch FROM ended_at - started_at)), 0, 0, 0, 0
FROM accounting_usagerecord WHERE organization_id = %(organization)s GROUP BY 1, 2, 3, 4, 5, 6
"""


def run(report: Report, superuser_url: str) -> None:
    """Plans, then reclaim."""
    plans(report)
    reclaim(report, superuser_url)


def plans(report: Report) -> None:
    """A pool of 20,000 running allocations; each plan is cancelled again."""
    organization_id = _full_pool()
    leave_loaded()  # as every process that serves does
    server = _server()
    for units in (100, 1_000):
        walls, mine, size, actions = [], [], 0, 0
        for _ in range(ROUNDS):
            ask = wire.PreemptionAsk(
                account="asking", pool="h100", units=units, job_class="P2", key=str(new_id())
            )
            wall, own = time.perf_counter(), time.process_time() + _busy(server)
            answer = execute(PlanPreemption(ask=ask), _context(organization_id, LATER)).result
            walls.append(time.perf_counter() - wall)
            mine.append(time.process_time() + _busy(server) - own)
            if answer.plan is None:
                raise SystemExit(f"no plan: {answer}")
            size, actions = len(msgspec.json.encode(answer)), len(answer.plan.actions)
            cancel = CancelPlan(plan_id=UUID(answer.plan.id))
            execute(cancel, _context(organization_id, LATER))
        report.add(
            f"the same as a command, {units} units, on the database",
            1000 * statistics.median(walls),
            "ms",
            at_most=300,
            note=f"{actions} actions, {size // 1000} kB, "
            f"{1000 * statistics.mean(mine):.0f} ms of CPU, the server's included",
        )


def reclaim(report: Report, superuser_url: str, *, quotas: int = QUOTAS) -> None:
    """A pass of a rule that looks at all 90 days, and of the default one: each watches, and takes
    when that is due."""
    organization_id, pool_id = _organization(accounts=quotas, capacity=40 * quotas)
    with psycopg.connect(superuser_url) as owner:
        _fill(owner, organization_id, pool_id)
    try:
        began = NOW
        for days in (DAYS - 4, 3):
            rule = SetReclaimRule(
                pool_id=pool_id, window_seconds=days * 86_400, watch_seconds=days * 57_600
            )
            execute(rule, _context(organization_id, began))
            for hours in (0, 8 * days):
                at = began + timedelta(hours=hours)
                start, own = time.perf_counter(), time.process_time()
                done = execute(RunReclaim(pool_id=pool_id), _context(organization_id, at)).result
                report.add(
                    f"a run over {quotas:,} quotas, window of {days} days, {hours} h later",
                    time.perf_counter() - start,
                    "s",
                    at_most=30,
                    note=f"{done.watched} watched, {done.demoted} demoted, "
                    f"{time.process_time() - own:.1f} s of CPU in Python, at most {_most_mb()} MB",
                )
            began = at
    finally:
        _empty(superuser_url, organization_id)


def _most_mb() -> int:
    """Memory of this process at its highest so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _server() -> psutil.Process:
    """The server's process behind our connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return psutil.Process(cursor.fetchone()[0])


def _busy(process: psutil.Process) -> float:
    """CPU seconds so far, to a hundredth."""
    times = process.cpu_times()
    return times.user + times.system


def _context(organization_id: UUID, now: datetime) -> Context:
    return Context(organization_id=organization_id, actor=SYSTEM, reason="bench", now=now)


def _organization(*, accounts: int, capacity: int) -> tuple[UUID, UUID]:
    """An organization with a pool in which every account is promised 40 units."""
    organization_id = new_id()
    context = _context(organization_id, NOW - timedelta(days=100))
    made = CreateOrganization(
        slug=f"bench-{organization_id}", name="b", currency="EUR", time_zone="UTC"
    )
    root = execute(made, context).result.root_account_id
    execute(GrowTree(root_account_id=root, accounts=accounts, people=1), context)
    flavor = execute(DefineFlavor(name="h100-80gb"), context).result.flavor_id
    pool = OpenPool(name="h100", flavor_id=flavor, cluster="bench", capacity=capacity)
    pool_id = execute(pool, context).result.pool_id
    with scope.reading(organization_id), server_cursor() as cursor:
        rows = cursor.execute("SELECT id FROM tenancy_account WHERE parent_id IS NOT NULL")
        ids = tuple(row[0] for row in rows.fetchall())
    execute(PromiseAll(pool_id=pool_id, account_ids=ids, units=40), context)
    return organization_id, pool_id


def _full_pool() -> UUID:
    """20 departments of 20 teams with 20,000 jobs, and one account that asks for what it is
    promised."""
    asks = _jobs()
    units = sum(ask.units or 0 for ask in asks)
    organization_id, pool_id = _organization(accounts=20 + TEAMS, capacity=units)
    before, now = (
        _context(organization_id, NOW - timedelta(days=99)),
        _context(organization_id, NOW),
    )
    with scope.reading(organization_id), server_cursor() as cursor:
        (root,) = cursor.execute(
            "SELECT id FROM tenancy_account WHERE parent_id IS NULL"
        ).fetchone()
    asking = execute(OpenAccount(parent_id=root, name="asking"), before).result.account_id
    execute(SetQuota(account_id=asking, pool_id=pool_id, guaranteed=6_000), before)
    execute(
        SetPreemptionPolicy(
            pool_share=Decimal(1),
            pool_window_seconds=600,
            job_window_seconds=3600,
            aged_per_day=10,
            cooldown_seconds=3600,
            min_run_seconds=300,
            plan_seconds=900,
        ),
        before,
    )
    for first in range(0, ALLOCATIONS, BATCH):
        part = asks[first : first + BATCH]
        done = execute(AdmitBatch(requests=tuple(part)), now).result
        if done.admitted != len(part):
            raise SystemExit(f"not all were admitted: {done.admitted}")
        messages = tuple(Message(key=ask.key) for ask in part)
        execute(StartAllocations(messages=messages), now)
    return organization_id


def _jobs() -> list[Ask]:
    chance = random.Random(8)
    return [
        Ask(
            key=f"job-{number}",
            account=f"account{20 + chance.randrange(TEAMS)}",
            person="person0",
            pool="h100",
            units=chance.choice([1, 1, 1, 2]),
            job_class=chance.choice(["P1", "P2", "P3", "P3"]),
            spot_allowed=True,
        )
        for number in range(ALLOCATIONS)
    ]


def _fill(owner: psycopg.Connection, organization_id: UUID, pool_id: UUID) -> None:
    start = NOW - timedelta(days=DAYS)
    partitions.ensure(start.date(), NOW.date())
    (root,) = owner.execute(
        "SELECT id FROM tenancy_account WHERE organization_id = %s AND parent_id IS NULL",
        (organization_id,),
    ).fetchone() or (None,)
    values = {
        "organization": organization_id,
        "pool": pool_id,
        "root": root,
        "batch": new_id(),
        "source": new_id(),
        "days": DAYS + 30,
        "start": start,
    }
    partitions.ensure(start.date(), (NOW + timedelta(days=31)).date())
    owner.execute(_FILL, values)
    owner.execute(_DAYS, values)
    owner.commit()
    owner.autocommit = True
    owner.execute("VACUUM ANALYZE accounting_usagerecord")
    owner.execute("ANALYZE accounting_usageday")
    owner.autocommit = False


def _empty(superuser_url: str, organization_id: UUID) -> None:
    """Take the rows out again, so that no later run finds them; the traps are lifted for this
    transaction alone."""
    with psycopg.connect(superuser_url) as owner:
        owner.execute("SET LOCAL session_replication_role = replica")
        for name in ("usagerecord", "usageday"):
            owner.execute(
                f"DELETE FROM accounting_{name} WHERE organization_id = %s", (organization_id,)
            )
