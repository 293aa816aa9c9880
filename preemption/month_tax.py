"""What preemption cost some accounts in a time, for whoever reckons months. Runs inside
`scope.reading`."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from accounting.ports import PreemptionTax
from ledger.sql import server_cursor

_TAX = """
SELECT count(*), coalesce(sum(given), 0)::bigint, coalesce(sum(coalesce(tax_reported, tax)), 0)
FROM preemption_action
WHERE organization_id = %b AND state = 'done' AND at >= %b AND at < %b
    AND (%b::uuid[] IS NULL OR account_id = ANY (%b::uuid[]))
"""


def preemption_tax(
    organization_id: UUID, accounts: Collection[UUID] | None, start: datetime, end: datetime
) -> PreemptionTax:
    """What was taken from `start` to before `end`; of all accounts where they are None."""
    among = None if accounts is None else list(accounts)
    with server_cursor() as cursor:
        row = cursor.execute(_TAX, (organization_id, start, end, among, among)).fetchone()
    return PreemptionTax(*row)
