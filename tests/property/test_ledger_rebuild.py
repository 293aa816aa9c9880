"""Whatever commands come in whatever order, verify is clean and a rebuild gives the same rows."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounting.commands.fairshare import ResetFairshare, SetFairsharePolicy
from accounting.commands.usage import SettleUsage
from ledger import rebuild, scope, verification
from ledger.commands import RecordLaneHeads
from ledger.errors import DomainError
from ledger.execution import Context, execute
from ledger.sql import server_cursor
from ledger.types import SYSTEM
from quota.commands.pools import SetFlavorWeight
from tenancy.commands.accounts import ArchiveAccount, MoveAccount, RenameAccount, SetAccountShares
from tenancy.commands.people import EndAssociation, GrantRole, RevokeRole, SetAssociation
from tests import world
from tests.ledger.sample import Note, machine
from tests.world import NOW, record

ACCOUNTS = ("research", "production", "nlp", "vision", "serving")
PEOPLE = ("alice", "bob", "otto", "uma")

accounts = st.sampled_from(ACCOUNTS)
people = st.sampled_from(PEOPLE)
shares = st.none() | st.integers(0, 100)
keys = st.sampled_from([f"k{n}" for n in range(12)])
hours = st.none() | st.sampled_from([0, 0.25, 1, 7.3, 30])
records = st.lists(
    st.builds(
        lambda key, **values: record(key, **values),
        key=keys,
        account=accounts,
        person=people,
        units=st.integers(1, 9),
        hours=hours,
        start=st.integers(0, 60).map(lambda n: NOW - timedelta(hours=n)),
        supersedes=st.none() | keys,
        supersedes_optional=st.booleans(),
        compute_util=st.none() | st.sampled_from([0.0, 0.5, 1.0]),
    ),
    min_size=1,
    max_size=6,
)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("use"), records),
        st.tuples(st.just("policy"), st.sampled_from([1, 24, 168])),
        st.tuples(st.just("reset"), st.just(None)),
        st.tuples(st.just("settle"), st.integers(0, 40)),
        st.tuples(st.just("move"), accounts, accounts),
        st.tuples(st.just("rename"), accounts, st.sampled_from(["x", "y", *ACCOUNTS])),
        st.tuples(st.just("weigh"), accounts, shares),
        st.tuples(st.just("archive"), accounts),
        st.tuples(st.just("join"), accounts, people, shares),
        st.tuples(st.just("leave"), accounts, people),
        st.tuples(st.just("grant"), accounts, people, st.sampled_from(["lead", "member"])),
        st.tuples(st.just("revoke"), accounts, people, st.sampled_from(["lead", "member"])),
        st.tuples(st.just("flavor"), st.integers(0, 9)),
        st.tuples(st.just("note"), st.booleans()),
        st.tuples(st.just("heads"), st.just(None)),
    ),
    max_size=14,
)


def command(place, step):
    """The command that a drawn step stands for."""
    names = place.accounts | place.people
    kind, *given = step
    ids = [names.get(value, value) if isinstance(value, str) else value for value in given]
    match kind:
        case "policy":
            return SetFairsharePolicy(
                algorithm="classic", half_life_seconds=ids[0] * 3600, weights={}, boosts={}
            )
        case "reset":
            return ResetFairshare()
        case "settle":
            return SettleUsage(until=NOW + timedelta(hours=ids[0]))
        case "move":
            return MoveAccount(account_id=ids[0], to_parent_id=ids[1])
        case "rename":
            return RenameAccount(account_id=ids[0], name=given[1], description=given[1])
        case "weigh":
            return SetAccountShares(account_id=ids[0], shares=ids[1])
        case "archive":
            return ArchiveAccount(account_id=ids[0])
        case "join":
            return SetAssociation(account_id=ids[0], person_id=ids[1], shares=ids[2])
        case "leave":
            return EndAssociation(account_id=ids[0], person_id=ids[1])
        case "grant":
            return GrantRole(account_id=ids[0], person_id=ids[1], role=ids[2])
        case "revoke":
            return RevokeRole(account_id=ids[0], person_id=ids[1], role=ids[2])
        case "flavor":
            return SetFlavorWeight(flavor_id=flavor(place), weight=Decimal(ids[0]))
        case "heads":
            return RecordLaneHeads()
    raise AssertionError(kind)


def flavor(place):
    with scope.reading(place.id), server_cursor() as cursor:
        return cursor.execute("SELECT flavor_id FROM quota_pool ORDER BY id LIMIT 1").fetchone()[0]


def take(place, number: int, step) -> None:
    now = NOW + timedelta(hours=number)
    try:
        if step[0] == "use":
            place.use(*step[1], now=now)
        elif step[0] == "note":
            pool = place.pools["h100"] if step[1] else None
            note = Note(note_id=place.id, lines=("a", "b"), pool_id=pool)
            execute(note, Context(organization_id=place.id, actor=machine(1), now=now))
        else:
            context = Context(organization_id=place.id, actor=SYSTEM, now=now, reason="test")
            execute(command(place, step), context)
    except DomainError:
        pass  # a rule said no: also a history


@pytest.fixture
def place(db):
    return world.acme()


@given(steps=steps)
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_any_history_verifies_and_rebuilds_to_the_same_rows(place, steps):
    mark = transaction.savepoint()
    try:
        for number, step in enumerate(steps):
            take(place, number, step)
        assert verification.verify(place.id).findings == []
        assert rebuild.rebuild(place.id).differences == ()
    finally:
        transaction.savepoint_rollback(mark)
