"""The test databases themselves: role, isolation, and what a transactional test leaves behind."""

import psycopg
import pytest
from django.contrib.auth import get_user_model
from django.db import connection

from ledger.management.commands.migrate import MAY_TAKE, PREPARE


@pytest.mark.django_db
def test_tests_run_under_the_application_role() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_user, rolsuper OR rolbypassrls FROM pg_roles"
            " WHERE rolname = current_user"
        )
        assert cursor.fetchone() == ("apportion_app", False)


@pytest.mark.django_db
def test_the_application_role_owns_nothing() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT relname FROM pg_class WHERE relowner = 'apportion_app'::regrole")
        assert cursor.fetchall() == []


@pytest.mark.parametrize("turn", [1, 2])
@pytest.mark.django_db(transaction=True)
def test_a_transactional_test_starts_from_the_template(turn: int) -> None:
    users = get_user_model().objects
    assert users.count() == 0
    users.create(email="ana@example.org")


def test_owner_is_not_bound_by_row_level_security(owner: psycopg.Connection) -> None:
    row = owner.execute(
        "SELECT rolbypassrls OR rolsuper FROM pg_roles WHERE rolname = current_user"
    ).fetchone()
    assert row == (True,)


@pytest.mark.parametrize("grant", ["ADMIN TRUE, INHERIT FALSE, SET FALSE", None])
@pytest.mark.django_db
def test_a_login_that_may_only_create_roles_may_take_on_the_role_it_made(
    owner: psycopg.Connection, grant: str | None
) -> None:
    """From PostgreSQL 16 on, whoever makes a role has it WITH ADMIN, and no more."""
    if owner.info.server_version < 160000:
        pytest.skip("making a role gives all rights on it before PostgreSQL 16")
    with owner.transaction(force_rollback=True):
        owner.execute("CREATE ROLE creator LOGIN CREATEROLE")
        if grant is not None:
            owner.execute(f"GRANT apportion_app TO creator WITH {grant}")
        owner.execute("SET LOCAL SESSION AUTHORIZATION creator")
        if grant is None:
            with pytest.raises(psycopg.errors.InsufficientPrivilege), owner.transaction():
                owner.execute(PREPARE)
            assert owner.execute(f"SELECT {MAY_TAKE}").fetchone() == (False,)
        else:
            assert owner.execute(f"SELECT {MAY_TAKE}").fetchone() == (False,)
            owner.execute(PREPARE)
            assert owner.execute(f"SELECT {MAY_TAKE}").fetchone() == (True,)
            owner.execute("SET LOCAL ROLE apportion_app")
