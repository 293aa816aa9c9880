"""kill -9 between any two steps of a run or of a decision leaves a state that is whole, and who
asks again gets the same answer: nothing is taken, given back or handed up twice."""

from collections.abc import Iterator

import pytest

from ledger import verification
from tests import killing
from tests.database import TestDatabase
from tests.killing import STEPS_MAX, Victim
from tests.preemption.reclaim.conftest import Reclaim
from tests.preemption.reclaim.killed import CALLS

pytestmark = pytest.mark.django_db(transaction=True)
UNITS = 2
BEFORE = {"watch": (), "demote": ("watch",)}
STATES = {"watch": "watched", "demote": "demoted", "restore": "restored", "return": "returned"}


@pytest.fixture
def victim(test_database: TestDatabase) -> Iterator[Victim]:
    with killing.victim(test_database, "tests.preemption.reclaim.killed") as found:
        yield found


def again(reclaim: Reclaim, name: str, number: int):
    """The same command under the same key."""
    return killing.again(reclaim.place, CALLS, name, number)


@pytest.mark.slow
@pytest.mark.parametrize("name", list(CALLS))
def test_killed_before_any_step(reclaim, victim, name):
    reclaim.rule()
    replayed = []
    for steps in range(1, STEPS_MAX):
        team = f"team{steps}"
        reclaim.place.account(team, under="research")
        reclaim.promise(team, UNITS)
        for step in BEFORE.get(name, ("watch", "demote")):
            again(reclaim, step, steps)
        before = reclaim.standing(team)
        survived = victim.run(reclaim.place.id, name, steps, steps)
        assert verification.verify(reclaim.place.id).findings == [], steps
        left = reclaim.standing(team)
        first, second = again(reclaim, name, steps), again(reclaim, name, steps)
        assert second.replayed and first.result == second.result, steps
        # All of it had happened, or nothing.
        assert first.replayed == (left != before), steps
        replayed.append(first.replayed)
        assert reclaim.state(team) == STATES[name]
        if survived:
            break
    assert survived, "more steps than expected"
    assert replayed == sorted(replayed) and replayed.count(True) >= 2
    promised = {
        "watch": (UNITS, None),
        "demote": (0, None),
        "restore": (UNITS, None),
        "return": (0, steps * UNITS),
    }[name]
    for number in range(1, steps + 1):
        assert reclaim.quota(f"team{number}")[0] == promised[0], number
    if promised[1] is not None:
        assert reclaim.quota("research")[0] == promised[1]
    assert verification.verify(reclaim.place.id).findings == []
