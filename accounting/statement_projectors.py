"""Events of statements to rows."""

from collections.abc import Sequence

import msgspec

from accounting import statement_events as ev
from ledger.projection import ProjectedTable, Projector
from ledger.sql import server_cursor
from ledger.types import RecordedEvent

Run = Sequence[RecordedEvent]

_TERMS = ProjectedTable(name="accounting_statementterms", key=("organization_id", "from_month"))
_CREDIT = ProjectedTable(name="accounting_credit", key=("organization_id", "id"))
_COMMITMENT = ProjectedTable(name="accounting_commitment", key=("organization_id", "id"))
_CLOSE = ProjectedTable(name="accounting_monthclose", key=("organization_id", "month"))


def terms_set(run: Run) -> None:
    """Terms; what was said of the same month before is replaced."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "INSERT INTO accounting_statementterms (organization_id, from_month, idle_share, "
                "lending_share, ladder, two_persons) VALUES (%b, %b, %b, %b, %b::text::jsonb, %b) "
                "ON CONFLICT (organization_id, from_month) DO UPDATE SET "
                "idle_share = excluded.idle_share, lending_share = excluded.lending_share, "
                "ladder = excluded.ladder, two_persons = excluded.two_persons",
                (
                    *(event.organization_id, data.from_month, data.idle_share),
                    data.lending_share,
                    msgspec.json.encode(
                        [[str(step.above), str(step.rate)] for step in data.ladder]
                    ).decode(),
                    data.two_persons,
                ),
            )


def credit_granted(run: Run) -> None:
    """Credits."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "INSERT INTO accounting_credit (organization_id, id, account_id, month, amount, "
                "about, reason) VALUES (%b, %b, %b, %b, %b, %b, %b)",
                (
                    *(event.organization_id, data.credit_id, data.account_id, data.month),
                    *(data.amount, data.about, event.reason),
                ),
            )


def commitment_agreed(run: Run) -> None:
    """Commitments."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "INSERT INTO accounting_commitment (organization_id, id, account_id, amount, "
                "from_month, until_month, ending_charge) VALUES (%b, %b, %b, %b, %b, %b, 0)",
                (
                    *(event.organization_id, data.commitment_id, data.account_id, data.amount),
                    *(data.from_month, data.until_month),
                ),
            )


def commitment_ended(run: Run) -> None:
    """Commitments that end early."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "UPDATE accounting_commitment SET until_month = %b, ending_charge = %b "
                "WHERE organization_id = %b AND id = %b",
                (data.until_month, data.charge, event.organization_id, data.commitment_id),
            )


def closing(run: Run) -> None:
    """A month begins to close."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "INSERT INTO accounting_monthclose (organization_id, month, state, started_at, "
                "started_by, starter_id, accepted, waits, accounts, drawn_accounts, chunks, lines, "
                "amount, list_amount) "
                "VALUES (%b, %b, 'closing', %b, %b, %b, %b, %b, %b, 0, 0, 0, 0, 0)",
                (
                    *(event.organization_id, data.month, event.recorded_at, event.actor_label),
                    *(event.actor_id, list(data.accepted), data.confirmation, data.accounts),
                ),
            )


def confirmed(run: Run) -> None:
    """A second person agreed."""
    with server_cursor() as cursor:
        for event in run:
            cursor.execute(
                "UPDATE accounting_monthclose SET waits = false, confirmed_by = %b "
                "WHERE organization_id = %b AND month = %b",
                (event.actor_label, event.organization_id, event.data.month),
            )


def drawn(run: Run) -> None:
    """How far a close is."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "UPDATE accounting_monthclose SET drawn_accounts = drawn_accounts + %b::integer, "
                "drawn_through = coalesce(%b, drawn_through), chunks = chunks + 1, "
                "lines = lines + %b::integer, amount = amount + %b::numeric, "
                "list_amount = list_amount + %b::numeric "
                "WHERE organization_id = %b AND month = %b",
                (
                    *(data.accounts, data.through, data.lines, data.amount, data.list_amount),
                    *(event.organization_id, data.month),
                ),
            )


def closed(run: Run) -> None:
    """A month is closed."""
    with server_cursor() as cursor:
        for event in run:
            cursor.execute(
                "UPDATE accounting_monthclose SET state = 'closed', closed_at = %b, digest = %b "
                "WHERE organization_id = %b AND month = %b",
                (event.recorded_at, event.data.digest, event.organization_id, event.data.month),
            )


def _projector(name: str, project, table: ProjectedTable) -> Projector:
    return Projector(
        name=f"accounting:{name}", project=project, types=frozenset({name}), tables=(table,)
    )


PROJECTORS = (
    _projector(ev.StatementTermsSet.event_type, terms_set, _TERMS),
    _projector(ev.CreditGranted.event_type, credit_granted, _CREDIT),
    _projector(ev.CommitmentAgreed.event_type, commitment_agreed, _COMMITMENT),
    _projector(ev.CommitmentEnded.event_type, commitment_ended, _COMMITMENT),
    _projector(ev.StatementClosing.event_type, closing, _CLOSE),
    _projector(ev.StatementCloseConfirmed.event_type, confirmed, _CLOSE),
    _projector(ev.StatementDrawn.event_type, drawn, _CLOSE),
    _projector(ev.StatementClosed.event_type, closed, _CLOSE),
)
