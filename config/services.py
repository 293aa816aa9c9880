"""The embedded PostgreSQL and Valkey under var/: start, stop, status.

    python -m config.services start|stop|status [--test]

Ports and passwords are kept in `services.json` (mode 600) beside the data, so that settings
find them. `--test` is a second PostgreSQL under var/test, fast and careless about power cuts.
"""

import argparse
import json
import secrets
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final
from urllib.parse import quote

from config.env import env_path
from config.postgres import (
    APPLICATION,
    DATABASE,
    OWNER,
    SUPERUSER,
    UNSAFE_TEST_OPTIONS,
    PostgresServer,
    bootstrap,
)
from config.processes import ServiceError, file_lock, write_private
from config.valkey import ValkeyServer

BASE_DIR: Final = Path(__file__).resolve().parent.parent
STATE_FILE: Final = "services.json"
LOCK_FILE: Final = "services.lock"
SECRET_FILE: Final = "secret_key"
# Everything the demo runs writes here: web, worker, beat and both servers.
LOG_FILE: Final = Path("log") / "apportion.log"


def var_directory() -> Path:
    """Where everything made at run time lives: APPORTION_VAR_DIR, else var/ in the checkout."""
    return env_path("APPORTION_VAR_DIR", BASE_DIR / "var")


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """Ports (None: never started) and passwords of one set of embedded services."""

    postgres_port: int | None
    valkey_port: int | None
    superuser_password: str
    owner_password: str
    application_password: str
    valkey_password: str

    @property
    def database_url(self) -> str:
        return self._postgres_url(APPLICATION, self.application_password, DATABASE)

    @property
    def database_owner_url(self) -> str:
        return self._postgres_url(OWNER, self.owner_password, DATABASE)

    @property
    def superuser_url(self) -> str:
        return self._postgres_url(SUPERUSER, self.superuser_password, "postgres")

    @property
    def redis_url(self) -> str | None:
        if self.valkey_port is None:
            return None
        return f"redis://:{quote(self.valkey_password)}@127.0.0.1:{self.valkey_port}/0"

    def _postgres_url(self, user: str, password: str, database: str) -> str:
        return f"postgresql://{user}:{quote(password)}@127.0.0.1:{self.postgres_port}/{database}"


def load(directory: Path) -> Services | None:
    """What `services.json` of that directory says, or None where nothing was ever started."""
    path = directory / STATE_FILE
    try:
        return Services(**json.loads(path.read_text()))
    except FileNotFoundError:
        return None
    except PermissionError as error:
        raise ServiceError(
            f"{path} belongs to another user. Run as that user, or remove {directory}."
        ) from error
    except (ValueError, TypeError) as error:
        raise ServiceError(
            f"{path} is damaged ({error}). Remove it: new passwords are then set."
        ) from error


def stored_secret(directory: Path) -> str | None:
    """The secret key generated for a demo, or None where there is none."""
    try:
        return (directory / SECRET_FILE).read_text().strip()
    except FileNotFoundError:
        return None


def ensure_secret(directory: Path) -> Path:
    """The file with the demo's secret key, made at first need and kept: sessions survive."""
    path = directory / SECRET_FILE
    if not path.exists():
        write_private(path, secrets.token_urlsafe(50) + "\n")
    return path


def _new_services() -> Services:
    return Services(
        postgres_port=None,
        valkey_port=None,
        superuser_password=secrets.token_urlsafe(24),
        owner_password=secrets.token_urlsafe(24),
        application_password=secrets.token_urlsafe(24),
        valkey_password=secrets.token_urlsafe(24),
    )


def _save(directory: Path, services: Services) -> None:
    write_private(directory / STATE_FILE, json.dumps(asdict(services), indent=1) + "\n")


def _postgres(directory: Path, services: Services, *, test: bool) -> PostgresServer:
    return PostgresServer(
        data=directory / "postgres",
        log=directory / LOG_FILE,
        superuser_password=services.superuser_password,
        options=UNSAFE_TEST_OPTIONS if test else {},
    )


def _valkey(directory: Path, services: Services) -> ValkeyServer:
    return ValkeyServer(
        data=directory / "valkey", log=directory / LOG_FILE, password=services.valkey_password
    )


def start(
    directory: Path, *, test: bool = False, postgres: bool = True, valkey: bool = True
) -> Services:
    """Start what does not run yet under `directory` and return how to reach it.

    Raises ServiceError. Two callers at once are safe: the second waits and finds it running.
    The test instance has no Valkey.
    """
    with file_lock(directory / LOCK_FILE):
        services = load(directory)
        passwords_lost = services is None
        if services is None:
            services = _new_services()
            _save(directory, services)
        ensure_secret(directory)
        if postgres:
            server = _postgres(directory, services, test=test)
            if passwords_lost and (server.data / "PG_VERSION").exists():
                server.stop()
                server.set_superuser_password()
            port = server.start(port=services.postgres_port)
            services = replace(services, postgres_port=port)
            _save(directory, services)
            bootstrap(
                server,
                port=port,
                owner_password=services.owner_password,
                application_password=services.application_password,
            )
        if valkey and not test:
            port = _valkey(directory, services).start(port=services.valkey_port)
            services = replace(services, valkey_port=port)
            _save(directory, services)
    return services


def stop(directory: Path, *, test: bool = False) -> None:
    """Stop both services, Valkey first; nothing happens where none runs."""
    if not directory.exists():
        return
    with file_lock(directory / LOCK_FILE):
        services = load(directory) or _new_services()
        _valkey(directory, services).stop()
        _postgres(directory, services, test=test).stop()


def status(directory: Path, *, test: bool = False) -> dict[str, str]:
    """One word or two for each service."""
    services = load(directory) or _new_services()
    running = {"postgres": _postgres(directory, services, test=test).postmaster()}
    if not test:
        running["valkey"] = next(iter(_valkey(directory, services).processes()), None)
    ports = {"postgres": services.postgres_port, "valkey": services.valkey_port}
    return {
        name: "stopped" if process is None else f"running on port {ports[name]}"
        for name, process in running.items()
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m config.services", description=__doc__)
    parser.add_argument("action", choices=("start", "stop", "status"))
    parser.add_argument("--test", action="store_true", help="the instance for tests")
    options = parser.parse_args(arguments)
    directory = var_directory() / "test" if options.test else var_directory()
    try:
        if options.action == "start":
            start(directory, test=options.test)
        elif options.action == "stop":
            stop(directory, test=options.test)
        for name, word in status(directory, test=options.test).items():
            print(f"{name}: {word}")
    except ServiceError as error:
        print(error, file=sys.stderr)
        return 1
    except PermissionError as error:
        print(f"{error.filename} belongs to another user; run as that user.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
