"""Commands say in words what is missing; the traceback is there for whoever asks for it."""

import os
import subprocess
import sys
from pathlib import Path

from django.conf import settings


def run(*words: str, **environ: str) -> subprocess.CompletedProcess:
    """A command in a process of its own, with a database that nobody serves."""
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=Path(settings.BASE_DIR),
        env=os.environ
        | {"DATABASE_URL": "postgresql://nobody:x@127.0.0.1:1/none", "PYTHONWARNINGS": "ignore"}
        | environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_database_that_is_away_is_said_in_two_lines():
    found = run("ledger", "verify")
    assert found.returncode == 1
    assert "Traceback" not in found.stderr
    assert found.stderr.startswith("The database cannot be used: ")
    assert "DATABASE_URL" in found.stderr
    assert "Traceback" in run("ledger", "--traceback", "verify").stderr


def test_a_setting_that_cannot_be_used_is_named():
    found = run("check", DATABASE_URL="mysql://somewhere/else")
    assert found.returncode == 1
    assert "Traceback" not in found.stderr
    assert "DATABASE_URL" in found.stderr
