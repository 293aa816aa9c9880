"""Notices on pages are looked at by people who are signed in, at the instant of the tests."""

import pytest

from tests.frontend.conftest import browse

__all__ = ("browse",)


@pytest.fixture
def at_noon(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages are made at NOW."""
    from frontend import pages
    from tests.world import NOW

    monkeypatch.setattr(pages, "clock", lambda: NOW)
