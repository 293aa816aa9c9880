"""What a process keeps of accounts, people, quotas and times is never used when it is not so any
more: the next admission sees every change at once, whoever made it and however."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from ledger import rebuild, verification
from ledger.commands import RecordLaneHeads
from ledger.ids import new_id
from quota import wire
from quota.commands.policies import SetAdmissionPolicy
from quota.commands.pools import ResizePool, SetReclaimTarget, SetUnavailable
from quota.commands.quotas import CancelScheduledQuota, EndQuota
from tenancy.commands.accounts import ArchiveAccount, MoveAccount, RenameAccount
from tests.quota.allocations.conftest import Jobs, after
from tests.quota.allocations.grounds_kept import Process
from tests.quota.allocations.test_reservations import SetAside
from tests.quota.conftest import Quotas
from tests.world import Tenant

SOON, LATER = after(minutes=1), after(hours=1)


@pytest.fixture
def place(acme, quotas) -> Tenant:
    """In h100, of 100 units, nlp has 40 and may borrow 10, serving has 40; production, above it,
    may not borrow, and vision has no quota."""
    quotas.set("nlp", 40, borrowing_limit=10)
    quotas.set("serving", 40)
    quotas.set("production", 0, borrowing_limit=0)
    return acme


@pytest.fixture
def here(place, jobs) -> Process:
    return Process(jobs)


@pytest.fixture
def there(place, jobs) -> Process:
    """Another one."""
    return Process(jobs)


@dataclass(frozen=True, slots=True)
class Changing:
    """What a change may use."""

    place: Tenant
    quotas: Quotas

    def rename(self, account: str, name: str) -> None:
        id_ = self.place.accounts[account]
        self.place.run(RenameAccount(account_id=id_, name=name, description=""))

    def move(self, account: str, under: str) -> None:
        ids = self.place.accounts
        self.place.run(MoveAccount(account_id=ids[account], to_parent_id=ids[under]))

    def exchange_names(self) -> None:
        for account, name in (("nlp", "x"), ("vision", "nlp"), ("nlp", "vision")):
            self.rename(account, name)

    def in_pool(self, command: type, **values) -> None:
        self.place.run(command(pool_id=self.place.pools["h100"], **values), reason="test")

    def set_aside(self, account: str = "nlp") -> None:
        self.in_pool(
            SetAside,
            id=new_id(),
            account_id=self.place.accounts[account],
            key="theirs",
            units=30,
            free_units=30,
        )


TIMES = {"hold_seconds": 60, "heartbeat_seconds": 60, "interactive_seconds_max": 3600}
Change = Callable[[Changing], object]


def ask(account: str = "nlp", units: int = 8, **values) -> wire.Ask:
    values = {"key": "j", "person": "bob", "pool": "h100"} | values
    return wire.Ask(account=account, units=units, **values)


OWN_45 = ask(units=45, tier="guaranteed")
OWN_40 = ask(units=40, tier="guaranteed")
LENT_50 = ask("vision", 50, tier="borrowed")
SPOT_95 = ask("vision", 95, tier="spot")
SLOW = ask("vision", 30, tier="borrowed", reclaim_seconds=200)

CHANGES: dict[str, tuple[Change, wire.Ask, str, str]] = {
    "a guarantee is raised": (
        lambda it: it.quotas.set("nlp", 50, borrowing_limit=10),
        *(OWN_45, "denied by guarantee", "guaranteed 45"),
    ),
    "a guarantee is lowered": (
        lambda it: it.quotas.set("nlp", 30, borrowing_limit=10),
        *(OWN_40, "guaranteed 40", "denied by guarantee"),
    ),
    "a guarantee is carved out for somebody below": (
        lambda it: it.quotas.set("research", 20) and it.quotas.set("vision", 15, carve="research"),
        *(ask("vision", 15, tier="guaranteed"), "denied by guarantee", "guaranteed 15"),
    ),
    "a borrowing limit is taken away": (
        lambda it: it.quotas.set("nlp", 40, borrowing_limit=0),
        *(ask(units=45), "borrowed 45", "denied by borrowing_limit"),
    ),
    "a lending limit is set": (
        lambda it: it.quotas.set("serving", 40, lending_limit=5),
        *(LENT_50, "borrowed 50", "denied by guarantees"),
    ),
    "a temporary quota begins": (
        lambda it: it.quotas.set("nlp", 50, ends_at=LATER),
        *(OWN_45, "denied by guarantee", "guaranteed 45"),
    ),
    "an account is opened": (
        lambda it: it.place.account("new", under="research"),
        *(ask("new"), "invalid: account_unknown", "borrowed 8"),
    ),
    "an account is renamed to what is asked": (
        lambda it: it.rename("nlp", "language"),
        *(ask("language"), "invalid: account_unknown", "guaranteed 8"),
    ),
    "an account is renamed from what is asked": (
        lambda it: it.rename("nlp", "language"),
        *(ask(), "guaranteed 8", "invalid: account_unknown"),
    ),
    "an account without a quota is renamed": (
        lambda it: it.rename("vision", "sight"),
        *(ask("vision"), "borrowed 8", "invalid: account_unknown"),
    ),
    "two accounts exchange their names": (
        Changing.exchange_names,
        *(OWN_40, "guaranteed 40", "denied by guarantee"),
    ),
    "an account moves below one that may not borrow": (
        lambda it: it.move("vision", "production"),
        *(LENT_50, "borrowed 50", "denied by borrowing_limit"),
    ),
    "an account whose guarantee was lent moves away": (
        lambda it: it.move("serving", "research"),
        *(ask("production", 1), "borrowed 1", "denied by borrowing_limit"),
    ),
    "an account is archived": (
        lambda it: it.place.run(ArchiveAccount(account_id=it.place.accounts["vision"])),
        *(ask("vision"), "borrowed 8", "invalid: account_archived"),
    ),
    "a person is added": (
        lambda it: it.place.person("dora"),
        *(ask(person="dora"), "invalid: person_unknown", "guaranteed 8"),
    ),
    "the times are set": (
        lambda it: it.place.run(SetAdmissionPolicy(lease_seconds=600, **TIMES), reason="test"),
        *(ask(), "guaranteed 8", "guaranteed 8 for 600s"),
    ),
    "the pool shrinks": (
        lambda it: it.in_pool(ResizePool, capacity=90),
        *(SPOT_95, "spot 95", "denied by capacity"),
    ),
    "units of the pool fail": (
        lambda it: it.in_pool(SetUnavailable, unavailable=10),
        *(SPOT_95, "spot 95", "denied by capacity"),
    ),
    "the pool is to come back sooner": (
        lambda it: it.in_pool(SetReclaimTarget, reclaim_target_seconds=100),
        *(SLOW, "borrowed 30", "denied by reclaim_target"),
    ),
    "units are set aside for somebody without a quota": (
        lambda it: it.set_aside("vision"),
        *(ask("nlp", 71, tier="spot"), "spot 71", "denied by capacity"),
    ),
    "units are set aside for another job": (
        Changing.set_aside,
        *(ask("vision", 71, tier="spot"), "spot 71", "denied by capacity"),
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_next_admission_sees_it(place, quotas, here, jobs, name):
    change, asked, before, then = CHANGES[name]
    known = asked if not before.startswith("invalid") else ask()
    here.would(known)
    assert here.knows(known), "there is nothing to be forgotten"
    assert here.would(asked) == before
    change(Changing(place, quotas))
    assert here.would(asked) == then
    assert here.would(asked) == then, "and keeps to it"
    assert here.decide(asked) == Process(jobs).decide(asked)


@pytest.mark.parametrize("name", CHANGES)
def test_the_next_admission_sees_it_for_good(place, quotas, here, name):
    """Not in a dry run, and with nothing asked in between."""
    change, asked, before, then = CHANGES[name]
    here.would(ask())
    here.would(asked)
    change(Changing(place, quotas))
    assert here.admit(asked) == [then]
    assert before != then
    found = verification.verify(place.id).findings
    assert [one for one in found if one.check != "preemption"] == [], "no plan is behind SetAside"


def test_a_temporary_quota_is_over_without_anybody_telling(here, quotas):
    quotas.set("nlp", 50, ends_at=LATER)
    assert here.would(OWN_45) == "guaranteed 45"
    assert here.knows(OWN_45) and here.knows(OWN_45, now=LATER - timedelta(microseconds=1))
    assert not here.knows(OWN_45, now=LATER)
    assert here.would(OWN_45, now=LATER - timedelta(microseconds=1)) == "guaranteed 45"
    assert here.would(OWN_45, now=LATER) == "denied by guarantee"
    assert here.would(OWN_40, now=LATER) == "guaranteed 40"
    assert here.would(OWN_45) == "guaranteed 45", "whose clock is behind is answered as of then"


def test_the_first_of_several_ends_counts(here, quotas):
    quotas.set("serving", 45, ends_at=after(hours=2))
    quotas.set("nlp", 50, ends_at=LATER)
    quotas.set("vision", 5, ends_at=after(hours=3))
    assert here.would(OWN_45) == "guaranteed 45"
    assert here.would(OWN_45, now=LATER) == "denied by guarantee"


def test_a_quota_that_was_ended_early_is_over(place, here, quotas):
    quotas.set("nlp", 50, ends_at=LATER)
    assert here.would(OWN_45) == "guaranteed 45"
    end = EndQuota(account_id=place.accounts["nlp"], pool_id=place.pools["h100"])
    place.run(end, now=SOON, reason="test")
    assert here.would(OWN_45, now=SOON) == "denied by guarantee"


def test_a_change_falls_due_without_anybody_telling(here, quotas):
    quotas.set("nlp", 50, effective_at=LATER)
    assert here.would(OWN_45) == "denied by guarantee"
    assert here.knows(OWN_45, now=LATER), "what is to come is no part of what is kept"
    assert here.would(OWN_45, now=LATER) == "guaranteed 45"
    assert here.would(OWN_45, now=LATER - timedelta(microseconds=1)) == "denied by guarantee"
    assert here.admit(OWN_45, now=LATER) == ["guaranteed 45"]


def test_a_change_that_was_cancelled_does_not_come(place, here, quotas):
    made = quotas.set("nlp", 50, effective_at=LATER).result
    assert here.would(OWN_45) == "denied by guarantee"
    place.run(CancelScheduledQuota(change_id=made.change_id), now=SOON, reason="test")
    assert here.would(OWN_45, now=LATER) == "denied by guarantee"


def test_what_was_set_aside_is_free_when_its_time_is_over(place, quotas, here):
    here.would(ask())
    Changing(place, quotas).set_aside()
    others = ask("vision", 71, tier="spot")
    assert here.would(others, now=after(minutes=9)) == "denied by capacity"
    assert here.would(others, now=after(minutes=10)) == "spot 71"


def test_another_organization_knows_its_own(here, globex):
    here.would(ask())
    theirs = Process(Jobs(globex))
    theirs.kept = here.kept
    asked = ask(person="charlie")
    assert theirs.would(asked) == "denied by guarantees"
    assert here.would(ask()) == "guaranteed 8"


def test_somebody_unknown_holds_units_of_another_process(place, here, there):
    """Without a quota and unasked here: it is no part of what this process keeps."""
    assert here.would(ask()) == "guaranteed 8"
    assert there.admit(ask("vision", 50, key="lent")) == ["borrowed 50"]
    for asked in (ask(units=48), ask(units=41, tier="borrowed"), ask("serving", 41), SPOT_95):
        assert here.decide(asked) == there.decide(asked)
    assert here.would(ask(units=50)) == "denied by guarantees"
    told = here.decide(ask(units=50))[0]
    assert [one["account"] for one in told["relief"][0]["reclaim"]] == ["vision"]
    assert here.admit(ask(units=30, key="mine")) == ["guaranteed 30"]


def test_who_holds_units_and_was_not_known_is_asked_for_by_name(place, here, there):
    place.account("deep", under="vision")
    here.would(ask())
    there.admit(ask("deep", 20, key="lent"))
    assert here.would(ask("deep", 30)) == there.would(ask("deep", 30)) == "borrowed 30"
    assert here.would(ask("vision", 61)) == there.would(ask("vision", 61)) == "denied by guarantees"
    assert here.knows(ask(), ask("deep"), ask("vision")), "all that were asked for are known now"


def test_two_processes_fill_a_guarantee_between_them(here, there):
    tier = {"tier": "guaranteed"}
    assert here.would(ask()) == there.would(ask()) == "guaranteed 8"
    assert here.admit(ask(units=15, key="a", **tier)) == ["guaranteed 15"]
    assert there.admit(ask(units=15, key="b", **tier)) == ["guaranteed 15"]
    assert here.admit(ask(units=11, key="c", **tier)) == ["denied by guarantee"]
    assert here.admit(ask(units=10, key="c", **tier)) == ["guaranteed 10"]
    assert there.admit(ask(units=1, key="d", **tier)) == ["denied by guarantee"]


def test_who_was_not_asked_for_yet_is_looked_up(here):
    here.would(ask())
    assert here.would(ask("vision")) == "borrowed 8"
    assert here.would(ask(person="alice")) == "guaranteed 8"
    assert here.knows(ask("vision", person="alice"), ask())
    assert here.would(ask("vision", person="uma")) == "borrowed 8"


def test_what_does_not_matter_makes_it_read_again_and_decide_the_same(place, here):
    before = here.decide(ask(), ask("vision"))
    place.run(RecordLaneHeads())
    assert here.decide(ask(), ask("vision")) == before


def test_another_history_of_the_same_length_is_another(here, quotas):
    """As after a restore from a backup: numbers of the lane come again, with other events."""
    assert here.would(OWN_45) == "denied by guarantee"
    [(key, ground)] = here.kept._grounds.items()
    seq, remade, hash_ = ground.stamp.split()
    quotas.set("nlp", 50, borrowing_limit=10)
    here.kept.put(key, replace(ground, stamp=f"{int(seq) + 1} {remade} {hash_}"))
    assert here.would(OWN_45) == "guaranteed 45"


TIMES_OF_NOBODY = """
INSERT INTO quota_admissionpolicy SELECT id, 60, 600, 60, 3600, id FROM tenancy_organization
"""
NAMES_EXCHANGED = """
UPDATE quota_pool SET name = 'x' WHERE name = 'h100';
UPDATE quota_pool SET name = 'h100' WHERE name = 'a100';
UPDATE quota_pool SET name = 'a100' WHERE name = 'x'
"""
TAMPERED = {
    "a guarantee": (
        "UPDATE quota_quota SET guaranteed = 60 WHERE guaranteed = 40 AND borrowing_limit = 10",
        *(OWN_45, "guaranteed 45", "denied by guarantee"),
    ),
    "a name": (
        "UPDATE tenancy_account SET name = 'language' WHERE name = 'nlp'",
        *(ask("language"), "guaranteed 8", "invalid: account_unknown"),
    ),
    "an archived account": (
        "UPDATE tenancy_account SET archived_at = now() WHERE name = 'nlp'",
        *(ask(), "invalid: account_archived", "guaranteed 8"),
    ),
    "a person": (
        "UPDATE tenancy_person SET name = 'robert' WHERE name = 'bob'",
        *(ask(person="robert"), "guaranteed 8", "invalid: person_unknown"),
    ),
    "names of pools": (
        NAMES_EXCHANGED,
        *(OWN_40, "denied by guarantee, guarantees", "guaranteed 40"),
    ),
    "the times": (
        TIMES_OF_NOBODY,
        *(ask(), "guaranteed 8 for 600s", "guaranteed 8"),
    ),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_what_was_put_right_without_an_event_is_read_again(place, here, owner, what):
    tampering, asked, wrong, right = TAMPERED[what]
    owner.execute(tampering)
    assert here.would(asked) == wrong
    assert here.knows(asked)
    assert rebuild.rebuild(place.id).differences
    assert here.would(asked) == right
    assert here.would(asked) == right
