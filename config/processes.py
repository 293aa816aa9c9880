"""Find, identify and stop operating-system processes, and start one that must not be root.

A process is identified by its name and working directory, not by a number in a file: numbers
are reused after a crash or reboot, and a file can outlive what it names.
"""

import contextlib
import ctypes
import errno
import fcntl
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import psutil

POLL_SECONDS: Final = 0.05
NOBODY_UID: Final = 65534

# From linux/capability.h and linux/prctl.h.
_CAP_DAC_OVERRIDE: Final = 1
_CAPABILITY_VERSION_3: Final = 0x20080522
_PR_SET_SECUREBITS: Final = 28
_SECBIT_NO_SETUID_FIXUP: Final = 4
_PR_CAP_AMBIENT: Final = 47
_PR_CAP_AMBIENT_RAISE: Final = 2


class ServiceError(Exception):
    """A service cannot be started or stopped; the text says why and what to do."""


class LockHeld(ServiceError):
    """Another process holds the lock."""


def find_processes(*, name: str, directory: Path) -> list[psutil.Process]:
    """Processes of that name whose working directory is `directory`, oldest first."""
    found = []
    wanted = str(directory.resolve())
    for process in psutil.process_iter(["name", "create_time"]):
        if process.info["name"] != name:
            continue
        with contextlib.suppress(psutil.Error):
            if process.cwd() == wanted and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return sorted(found, key=lambda process: process.info["create_time"])


def is_alive(process: psutil.Process) -> bool:
    """Whether it still runs. A zombie has ended; only its parent has not asked yet."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def stop_processes(
    processes: Iterable[psutil.Process],
    *,
    signals: tuple[tuple[signal.Signals, float], ...],
) -> None:
    """Send each signal in turn and wait the seconds beside it, until all are gone."""
    remaining = [process for process in processes if is_alive(process)]
    if not remaining:
        return
    for number, seconds in signals:
        for process in remaining:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(number)
        deadline = time.monotonic() + seconds
        while remaining := [process for process in remaining if is_alive(process)]:
            if time.monotonic() > deadline:
                break
            time.sleep(POLL_SECONDS)
        else:
            return
    raise ServiceError(f"Could not stop {', '.join(str(process.pid) for process in remaining)}.")


def port_problem(port: int, *, host: str = "127.0.0.1") -> str | None:
    """Why this process could not listen there now, or None where it could.

    Raises ServiceError where no port of `host` could be used.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        # What servers do: a port in TIME_WAIT counts as free, one with a listener does not.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except PermissionError:
            return f"Port {port} is reserved for root."
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return f"Port {port} on {host} is in use by another program."
            raise ServiceError(f"Cannot listen on {host}: {error.strerror}.") from error
    return None


def is_port_free(port: int, *, host: str = "127.0.0.1") -> bool:
    """Whether this process could listen there now."""
    return port_problem(port, host=host) is None


def find_free_port(*, host: str = "127.0.0.1") -> int:
    """A port nobody listens on now; the caller must cope with losing a race for it."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.bind((host, 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def file_lock(path: Path, *, wait_seconds: float = 120) -> Iterator[None]:
    """Hold an exclusive lock on `path`; it is freed when the process dies, however it dies.

    Raises LockHeld when another process still holds it after `wait_seconds`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        deadline = time.monotonic() + wait_seconds
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise LockHeld(
                        f"Another process has held {path} for {wait_seconds:.0f} s; "
                        "if none is starting services, stop it and try again."
                    ) from None
                time.sleep(POLL_SECONDS)
        yield


def write_private(path: Path, text: str) -> None:
    """Replace `path` in one step by a file that only its owner may read."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def last_lines(path: Path, *, count: int = 15) -> str:
    """The end of a log, for an error message."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 20_000))
            text = file.read().decode(errors="replace")
    except OSError:
        return "(no log)"
    return "\n".join(text.splitlines()[-count:])


def catches_signal(pid: int, number: signal.Signals) -> bool:
    """Whether that process has a handler for the signal (Linux only; elsewhere False)."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
    caught = next((line for line in status.splitlines() if line.startswith("SigCgt:")), "0 0")
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)


def is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _become(uid: int, gid: int, *, keep_file_access: bool) -> Callable[[], None]:
    """For `preexec_fn`: leave root for another user.

    With `keep_file_access` the child keeps CAP_DAC_OVERRIDE, so that it may pass through
    directories closed to others (a checkout under /root, a `mktemp -d`) without anybody's
    directory modes being changed.
    """

    class Header(ctypes.Structure):
        _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))

    class Data(ctypes.Structure):
        _fields_ = (
            ("effective", ctypes.c_uint32),
            ("permitted", ctypes.c_uint32),
            ("inheritable", ctypes.c_uint32),
        )

    libc = ctypes.CDLL(None, use_errno=True) if keep_file_access else None
    header = Header(_CAPABILITY_VERSION_3, 0)
    bit = 1 << _CAP_DAC_OVERRIDE
    data = (Data * 2)(Data(bit, bit, bit), Data(0, 0, 0))

    def apply() -> None:
        if libc is not None:
            # Or setuid would drop the capability, and access(2) would ignore it.
            libc.prctl(_PR_SET_SECUREBITS, _SECBIT_NO_SETUID_FIXUP, 0, 0, 0)
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
        if libc is not None:
            libc.capset(ctypes.byref(header), data)
            libc.prctl(_PR_CAP_AMBIENT, _PR_CAP_AMBIENT_RAISE, _CAP_DAC_OVERRIDE, 0, 0)

    return apply


def unprivileged(*, directory: Path, probe: Sequence[str]) -> Callable[[], None] | None:
    """How a child leaves root, or None where this process is not root.

    The child runs as the owner of `directory`; root's own is handed to the user nobody. `probe`
    is a command that shows whether the program in question works there. Raises ServiceError
    where it does not even with file access kept.
    """
    if not is_root():
        return None
    if directory.stat().st_uid == 0:
        _hand_over(directory)
    owner = directory.stat()
    script = 'test -w "$0" && exec "$@"'
    complaint = ""
    for keep_file_access in (False, True) if sys.platform == "linux" else (False,):
        leave_root = _become(owner.st_uid, owner.st_gid, keep_file_access=keep_file_access)
        result = subprocess.run(
            ["/bin/sh", "-c", script, str(directory), *probe],
            preexec_fn=leave_root,
            capture_output=True,
            text=True,
            cwd="/",
        )
        if result.returncode == 0:
            return leave_root
        complaint = result.stderr.strip()
    raise ServiceError(
        f"PostgreSQL refuses to run as root, and user {owner.st_uid} cannot work in {directory} "
        f"or cannot run {probe[0]}. Work in a directory other users may enter, run as an ordinary "
        f"user, or set DATABASE_URL to a server of your own.\n{complaint}"
    )


def _hand_over(directory: Path) -> None:
    """Give a directory tree to the user nobody."""
    os.chown(directory, NOBODY_UID, NOBODY_UID)
    for root, folders, files in os.walk(directory):
        for entry in (*folders, *files):
            os.lchown(Path(root) / entry, NOBODY_UID, NOBODY_UID)
