"""Notices on pages are looked at by people who are signed in, at the instant of the tests."""

import psycopg
import pytest

from tests.frontend.conftest import browse

__all__ = ("browse",)


@pytest.fixture
def at_noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are made at NOW."""
    from frontend import pages
    from tests.world import NOW

    monkeypatch.setattr(pages, "clock", lambda: NOW)


@pytest.fixture
def statements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is sent to the database by server cursors."""
    sent: list[str] = []
    plain = psycopg.Cursor.execute

    def execute(cursor, query, *args, **kwargs):
        sent.append(str(query))
        return plain(cursor, query, *args, **kwargs)

    monkeypatch.setattr(psycopg.Cursor, "execute", execute)
    return sent
