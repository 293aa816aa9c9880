"""Events of budgets to rows."""

from collections.abc import Sequence

from accounting import budget_events as ev
from accounting.closed_usage import as_json
from ledger.projection import ProjectedTable, Projector
from ledger.sql import server_cursor
from ledger.types import RecordedEvent

Run = Sequence[RecordedEvent]

_BUDGET = ProjectedTable(name="accounting_budget", key=("organization_id", "id"))
_VERSION = ProjectedTable(
    name="accounting_budgetversion", key=("organization_id", "budget_id", "effective_from")
)
_ALERT = ProjectedTable(name="accounting_budgetalert", key=("organization_id", "id"))
_SET = """
INSERT INTO accounting_budget (organization_id, id, account_id, name, period, starts_on, ends_on)
VALUES (%b, %b, %b, %b, %b, %b, %b)
"""
_VERSION_SET = """
INSERT INTO accounting_budgetversion (organization_id, budget_id, effective_from, amount, spent,
    forecast, burn, set_at, set_by, reason)
VALUES (%b, %b, %b, %b, %b::int[], %b::int[], %b::jsonb, %b, %b, %b)
ON CONFLICT (organization_id, budget_id, effective_from) DO UPDATE SET
    amount = excluded.amount, spent = excluded.spent, forecast = excluded.forecast,
    burn = excluded.burn, set_at = excluded.set_at, set_by = excluded.set_by,
    reason = excluded.reason
"""
_ALERTED = """
INSERT INTO accounting_budgetalert (organization_id, id, budget_id, period_start, kind, rule,
    figure, amount, spent, forecast, fired_at)
VALUES (%b, %b, %b, %b, %b, %b, %b, %b, %b, %b, %b)
"""


def budget_set(run: Run) -> None:
    """A budget and its first version."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            names = ("budget_id", "account_id", "name", "period", "starts_on", "ends_on")
            values = [getattr(data, name) for name in names]
            cursor.execute(_SET, (event.organization_id, *values))
            _version(cursor, event, data.starts_on)


def changed(run: Run) -> None:
    """Versions; what was said of the same day before is replaced."""
    with server_cursor() as cursor:
        for event in run:
            _version(cursor, event, event.data.effective_from)


def _version(cursor, event: RecordedEvent, effective_from) -> None:
    data = event.data
    burn = [[rule.long_days, rule.short_days, str(rule.factor)] for rule in data.burn]
    cursor.execute(
        _VERSION_SET,
        (
            event.organization_id,
            data.budget_id,
            effective_from,
            data.amount,
            list(data.spent),
            list(data.forecast),
            as_json(burn),
            event.recorded_at,
            event.actor_label,
            event.reason,
        ),
    )


def ended(run: Run) -> None:
    """Budgets that count no more."""
    with server_cursor() as cursor:
        for event in run:
            cursor.execute(
                "UPDATE accounting_budget SET ended_on = %b WHERE organization_id = %b AND id = %b",
                (event.data.ended_on, event.organization_id, event.data.budget_id),
            )


def alerted(run: Run) -> None:
    """Alerts that fired."""
    names = ("budget_id", "period_start", "kind", "rule", "figure", "amount", "spent", "forecast")
    with server_cursor() as cursor:
        cursor.executemany(
            _ALERTED,
            [
                (
                    event.organization_id,
                    event.id,
                    *(getattr(event.data, name) for name in names),
                    event.recorded_at,
                )
                for event in run
            ],
        )


def alert_ended(run: Run) -> None:
    """Alerts that calmed."""
    with server_cursor() as cursor:
        for event in run:
            data = event.data
            cursor.execute(
                "UPDATE accounting_budgetalert SET over_at = %b WHERE organization_id = %b AND "
                "budget_id = %b AND period_start = %b AND kind = %b AND rule = %b "
                "AND over_at IS NULL",
                (
                    event.recorded_at,
                    event.organization_id,
                    data.budget_id,
                    data.period_start,
                    data.kind,
                    data.rule,
                ),
            )


def _projector(name: str, project, *tables: ProjectedTable) -> Projector:
    return Projector(
        name=f"accounting:{name}", project=project, types=frozenset({name}), tables=tables
    )


PROJECTORS = (
    _projector(ev.BudgetSet.event_type, budget_set, _BUDGET, _VERSION),
    _projector(ev.BudgetChanged.event_type, changed, _VERSION),
    _projector(ev.BudgetEnded.event_type, ended, _BUDGET),
    _projector(ev.BudgetAlerted.event_type, alerted, _ALERT),
    _projector(ev.BudgetAlertEnded.event_type, alert_ended, _ALERT),
)
