"""What more money a month would make of the budget that bears on an account. Runs inside
`scope.reading`."""

from collections.abc import Callable
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from accounting.domain.budgets import Period
from accounting.queries import budgets
from ledger.sql import server_cursor
from quota.ports import BudgetEffect


class Budgets:
    """Answers `quota.ports.BudgetPort`."""

    def effect(
        self,
        organization_id: UUID,
        account_id: UUID,
        more: Decimal,
        *,
        now: datetime,
        readable: Callable[[UUID], bool],
    ) -> BudgetEffect | None:
        """What `more` a month makes of the nearest monthly budget that may be read; None: there is
        none, or no costs are drawn yet."""
        with server_cursor() as cursor:
            found = cursor.execute(
                "SELECT ancestors FROM tenancy_account WHERE organization_id = %b AND id = %b",
                (organization_id, account_id),
            ).fetchone()
        here = budgets.ground(organization_id, now=now)
        if found is None or here.at is None:
            return None
        rows = budgets.budgets_of(organization_id, found[0], today=here.today)
        monthly = {row.account_id: row for row in rows if row.period == Period.MONTH}
        row = next((monthly[one] for one in reversed(found[0]) if one in monthly), None)
        if row is None or not readable(row.account_id):
            return None
        (one,) = budgets.standings(organization_id, [row], here)
        coming = one.forecast.amount
        return BudgetEffect(
            account=row.account,
            currency=here.currency,
            amount=one.figures.amount,
            expected=one.figures.spent if coming is None else coming,
            forecast=coming is not None,
            more=more,
        )
