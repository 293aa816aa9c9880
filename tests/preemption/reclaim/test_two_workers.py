"""Several workers run one rule at once: one effect; the ledger is clean."""

from datetime import timedelta
from functools import partial

import pytest

from ledger import verification
from tests.ledger.sample import together
from tests.world import NOW

pytestmark = pytest.mark.django_db(transaction=True)


def test_runs_at_once_have_one_effect(reclaim):
    reclaim.promise("nlp", 40)
    reclaim.promise("vision", 20)
    reclaim.rule()
    for later, name in ((0, "watched"), (24, "demoted")):
        now = NOW + timedelta(hours=later)
        told = together([partial(reclaim.run, now)] * 4)
        assert sum(getattr(one, name) for one in told) == 2
    assert (reclaim.quota()[0], reclaim.quota("vision")[0]) == (0, 0)
    assert reclaim.standing().demotions == 1
    assert verification.verify(reclaim.place.id).clean
