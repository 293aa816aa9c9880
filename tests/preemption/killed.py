"""A process that takes units back and kills itself: `python -m tests.preemption.killed`.

Reads an organization, a command and a number from each line of standard input and forks. The child
runs the command and kills itself with SIGKILL right before its n-th step: a statement sent, a
commit, and the answer given after the commit. If there is no n-th step it says `done`.
"""

import os
import signal
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import django

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


def say(line: str) -> None:
    """One whole line at once: parent and child share the pipe."""
    os.write(1, f"{line}\n".encode())


def planning(number: int) -> Any:
    """A plan that takes one job of five units."""
    from preemption.commands.plans import PlanPreemption
    from preemption.wire import PreemptionAsk

    ask = PreemptionAsk(account="nlp", pool="h100", units=5, job_class="P1", key=f"{number}-taker")
    return PlanPreemption(ask=ask)


def reporting(number: int) -> Any:
    """Everything that the plan of this number takes is done."""
    from preemption.commands.reports import ReportActions
    from preemption.wire import PreemptionReport

    plan_id, keys = plan_of(number)
    reports = tuple(PreemptionReport(key=key, outcome="done") for key in keys)
    return ReportActions(plan_id=plan_id, reports=reports)


def cancelling(number: int) -> Any:
    """The plan of this number is not needed any more."""
    from preemption.commands.settling import CancelPlan

    return CancelPlan(plan_id=plan_of(number)[0])


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


COMMANDS: dict[str, Callable[[int], Any]] = {
    "plan": planning,
    "report": reporting,
    "cancel": cancelling,
}


def dying(method: Callable, left: list[int]) -> Callable:
    """A method that ends the process when nothing is left."""

    def step(*args: Any, **kwargs: Any) -> Any:
        die(left)
        return method(*args, **kwargs)

    return step


def die(left: list[int]) -> None:
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)


def work(organization_id: UUID, name: str, number: int, steps: int) -> None:
    """Run the command up to its step."""
    import psycopg

    from tests.world import Tenant

    command = COMMANDS[name](number)
    left = [steps]
    psycopg.Cursor.execute = dying(psycopg.Cursor.execute, left)  # type: ignore[method-assign]
    psycopg.Connection.commit = dying(psycopg.Connection.commit, left)  # type: ignore[method-assign]
    place = Tenant(id=organization_id, root=organization_id)
    place.run(command, now=NOW, idempotency_key=f"{name}-{number}")
    die(left)
    say("done")


def main() -> None:
    from django.db import connections

    for line in sys.stdin:
        organization_id, name, number, steps = line.split()
        connections.close_all()
        child = os.fork()
        if child == 0:
            work(UUID(organization_id), name, int(number), int(steps))
            os._exit(0)
        os.waitpid(child, 0)
        say("gone")


if __name__ == "__main__":
    django.setup()
    main()
