"""An account's quota page in a large organization: 10,000 accounts, 50 pools, 1,000,000 allocations
that are over.

Counted is every statement of the whole page, sign-in to footer; timed is what the client waits for
the database. The same page of an organization with ten accounts must ask exactly as often. Quotas
and allocations are made as rows, all at once, with projections that agree with each other.
"""

import contextlib
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from unittest import mock
from uuid import UUID

import psycopg
from django.conf import settings
from django.test import Client, override_settings

from bench.measure import Report
from bench.world import GrowTree
from ledger import scope
from ledger.execution import Context, execute
from ledger.ids import new_id
from ledger.sql import server_cursor
from ledger.types import SYSTEM
from quota.commands.pools import DefineFlavor, OpenPool
from quota.queries import warm
from tenancy import queries
from tenancy.commands.organizations import CreateOrganization
from tenancy.commands.people import AddPerson, GrantRole, LinkLogin
from tenancy.domain.roles import Role
from tenancy.models import User

ACCOUNTS = 10_000
POOLS = 50
PAST = 1_000_000
LIVE = 5_000
ROUNDS = 15
TABLES = (
    *("quota_quota", "quota_quotahistory", "quota_allocation", "quota_holding"),
    *("tenancy_account", "ledger_event"),
)
MILLISECONDS_MAX = 50.0
ACCOUNT = "account25"
"""A team below a department, above projects; it has a quota in every pool."""
SMALL_ACCOUNT = "account5"

PLAIN_STATIC = override_settings(
    STORAGES={
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
)
"""Names of files need no collected ones here; no query depends on them."""


@dataclass(slots=True)
class Asked:
    """What was asked of the database and how long that took, and the whole page; milliseconds."""

    milliseconds: list[float] = field(default_factory=list)
    statements: list[str] = field(default_factory=list)
    whole: float = 0.0


def run(report: Report, superuser_url: str) -> None:
    """The page as often as people open it, and as the first that a process ever answers."""
    small = _organization(accounts=10, pools=2, past=100, live=10)
    large = _organization(accounts=ACCOUNTS, pools=POOLS, past=PAST, live=LIVE)
    with psycopg.connect(superuser_url, autocommit=True) as connection:
        connection.execute(f"VACUUM ANALYZE {', '.join(TABLES)}")
    for state in ("first", "warm"):
        few = [_ask(small, SMALL_ACCOUNT, cold=state == "first") for _ in range(ROUNDS)]
        many = [_ask(large, ACCOUNT, cold=state == "first") for _ in range(ROUNDS)]
        counts = [statistics.mode(len(one.statements) for one in asked) for asked in (few, many)]
        spent = statistics.median(sum(one.milliseconds) for one in many)
        whole = statistics.median(one.whole for one in many)
        report.add(f"quota page, {state}: queries, 10 accounts, 2 pools", counts[0], "queries")
        report.add(
            f"quota page, {state}: queries, 10,000 accounts, 50 pools",
            counts[1],
            "queries",
            at_most=counts[0],
        )
        bound = MILLISECONDS_MAX if state == "warm" else None
        report.add(f"quota page, {state}: in the database", spent, "ms", at_most=bound)
        report.add(f"quota page, {state}: altogether", whole, "ms")


def _ask(client: Client, account: str, *, cold: bool) -> Asked:
    if cold:
        warm.forget()
    with PLAIN_STATIC, listening() as asked:
        start = time.perf_counter()
        answer = client.get(f"/accounts/{account}/quota")
        asked.whole = 1000 * (time.perf_counter() - start)
    if answer.status_code != 200:
        raise SystemExit(f"the quota page answered {answer.status_code}")
    return asked


@contextlib.contextmanager
def listening() -> Iterator[Asked]:
    """Note every statement and how long the client waited for its answer."""
    asked = Asked()
    original = psycopg.Cursor.execute

    def execute_and_note(cursor: Any, query: Any, *args: Any, **options: Any) -> Any:
        start = time.perf_counter()
        try:
            return original(cursor, query, *args, **options)
        finally:
            asked.milliseconds.append(1000 * (time.perf_counter() - start))
            asked.statements.append(str(query))

    with mock.patch.object(psycopg.Cursor, "execute", execute_and_note):
        yield asked


def _organization(*, accounts: int, pools: int, past: int, live: int) -> Client:
    """A signed-in operator of an organization of that size, which is made once."""
    slug = f"bench-quota-{accounts}-{pools}-{past}"
    email = f"operator@{slug}.example"
    organization_id = queries.organization_id_by_slug(slug)
    if organization_id is None:
        _make(slug, email, accounts=accounts, pools=pools, past=past, live=live)
    client = Client(HTTP_HOST="localhost")
    client.force_login(
        User.objects.get(email=email), backend="django.contrib.auth.backends.ModelBackend"
    )
    return client


def _make(slug: str, email: str, *, accounts: int, pools: int, past: int, live: int) -> None:
    organization_id = new_id()
    context = Context(organization_id=organization_id, actor=SYSTEM, reason="benchmark")
    root = execute(
        CreateOrganization(slug=slug, name=slug, currency="EUR", time_zone="Europe/Berlin"),
        context,
    ).result.root_account_id
    execute(GrowTree(root_account_id=root, accounts=accounts, people=100), context)
    flavor = execute(DefineFlavor(name="gpu"), context).result.flavor_id
    for number in range(pools):
        pool = OpenPool(
            name=f"pool{number:02}", flavor_id=flavor, cluster="bench", capacity=1_000_000
        )
        execute(pool, context)
    person = execute(AddPerson(name="operator", display_name="", email=email), context).result
    execute(GrantRole(account_id=root, person_id=person.person_id, role=Role.OPERATOR), context)
    user = User.objects.create_user(email)
    execute(LinkLogin(person_id=person.person_id, user_id=user.pk), context)
    _fill(organization_id, past=past, live=live)


# Departments and teams have a quota in every pool, projects in two of them.
_QUOTAS = """
WITH places AS (
    SELECT a.id AS account_id, cardinality(a.ancestors) AS depth,
        row_number() OVER (ORDER BY a.name) AS number
    FROM tenancy_account a WHERE a.organization_id = %b
), ordered AS (
    SELECT id AS pool_id, row_number() OVER (ORDER BY name) - 1 AS number, count(*) OVER () AS all
    FROM quota_pool WHERE organization_id = %b
), made AS (
    SELECT p.account_id, q.pool_id, 20 AS guaranteed,
        CASE WHEN p.number %% 3 = 0 THEN NULL ELSE 40 END AS borrowing_limit,
        CASE WHEN p.number %% 4 = 0 THEN 10 END AS lending_limit, gen_random_uuid() AS event_id
    FROM places p JOIN ordered q ON p.depth BETWEEN 2 AND 3
        OR (p.depth > 3 AND q.number IN (p.number %% q.all, (p.number * 7 + 3) %% q.all))
), current AS (
    INSERT INTO quota_quota (organization_id, account_id, pool_id, guaranteed, borrowing_limit,
        lending_limit, event_id, since)
    SELECT %b, account_id, pool_id, guaranteed, borrowing_limit, lending_limit, event_id, %b
    FROM made
)
INSERT INTO quota_quotahistory (organization_id, account_id, pool_id, guaranteed, borrowing_limit,
    lending_limit, event_id, valid_from)
SELECT %b, account_id, pool_id, guaranteed, borrowing_limit, lending_limit, event_id, %b FROM made
"""
_ALLOCATIONS = """
WITH places AS (
    SELECT array_agg(id) AS ids FROM tenancy_account
    WHERE organization_id = %b AND cardinality(ancestors) > 1
), wide AS (SELECT array_agg(id ORDER BY name) AS ids FROM quota_pool WHERE organization_id = %b)
INSERT INTO quota_allocation (organization_id, id, pool_id, key, attempt, account_id, units,
    min_units, wanted_units, priority_class, tier, reclaim_seconds, slow, lease_seconds, state,
    held_at, hold_until, started_at, heard_at, lease_until, lapses_at, ended_at, adopted, labels,
    steps)
SELECT %b, gen_random_uuid(), wide.ids[1 + n %% cardinality(wide.ids)], 'job-' || n, 1,
    places.ids[1 + (n * 31) %% cardinality(places.ids)], 1 + n %% 8, 1 + n %% 8, 1 + n %% 8, 'P3',
    CASE WHEN n %% 5 = 0 THEN 'borrowed' WHEN n %% 11 = 0 THEN 'spot' ELSE 'guaranteed' END,
    60, false, 900, CASE WHEN n > %b THEN 'running' ELSE 'released' END,
    at, at, at, at, at + interval '8 days',
    CASE WHEN n > %b THEN %b::timestamptz + interval '7 days' END,
    CASE WHEN n > %b THEN NULL ELSE at + interval '1 hour' END, false, '{}', '[]'
FROM places, wide, generate_series(1, %b) n,
    LATERAL (SELECT %b::timestamptz - interval '2 hours' - (n %% 7000) * interval '17 min' AS at) t
"""
_HOLDINGS = """
INSERT INTO quota_holding (organization_id, pool_id, account_id, guaranteed, borrowed, spot,
    slow_borrowed, slow_spot)
SELECT organization_id, pool_id, account_id,
    coalesce(sum(units) FILTER (WHERE tier = 'guaranteed'), 0),
    coalesce(sum(units) FILTER (WHERE tier = 'borrowed'), 0),
    coalesce(sum(units) FILTER (WHERE tier = 'spot'), 0), 0, 0
FROM quota_allocation WHERE organization_id = %b AND lapses_at IS NOT NULL GROUP BY 1, 2, 3
"""


def _fill(organization_id: UUID, *, past: int, live: int) -> None:
    """Quotas, allocations and what is held, set-based."""
    now = datetime.now(UTC)
    here = organization_id
    with scope.reading(here), server_cursor() as cursor:
        cursor.execute(_QUOTAS, (here, here, here, now, here, now))
        cursor.execute(_ALLOCATIONS, (here, here, here, past, past, now, past, past + live, now))
        cursor.execute(_HOLDINGS, (here,))
