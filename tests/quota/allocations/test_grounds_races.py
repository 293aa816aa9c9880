"""Admissions that decide on what they keep while others change it: what commits before they decide
counts, in every interleaving."""

import random
import threading
import time
from collections.abc import Iterator
from functools import partial

import pytest

from ledger import projection, scope, store, verification
from quota import wire
from quota.commands.admissions import AdmitBatch
from quota.commands.allocations import ReleaseAllocations
from quota.commands.quotas import SetQuota
from tenancy.commands.accounts import ArchiveAccount, MoveAccount, RenameAccount
from tests.ledger.sample import together
from tests.quota.allocations.grounds_kept import Process
from tests.world import Tenant

pytestmark = pytest.mark.django_db(transaction=True)
ADMITTERS = 8
CHANGES = 24
MOST, LEAST = 40, 6


def ask(account: str = "nlp", units: int = 8, **values) -> wire.Ask:
    values = {"key": "j", "person": "bob", "pool": "h100"} | values
    return wire.Ask(account=account, units=units, **values)


def guarantee(place: Tenant, units: int) -> None:
    ids = {"account_id": place.accounts["nlp"], "pool_id": place.pools["h100"]}
    place.run(SetQuota(guaranteed=units, **ids), reason="test")


@pytest.fixture
def here(acme, jobs) -> Iterator[Process]:
    """The only process; nlp has 40 of 100 units in h100."""
    guarantee(acme, MOST)
    process = Process(jobs)
    with process.at_work():
        yield process


def wait_until_somebody_waits(owner) -> None:
    for _ in range(400):
        owner.execute("SELECT pg_stat_clear_snapshot()")
        [waiting] = owner.execute(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND wait_event_type = 'Lock'"
        ).fetchone()
        if waiting:
            return
        time.sleep(0.02)
    raise AssertionError("nobody waits")


def archive_vision(place: Tenant) -> None:
    place.run(ArchiveAccount(account_id=place.accounts["vision"]))


def move_vision(place: Tenant) -> None:
    """Below one that may not borrow."""
    ids = place.accounts
    place.run(MoveAccount(account_id=ids["vision"], to_parent_id=ids["production"]))


WAITED_FOR = {
    "a guarantee": (
        partial(guarantee, units=LEAST),
        *(ask(units=MOST, tier="guaranteed"), "guaranteed 40"),
        "denied by guarantee, guarantees",
    ),
    "a place in the tree": (
        move_vision,
        *(ask("vision"), "borrowed 8", "denied by borrowing_limit"),
    ),
    "an end": (
        archive_vision,
        *(ask("vision"), "borrowed 8", "invalid: account_archived"),
    ),
}


@pytest.mark.parametrize("what", WAITED_FOR)
def test_what_commits_while_the_pool_is_waited_for_counts(
    acme, here, quotas, owner, monkeypatch, what
):
    change, asked, before, then = WAITED_FOR[what]
    quotas.set("production", 0, borrowing_limit=0)
    assert here.would(asked) == before
    decided, done = threading.Event(), threading.Event()
    apply = projection.apply

    def slowly(events):
        if not decided.is_set():
            decided.set()
            assert done.wait(timeout=20)
        apply(events)

    def admit():
        assert decided.wait(timeout=20)
        return here.would(asked)

    def let_go():
        assert decided.wait(timeout=20)
        wait_until_somebody_waits(owner)
        done.set()

    monkeypatch.setattr(projection, "apply", slowly)
    answers = together([partial(change, acme), admit, let_go])
    assert answers == [None, then, None]


def test_a_name_that_changes_while_it_is_read_is_not_kept(acme, here, owner):
    """Names as they were and as they are may meet in one answer; they do not in the next."""
    here.would(ask("vision"))
    unknown_person = ask("vision", person="alice")
    assert here.knows(ask("vision")) and not here.knows(unknown_person)
    is_locked = threading.Event()

    def rename():
        with owner.transaction():
            # Accounts are read together with people, behind the head of the lane.
            owner.execute("LOCK TABLE tenancy_person IN ACCESS EXCLUSIVE MODE")
            is_locked.set()
            wait_until_somebody_waits(owner)
            vision = acme.accounts["vision"]
            acme.run(RenameAccount(account_id=vision, name="sight", description=""))

    def admit():
        assert is_locked.wait(timeout=20)
        return here.would(unknown_person)

    answers = together([rename, admit])
    # Either is true at some instant while it was decided.
    assert answers in ([None, "invalid: account_unknown"], [None, "borrowed 8"])
    assert here.would(ask("vision")) == "invalid: account_unknown"
    assert here.would(ask("sight", person="alice")) == "borrowed 8"


def guaranteed_beyond(place: Tenant) -> tuple[list[int], int, int]:
    """By the whole ledger in order: units guaranteed beyond what was promised when they were held;
    how many were held, and how often the guarantee changed."""
    nlp, promised, in_use, tiers = place.accounts["nlp"], 0, 0, {}
    beyond, held, changes = [], 0, 0
    with scope.snapshot(place.id):
        until = {lane: seq for lane, (seq, _) in store.heads(place.id).items()}
        for event in store.replay(place.id, after={}, until=until):
            match event.data.event_type:
                case "quota.set" if event.data.account_id == nlp:
                    promised = event.data.quota.guaranteed
                    changes += 1
                case "allocation.held":
                    assert event.data.tier == "guaranteed"
                    tiers[event.data.allocation_id] = event.data.units
                    in_use += event.data.units
                    held += 1
                    beyond += [in_use - promised] if in_use > promised else []
                case "allocation.released":
                    in_use -= tiers.pop(event.data.allocation_id)
    return beyond, held, changes


def test_no_guarantee_is_given_that_is_not_in_force(acme, here):
    """One raises and lowers it all the time, eight ask for it all the time."""
    is_over = threading.Event()

    def change():
        try:
            for number in range(CHANGES):
                guarantee(acme, (LEAST, MOST)[number % 2])
                time.sleep(0.02)
        finally:
            is_over.set()

    def admit(number: int) -> set[str]:
        dice, told = random.Random(number), set()
        for step in range(1_000):
            if is_over.is_set():
                break
            asked = ask(units=dice.randint(2, 12), key=f"{number}-{step}", tier="guaranteed")
            [result] = acme.run(AdmitBatch(requests=(asked,))).result.results
            told.add(result.status)
            if result.status == "admitted":
                message = wire.ReleaseMessage(key=asked.key)
                acme.run(ReleaseAllocations(messages=(message,)))
        return told

    answers = together([change, *(partial(admit, number) for number in range(ADMITTERS))])
    assert answers[0] is None
    assert set().union(*answers[1:]) == {"admitted", "denied"}
    beyond, held, changes = guaranteed_beyond(acme)
    assert beyond == []
    assert changes == CHANGES + 1
    assert held > CHANGES
    assert here.knows(ask()), "all were decided on what is kept"
    assert verification.verify(acme.id).findings == []
