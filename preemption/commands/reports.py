"""What became of a plan's actions. Each report is answered by itself; the first one stands, and a
repeated, late or contradictory one changes nothing and says so. What was taken is a fact whenever
it is told: after the end of the plan, too."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from uuid import UUID

from ledger.execution import Unit, handles
from preemption import loading, wire
from preemption import plans as stored_plans
from preemption.commands.settling import open_plan, set_aside
from preemption.domain.tax import HOUR_SECONDS
from preemption.events import ActionReported
from preemption.plans import StoredAction, StoredPlan, money
from quota.domain.lifecycle import Outcome
from tenancy.domain.roles import Scope

WORDS: Mapping[str, str] = {
    "done": "The units are back.",
    "done_late": "The units are back, after the plan was over: they are everybody's.",
    "gone": "The job had ended by itself: its units are back, and no budget is used.",
    "kept": "The job keeps its units, and the budget is given back.",
    "already_reported": "That was reported before.",
    "reported_otherwise": "Something else was reported before, which stands.",
    "called_off": "The plan was over: nothing is taken any more.",
    "allocation_unknown": "The plan takes nothing from such a job.",
    "left_missing": "A job that has shrunk tells how many units it has left.",
    "left_not_smaller": "The job has as many units as before, or fewer than it can run with.",
    "from_the_future": "The instant lies ahead of our clock.",
    "nothing_newer": "The job changed its size after this instant.",
    "not_started": "The job has not started.",
    "too_many_steps": "The job has changed its size too often.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportActions:
    """Actions were done, or were not."""

    plan_id: UUID
    reports: tuple[wire.PreemptionReport, ...]


@handles(ReportActions, permission=Scope.PREEMPTION_WRITE)
def report_actions(command: ReportActions, unit: Unit) -> wire.PreemptionTold:
    """End or shrink allocations as told, and keep their units for the plan while it is open."""
    desk = _Desk(unit, command.plan_id)
    results = [desk.answer(report) for report in command.reports]
    plan = desk.record()
    pools, accounts = loading.names(unit.organization_id, [plan])
    return wire.PreemptionTold(
        at=unit.now,
        changed=sum(one.status == "changed" for one in results),
        results=results,
        plan=stored_plans.view(plan, pools=pools, accounts=accounts),
    )


class _Desk:
    """A plan as it is after each report."""

    def __init__(self, unit: Unit, plan_id: UUID) -> None:
        self._unit = unit
        self._pool, self._plan = open_plan(unit, plan_id)
        self._is_late = self._plan.state != "open"
        self._other_than_planned = False

    def answer(self, report: wire.PreemptionReport) -> wire.PreemptionReportResult:
        """What becomes of a report."""
        action = self._meant(report)
        if action is None:
            return _result(report, None, "unknown", "allocation_unknown")
        if report.outcome == "shrunk" and report.left is None:
            return _result(report, action, "invalid", "left_missing")
        if action.state not in ("open", "void"):
            same = _says(report, action)
            code = "already_reported" if same else "reported_otherwise"
            return _result(report, action, "unchanged" if same else "contradiction", code)
        if report.outcome in ("refused", "failed"):
            if action.state == "void":
                return _result(report, action, "unchanged", "called_off")
            at = min(report.at or self._unit.now, self._unit.now)
            self._keep(action, report, outcome=report.outcome, given=0, left=action.left, at=at)
            self._other_than_planned = True
            return _result(report, action, "changed", "kept")
        return self._taken(action, report)

    def _meant(self, report: wire.PreemptionReport) -> StoredAction | None:
        return next(
            (
                action
                for action in self._plan.actions
                if action.key == report.key and report.attempt in (None, action.attempt)
            ),
            None,
        )

    def _taken(
        self, action: StoredAction, report: wire.PreemptionReport
    ) -> wire.PreemptionReportResult:
        """Units were given back: all, as many as planned, or others."""
        at = report.at or self._unit.now
        left = action.left if report.outcome == "done" else report.left or 0
        before = self._pool.allocations[action.allocation_id].value
        if left:
            outcome = self._pool.shrink(action.allocation_id, left=left, at=at)
        else:
            outcome = self._pool.preempt(action.allocation_id, at=at)
        given, when = _given(outcome, before.units, at)
        match outcome.code:
            case "preempted" | "resized" if given > 0:
                pass
            case "no_change" if left == action.left:
                given = action.units  # a message about the allocation told of it before
            case "already_ended" if outcome.allocation.state == "preempted":
                left = 0
            case "already_ended" | "ended_otherwise":
                self._keep(action, report, outcome="gone", given=0, left=action.left, at=when)
                return _result(report, action, "changed", "gone")
            case "not_elastic" | "no_change" | "no_room" | "resized":
                return _result(report, action, "contradiction", "left_not_smaller")
            case code:
                status = "unchanged" if code == "nothing_newer" else "invalid"
                return _result(report, action, status, code)
        self._other_than_planned |= left != action.left or given != action.units
        # For the budgets nothing is taken before its plan, whatever the scheduler's clock says:
        # plans that were made in between have counted it as of themselves.
        when = max(when, self._plan.made_at)
        self._keep(action, report, outcome="done", given=given, left=left, at=when)
        return _result(report, action, "changed", "done_late" if self._is_late else "done")

    def _keep(
        self,
        action: StoredAction,
        report: wire.PreemptionReport,
        *,
        outcome: str,
        given: int,
        left: int,
        at: datetime,
    ) -> None:
        plan, tax = self._plan, None
        if report.lost_seconds is not None and outcome == "done":
            tax = money(Fraction(plan.price) * report.lost_seconds * given / HOUR_SECONDS)
        self._unit.record(
            ActionReported(
                plan_id=plan.id,
                pool_id=plan.pool_id,
                account_id=plan.account_id,
                allocation_id=action.allocation_id,
                victim_id=action.account_id,
                key=action.key,
                attempt=action.attempt,
                outcome=outcome,
                units=given,
                left=left,
                at=at,
                late=self._is_late,
                tax=tax,
                detail=report.detail,
            )
        )
        changed = replace(
            action,
            state=outcome,
            given=given,
            left=left,
            at=at,
            late=self._is_late,
            tax_reported=tax,
            detail=report.detail,
        )
        self._plan = plan.with_action(changed)

    def record(self) -> StoredPlan:
        """Record what changed; the plan as it is now."""
        plan = self._plan
        if self._other_than_planned and not self._is_late and self._pool.is_set_aside(plan.id):
            set_aside(self._pool, plan, until=plan.until)
        self._pool.record()
        return plan


def _given(outcome: Outcome, before: int, at: datetime) -> tuple[int, datetime]:
    """Units that came free, and when."""
    after = outcome.allocation
    if after.ended_at is not None:
        return after.units, after.ended_at
    return before - after.units, after.steps[-1].at if after.steps else at


def _says(report: wire.PreemptionReport, action: StoredAction) -> bool:
    """Does a report say what is recorded?"""
    if report.outcome in ("refused", "failed"):
        return action.state == report.outcome
    if action.state == "gone":
        return report.outcome == "done"
    if action.state != "done":
        return False
    return report.outcome == "done" or report.left == action.left


def _result(
    report: wire.PreemptionReport, action: StoredAction | None, status: str, code: str
) -> wire.PreemptionReportResult:
    return wire.PreemptionReportResult(
        key=report.key,
        attempt=action.attempt if action else report.attempt,
        status=status,  # type: ignore[arg-type]
        code=code,
        detail=WORDS[code],
    )
