"""Laws of admission: conservation, no deficit is ever made, no trace of a denial, promises kept."""

from dataclasses import replace
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from quota.domain import balance
from quota.domain.admission import Admissions
from quota.domain.batch import AdmissionRequest, Holding, Need, PoolState, Verdict
from quota.domain.lifecycle import Allocation, hold
from quota.domain.promotion import promotions
from quota.domain.tree import NO_PARENT, QuotaTree, Shape, evaluate
from quota.domain.values import CLASSES, TIERS, AccountKey, Pool, Quota

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
LIMIT = st.one_of(st.none(), st.integers(0, 8))
POOLS = ("gpu", "cpu")


@st.composite
def worlds(
    draw: st.DrawFn,
) -> tuple[dict[AccountKey, AccountKey | None], dict[AccountKey, PoolState]]:
    """Up to 6 accounts over two pools whose promises they can keep, some above them at times."""
    count = draw(st.integers(1, 6))
    accounts: dict[AccountKey, AccountKey | None] = {"a0": None}
    for at in range(1, count):
        above = draw(st.integers(-1, at - 1))
        accounts[f"a{at}"] = None if above < 0 else f"a{above}"
    pools: dict[AccountKey, PoolState] = {}
    for name in POOLS:
        quotas = {
            account: Quota(
                guaranteed=draw(st.integers(0, 10)),
                borrowing_limit=draw(LIMIT),
                lending_limit=draw(LIMIT),
            )
            for account in accounts
        }
        promised = sum(quota.guaranteed for quota in quotas.values())
        pool = Pool(
            name=name,
            capacity=promised + draw(st.integers(-3 if promised > 3 else 0, 8)),
            reclaim_target_seconds=300,
        )
        pools[name] = PoolState(pool=pool, quotas=quotas)
    return accounts, pools


@st.composite
def jobs(draw: st.DrawFn) -> list[AdmissionRequest]:
    found = []
    for number in range(draw(st.integers(0, 12))):
        needs = []
        for pool in draw(st.sampled_from([("gpu",), ("gpu",), ("cpu",), POOLS])):
            units = draw(st.integers(0, 12))
            least = draw(st.one_of(st.none(), st.integers(0, units)))
            needs.append(Need(pool=pool, units=units, min_units=least))
        found.append(
            AdmissionRequest(
                key=f"j{number}",
                account=f"a{draw(st.integers(0, 5))}",
                needs=tuple(needs),
                priority_class=draw(st.sampled_from(CLASSES)),
                tier=draw(st.sampled_from([None, None, *TIERS])),
                spot_allowed=draw(st.booleans()),
                reclaim_seconds=draw(st.sampled_from([60, 600])),
            )
        )
    return found


World = tuple[dict[AccountKey, AccountKey | None], dict[AccountKey, PoolState]]


def run(world: World, requests: list[AdmissionRequest]) -> tuple[Admissions, list[Verdict]]:
    batch = Admissions(accounts=world[0], pools=world[1], now=NOW)
    return batch, [batch.decide(request) for request in requests]


def held(requests: list[AdmissionRequest], verdicts: list[Verdict]) -> list[Allocation]:
    return [
        hold(request, grant, now=NOW)
        for request, verdict in zip(requests, verdicts, strict=True)
        for grant in verdict.grants
    ]


def holdings(allocations: list[Allocation], pool: str) -> dict[AccountKey, Holding]:
    here = [allocation for allocation in allocations if allocation.pool == pool]
    return balance.holdings(Pool(name=pool, capacity=0), here, now=NOW)


def roots_left(world: World, pool: str, use: dict[AccountKey, Holding]) -> list[int]:
    """`available` of every root, recomputed from the holdings."""
    accounts, pools = world
    names = list(accounts)
    quotas = [pools[pool].quota(name) for name in names]
    tree = QuotaTree.build(
        Shape.build([NO_PARENT if up is None else names.index(up) for up in accounts.values()]),  # type: ignore[arg-type]
        guaranteed=[[quota.guaranteed] for quota in quotas],
        borrowing=[[quota.borrowing_limit] for quota in quotas],
        lending=[[quota.lending_limit] for quota in quotas],
    )
    entitled = [use.get(name, Holding()) for name in names]
    standing = evaluate(tree, [[h.guaranteed + h.borrowed] for h in entitled])
    return [
        int(standing.headroom[row, 0]) for row, up in enumerate(accounts.values()) if up is None
    ]


@settings(max_examples=100, deadline=None)
@given(worlds(), jobs())
def test_conservation_and_no_root_is_ever_made_negative(
    world: World, requests: list[AdmissionRequest]
) -> None:
    batch, verdicts = run(world, requests)
    allocations = held(requests, verdicts)
    for name in POOLS:
        pool, book = world[1][name].pool, batch.books[name]
        use = holdings(allocations, name)
        in_use = sum(holding.total for holding in use.values())
        assert book.in_use == in_use
        assert in_use + book.free == pool.usable
        here = [allocation for allocation in allocations if allocation.pool == name]
        assert balance.balance(pool, here, now=NOW).holds
        assert book.free >= 0
        assert min(roots_left(world, name, use)) >= 0
        for account, holding in use.items():
            assert holding.guaranteed <= world[1][name].quota(account).guaranteed


@settings(max_examples=60, deadline=None)
@given(worlds(), jobs())
def test_every_answer_keeps_its_own_rules(world: World, requests: list[AdmissionRequest]) -> None:
    for request, verdict in zip(requests, run(world, requests)[1], strict=True):
        assert verdict.admitted == (not verdict.blocks)
        granted = {grant.pool: grant for grant in verdict.grants}
        asks = [need for need in request.needs if need.units]
        if not asks:
            assert verdict.admitted
        for block in verdict.blocks:
            assert block.short_by > 0
        for need in asks:
            grant = granted.get(need.pool)
            assert (grant is not None) == verdict.admitted
            if grant is not None:
                assert need.least <= grant.units <= need.units
                if request.tier is not None:
                    assert grant.tier == request.tier
                if request.priority_class == "P0":
                    assert grant.tier == "guaranteed"
                if grant.tier == "spot":
                    assert request.tier == "spot" or request.spot_allowed


@settings(max_examples=60, deadline=None)
@given(worlds(), jobs())
def test_a_denial_leaves_no_trace_and_answers_do_not_vary(
    world: World, requests: list[AdmissionRequest]
) -> None:
    _, verdicts = run(world, requests)
    assert run(world, requests)[1] == verdicts
    passed = [r for r, verdict in zip(requests, verdicts, strict=True) if verdict.admitted]
    assert run(world, passed)[1] == [verdict for verdict in verdicts if verdict.admitted]


@settings(max_examples=60, deadline=None)
@given(worlds(), jobs())
def test_deciding_at_once_or_from_what_is_stored_is_the_same(
    world: World, requests: list[AdmissionRequest]
) -> None:
    """Each request decided on a state loaded anew, from the allocations before it."""
    _, verdicts = run(world, requests)
    for at, request in enumerate(requests):
        before = held(requests[:at], verdicts[:at])
        loaded = {
            name: replace(state, holdings=holdings(before, str(name)))
            for name, state in world[1].items()
        }
        assert run((world[0], loaded), [request])[1] == [verdicts[at]]


@settings(max_examples=60, deadline=None)
@given(worlds(), jobs())
def test_guarantees_can_be_honoured_in_time(world: World, requests: list[AdmissionRequest]) -> None:
    """unused guarantees <= free + opportunistic units that come back in time, where borrowed.

    A guarantee is used by its account and those below; units that do so are nobody's to reclaim.
    """
    batch = Admissions(accounts=world[0], pools=world[1], now=NOW)
    done: list[AdmissionRequest] = []
    verdicts: list[Verdict] = []
    for request in requests:
        verdict = batch.decide(request)
        done.append(request)
        verdicts.append(verdict)
        allocations = held(done, verdicts)
        for grant in verdict.grants:
            if grant.tier != "guaranteed" and grant.units:
                name = str(grant.pool)
                unused, reclaimable = reclaim_sides(world, name, holdings(allocations, name))
                assert unused <= batch.books[grant.pool].free + reclaimable


def reclaim_sides(world: World, pool: str, use: dict[AccountKey, Holding]) -> tuple[int, int]:
    """Unused guarantees and reclaimable units, by covering each path's guarantees, slow first."""
    accounts, pools = world
    slow = dict.fromkeys(accounts, 0)
    fast = dict(slow)
    reclaimable = 0
    for account, holding in use.items():
        slow[account] = holding.guaranteed + holding.slow_borrowed
        fast[account] = holding.borrowed - holding.slow_borrowed
        reclaimable += holding.spot - holding.slow_spot
    unused = 0
    for account in reversed(accounts):  # children come after their parents
        guarantee = pools[pool].quota(account).guaranteed
        by_slow = min(slow[account], guarantee)
        by_fast = min(fast[account], guarantee - by_slow)
        unused += guarantee - by_slow - by_fast
        above = accounts[account]
        if above is None:
            reclaimable += fast[account] - by_fast
        else:
            slow[above] += slow[account] - by_slow
            fast[above] += fast[account] - by_fast
    return unused, reclaimable


@settings(max_examples=60, deadline=None)
@given(worlds(), jobs(), st.data())
def test_promotions_keep_every_law_and_settle_at_once(
    world: World, requests: list[AdmissionRequest], data: st.DataObject
) -> None:
    _, verdicts = run(world, requests)
    allocations = [a for a in held(requests, verdicts) if a.pool == "gpu"]
    kept = [a for a in allocations if data.draw(st.booleans(), label="still there")]

    def rises(now_held: list[Allocation]) -> dict[str, Allocation]:
        state = replace(world[1]["gpu"], holdings=holdings(now_held, "gpu"))
        found = promotions(accounts=world[0], pool="gpu", state=state, allocations=now_held)
        for promotion in found:
            assert TIERS.index(promotion.tier) < TIERS.index(promotion.allocation.tier)
        return {p.allocation.key: replace(p.allocation, tier=p.tier) for p in found}

    risen = rises(kept)
    after = [risen.get(allocation.key, allocation) for allocation in kept]
    use = holdings(after, "gpu")
    assert min(roots_left(world, "gpu", use)) >= 0
    for account, holding in use.items():
        assert holding.guaranteed <= world[1]["gpu"].quota(account).guaranteed
