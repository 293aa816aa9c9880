"""Two who decide at once: one word counts, the other is told, and nothing is half-done."""

from functools import partial

import pytest

from ledger import verification
from ledger.execution import Context, execute
from quota.commands.requests import Submit, Withdraw
from quota.commands.reviews import Approve, Reject
from quota.domain.requests import State
from tests import world
from tests.quota.requests.conftest import Desk, staffed
from tests.races import became
from tests.world import NOW


@pytest.fixture
def desk(transactional_db, known) -> Desk:
    return staffed(world.acme())


def at_once(desk: Desk, *commands) -> list[str]:
    """What became of (who, command) pairs that start together."""

    def run(who: str, command) -> str:
        context = Context(
            organization_id=desk.place.id, actor=desk.place.actor(who), now=NOW, reason="race"
        )
        return str(execute(command, context).result.state)

    return sorted(became(partial(run, *one) for one in commands))


def test_two_approvers_provision_once(desk):
    it = desk.ask("nlp", 60)
    approve = Approve(request_id=it.request_id, expected_version=it.version)
    assert at_once(desk, ("petra", approve), ("rita", approve)) == [
        State.PROVISIONED,
        "request_moved_on",
    ]
    assert desk.quotas.stored() == {"nlp": 60}


def test_two_first_words_are_two_different_ones(desk):
    it = desk.ask("nlp", 100)
    approve = Approve(request_id=it.request_id, expected_version=it.version)
    assert at_once(desk, ("petra", approve), ("rita", approve)) == [
        "stale_version",
        State.SUBMITTED,
    ]
    assert len(desk.request(it).approvals) == 1


def test_the_last_units_go_to_one_of_two_requests(desk):
    one, other = desk.ask("nlp", 60), desk.ask("vision", 60, by="otto")
    answers = at_once(
        desk,
        ("petra", Approve(request_id=one.request_id)),
        ("rita", Approve(request_id=other.request_id)),
    )
    assert answers == ["promise_exceeded", State.PROVISIONED]
    assert {desk.request(it).state for it in (one, other)} == {
        State.SUBMITTED,
        State.PROVISIONED,
    }
    assert sum(desk.quotas.stored().values()) == 60
    assert verification.verify(desk.place.id).clean


def test_yes_no_and_no_longer_at_once(desk):
    it = desk.ask("nlp", 60)
    answers = at_once(
        desk,
        ("petra", Approve(request_id=it.request_id)),
        ("rita", Reject(request_id=it.request_id)),
        ("alice", Withdraw(request_id=it.request_id)),
    )
    assert answers.count("request_moved_on") == 2
    state = desk.request(it).state
    assert desk.quotas.stored() == ({"nlp": 60} if state == State.PROVISIONED else {})


def test_automatic_grants_at_once_do_not_promise_twice(desk):
    desk.quotas.set("production", 70)
    asks = [("otto", Submit(terms=desk.terms(name, 30))) for name in ("nlp", "vision", "research")]
    answers = at_once(desk, *asks)
    assert answers == [State.PROVISIONED, State.SUBMITTED, State.SUBMITTED]
    assert sum(desk.quotas.stored().values()) == 100
