"""Four workers do everything at the same instant: each notice is made once and mailed once."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core import mail

from ledger import scope
from ledger.sql import server_cursor
from notices import letters, reading
from quota.commands.quotas import SetQuota
from tests import world
from tests.ledger.sample import together
from tests.notices.test_mails import states, tell
from tests.notices.test_reading import told
from tests.world import NOW, Tenant

WORKERS = 4


@pytest.fixture
def place(transactional_db) -> Tenant:
    it = world.acme()
    for units in (10, 20, 30):
        command = SetQuota(
            account_id=it.accounts["nlp"],
            pool_id=it.pools["h100"],
            guaranteed=units,
            ends_at=NOW + timedelta(days=20) if units == 30 else None,
        )
        it.run(command, reason="test")
    return it


def at_once(work: Callable[[], object]) -> None:
    """Do the same in WORKERS threads that start together; an error of one is an error of all."""
    for outcome in together([work] * WORKERS):
        if isinstance(outcome, Exception):
            raise outcome


def test_events_are_told_once(place):
    at_once(lambda: reading.read_events(place.id, now=NOW))
    reading.read_events(place.id, now=NOW)
    assert len(told(place, "alice")) == 3


def test_events_are_told_once_also_when_the_cursor_is_set_back_meanwhile(place):
    def again() -> None:
        with scope.writing(place.id), server_cursor() as cursor:
            cursor.execute("DELETE FROM ledger_reader WHERE reader = 'notices'")
        reading.read_events(place.id, now=NOW)

    at_once(again)
    assert len(told(place, "alice")) == 3
    assert len(states(place)) == 3


def test_reminders_are_made_once(place):
    at_once(lambda: reading.remind(place.id, now=NOW + timedelta(days=18)))
    assert len(told(place, "alice", "quota.ending")) == 1


def test_each_letter_is_sent_once(place):
    for name in ("alice", "bob", "otto", "uma"):
        tell(place, name, *(f"notice {number} of {name}" for number in range(5)))
    at_once(lambda: letters.send_due(place.id, clock=lambda: NOW))
    letters.send_due(place.id, clock=lambda: NOW)
    assert set(states(place)) == {"sent"}
    text = "\n".join(letter.body for letter in mail.outbox)
    for name in ("alice", "bob", "otto", "uma"):
        for number in range(5):
            assert text.count(f"notice {number} of {name}\n") == 1
    ids = [letter.extra_headers["Message-ID"] for letter in mail.outbox]
    assert len(set(ids)) == len(ids)
