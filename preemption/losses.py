"""What preemption costs whom: by month and account, and the jobs that lose most with how often they
should save themselves. Runs inside `scope.reading`."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

from ledger.sql import server_cursor
from preemption.domain.tax import checkpoint_interval_seconds

MONTHS = 12
LOSERS_MAX = 10
ROWS_MAX = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthLoss:
    """What was taken from an account in a month of the organization's time zone.

    Attributes:
        tax: reckoned when the plans were made, of all actions.
        tax_reported: measured, of those whose loss was reported; `unreported` were not.
    """

    month: date
    account: str
    actions: int
    units: int
    tax: Decimal
    tax_reported: Decimal
    unreported: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Loser:
    """A job that was preempted, in all its attempts.

    Attributes:
        cost: as reported, else as reckoned.
        between_seconds: how long it ran between two preemptions, on average.
        checkpoint_seconds: how long it takes to save itself; None: it does not tell.
        interval_seconds: how often it should (Young and Daly, see `preemption.domain.tax`).
    """

    job: str
    account: str
    times: int
    cost: Decimal
    between_seconds: int
    checkpoint_seconds: int | None
    interval_seconds: int | None


_BY_MONTH = """
SELECT date_trunc('month', a.at AT TIME ZONE %b)::date, v.name, count(*), sum(a.given)::bigint,
    sum(a.tax), coalesce(sum(a.tax_reported), 0), count(*) FILTER (WHERE a.tax_reported IS NULL)
FROM preemption_action a
JOIN tenancy_account v ON v.organization_id = a.organization_id AND v.id = a.account_id
WHERE a.organization_id = %b AND a.state = 'done' AND a.at > %b
    AND (%b::uuid[] IS NULL OR a.account_id = ANY(%b::uuid[]))
    AND (%b::uuid[] IS NULL OR a.pool_id = ANY(%b::uuid[]))
GROUP BY 1, 2 ORDER BY 1 DESC, 5 DESC, 2 LIMIT %b
"""
_LOSERS = """
SELECT a.key, min(v.name), count(*), sum(coalesce(a.tax_reported, a.tax)), max(c.seconds), (
    SELECT sum(extract(epoch FROM least(coalesce(q.ended_at, %b), %b)
        - greatest(q.started_at, %b)))::bigint
    FROM quota_allocation q WHERE q.organization_id = %b AND q.key = a.key
        AND coalesce(q.ended_at, %b) > %b AND q.started_at < %b)
FROM preemption_action a
JOIN tenancy_account v ON v.organization_id = a.organization_id AND v.id = a.account_id
LEFT JOIN preemption_checkpoint c
    ON c.organization_id = a.organization_id AND c.allocation_id = a.allocation_id
WHERE a.organization_id = %b AND a.state = 'done' AND a.at >= %b AND a.at < %b
    AND (%b::uuid[] IS NULL OR a.account_id = ANY(%b::uuid[]))
    AND (%b::uuid[] IS NULL OR a.pool_id = ANY(%b::uuid[]))
GROUP BY a.key ORDER BY 4 DESC, 3 DESC, 1 LIMIT %b
"""


def by_month(
    organization_id: UUID,
    *,
    now: datetime,
    time_zone: str,
    accounts: Collection[UUID] | None = None,
    pool_ids: Collection[UUID] | None = None,
) -> list[MonthLoss]:
    """The newest month first, in it the account that lost most.

    Args:
        accounts: that lost; None: all.
        pool_ids: in which they did; None: all.
    """
    among = _list(accounts)
    pools = _list(pool_ids)
    since = now - timedelta(days=31 * MONTHS)
    values = (time_zone, organization_id, since, among, among, pools, pools, ROWS_MAX)
    with server_cursor() as cursor:
        rows = cursor.execute(_BY_MONTH, values).fetchall()
    names = tuple(MonthLoss.__dataclass_fields__)
    return [MonthLoss(**dict(zip(names, row, strict=True))) for row in rows]


def losers(
    organization_id: UUID,
    *,
    since: datetime,
    until: datetime,
    accounts: Collection[UUID] | None = None,
    pool_ids: Collection[UUID] | None = None,
) -> list[Loser]:
    """The jobs that lost most in a period, first.

    Args:
        until: not ahead of now.
        accounts: that they are of; None: all.
        pool_ids: in which they lost; None: all.
    """
    among = _list(accounts)
    pools = _list(pool_ids)
    here = organization_id
    values = (until, until, since, here, until, since, until)
    values += (here, since, until, among, among, pools, pools, LOSERS_MAX)
    with server_cursor() as cursor:
        rows = cursor.execute(_LOSERS, values).fetchall()
    return [_loser(*row) for row in rows]


def _list(ids: Collection[UUID] | None) -> list[UUID] | None:
    return None if ids is None else list(ids)


def _loser(
    job: str, account: str, times: int, cost: Decimal, seconds: int | None, ran: int | None
) -> Loser:
    between = (ran or 0) // times
    interval = None
    if seconds and between > 0:
        interval = checkpoint_interval_seconds(
            checkpoint_seconds=seconds, mean_between_seconds=between
        )
    return Loser(
        job=job,
        account=account,
        times=times,
        cost=cost,
        between_seconds=between,
        checkpoint_seconds=seconds,
        interval_seconds=interval,
    )
