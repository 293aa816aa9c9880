"""A month of many records across 1,000 accounts, rated and closed, against a plain `GROUP BY`.

The records are put into the table as they are by SQL, for what is measured is what comes after.
"""

import statistics
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import psycopg

from accounting import closed_usage, partitions, statement_month, statement_rating
from accounting.commands.rates import PriceWish, PublishRateCard
from accounting.commands.statements import CloseMonth, StartClose
from accounting.queries import showback
from bench import budgets, money_pages
from bench.measure import Report, median_seconds, seconds
from bench.money_pages import in_database
from bench.world import POOLS, GrowTree
from ledger import scope
from ledger.execution import Context, execute
from ledger.ids import new_id
from ledger.types import SYSTEM
from quota.commands.pools import DefineFlavor, OpenPool
from quota.commands.quotas import SetQuota
from tenancy.commands.organizations import CreateOrganization

ACCOUNTS = 1_000
PEOPLE = 2_000
GUARANTEES = 100
ROUNDS = 3
MONTH = date(2026, 1, 1)
START = datetime(2025, 12, 31, 23, tzinfo=UTC)
NOW = datetime(2026, 2, 2, tzinfo=UTC)

# Jobs of minutes to twelve hours, spread over the month; one in forty runs over midnight twice.
_FILL = """
INSERT INTO accounting_usagerecord (organization_id, batch_id, source_id, account_id, person_id,
    pool_id, content, started_at, ended_at, units, row_no, sign, tier, key, labels)
SELECT %(organization)s, %(batch)s, %(source)s, p.account_id, p.person_id,
    (%(pools)s::uuid[])[1 + p.n %% 4], %(batch)s, s.at,
    s.at + (60 + (i * 7919::bigint) %% CASE WHEN i %% 40 = 0 THEN 172800 ELSE 43200 END)
        * interval '1 second',
    1 + i %% 64, i, 1, i %% 3, 'k' || i, NULL
FROM generate_series(1, %(rows)s) AS i
CROSS JOIN LATERAL (SELECT %(start)s::timestamptz
    + ((i * 104729::bigint) %% 2592000) * interval '1 second' AS at) s
JOIN (SELECT a.account_id, a.person_id, row_number() OVER (ORDER BY a.person_id) AS n
    FROM tenancy_association a WHERE a.organization_id = %(organization)s) p
    ON p.n = 1 + i %% %(people)s
"""
_CLOSED = """WITH closed AS (
    SELECT * FROM accounting_usagerecord WHERE organization_id = %(organization)s
)"""
_PLAIN = """
SELECT account_id, pool_id, tier, sum(units * extract(epoch FROM ended_at - started_at))
FROM accounting_usagerecord
WHERE organization_id = %s AND started_at >= %s AND started_at < %s GROUP BY 1, 2, 3
"""


def run(report: Report, superuser_url: str, *, rows: int) -> None:
    """Fill, rate, close, look."""
    organization_id, root = _organization()
    with psycopg.connect(superuser_url) as connection:
        _fill(connection, organization_id, rows)
        plain, rated, from_records, whole = [], [], [], []
        for _ in range(ROUNDS):
            plain.append(seconds(lambda: _plain(connection, organization_id)))
            rated.append(seconds(lambda: _rate(organization_id)))
            from_records.append(seconds(lambda: _rate(organization_id, "project")))
            whole.append(seconds(lambda: _statements(organization_id)))
    ceiling = statistics.median(plain)
    report.add(f"plain GROUP BY of {rows:,} records", ceiling, "s")
    for name, found in (
        ("rating of the same, from the rollup of days", rated),
        ("rating of the same by project, from the records", from_records),
        ("all kinds of lines of the month", whole),
    ):
        ours = statistics.median(found)
        report.add(name, ours, "s")
        report.add(f"{name} / GROUP BY", ours / ceiling, "ratio", at_most=3)
    with scope.reading(organization_id):
        accounts = _accounts(organization_id)
    budgets.run(report, organization_id, accounts, month=MONTH, begun=START + timedelta(1), now=NOW)
    opened, closed = NOW + timedelta(minutes=1), NOW + timedelta(minutes=2)
    money_pages.run(report, organization_id, root, month=MONTH, now=opened)
    report.add("close of the month, with its parts", seconds(lambda: _close(organization_id)), "s")
    money_pages.run(report, organization_id, root, month=MONTH, now=closed)
    for name, details, bound in (("at a glance", (), 100), ("by person", ("person",), None)):
        inside = statistics.median(
            in_database(lambda d=details: _look(organization_id, root, *d)) for _ in range(ROUNDS)
        )
        look = median_seconds(lambda d=details: _look(organization_id, root, *d), rounds=ROUNDS)
        report.add(f"the closed month {name}, in the database", inside * 1000, "ms", at_most=bound)
        report.add(f"the closed month {name}, all in all", look * 1000, "ms")
    _empty(superuser_url, organization_id)


def _empty(superuser_url: str, organization_id: UUID) -> None:
    """Take the rows out again, so that no later run finds them; the traps are lifted for this
    transaction alone."""
    with psycopg.connect(superuser_url) as connection:
        connection.execute("SET LOCAL session_replication_role = replica")
        for name in ("usagerecord", "usageday", "statementline", "statementpart", "monthsum"):
            connection.execute(
                f"DELETE FROM accounting_{name} WHERE organization_id = %s", (organization_id,)
            )


def _organization() -> tuple[UUID, UUID]:
    organization_id = new_id()
    context = Context(organization_id=organization_id, actor=SYSTEM, reason="bench", now=START)
    root = execute(
        CreateOrganization(
            slug=f"bench-{organization_id}", name="b", currency="EUR", time_zone="Europe/Berlin"
        ),
        context,
    ).result.root_account_id
    execute(GrowTree(root_account_id=root, accounts=ACCOUNTS, people=PEOPLE), context)
    pools = []
    for name in POOLS:
        flavor = execute(DefineFlavor(name=f"{name}-flavor"), context).result.flavor_id
        pool = OpenPool(name=name, flavor_id=flavor, cluster="bench", capacity=1_000_000)
        pools.append(execute(pool, context).result.pool_id)
    wishes = tuple(PriceWish(flavor=f"{name}-flavor", list_price=Decimal("2.5")) for name in POOLS)
    execute(PublishRateCard(lines=wishes), context)
    later = Context(
        organization_id=organization_id, actor=SYSTEM, reason="bench", now=START + 9 * timedelta(1)
    )
    execute(PublishRateCard(lines=wishes), later)
    with scope.reading(organization_id):
        accounts = _accounts(organization_id)
    for number, account in enumerate(accounts[:GUARANTEES]):
        quota = SetQuota(account_id=account, pool_id=pools[number % 4], guaranteed=1_000)
        execute(quota, context)
    return organization_id, root


def _accounts(organization_id: UUID) -> list[UUID]:
    from ledger.sql import server_cursor

    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT DISTINCT account_id FROM tenancy_association WHERE organization_id = %b "
            "ORDER BY 1",
            (organization_id,),
        ).fetchall()
    return [row[0] for row in rows]


def _fill(connection: psycopg.Connection, organization_id: UUID, rows: int) -> None:
    partitions.ensure(date(2025, 12, 1), date(2026, 2, 28))
    pools = connection.execute(
        "SELECT array_agg(id) FROM quota_pool WHERE organization_id = %s", (organization_id,)
    ).fetchone()
    values = {
        "organization": organization_id,
        "batch": new_id(),
        "source": new_id(),
        "pools": pools[0] if pools else [],
        "rows": rows,
        "people": PEOPLE,
        "start": START,
    }
    connection.execute(_FILL, values)
    with connection.cursor() as cursor:
        closed_usage.roll_up(cursor, _CLOSED, values)
    connection.commit()
    connection.autocommit = True
    connection.execute("VACUUM ANALYZE accounting_usagerecord")
    connection.autocommit = False


def _plain(connection: psycopg.Connection, organization_id: UUID) -> None:
    end = datetime(2026, 1, 31, 23, tzinfo=UTC)
    connection.execute(_PLAIN, (organization_id, START, end)).fetchall()
    connection.commit()


def _rate(organization_id: UUID, *details: str) -> None:
    with scope.reading(organization_id):
        here = statement_rating.ground(organization_id, MONTH, now=NOW)
        statement_rating.month_use(here, details=details)


def _statements(organization_id: UUID) -> None:
    with scope.reading(organization_id):
        statement_month.month_lines(organization_id, MONTH, now=NOW)


def _close(organization_id: UUID) -> None:
    context = Context(organization_id=organization_id, actor=SYSTEM, reason="bench", now=NOW)
    accept = ("telemetry_missing", "unrated_use")
    execute(StartClose(month=MONTH, accept=accept), context)
    while not execute(CloseMonth(month=MONTH), context).result.closed:
        pass


def _look(organization_id: UUID, root: UUID, *details: str) -> None:
    with scope.reading(organization_id):
        found = showback.showback(organization_id, root, MONTH, now=NOW, details=details)
        showback.drill(found, details or ("team", "pool"), showback.names_of(organization_id))
