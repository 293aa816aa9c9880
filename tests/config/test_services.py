"""The embedded servers: start twice, lose power, lose ports, lose passwords."""

import os
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from config import services
from config.processes import LockHeld, ServiceError, file_lock, find_processes

pytestmark = [pytest.mark.xdist_group("services"), pytest.mark.slow]


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("var")
    yield path
    services.stop(path)


def postmaster(directory: Path) -> psutil.Process:
    return find_processes(name="postgres", directory=directory / "postgres")[0]


def marker(running: services.Services) -> int:
    """Write a row that must survive, and count them."""
    with psycopg.connect(running.database_owner_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS kept (at timestamptz DEFAULT now())")
        connection.execute("INSERT INTO kept DEFAULT VALUES")
        row = connection.execute("SELECT count(*) FROM kept").fetchone()
    assert row is not None
    return row[0]


def test_start_is_idempotent(directory: Path) -> None:
    first = services.start(directory)
    pid = postmaster(directory).pid
    assert services.start(directory) == first
    assert postmaster(directory).pid == pid
    assert services.status(directory) == {
        "postgres": f"running on port {first.postgres_port}",
        "valkey": f"running on port {first.valkey_port}",
    }


def test_passwords_are_private(directory: Path) -> None:
    services.start(directory)
    for name in (services.STATE_FILE, services.SECRET_FILE):
        assert stat.S_IMODE((directory / name).stat().st_mode) == 0o600


def test_a_wrong_password_is_refused(directory: Path) -> None:
    running = services.start(directory)
    url = running.superuser_url.replace(running.superuser_password, "guess")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        psycopg.connect(url)


def test_the_application_role_can_make_nothing(directory: Path) -> None:
    running = services.start(directory)
    with (
        psycopg.connect(running.database_url, autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("CREATE TABLE mine ()")


def test_killed_servers_come_back_with_their_data(directory: Path) -> None:
    running = services.start(directory)
    before = marker(running)
    for process in (
        postmaster(directory),
        *find_processes(name="valkey-server", directory=directory / "valkey"),
    ):
        process.send_signal(signal.SIGKILL)
    assert (directory / "postgres" / "postmaster.pid").exists()
    assert marker(services.start(directory)) == before + 1


def test_a_pid_file_that_names_a_stranger_is_not_believed(directory: Path) -> None:
    services.start(directory)
    services.stop(directory)
    pid_file = directory / "postgres" / "postmaster.pid"
    pid_file.write_text(f"{os.getpid()}\n{directory / 'postgres'}\n0\n5432\n\n127.0.0.1\n")
    assert services.status(directory)["postgres"] == "stopped"
    marker(services.start(directory))


def test_taken_ports_are_replaced(directory: Path) -> None:
    before = services.start(directory)
    services.stop(directory)
    with socket.create_server(("127.0.0.1", before.postgres_port or 0)):
        after = services.start(directory)
    assert after.postgres_port != before.postgres_port
    assert after.valkey_port == before.valkey_port
    assert services.load(directory) == after
    marker(after)


def test_lost_passwords_are_set_anew_and_the_data_stays(directory: Path) -> None:
    before = marker(services.start(directory))
    (directory / services.STATE_FILE).unlink()
    assert marker(services.start(directory)) == before + 1


def test_data_of_another_major_version_is_refused(directory: Path) -> None:
    services.stop(directory)
    version = directory / "postgres" / "PG_VERSION"
    kept = version.read_text()
    version.write_text("15\n")
    try:
        with pytest.raises(ServiceError, match="made by PostgreSQL 15"):
            services.start(directory)
    finally:
        version.write_text(kept)


def test_a_damaged_state_file_is_named(tmp_path: Path) -> None:
    (tmp_path / services.STATE_FILE).write_text('{"postgres_port": 1')
    with pytest.raises(ServiceError, match="is damaged"):
        services.load(tmp_path)


def test_an_interrupted_initdb_leaves_no_half_server(tmp_path: Path) -> None:
    (tmp_path / "postgres.new").mkdir()
    (tmp_path / "postgres.new" / "PG_VERSION").write_text("18\n")
    try:
        running = services.start(tmp_path, test=True)
        marker(running)
        assert not (tmp_path / "postgres.new").exists()
    finally:
        services.stop(tmp_path, test=True)


def test_a_lock_dies_with_its_holder(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    code = "import sys, time, pathlib; from config.processes import file_lock\n"
    code += "with file_lock(pathlib.Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(lock)], stdout=subprocess.PIPE, cwd=services.BASE_DIR
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(LockHeld), file_lock(lock, wait_seconds=0):
        pass
    holder.kill()
    holder.communicate()
    with file_lock(lock, wait_seconds=5):
        pass
