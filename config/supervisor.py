"""`make demo`: bring everything up in order, watch it, and take it down in order.

    python -m config.supervisor [--host 127.0.0.1] [--port 8000] [--check]

Services, migrations, demo data, static files, then web, worker and beat as children in process
groups of their own, with one log. Nothing it leaves behind when killed stops the next run.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from types import FrameType
from typing import IO, Final

import psutil

from config import services
from config.demo_client import DemoFile, ask, wait_until_ready
from config.env import env_bool
from config.output import Output
from config.processes import (
    LockHeld,
    ServiceError,
    catches_signal,
    file_lock,
    is_alive,
    last_lines,
    port_problem,
    stop_processes,
)
from config.stamps import static_files_changed, static_files_done

# Marks every process we start, so that the next run recognizes what a killed one left.
MARK: Final = "APPORTION_SUPERVISED"
READY_SECONDS_MAX: Final = 90
STOP_SECONDS_MAX: Final = 20
LOG_BYTES_MAX: Final = 20 * 2**20
STOP_ORDER: Final = ("beat", "web", "worker")
LOAD_DEMO: Final = services.BASE_DIR / "demo/management/commands/load_demo.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """One supervised process group."""

    name: str
    process: subprocess.Popen[bytes]
    reader: threading.Thread


class Supervisor:
    def __init__(self, *, host: str, port: int, check: bool) -> None:
        self.host = host
        self.port = port
        self.check = check
        self.directory = services.var_directory()
        self.children: list[Child] = []
        self.stopping = threading.Event()
        self.output: Output

    @property
    def base_url(self) -> str:
        shown = "localhost" if self.host in {"127.0.0.1", "0.0.0.0", "::"} else self.host
        return f"http://{shown}:{self.port}"

    def run(self) -> int:
        """The whole life of a demo; the exit code."""
        return self._alone(self._run_locked)

    def stop_everything(self) -> int:
        """End what a killed supervisor left, and the services (`make clean`)."""
        return self._alone(self._stop_leftovers)

    def _alone(self, action: Callable[[], int]) -> int:
        """Do it as the only supervisor of this directory, with the log open."""
        self.directory.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            try:
                stack.enter_context(file_lock(self.directory / "demo.lock", wait_seconds=0))
            except LockHeld:
                raise ServiceError(
                    f"A demo already runs in {self.directory}. Stop it first (Ctrl-C there), or "
                    "name another directory in APPORTION_VAR_DIR."
                ) from None
            self.output = Output(stack.enter_context(self._open_log()), echo=not self.check)
            return action()

    def _stop_leftovers(self) -> int:
        self._stop_remains()
        services.stop(self.directory)
        return 0

    def _run_locked(self) -> int:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        threading.Thread(target=self._watch_make, daemon=True).start()
        self._stop_remains()
        problem = port_problem(self.port, host=self.host)
        if problem:
            other = self.port + 1 if self.port >= 1024 else 8000
            raise ServiceError(
                f"{problem} Choose another port, for example: make demo PORT={other}"
            )
        code = 1
        try:
            self._prepare()
            self._start_children()
            code = self._serve()
        except KeyboardInterrupt:
            code = 130 if self.check else 0
        finally:
            self._stop()
        return code

    # ------------------------------------------------------------------ before

    def _open_log(self) -> IO[bytes]:
        path = self.directory / services.LOG_FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > LOG_BYTES_MAX:
            path.replace(path.with_suffix(".log.1"))
        return path.open("ab")

    def _stop_remains(self) -> None:
        """End children of a supervisor that was killed and could not end them itself."""
        remains = find_marked(str(self.directory))
        if remains:
            self.output.say(f"Ending {len(remains)} processes that an earlier demo left behind.")
            terminate = (signal.SIGTERM, float(STOP_SECONDS_MAX))
            stop_processes(remains, signals=(terminate, (signal.SIGKILL, 5.0)))

    def _prepare(self) -> None:
        wanted = {
            "PostgreSQL": not os.environ.get("DATABASE_URL", "").strip(),
            "Valkey": not os.environ.get("REDIS_URL", "").strip(),
        }
        if any(wanted.values()):
            names = " and ".join(name for name, embedded in wanted.items() if embedded)
            self._step(
                f"Starting {names}",
                lambda: services.start(
                    self.directory, postgres=wanted["PostgreSQL"], valkey=wanted["Valkey"]
                ),
            )
        self._step("Migrating the database", lambda: self._manage("migrate", "--no-input"))
        if env_bool("APPORTION_DEMO_DATA", True) and LOAD_DEMO.exists():
            self._step("Loading the sample organization", self._load_demo)
        if static_files_changed(self.directory):
            self._step("Collecting static files", self._collect_static)

    def _load_demo(self) -> None:
        self._manage("load_demo", "--address", self.base_url)

    def _step(self, title: str, action: Callable[[], object]) -> None:
        if self.stopping.is_set():
            raise KeyboardInterrupt
        started = time.monotonic()
        action()
        self.output.say(f"{title}: {time.monotonic() - started:.1f} s")

    def _collect_static(self) -> None:
        self._manage("collectstatic", "--no-input", "--clear", "--verbosity", "0")
        static_files_done(self.directory)

    def _environment(self) -> dict[str, str]:
        metrics = self.directory / "metrics"
        hosts = f"localhost,127.0.0.1,[::1],{self.host}"
        environment = {
            "APPORTION_ALLOWED_HOSTS": hosts,
            "APPORTION_LOG_STYLE": "console",
            "APPORTION_MAIL_DIR": str(self.directory / "mail"),
            "APPORTION_PUBLIC_URL": self.base_url,
            **os.environ,
            MARK: str(self.directory),
            "APPORTION_INSECURE_HTTP": "1",
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "PROMETHEUS_MULTIPROC_DIR": str(metrics),
            "PYTHONUNBUFFERED": "1",
            # The demo on a machine with only root; tasks are JSON, so nothing can be smuggled.
            "PYTHONWARNINGS": "ignore:You're running the worker with superuser privileges",
        }
        if not {"APPORTION_SECRET_KEY", "APPORTION_SECRET_KEY_FILE"} & environment.keys():
            secret = services.ensure_secret(self.directory)
            environment["APPORTION_SECRET_KEY_FILE"] = str(secret)
        return environment

    def _manage(self, *arguments: str) -> None:
        """Run a management command to its end, its words in the log."""
        child = self._spawn(arguments[0], [sys.executable, "manage.py", *arguments])
        try:
            while child.process.poll() is None:
                if self.stopping.is_set():
                    raise KeyboardInterrupt
                time.sleep(0.05)
        finally:
            self._end(child)
        if child.process.returncode != 0:
            log = self.directory / services.LOG_FILE
            raise ServiceError(
                f"manage.py {arguments[0]} failed. The end of {log}:\n{last_lines(log)}"
            )

    # ------------------------------------------------------------------ children

    def _start_children(self) -> None:
        metrics = self.directory / "metrics"
        shutil.rmtree(metrics, ignore_errors=True)  # counters of processes that are gone
        metrics.mkdir()
        (self.directory / "beat").mkdir(exist_ok=True)
        for name, command in self._commands().items():
            self.children.append(self._spawn(name, command))

    def _commands(self) -> dict[str, list[str]]:
        python = [sys.executable, "-m"]
        celery = [*python, "celery", "-A", "config.celery", "--quiet"]
        web = [*python, "granian", "--interface", "wsgi", "--no-ws", "config.wsgi:application"]
        web += ["--host", self.host, "--port", str(self.port), "--respawn-failed-workers"]
        web += ["--workers", os.environ.get("APPORTION_WEB_WORKERS", "2")]
        web += ["--blocking-threads", os.environ.get("APPORTION_WEB_THREADS", "4")]
        # A thread that ends closes its database connection.
        web += ["--blocking-threads-idle-timeout", "600", "--workers-kill-timeout", "10"]
        worker = ["worker", "-Q", "default,deadlines,exports", "--concurrency", "2"]
        # No pid file: a stale one would keep beat from starting; the lock above guards.
        beat = ["beat", "--schedule", str(self.directory / "beat" / "schedule"), "--pidfile="]
        return {
            "web": web,
            "worker": [*celery, *worker, "--loglevel", "INFO", "--without-mingle"],
            "beat": [*celery, *beat, "--loglevel", "WARNING"],
        }

    def _spawn(self, name: str, command: list[str]) -> Child:
        process = subprocess.Popen(
            command,
            cwd=services.BASE_DIR,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            # Ctrl-C reaches the supervisor alone, which then stops the children in order.
            start_new_session=True,
        )
        assert process.stdout is not None
        reader = threading.Thread(target=self._read, args=(name, process.stdout), daemon=True)
        reader.start()
        return Child(name=name, process=process, reader=reader)

    def _read(self, name: str, stream: IO[bytes]) -> None:
        for line in stream:
            self.output.line(name, line)

    def _dead_child(self) -> Child | None:
        return next((child for child in self.children if child.process.poll() is not None), None)

    # ------------------------------------------------------------------ serving

    def _serve(self) -> int:
        ready = wait_until_ready(
            self.base_url,
            seconds=READY_SECONDS_MAX,
            give_up=lambda: self.stopping.is_set() or self._dead_child() is not None,
        )
        if self.stopping.is_set():
            raise KeyboardInterrupt
        if not ready:
            return self._report_failure()
        demo = DemoFile.read(self.directory / "demo.json", base_url=self.base_url)
        if self.check:
            print(ask(demo, base_url=self.base_url), flush=True)
            return 0
        self._welcome(demo)
        while not self.stopping.wait(0.3):
            if self._dead_child() is not None:
                return self._report_failure()
        return 0

    def _report_failure(self) -> int:
        child = self._dead_child()
        if child is None:
            self.output.say(f"The server was not ready within {READY_SECONDS_MAX} s.")
        else:
            child.reader.join(2)
            code = child.process.returncode
            self.output.say(f"{child.name} ended by itself with code {code}; stopping the rest.")
        log = self.directory / services.LOG_FILE
        print(f"The end of {log}:\n{last_lines(log, count=25)}", file=sys.stderr)
        return 1

    def _welcome(self, demo: DemoFile | None) -> None:
        lines = ["", f"Apportion is ready at {self.base_url}/"]
        if demo is not None:
            width = max((len(login.email) for login in demo.logins), default=0)
            lines += ["", "Sign in as"]
            lines += [
                f"  {login.email.ljust(width)}  {login.password}  ({login.role})"
                for login in demo.logins
            ]
            lines += ["", "Ask for a priority", f"  {demo.curl}"]
        log = self.directory / services.LOG_FILE
        lines += ["", f"Log: {log}"]
        if not os.environ.get("APPORTION_SMTP_HOST"):
            lines += [f"Mails: {self._environment()['APPORTION_MAIL_DIR']}"]
        lines += ["Ctrl-C stops everything; the data stays.", ""]
        for line in lines:
            self.output.say(line)

    # ------------------------------------------------------------------ after

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self.stopping.set()

    def _watch_make(self) -> None:
        """Stop when the `make` that started us is interrupted alone, or killed.

        make passes SIGTERM on, but after SIGINT it drops its handler and waits for us for ever:
        a terminal would have told us too, `kill -INT` has not.
        """
        make = os.getppid()
        try:
            if "make" not in psutil.Process(make).name():
                return
        except psutil.Error:
            return
        had_handler = catches_signal(make, signal.SIGINT)
        while not self.stopping.wait(0.5):
            interrupted = had_handler and not catches_signal(make, signal.SIGINT)
            if interrupted or os.getppid() != make:
                self.stopping.set()

    def _stop(self) -> None:
        self.output.say("Stopping.")
        by_name = {child.name: child for child in self.children}
        for name in STOP_ORDER:
            if name in by_name:
                self._end(by_name[name])
        services.stop(self.directory)
        self.output.say("Stopped.")

    def _end(self, child: Child) -> None:
        """SIGTERM, patience, SIGKILL, for the child and whatever it started."""
        with suppress(psutil.NoSuchProcess):
            family = [psutil.Process(child.process.pid)]
            family += family[0].children(recursive=True)
            child.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                child.process.wait(STOP_SECONDS_MAX)
            remaining = [process for process in family if is_alive(process)]
            stop_processes(remaining, signals=((signal.SIGKILL, 5.0),))
        child.process.wait(5)
        child.reader.join(2)


def find_marked(directory: str) -> list[psutil.Process]:
    """Every process that a supervisor of that directory started, at any depth."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(MARK) == directory and is_alive(process):
                found.append(process)
    return found


def _port(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (1 to 65535)")
    return int(text)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make demo", description="Run Apportion locally.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=_port, default=8000)
    parser.add_argument(
        "--check", action="store_true", help="start, ask one priority, print it, stop"
    )
    parser.add_argument("--stop", action="store_true", help="end what a killed demo left")
    options = parser.parse_args(arguments)
    supervisor = Supervisor(host=options.host, port=options.port, check=options.check)
    try:
        return supervisor.stop_everything() if options.stop else supervisor.run()
    except ServiceError as error:
        print(error, file=sys.stderr)
        return 1
    except PermissionError as error:
        print(f"{error.filename} belongs to another user; run as that user.", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
