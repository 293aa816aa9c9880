"""A process that takes units back and kills itself: `python -m tests.preemption.killed`."""

from datetime import UTC, datetime
from uuid import UUID

from tests.killing import Call, Calls, serve_calls

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def planning(number: int) -> Call:
    """A plan that takes one job of five units."""
    from preemption.commands.plans import PlanPreemption
    from preemption.wire import PreemptionAsk

    ask = PreemptionAsk(account="nlp", pool="h100", units=5, job_class="P1", key=f"{number}-taker")
    return Call(PlanPreemption(ask=ask), NOW)


def reporting(number: int) -> Call:
    """Everything that the plan of this number takes is done."""
    from preemption.commands.reports import ReportActions
    from preemption.wire import PreemptionReport

    plan_id, keys = plan_of(number)
    reports = tuple(PreemptionReport(key=key, outcome="done") for key in keys)
    return Call(ReportActions(plan_id=plan_id, reports=reports), NOW)


def cancelling(number: int) -> Call:
    """The plan of this number is not needed any more."""
    from preemption.commands.settling import CancelPlan

    return Call(CancelPlan(plan_id=plan_of(number)[0]), NOW)


def plan_of(number: int) -> tuple[UUID, list[str]]:
    """The plan's id and whom it takes from."""
    from ledger import scope
    from ledger.sql import server_cursor

    (place,) = scope.organization_ids()
    with scope.reading(place), server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT p.id, a.key FROM preemption_plan p JOIN preemption_action a "
            "ON a.organization_id = p.organization_id AND a.plan_id = p.id WHERE p.key = %b",
            (f"{number}-taker",),
        ).fetchall()
    return rows[0][0], [row[1] for row in rows]


CALLS: Calls = {"plan": planning, "report": reporting, "cancel": cancelling}


if __name__ == "__main__":
    serve_calls(CALLS)
