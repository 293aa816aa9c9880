"""The test databases themselves: role, isolation, and what a transactional test leaves behind."""

import psycopg
import pytest
from django.contrib.auth import get_user_model
from django.db import connection


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
