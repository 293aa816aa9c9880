"""The sweeper: every organization on its own, late or doubled without harm."""

from datetime import UTC, datetime, timedelta

import pytest

from ledger import verification
from quota import tasks

pytestmark = pytest.mark.django_db(transaction=True)


def test_what_lapsed_long_ago_is_ended_once(jobs, quotas):
    quotas.set("nlp", 10)
    then = datetime.now(UTC) - timedelta(hours=1)
    jobs.admit(jobs.ask("a"), now=then)
    tasks.settle_allocations_of(str(jobs.place.id))
    tasks.settle_allocations_of(str(jobs.place.id))
    ((state, ended_at),) = jobs.rows("state, ended_at")
    assert (state, ended_at) == ("expired", then + timedelta(minutes=5))
    assert jobs.holding("nlp") == (0, 0, 0)
    assert verification.verify(jobs.place.id).findings == []
