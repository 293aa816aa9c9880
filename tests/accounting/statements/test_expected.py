"""What will be adjusted when a month closes is seen before: the same lines, in no sum."""

from datetime import date, timedelta

import pytest

from accounting.queries import expected
from ledger import scope
from tests.accounting.statements.test_close import NOVEMBER, close
from tests.accounting.statements.test_rating import DAY, LATER, OCTOBER, START
from tests.accounting.statements.test_showback import shown
from tests.world import NOW, record

DECEMBER = date(2026, 12, 1)
AFTER = NOW + 5 * DAY


@pytest.fixture
def late(place):
    """October is closed; four days on, ten more hours of it are told of."""
    close(place)
    place.use(record("late", units=8, hours=10, start=START + 20 * DAY), now=LATER + 4 * DAY)
    return place


def asked(place, account="nlp", first=NOVEMBER, now=NOW):
    found = shown(place, account, first, now=now)
    with scope.reading(place.id):
        return found, expected.expected_adjustments(place.id, found, now=now)


def test_what_comes_late_is_seen_before_the_close_and_is_in_no_sum(late):
    found, more = asked(late)
    assert more.months == (OCTOBER,)
    assert {line.key.kind for line in more.lines} >= {"usage"}
    assert not any(line.adjusts for line in found.lines)
    others = asked(late, "serving")[1]
    assert others.lines == () and others.months == ()


def test_the_close_adds_exactly_what_was_expected(late):
    more = asked(late, "root", now=AFTER)[1]
    assert more.lines
    close(late, NOVEMBER, now=AFTER)
    closed = shown(late, "root", NOVEMBER, now=AFTER)
    assert [line for line in closed.lines if line.adjusts] == list(more.lines)
    assert asked(late, "root", now=AFTER)[1].lines == ()


def test_only_the_month_that_closes_next_expects_any(late):
    assert asked(late, first=DECEMBER, now=AFTER)[1].lines == ()
    assert asked(late, first=OCTOBER)[1].lines == ()


def test_before_the_first_close_nothing_is_expected(place):
    place.use(record("x", units=8, hours=1, start=START), now=LATER + timedelta(days=1))
    assert asked(place)[1].lines == ()
