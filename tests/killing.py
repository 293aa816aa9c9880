"""Processes that die by SIGKILL in the middle of their work, for tests of what is left then.

A module of commands is run as `python -m` by `Victim` and serves lines: for each it forks, so that
the next child starts at once. `run` of the victim lets a child die right before the n-th step of a
command: a statement sent, a commit, and the answer given after the commit. If there is no n-th step
the child survives.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import django
from psycopg.conninfo import make_conninfo

from tests.database import TestDatabase

BASE_DIR = Path(__file__).resolve().parent.parent
STEPS_MAX = 100


class Call(NamedTuple):
    """A command of an organization at an instant."""

    command: Any
    now: Any


Calls = Mapping[str, Callable[[int], Call]]
"""Commands by name, for a number."""


class Victim:
    """The warm process and the children it forks."""

    def __init__(self, database: TestDatabase, module: str) -> None:
        owner = database.server.owner_url
        environment = os.environ | {
            "DATABASE_URL": make_conninfo(database.server.app_url, dbname=database.name),
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "APPORTION_TEST": "1",
        }
        if owner:
            environment["DATABASE_OWNER_URL"] = make_conninfo(owner, dbname=database.name)
        self._process = subprocess.Popen(
            [sys.executable, "-m", module],
            cwd=BASE_DIR,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell(self, *words: Any) -> Iterator[list[str]]:
        """Fork a child for a line. What it says, and first `pid` with its number, until it is
        gone."""
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(" ".join(map(str, words)) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line == "gone\n":
                return
            yield line.split()
        raise AssertionError("the process that forks has ended")

    def run(self, organization_id: UUID, name: str, number: int, steps: int) -> bool:
        """Whether the child survived its command."""
        return ["done"] in list(self.tell(organization_id, name, number, steps))

    def close(self) -> None:
        """Let the warm process end."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(timeout=10)


@contextlib.contextmanager
def victim(database: TestDatabase, module: str) -> Iterator[Victim]:
    """A victim for as long as it is needed."""
    found = Victim(database, module)
    try:
        yield found
    finally:
        found.close()


def kill(pid: int) -> None:
    """From outside, at any instant; one that is done is left in peace."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def again(place: Any, calls: Calls, name: str, number: int) -> Any:
    """The same command under the same key, by somebody who lives."""
    call = calls[name](number)
    return place.run(call.command, now=call.now, idempotency_key=f"{name}-{number}", reason="test")


def say(line: str) -> None:
    """One whole line at once: parent and child share the pipe."""
    os.write(1, f"{line}\n".encode())


def serve(work: Callable[..., None]) -> None:
    """Read lines and let a child do each one's work."""
    django.setup()
    from django.db import connections

    for line in sys.stdin:
        connections.close_all()
        child = os.fork()
        if child == 0:
            work(*line.split())
            os._exit(0)
        say(f"pid {child}")
        os.waitpid(child, 0)
        say("gone")


def serve_calls(calls: Calls) -> None:
    """Run a command up to its n-th step: organization, name, number, n."""

    def work(organization_id: str, name: str, number: str, steps: str) -> None:
        import psycopg

        from tests.world import Tenant

        left = [int(steps)]
        place = Tenant(id=UUID(organization_id), root=UUID(organization_id))
        call = calls[name](int(number))
        psycopg.Cursor.execute = _dying(psycopg.Cursor.execute, left)  # type: ignore[method-assign]
        psycopg.Connection.commit = _dying(  # type: ignore[method-assign]
            psycopg.Connection.commit, left
        )
        again(place, {name: lambda _: call}, name, int(number))
        _die(left)
        say("done")

    serve(work)


def _dying(method: Callable, left: list[int]) -> Callable:
    """A method that ends the process when nothing is left."""

    def step(*args: Any, **kwargs: Any) -> Any:
        _die(left)
        return method(*args, **kwargs)

    return step


def _die(left: list[int]) -> None:
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
