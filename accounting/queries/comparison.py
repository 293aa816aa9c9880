"""Teams beside each other, as far as the policy lets somebody see. Runs inside `scope.reading`."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

from accounting.domain import comparison as figures
from accounting.domain import money, statements
from accounting.domain.comparison import (
    Comparison,
    ComparisonPolicy,
    Figure,
    Team,
    compared,
)
from accounting.domain.lines import Kind
from accounting.month_figures import OF_USE
from accounting.queries import month_figures, showback
from accounting.queries.month_figures import Figures
from accounting.queries.showback import Showback
from accounting.statement_guarantees import month_guarantees
from ledger.sql import server_cursor

NO_PROMISE = (Fraction(0), Fraction(0))


def policy(organization_id: UUID) -> ComparisonPolicy:
    """What leads may compare; nobody, where nothing was said."""
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT reach, figures, named FROM accounting_comparisonrule "
            "WHERE organization_id = %b",
            (organization_id,),
        ).fetchone()
    if row is None:
        return ComparisonPolicy()
    return ComparisonPolicy(reach=row[0], figures=tuple(row[1]), named=row[2])


def paths(organization_id: UUID, accounts: Collection[UUID]) -> dict[UUID, tuple[UUID, ...]]:
    """The accounts from the root down to each."""
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id, ancestors FROM tenancy_account "
            "WHERE organization_id = %b AND id = ANY (%b::uuid[])",
            (organization_id, list(accounts)),
        ).fetchall()
    return {id_: tuple(above) for id_, above in rows}


def comparison(
    organization_id: UUID,
    root: UUID,
    first: date,
    *,
    allowed: ComparisonPolicy,
    accounts: Collection[UUID],
    by: Figure,
    now: datetime,
) -> Comparison:
    """A month's teams as somebody sees them.

    Args:
        allowed: `EVERYTHING` for who reads the whole organization, else its policy.
        accounts: on which a role is held that lets compare.
    """
    drawn = month_figures.figures(organization_id, root, first, now=now)
    if drawn is None:
        found = teams(organization_id, root, first, now=now)
    else:
        found = drawn_teams(drawn, showback.names_of(organization_id, people=False))
    shown = compared(found, allowed, led=paths(organization_id, accounts), by=by)
    return shown if drawn is None else replace(shown, as_of=drawn.as_of)


_PRODUCTIVE = """
SELECT u.account_id, sum(u.unit_seconds * f.weight), sum(u.productive_known * f.weight),
    sum(u.productive_busy * f.weight)
FROM accounting_usageday u
JOIN quota_pool p ON p.organization_id = u.organization_id AND p.id = u.pool_id
JOIN quota_flavor f ON f.organization_id = p.organization_id AND f.id = p.flavor_id
WHERE u.organization_id = %b AND u.account_id = ANY (%b::uuid[]) AND u.day BETWEEN %b AND %b
GROUP BY 1
"""


def teams(organization_id: UUID, root: UUID, first: date, *, now: datetime) -> list[Team]:
    """Every account with use or guarantees of its own in a month, and its figures, computed."""
    found = showback.showback(organization_id, root, first, now=now)
    names = showback.names_of(organization_id, people=False)
    promised: dict[Any, list[Fraction]] = {}
    paths: dict[Any, tuple] = {}
    for one in month_guarantees(found.ground):
        have = promised.setdefault(one.account, [Fraction(0), Fraction(0)])
        have[0] += one.promised
        have[1] += one.idle
        paths[one.account] = one.above
    costs = _costs(found, paths)
    productive = _productive_hours(organization_id, list(paths), first)
    return [
        Team(
            account=account,
            above=above,
            name=names[account],
            utilization=figures.used_share(*promised.get(account, NO_PROMISE)),
            idle_share=figures.idle_share(costs.get(account, {})),
            productive_cost=figures.productive_cost(
                costs.get(account, {}), productive.get(account)
            ),
        )
        for account, above in paths.items()
    ]


def drawn_teams(found: Figures, names: Mapping[Any, str]) -> list[Team]:
    """The same of a large month, out of one row for each."""
    return [
        Team(
            account=account,
            above=tuple(above),
            name=names[account],
            utilization=utilization,
            idle_share=idle_share,
            productive_cost=productive_cost,
        )
        for account, above, utilization, idle_share, productive_cost in (
            month_figures.team_rows(found)
        )
    ]


def _costs(found: Showback, paths: dict[Any, tuple]) -> dict[Any, dict[Kind, Decimal]]:
    """What use and guarantees of each account cost, by kind; notes where it hung last."""
    sums: dict[Any, dict[Kind, Decimal]] = {}
    for line in found.lines:
        if line.kind in OF_USE:
            account = line.key.account
            paths[account] = line.key.above
            have = sums.setdefault(account, {})
            have[line.kind] = money.EXACT.add(have.get(line.kind, Decimal(0)), line.amount)
    return sums


def _productive_hours(
    organization_id: UUID, accounts: list[UUID], first: date
) -> dict[UUID, Fraction]:
    """Weighted unit-hours that advanced the work, of accounts where that was measured: the measured
    share counts for all of the use."""
    last = statements.month_after(first) - timedelta(days=1)
    with server_cursor() as cursor:
        rows = cursor.execute(_PRODUCTIVE, (organization_id, accounts, first, last)).fetchall()
    found = {account: figures.productive_hours(*sums) for account, *sums in rows}
    return {account: hours for account, hours in found.items() if hours is not None}
