"""Figures of large months in between the hours: after a close, after terms, prices, credits,
commitments, tags or the tree changed, and when somebody asks for them now."""

from datetime import date, datetime
from typing import Final
from uuid import UUID

from accounting import rate_events, statement_events, tag_events
from accounting.commands.budget_watch import DrawCosts
from ledger import scope
from ledger.execution import Context, execute
from ledger.sql import server_cursor
from ledger.types import SYSTEM

CHANGES: Final = (
    statement_events.StatementTermsSet,
    statement_events.CreditGranted,
    statement_events.CommitmentAgreed,
    statement_events.CommitmentEnded,
    rate_events.RatesPublished,
    rate_events.RatesWithdrawn,
    rate_events.RateGradeSet,
    tag_events.UsageTagged,
    tag_events.UsageUntagged,
)

_STALE = """
SELECT f.month FROM accounting_monthfigures f
WHERE f.organization_id = %(organization)b AND f.large AND NOT f.closed AND (
    EXISTS (SELECT FROM accounting_monthclose c WHERE c.organization_id = f.organization_id
        AND c.month = f.month AND c.state = 'closed')
    OR f.drawn_at < (
        SELECT max(last.occurred_at) FROM unnest(%(types)b::text[]) AS t(type)
        CROSS JOIN LATERAL (SELECT e.occurred_at FROM ledger_event e
            WHERE e.organization_id = %(organization)b AND e.type = t.type
            ORDER BY e.position DESC LIMIT 1) last))
ORDER BY f.month
"""


def stale_months(organization_id: UUID) -> list[date]:
    """Large months whose figures somebody's act has made old, oldest first. New use makes all of
    them old, all the time: that waits for the hour. Runs inside `scope.reading`."""
    types = [*(one.event_type for one in CHANGES), "account.moved"]
    values = {"organization": organization_id, "types": types}
    with server_cursor() as cursor:
        return [row[0] for row in cursor.execute(_STALE, values).fetchall()]


def refresh(organization_id: UUID, *, now: datetime) -> int:
    """Draw what is stale; returns how many months."""
    with scope.reading(organization_id):
        months = stale_months(organization_id)
    for month in months:
        draw(organization_id, month, now=now)
    return len(months)


def draw(organization_id: UUID, month: date, *, now: datetime) -> None:
    """Draw a month. Of many at once one draws; who waited for it has nothing left to do."""
    execute(DrawCosts(month=month), Context(organization_id=organization_id, actor=SYSTEM, now=now))
