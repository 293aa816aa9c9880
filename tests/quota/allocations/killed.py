"""A process that admits jobs and kills itself: `python -m tests.quota.allocations.killed`.

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


def admission(number: int) -> Any:
    """A companion set over two pools, a job of one pool, one that is denied."""
    from quota import wire
    from quota.commands.admissions import AdmitBatch

    both = [wire.PoolNeed(pool=pool, units=2) for pool in ("a100", "h100")]
    who = {"account": "nlp", "person": "bob"}
    return AdmitBatch(
        requests=(
            wire.Ask(key=f"{number}-both", needs=both, **who),
            wire.Ask(key=f"{number}-one", pool="h100", units=3, **who),
            wire.Ask(key=f"{number}-huge", pool="h100", units=1_000, **who),
        )
    )


def release(number: int) -> Any:
    """The end of what was admitted: another job rises into its guarantee."""
    from quota import wire
    from quota.commands.allocations import ReleaseAllocations

    keys = (f"{number}-both", f"{number}-one")
    return ReleaseAllocations(messages=tuple(wire.ReleaseMessage(key=key) for key in keys))


COMMANDS: dict[str, Callable[[int], Any]] = {"admit": admission, "release": release}


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

    left = [steps]
    psycopg.Cursor.execute = dying(psycopg.Cursor.execute, left)  # type: ignore[method-assign]
    psycopg.Connection.commit = dying(psycopg.Connection.commit, left)  # type: ignore[method-assign]
    place = Tenant(id=organization_id, root=organization_id)
    place.run(COMMANDS[name](number), now=NOW, idempotency_key=f"{name}-{number}")
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
