"""A process that runs use-it-or-lose-it and kills itself:
`python -m tests.preemption.reclaim.killed`."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from tests.killing import Call, Calls, serve_calls

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(days=1)


def ids(number: int) -> tuple[UUID, UUID]:
    """The account of this number and the pool."""
    from ledger import scope
    from ledger.sql import server_cursor

    (place,) = scope.organization_ids()
    with scope.reading(place), server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT a.id, p.id FROM tenancy_account a JOIN quota_pool p "
            "ON p.organization_id = a.organization_id AND p.name = 'h100' WHERE a.name = %b",
            (f"team{number}",),
        ).fetchall()
    return rows[0]


def run_at(now: datetime) -> Call:
    """The pool's rule, run at an instant."""
    from preemption.commands.reclaim import RunReclaim

    return Call(RunReclaim(pool_id=ids(1)[1]), now)


def restoring(number: int) -> Call:
    """What left the team's guarantee is of it again."""
    from preemption.commands.reclaim import RestoreQuota

    account_id, pool_id = ids(number)
    return Call(RestoreQuota(account_id=account_id, pool_id=pool_id), LATER)


def returning(number: int) -> Call:
    """What left the team's guarantee goes to the account above."""
    from preemption.commands.reclaim import ReturnQuota

    account_id, pool_id = ids(number)
    return Call(ReturnQuota(account_id=account_id, pool_id=pool_id), LATER)


CALLS: Calls = {
    "watch": lambda number: run_at(NOW),
    "demote": lambda number: run_at(LATER),
    "restore": restoring,
    "return": returning,
}


if __name__ == "__main__":
    serve_calls(CALLS)
