"""`make demo` with real processes: busy port, two at once, kill -9, SIGTERM."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from config import services
from config.processes import find_free_port
from config.supervisor import Supervisor, find_marked

pytestmark = [pytest.mark.xdist_group("supervisor"), pytest.mark.slow]
READY_SECONDS = 120


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One for all: each test begins where the one before ended, as people's demos do."""
    path = tmp_path_factory.mktemp("var")
    yield path
    for process in find_marked(str(path)):
        process.kill()
    services.stop(path)


def start(directory: Path, *arguments: str) -> subprocess.Popen[str]:
    ours = ("APPORTION_", "DATABASE_", "REDIS_", "DJANGO_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return subprocess.Popen(
        [sys.executable, "-m", "config.supervisor", *arguments],
        cwd=services.BASE_DIR,
        env={**kept, "APPORTION_VAR_DIR": str(directory), "APPORTION_DEMO_DATA": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def output_until(process: subprocess.Popen[str], words: str) -> str:
    """Read what it says until it says that; fails when it ends before."""
    assert process.stdout is not None
    said = ""
    deadline = time.monotonic() + READY_SECONDS
    for line in process.stdout:
        said += line
        if words in line:
            return said
        assert time.monotonic() < deadline, said
    pytest.fail(f"It ended without saying {words!r}:\n{said}")


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://localhost:{port}/healthz", timeout=5) as response:
            return response.status == 200
    except OSError:
        return False


def test_busy_port_is_named_with_the_way_out(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        process = start(tmp_path, "--port", str(port))
        said, _ = process.communicate(timeout=30)
    assert process.returncode == 1
    assert f"Port {port} on 127.0.0.1 is in use" in said
    assert f"make demo PORT={port + 1}" in said
    assert not (tmp_path / services.STATE_FILE).exists(), "nothing was started"


def test_the_life_of_a_demo(directory: Path) -> None:
    port = find_free_port()
    first = start(directory, "--port", str(port))
    output_until(first, "Ctrl-C stops everything")
    assert answers(port)

    second = start(directory, "--port", str(find_free_port()))
    said, _ = second.communicate(timeout=30)
    assert (second.returncode, "already runs" in said) == (1, True)
    assert answers(port), "the first was left alone"

    # The supervisor cannot tidy up after this; the next one does, on the same port.
    first.send_signal(signal.SIGKILL)
    first.wait(10)
    assert find_marked(str(directory))
    third = start(directory, "--port", str(port))
    said = output_until(third, "Ctrl-C stops everything")
    assert "an earlier demo left behind" in said
    assert "Collecting static files" not in said, "done once"
    assert answers(port)

    third.send_signal(signal.SIGTERM)
    said, _ = third.communicate(timeout=60)
    assert third.returncode == 0, said
    assert find_marked(str(directory)) == []
    assert set(services.status(directory).values()) == {"stopped"}


def test_mails_of_a_demo_are_files_whose_links_lead_to_it(directory: Path) -> None:
    demo = Supervisor(host="127.0.0.1", port=8123, check=False)
    demo.directory = directory
    show = (
        "from django.conf import settings as s; "
        "print(s.EMAIL_BACKEND, s.EMAIL_FILE_PATH, s.PUBLIC_URL)"
    )
    said = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", show],
        cwd=services.BASE_DIR,
        env={**demo._environment(), "APPORTION_TEST": "1"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert said == [
        "django.core.mail.backends.filebased.EmailBackend",
        str(directory / "mail"),
        "http://localhost:8123/",
    ]


def test_a_child_that_dies_is_named_and_everything_stops(directory: Path) -> None:
    port = find_free_port()
    demo = start(directory, "--port", str(port))
    output_until(demo, "Ctrl-C stops everything")
    beat = [p for p in find_marked(str(directory)) if "beat" in p.cmdline()]
    assert len(beat) == 1
    beat[0].kill()
    said, _ = demo.communicate(timeout=60)
    assert demo.returncode == 1
    assert "beat ended by itself with code -9" in said
    assert find_marked(str(directory)) == []


def test_check_answers_on_standard_output(directory: Path) -> None:
    demo = start(directory, "--port", str(find_free_port()), "--check")
    said, _ = demo.communicate(timeout=READY_SECONDS)
    assert demo.returncode == 0, said
    assert '"ready": true' in said
