"""kill -9 of the web server while usage comes in: what it acknowledged is there, once."""

import http.client
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from psycopg.conninfo import make_conninfo

from accounting.partitions import ensure
from ledger import verification
from tests import world
from tests.database import TestDatabase

BATCHES = 40
RECORDS = 50
KILLS = 4
SECONDS_MAX = 90
ROOT = Path(__file__).resolve().parent.parent.parent


class Server:
    """The product's web server as a deployment runs it, on the test's database."""

    def __init__(self, database: TestDatabase) -> None:
        owner = database.server.owner_url
        self.environment = os.environ | {
            "DATABASE_URL": make_conninfo(database.server.app_url, dbname=database.name),
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "APPORTION_TEST": "1",
        }
        if owner:
            self.environment["DATABASE_OWNER_URL"] = make_conninfo(owner, dbname=database.name)
        self.process: subprocess.Popen | None = None
        self.port = 0

    def start(self) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-m", "granian", "--interface", "wsgi", "--no-ws"),
                *("--host", "127.0.0.1", "--port", str(self.port), "--workers", "1"),
                *("--log-level", "error", "config.wsgi:application"),
            ],
            cwd=ROOT,
            env=self.environment,
            start_new_session=True,
        )
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=0.2):
                    return
            except OSError:
                assert self.process.poll() is None, "the server ended while starting"
                time.sleep(0.05)
        raise AssertionError("the server did not start")

    def kill(self) -> None:
        """The whole process group at once, as a power cut would."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)

    def post(self, token: str, number: int) -> dict | None:
        """The answer, or None when the server died before it gave one."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        headers = {
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/x-ndjson",
            "Idempotency-Key": f"batch-{number}",
        }
        try:
            connection.request("POST", "/api/v1/usage?source=killed", body(number), headers)
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()
        assert answer.status == 200, content
        return json.loads(content)


def body(number: int) -> bytes:
    """The records of a batch, the same whenever it is sent."""
    start = datetime(2026, 11, 20, tzinfo=UTC)
    lines = []
    for index in range(number * RECORDS, (number + 1) * RECORDS):
        begun = start + timedelta(minutes=index)
        lines.append(
            json.dumps(
                {
                    "key": f"r{index}",
                    "account": "nlp",
                    "person": "bob",
                    "pool": "h100",
                    "tier": "guaranteed",
                    "units": 1 + index % 8,
                    "start": begun.isoformat(),
                    "end": (begun + timedelta(hours=1)).isoformat(),
                }
            )
        )
    return "\n".join(lines).encode()


@pytest.mark.slow
def test_killing_the_server_loses_nothing_and_doubles_nothing(owner, test_database):
    place = world.acme()
    token = place.token(now=datetime.now(UTC))
    ensure(datetime(2026, 11, 1).date(), datetime(2026, 11, 30).date())
    dice = random.Random(7)
    server = Server(test_database)
    acknowledged: set[int] = set()
    lost_answers = kills = 0
    deadline = time.monotonic() + SECONDS_MAX
    server.start()
    try:
        while len(acknowledged) < BATCHES and time.monotonic() < deadline:
            number = min(set(range(BATCHES)) - acknowledged)
            if kills < KILLS and number >= (kills + 1) * BATCHES // (KILLS + 2):
                kills += 1
                victim = server.process
                # Somewhere within the next request or two.
                subprocess.Popen(
                    ["sh", "-c", f"sleep {dice.uniform(0.0, 0.03):.3f}; kill -9 -{victim.pid}"]
                )
                for _ in range(200):
                    answer = server.post(token, number)
                    if answer is None:
                        break
                    acknowledged.add(number)
                    number = min(number + 1, BATCHES - 1)
                lost_answers += 1
                victim.wait(10)
                server.start()
            elif server.post(token, number) is not None:
                acknowledged.add(number)
    finally:
        server.kill()
    assert acknowledged == set(range(BATCHES))
    assert lost_answers == KILLS
    stored = owner.execute("SELECT key, units FROM accounting_usagerecord").fetchall()
    assert dict(stored) == {f"r{n}": 1 + n % 8 for n in range(BATCHES * RECORDS)}
    assert len(stored) == BATCHES * RECORDS
    hours = owner.execute("SELECT sum(unit_seconds) / 3600 FROM accounting_usageday").fetchone()[0]
    assert hours == sum(units for _, units in stored)
    assert verification.verify(place.id).findings == []
