"""Whatever happens to guarantees while jobs run: tiers follow in the same command, conservation
holds, and nothing is left for a sweeper to raise."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ledger import verification
from ledger.errors import DomainError
from quota import wire
from quota.commands.admissions import AdmitBatch
from quota.commands.allocations import ReleaseAllocations
from quota.commands.plans import ApplyQuotaPlan
from quota.commands.pools import ResizePool, SetReclaimTarget
from quota.commands.quotas import EndQuota, SetQuota, SettleQuotas
from quota.commands.settling import SettlePools
from quota.domain import balance
from quota.domain.batch import PoolState
from quota.domain.exposure import demotions
from quota.domain.lifecycle import Allocation, demote
from quota.domain.promotion import promotions
from quota.domain.values import CLASSES, Pool, Quota
from quota.importers.plan import QuotaEntry, QuotaPlan
from tenancy.commands.accounts import MoveAccount
from tests import world
from tests.quota.allocations.conftest import Jobs
from tests.world import NOW

START = datetime(2026, 11, 29, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@st.composite
def guaranteed_jobs(draw: st.DrawFn) -> list[Allocation]:
    """Up to 8 guaranteed allocations of two accounts in one pool."""
    return [
        Allocation(
            key=f"j{number}",
            account=draw(st.sampled_from(["a", "b"])),
            pool="gpu",
            units=units,
            min_units=0,
            wanted_units=units,
            priority_class=draw(st.sampled_from(CLASSES)),
            tier="guaranteed",
            reclaim_seconds=60,
            lease_seconds=900,
            held_at=START + timedelta(seconds=draw(st.integers(0, 3))),
            hold_until=START + 5 * MINUTE,
        )
        for number, units in enumerate(draw(st.lists(st.integers(0, 9), max_size=8)))
    ]


@settings(max_examples=150, deadline=None)
@given(guaranteed_jobs(), st.integers(0, 20))
def test_exposing_leaves_what_fits_harms_no_p0_and_is_not_undone(
    jobs: list[Allocation], guarantee: int
) -> None:
    fallen = demotions(guarantees={"a": guarantee}, allocations=jobs)
    assert {one.account for one in fallen} <= {"a"}
    assert "P0" not in {one.priority_class for one in fallen}
    keys = {one.key for one in fallen}
    after = [demote(one, now=START).allocation if one.key in keys else one for one in jobs]
    pool = Pool(name="gpu", capacity=200)
    use = balance.holdings(pool, after, now=START)
    before = balance.holdings(pool, jobs, now=START)
    assert {a: held.total for a, held in use.items()} == {a: h.total for a, h in before.items()}
    must = sum(one.units for one in jobs if one.account == "a" and one.priority_class == "P0")
    if "a" in use:
        assert use["a"].guaranteed <= max(guarantee, must)
    if sum(one.units for one in jobs if one.account == "a") <= guarantee:
        assert not fallen
    assert demotions(guarantees={"a": guarantee}, allocations=after) == ()
    state = PoolState(pool=pool, quotas={"a": Quota(guaranteed=guarantee)}, holdings=use)
    risen = promotions(accounts={"a": None, "b": None}, pool="gpu", state=state, allocations=after)
    assert not risen


accounts = st.sampled_from(["research", "production", "nlp", "vision"])
amounts = st.integers(0, 60)
minutes = st.none() | st.integers(1, 20)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("set"), st.tuples(accounts, amounts, st.booleans(), minutes, minutes)),
        st.tuples(st.just("carve"), st.tuples(st.sampled_from(["nlp", "vision"]), amounts)),
        st.tuples(st.just("admit"), st.tuples(accounts, st.integers(1, 30), st.booleans())),
        st.tuples(st.just("admit"), st.tuples(accounts, st.integers(1, 30), st.booleans())),
        st.tuples(st.just("release"), st.integers(0, 9)),
        st.tuples(st.just("end"), accounts),
        st.tuples(st.just("settle"), st.none()),
        st.tuples(st.just("plan"), st.dictionaries(accounts, amounts, max_size=3)),
        st.tuples(st.just("capacity"), st.integers(60, 140)),
        st.tuples(st.just("target"), st.sampled_from([30, 300])),
        st.tuples(st.just("move"), st.tuples(accounts, accounts)),
        st.tuples(st.just("wait"), st.integers(1, 4)),
    ),
    max_size=14,
)


def command(place, kind, value, now, number):
    """A step's command, and the account that it exposes."""
    of, pool = place.accounts, place.pools["h100"]
    match kind:
        case "set":
            account, units, expose, starts_in, lasts = value
            begin = now + starts_in * MINUTE if starts_in else None
            end = (begin or now) + lasts * MINUTE if lasts else None
            quota = {"guaranteed": units, "effective_at": begin, "ends_at": end, "expose": expose}
            exposed = account if expose and not begin else None
            return SetQuota(account_id=of[account], pool_id=pool, **quota), exposed
        case "carve":
            account, units = value
            lender = of["research"]
            return SetQuota(
                account_id=of[account],
                pool_id=pool,
                guaranteed=units,
                carve_from_id=lender,
                expose=True,
            ), account
        case "admit":
            account, units, spot = value
            ask = wire.Ask(
                key=f"j{number}",
                account=account,
                person="bob",
                pool="h100",
                units=units,
                min_units=1,
                spot_allowed=spot,
            )
            return AdmitBatch(requests=(ask,)), None
        case "release":
            return ReleaseAllocations(messages=(wire.ReleaseMessage(key=f"j{value}"),)), None
        case "end":
            return EndQuota(account_id=of[value], pool_id=pool), None
        case "plan":
            entries = tuple(
                QuotaEntry(account=name, pool="h100", quota=Quota(guaranteed=units))
                for name, units in value.items()
            )
            return ApplyQuotaPlan(plan=QuotaPlan(quotas=entries)), None
        case "capacity":
            return ResizePool(pool_id=pool, capacity=value, accept_over_promise=True), None
        case "target":
            return SetReclaimTarget(pool_id=pool, reclaim_target_seconds=value), None
        case "move":
            return MoveAccount(account_id=of[value[0]], to_parent_id=of[value[1]]), None
    return SettleQuotas(), None


@pytest.fixture
def place(db):
    return world.acme()


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(sequence=steps)
def test_tiers_follow_guarantees_in_the_same_command(place, sequence):
    mark = transaction.savepoint()
    jobs = Jobs(place)
    try:
        now = NOW
        place.run(
            SetQuota(
                account_id=place.accounts["research"], pool_id=place.pools["h100"], guaranteed=40
            ),
            reason="property",
        )
        for number, (kind, value) in enumerate(sequence):
            if kind == "wait":
                now += value * MINUTE
                continue
            made, exposed = command(place, kind, value, now, number)
            try:
                place.run(made, now=now, reason="property")
            except DomainError:
                continue  # a rule said no
            if exposed:
                assert jobs.holding(exposed)[0] <= made.guaranteed
            sweep = SettlePools(pool_ids=(place.pools["h100"],))
            swept = place.run(sweep, now=now).result
            # What another target lets rise is the one thing that a sweep has to see to.
            assert swept.promoted == 0 or kind == "target", (kind, value)
        assert verification.verify(place.id).findings == []
    finally:
        transaction.savepoint_rollback(mark)
