"""Two writers and the last units of a pool: exactly one gets them."""

from functools import partial

import pytest

from ledger import scope, verification
from ledger.execution import Context, execute
from ledger.types import SYSTEM
from quota.commands.pools import ResizePool
from quota.commands.quotas import SetQuota
from quota.queries import quotas as queries
from tenancy.commands.accounts import ArchiveAccount, MoveAccount
from tests import world
from tests.races import became
from tests.world import NOW, Tenant


@pytest.fixture
def place(transactional_db) -> Tenant:
    return world.acme()


def at_once(place: Tenant, *commands) -> list[str]:
    """What became of commands that start together."""
    context = Context(organization_id=place.id, actor=SYSTEM, now=NOW, reason="race")

    def run(command) -> str:
        execute(command, context)
        return "done"

    return became(partial(run, command) for command in commands)


def grant(place: Tenant, account: str, units: int, carve: str | None = None) -> SetQuota:
    return SetQuota(
        account_id=place.accounts[account],
        pool_id=place.pools["h100"],
        guaranteed=units,
        carve_from_id=place.accounts[carve] if carve else None,
    )


def promised(place: Tenant) -> int:
    with scope.reading(place.id):
        return next(
            one.promise.promised
            for one in queries.promises(place.id, now=NOW)
            if one.pool.name == "h100"
        )


def test_the_last_units_are_given_once(place):
    place.run(grant(place, "production", 40), reason="test")
    answers = at_once(place, grant(place, "nlp", 60), grant(place, "vision", 60))
    assert sorted(answers) == ["done", "promise_exceeded"]
    assert promised(place) == 100


def test_the_last_units_of_a_lender_are_given_once(place):
    place.run(grant(place, "research", 50), reason="test")
    carve = [grant(place, name, 30, "research") for name in ("nlp", "vision")]
    assert sorted(at_once(place, *carve)) == ["carve_exceeded", "done"]
    assert promised(place) == 50


def test_a_pool_shrinks_or_its_units_are_given(place):
    shrink = ResizePool(pool_id=place.pools["h100"], capacity=50)
    assert sorted(at_once(place, grant(place, "nlp", 60), shrink)) == ["done", "promise_exceeded"]


def test_the_tree_and_its_quotas_change_at_once_without_deadlock(place):
    """Whatever wins: nothing hangs, nothing is archived with a guarantee, the ledger is whole."""
    nlp = place.accounts["nlp"]
    for round_ in range(3):
        answers = at_once(
            place,
            grant(place, "nlp", 5 + round_),
            MoveAccount(account_id=nlp, to_parent_id=place.accounts["production"]),
            grant(place, "vision", 5 + round_, None),
            ArchiveAccount(account_id=place.accounts["vision"]),
            MoveAccount(account_id=nlp, to_parent_id=place.accounts["research"]),
        )
        assert set(answers) <= {"done", "quota_held", "account_archived"}
        assert "done" in answers
    with scope.reading(place.id):
        held = {
            row.account for row in queries.quotas_of_pool(place.id, place.pools["h100"], now=NOW)
        }
    assert verification.verify(place.id).clean
    assert "nlp" in held
