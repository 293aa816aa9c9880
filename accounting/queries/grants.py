"""Credits that were granted and commitments that were agreed. All run inside `scope.reading` or a
command."""

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from uuid import UUID

from ledger.sql import server_cursor

GRANTS_SHOWN = 100


@dataclass(frozen=True, slots=True)
class GrantRow:
    """A credit or a commitment as it is listed: `month` is its statement, or the first of them;
    `about` what a credit makes good, or the last month of a commitment; `ending` what ending a
    commitment early costs in its last month."""

    id: UUID
    account_id: UUID
    month: date
    about: date | None
    amount: Decimal
    reason: str
    ending: Decimal


def credit_rows(
    organization_id: UUID,
    *,
    before: tuple[date, UUID] | None = None,
    limit: int = GRANTS_SHOWN,
) -> list[GrantRow]:
    """Credits, the latest first; `before`: month and id of the last one of the page before."""
    return _grants(
        "SELECT id, account_id, month, about, amount, reason, 0::numeric FROM accounting_credit",
        "month",
        organization_id,
        before,
        limit,
    )


def commitment_rows(
    organization_id: UUID,
    *,
    before: tuple[date, UUID] | None = None,
    limit: int = GRANTS_SHOWN,
) -> list[GrantRow]:
    """Commitments, the latest first; `before` as of `credit_rows`."""
    return _grants(
        "SELECT id, account_id, from_month, until_month, amount, '', ending_charge "
        "FROM accounting_commitment",
        "from_month",
        organization_id,
        before,
        limit,
    )


def commitment(organization_id: UUID, commitment_id: UUID) -> GrantRow | None:
    """One commitment."""
    with server_cursor() as cursor:
        row = cursor.execute(
            "SELECT id, account_id, from_month, until_month, amount, '', ending_charge "
            "FROM accounting_commitment WHERE organization_id = %b AND id = %b",
            (organization_id, commitment_id),
        ).fetchone()
    return None if row is None else GrantRow(*row)


def _grants(
    statement: str,
    month: str,
    organization_id: UUID,
    before: tuple[date, UUID] | None,
    limit: int,
) -> list[GrantRow]:
    where, values = "", []
    if before is not None:
        where, values = f"AND ({month}, id) < (%b, %b)", [*before]
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"{statement} WHERE organization_id = %b {where} ORDER BY {month} DESC, id DESC "
            "LIMIT %b",
            (organization_id, *values, limit),
        ).fetchall()
    return [GrantRow(*row) for row in rows]
