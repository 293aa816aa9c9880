"""A real deployment for benchmarks: embedded services under var/bench, with fsync on."""

import contextlib
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

BASE_DIR = Path(__file__).resolve().parent.parent
START_SECONDS_MAX = 60


def prepare() -> str:
    """Start the services, point the settings at them, migrate; returns the superuser's URL."""
    directory = BASE_DIR / "var" / "bench"
    os.environ["APPORTION_VAR_DIR"] = str(directory)
    os.environ["APPORTION_INSECURE_HTTP"] = "1"
    os.environ["APPORTION_LOG_LEVEL"] = "WARNING"
    # A benchmark is one client asking as fast as it can.
    os.environ["APPORTION_RATE_LIMITS"] = "off"
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    from config import services

    running = services.start(directory)
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from psycopg.conninfo import make_conninfo

    return make_conninfo(running.superuser_url, dbname="apportion")


def stop() -> None:
    """Stop the services; the data stays for the next run."""
    from config import services

    services.stop(BASE_DIR / "var" / "bench")


@contextlib.contextmanager
def server(*, workers: int = 1, urlconf: str = "bench.urls") -> Iterator[str]:
    """The web server as `make demo` runs it, with the benchmark's constant view beside it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | {"APPORTION_BENCH_URLCONF": urlconf}
    command = [sys.executable, "-m", "granian", "--interface", "wsgi", "--no-ws"]
    command += ["--host", "127.0.0.1", "--port", str(port), "--workers", str(workers)]
    command += ["--blocking-threads", "1", "--log-level", "error", "bench.wsgi:application"]
    process = subprocess.Popen(command, cwd=BASE_DIR, env=environment)
    try:
        _wait(f"http://127.0.0.1:{port}/healthz", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(20)


def _wait(url: str, process: subprocess.Popen) -> None:
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise SystemExit("the web server ended while starting")
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=1) as answer:
            if answer.status == 200:
                return
        time.sleep(0.1)
    raise SystemExit("the web server did not start")
