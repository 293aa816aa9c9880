"""Whatever is asked of a pool in whatever order: it never promises what it cannot keep."""

from datetime import timedelta

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger import scope, verification
from ledger.errors import DomainError
from quota.commands.plans import ApplyQuotaPlan
from quota.commands.pools import ResizePool, SetSafetyMargin, SetUnavailable
from quota.commands.quotas import EndQuota, SetQuota, SettleQuotas
from quota.domain.changes import QuotaBook, Scheduled, Wish
from quota.domain.values import Pool, Quota
from quota.importers.plan import QuotaEntry, QuotaPlan
from quota.queries import quotas as queries
from tenancy.commands.accounts import ArchiveAccount, MoveAccount
from tests import world
from tests.world import NOW

ABOVE = {
    "root": (),
    "research": ("root",),
    "production": ("root",),
    "nlp": ("root", "research"),
    "vision": ("root", "research"),
    "serving": ("root", "production"),
}
HOUR = timedelta(hours=1)

accounts = st.sampled_from(list(ABOVE))
amounts = st.integers(0, 120)
hours = st.none() | st.integers(1, 6)
wishes = st.tuples(accounts, amounts, st.none() | accounts, hours, hours)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("set"), wishes),
        st.tuples(st.just("set"), wishes),
        st.tuples(st.just("end"), accounts),
        st.tuples(st.just("wait"), st.integers(1, 4)),
        st.tuples(st.just("settle"), st.none()),
        st.tuples(st.just("plan"), st.dictionaries(accounts, amounts, max_size=4)),
        st.tuples(st.just("capacity"), amounts),
        st.tuples(st.just("margin"), st.integers(0, 20)),
        st.tuples(st.just("unavailable"), st.integers(0, 40)),
        st.tuples(st.just("move"), st.tuples(accounts, accounts)),
        st.tuples(st.just("archive"), accounts),
    ),
    max_size=14,
)


def ends(start, starts_in, lasts):
    """When a wish begins and ends."""
    begin = start + starts_in * HOUR if starts_in else None
    return begin, (begin or start) + lasts * HOUR if lasts else None


@settings(max_examples=150, deadline=None)
@given(steps)
def test_a_book_never_promises_more_than_before_beyond_what_it_can_keep(sequence):
    """Grants alone: the sum never passes the pool, ends and due changes included, and settling in
    one go or step by step comes to the same."""
    book = QuotaBook(pool=Pool(name="h100", capacity=100), cells={}, path=ABOVE.__getitem__)
    pending: list[Scheduled] = []
    now = NOW
    for number, (kind, value) in enumerate(sequence):
        before = book.promise().promised
        try:
            if kind == "set":
                account, units, lender, starts_in, lasts = value
                begin, end = ends(now, starts_in, lasts)
                wish = Wish(
                    account=account, quota=Quota(guaranteed=units), lender=lender, ends_at=end
                )
                if begin:
                    pending.append(Scheduled(id=number, starts_at=begin, wish=wish))
                else:
                    book.set(wish, at=now)
            elif kind == "end":
                book.end(value, at=now)
            elif kind == "plan":
                book.set_all({one: Quota(guaranteed=n) for one, n in value.items()}, at=now)
            elif kind == "wait":
                there = now + value * HOUR
                at_once = QuotaBook(pool=book.pool, cells=dict(book.cells), path=book.path)
                at_once.settle(pending, now=there)
                while now < there:
                    now += HOUR / 2
                    book.settle(pending, now=now)
                    pending = [one for one in pending if one.starts_at > now]
                assert at_once.cells == book.cells
        except DomainError:
            assert book.promise().promised == before, "refused is untouched"
        assert book.promise().holds
        assert all(
            min(cell.quota.guaranteed, cell.base.guaranteed) >= 0 for cell in book.cells.values()
        )


def command(place, kind, value, now):
    pool = place.pools["h100"]
    of = place.accounts
    match kind:
        case "set":
            account, units, lender, starts_in, lasts = value
            begin, end = ends(now, starts_in, lasts)
            return SetQuota(
                account_id=of[account],
                pool_id=pool,
                guaranteed=units,
                carve_from_id=of[lender] if lender else None,
                effective_at=begin,
                ends_at=end,
            )
        case "end":
            return EndQuota(account_id=of[value], pool_id=pool)
        case "plan":
            entries = tuple(
                QuotaEntry(account=name, pool="h100", quota=Quota(guaranteed=units))
                for name, units in value.items()
            )
            return ApplyQuotaPlan(plan=QuotaPlan(quotas=entries))
        case "capacity":
            return ResizePool(pool_id=pool, capacity=value)
        case "margin":
            return SetSafetyMargin(pool_id=pool, safety_margin=value)
        case "unavailable":
            return SetUnavailable(pool_id=pool, unavailable=value)
        case "move":
            return MoveAccount(account_id=of[value[0]], to_parent_id=of[value[1]])
        case "archive":
            return ArchiveAccount(account_id=of[value])
    return SettleQuotas()


def promise(place, now):
    with scope.reading(place.id):
        return next(
            one.promise for one in queries.promises(place.id, now=now) if one.pool.name == "h100"
        )


@pytest.fixture
def place(db):
    return world.acme()


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(sequence=steps)
def test_no_sequence_of_commands_adds_to_an_over_promise(place, sequence):
    """Units fail whatever we promised. Nothing else ever makes or deepens an over-promise, a reader
    sees what settling would record, and the ledger is whole."""
    mark = transaction.savepoint()
    try:
        now, over = NOW, 0
        for kind, value in sequence:
            if kind == "wait":
                now += value * HOUR
            else:
                try:
                    place.run(command(place, kind, value, now), now=now, reason="property")
                except DomainError:
                    pass  # a rule said no
            found = promise(place, now).over_promised_by
            assert kind == "unavailable" or found <= over, (kind, value)
            over = found
        now += 9 * HOUR
        seen = promise(place, now)
        place.run(SettleQuotas(), now=now)
        assert promise(place, now) == seen
        assert verification.verify(place.id).findings == []
    finally:
        transaction.savepoint_rollback(mark)
