"""The settings module as processes see it: closed by default, and plain about what is missing."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from config.database import aliases, database_settings
from config.services import BASE_DIR

SHOW = """
import json
from django.conf import settings as s
print(json.dumps({name: getattr(s, name) for name in (
    "DEBUG", "SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_SSL_REDIRECT",
    "SECURE_HSTS_SECONDS", "ALLOWED_HOSTS", "OIDC_ENABLED", "SECRET_KEY", "TEST")}))
"""
PRODUCTION = {
    "APPORTION_SECRET_KEY": "k" * 50,
    "DATABASE_URL": "postgresql://web@db.example:5433/apportion",
    "REDIS_URL": "redis://cache.example:6379/0",
}


def run(
    tmp_path: Path, *arguments: str, environment: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """A Python process with no variable of ours but these."""
    ours = ("APPORTION_", "DATABASE_", "REDIS_", "DJANGO_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=BASE_DIR,
        env={
            **kept,
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "APPORTION_VAR_DIR": str(tmp_path),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_production_is_closed_by_default(tmp_path: Path) -> None:
    result = run(tmp_path, "-c", SHOW, environment=PRODUCTION)
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == {
        "DEBUG": False,
        "SESSION_COOKIE_SECURE": True,
        "CSRF_COOKIE_SECURE": True,
        "SECURE_SSL_REDIRECT": True,
        "SECURE_HSTS_SECONDS": 365 * 86400,
        "ALLOWED_HOSTS": ["localhost", "127.0.0.1", "[::1]"],
        "OIDC_ENABLED": False,
        "SECRET_KEY": "k" * 50,
        "TEST": False,
    }


def test_a_database_without_a_secret_is_refused(tmp_path: Path) -> None:
    environment = {**PRODUCTION, "APPORTION_SECRET_KEY": ""}
    result = run(tmp_path, "-c", SHOW, environment=environment)
    assert result.returncode != 0
    assert "Set APPORTION_SECRET_KEY to a random secret" in result.stderr


def test_the_demo_secret_is_not_used_with_another_database(tmp_path: Path) -> None:
    (tmp_path / "secret_key").write_text("d" * 50)
    environment = {**PRODUCTION, "APPORTION_SECRET_KEY": ""}
    assert run(tmp_path, "-c", SHOW, environment=environment).returncode != 0


def test_nothing_is_served_without_a_database(tmp_path: Path) -> None:
    result = run(tmp_path, "-c", "import config.wsgi", environment={})
    assert "No database: run `make demo`, or set DATABASE_URL." in result.stderr


def test_migrate_without_a_database_says_so(tmp_path: Path) -> None:
    result = run(tmp_path, "manage.py", "migrate", environment={})
    assert result.returncode != 0
    assert "There is no database." in result.stderr


def test_single_sign_on_needs_a_client(tmp_path: Path) -> None:
    environment = {**PRODUCTION, "APPORTION_OIDC_SERVER_URL": "https://id.example"}
    result = run(tmp_path, "-c", SHOW, environment=environment)
    assert "Set APPORTION_OIDC_CLIENT_ID" in result.stderr


def test_address_parts() -> None:
    entry = database_settings(
        "postgresql://ana:p%40ss@db.example:5433/shares?sslmode=require",
        variable="DATABASE_URL",
        common={},
    )
    assert (entry["USER"], entry["PASSWORD"], entry["HOST"], entry["PORT"], entry["NAME"]) == (
        "ana",
        "p@ss",
        "db.example",
        "5433",
        "shares",
    )
    assert entry["OPTIONS"]["sslmode"] == "require"


@pytest.mark.parametrize("url", ["mysql://x/y", "postgresql://db.example", "nonsense"])
def test_bad_address_names_the_variable(url: str) -> None:
    with pytest.raises(Exception, match="DATABASE_URL"):
        database_settings(url, variable="DATABASE_URL", common={})


def test_one_login_steps_down_to_the_application_role() -> None:
    both = aliases("postgresql://root@h/d?options=-c%20jit%3Doff", None, common={})
    assert both["default"]["OPTIONS"]["options"] == "-c jit=off -c role=apportion_app"
    assert both["owner"]["OPTIONS"]["options"] == "-c jit=off"


def test_two_logins_stay_what_they_are() -> None:
    both = aliases("postgresql://app@h/d", "postgresql://boss@h/d", common={})
    assert "options" not in both["default"]["OPTIONS"]
    assert both["owner"]["USER"] == "boss"
