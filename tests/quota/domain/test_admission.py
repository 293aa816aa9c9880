"""Admission: tiers, gangs, elastic jobs, companion sets, classes, reasons and what would help.

The cast: a department with 60 of its own over teams vision (g 20) and language (g 20, B 10), and
another department, ops (g 40, L 10), in a pool of 150.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ledger.errors import Invalid
from quota.domain.admission import decide
from quota.domain.batch import (
    AdmissionPolicy,
    AdmissionRequest,
    Block,
    Holding,
    Need,
    Occupant,
    PoolState,
    Verdict,
)
from quota.domain.values import AMOUNT_MAX, Pool, Quota

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
ACCOUNTS = {
    "science": None,
    "research": "science",
    "vision": "research",
    "language": "research",
    "ops": "science",
}
QUOTAS = {
    "research": Quota(guaranteed=60),
    "vision": Quota(guaranteed=20),
    "language": Quota(guaranteed=20, borrowing_limit=10),
    "ops": Quota(guaranteed=40, lending_limit=10),
}
POOL = Pool(name="h100", capacity=150)


def job(key: str = "j", account: str = "vision", units: int = 1, **more: Any) -> AdmissionRequest:
    need = Need(pool="h100", units=units, min_units=more.pop("min_units", None))
    return AdmissionRequest(key=key, account=account, needs=(need,), **more)


def ask(
    *requests: AdmissionRequest,
    holdings: dict[str, Holding] | None = None,
    pool: Pool = POOL,
    occupants: tuple[Occupant, ...] = (),
    policy: AdmissionPolicy | None = None,
    quotas: dict[str, Quota] = QUOTAS,
) -> list[Verdict]:
    state = PoolState(pool=pool, quotas=quotas, holdings=holdings or {}, occupants=occupants)
    return list(
        decide(accounts=ACCOUNTS, pools={"h100": state}, requests=requests, now=NOW, policy=policy)
    )


def tier_and_units(verdict: Verdict) -> tuple[str, int] | None:
    return (verdict.grants[0].tier, verdict.grants[0].units) if verdict.admitted else None


def reasons(verdict: Verdict) -> list[tuple[str | None, str, int]]:
    return [(block.account, block.limit, block.short_by) for block in verdict.blocks]


@pytest.mark.parametrize(
    ("case", "request_", "wanted"),
    [
        ("fits its own guarantee", job(units=20), ("guaranteed", 20)),
        ("goes beyond it", job(units=21), ("borrowed", 21)),
        ("all that is lent", job(units=110), ("borrowed", 110)),
        ("one more than is lent", job(units=111), None),
        ("up to its limit", job(account="language", units=30), ("borrowed", 30)),
        ("beyond its limit", job(account="language", units=31), None),
        ("its own and what it keeps for itself", job(account="ops", units=40), ("guaranteed", 40)),
        ("a department's own jobs", job(account="research", units=60), ("guaranteed", 60)),
        ("without any guarantee", job(account="science", units=5), ("borrowed", 5)),
        ("elastic gets what there is", job(units=200, min_units=50), ("borrowed", 110)),
        ("elastic gets what it wants", job(units=100, min_units=50), ("borrowed", 100)),
        ("elastic not below its minimum", job(units=200, min_units=111), None),
        ("nothing", job(units=0), None),
        ("only guaranteed", job(units=21, tier="guaranteed"), None),
        ("guaranteed elastic", job(units=21, min_units=1, tier="guaranteed"), ("guaranteed", 20)),
        ("asks to borrow", job(units=5, tier="borrowed"), ("borrowed", 5)),
        ("spot asks nobody's leave", job(account="language", units=90, tier="spot"), ("spot", 90)),
        ("spot as a last resort", job(units=120, spot_allowed=True), ("spot", 120)),
        ("but not when it need not be", job(units=30, spot_allowed=True), ("borrowed", 30)),
        ("spot stops at capacity", job(units=151, tier="spot"), None),
        ("P0 in its guarantee", job(units=20, priority_class="P0"), ("guaranteed", 20)),
        ("P0 may not borrow", job(units=21, priority_class="P0"), None),
        ("P0 elastic stays in it", job(units=30, min_units=10, priority_class="P0"),
         ("guaranteed", 20)),
    ],
)  # fmt: skip
def test_one_request(case: str, request_: AdmissionRequest, wanted: tuple[str, int] | None) -> None:
    (verdict,) = ask(request_)
    if request_.needs[0].units == 0:
        assert verdict.admitted
        assert not verdict.grants
    else:
        assert tier_and_units(verdict) == wanted, case
        assert bool(verdict.blocks) == (wanted is None)


def test_each_admission_counts_for_those_after_it_and_a_denial_does_not() -> None:
    verdicts = ask(
        job("a", units=20),
        job("b", account="language", units=31),
        job("c", units=90),
        job("d", units=1),
        job("e", account="ops", units=30),
    )
    assert [tier_and_units(v) for v in verdicts] == [
        ("guaranteed", 20),
        None,
        ("borrowed", 90),
        None,
        ("guaranteed", 30),  # ops keeps 30 for itself, whatever others borrow
    ]


def test_every_blocking_node_and_limit_is_named() -> None:
    (verdict,) = ask(
        job(account="language", units=70),
        holdings={"vision": Holding(guaranteed=20, borrowed=60)},
        pool=replace(POOL, unavailable=20),
    )
    assert verdict.blocks == (
        Block(pool="h100", account="language", limit="borrowing_limit", available=30, short_by=40),
        Block(pool="h100", account="science", limit="guarantees", available=30, short_by=40),
        Block(pool="h100", account=None, limit="capacity", available=50, short_by=20),
        Block(pool="h100", account=None, limit="reclaim_target", available=0, short_by=80),
    )


def test_a_deficit_is_part_of_what_is_short() -> None:
    (verdict,) = ask(job(units=1), holdings={"vision": Holding(borrowed=115)})
    assert reasons(verdict) == [("science", "guarantees", 6)]


def test_p0_is_told_that_borrowing_is_what_it_may_not() -> None:
    (verdict,) = ask(job(units=25, priority_class="P0"))
    assert reasons(verdict) == [
        ("vision", "guarantee", 5),
        ("vision", "class_may_not_borrow", 25),
    ]
    (verdict,) = ask(job(units=25, priority_class="P0", tier="spot"))
    assert ("vision", "class_may_not_borrow", 25) in reasons(verdict)


class TestInteractive:
    def test_eight_hours_unless_it_asks_for_less(self) -> None:
        whole, short = ask(
            job("a", priority_class="P2"), job("b", priority_class="P2", duration_seconds=60)
        )
        assert whole.grants[0].duration_seconds == 8 * 3600
        assert short.grants[0].duration_seconds == 60

    def test_longer_is_denied(self) -> None:
        (verdict,) = ask(job(priority_class="P2", duration_seconds=8 * 3600 + 1))
        assert [limit for _, limit, _ in reasons(verdict)] == ["duration"]

    def test_other_classes_are_bounded_only_by_themselves(self) -> None:
        (verdict,) = ask(job(priority_class="P1", duration_seconds=30 * 86_400))
        assert verdict.grants[0].duration_seconds == 30 * 86_400


def test_asking_nothing_never_blocks_not_even_in_a_deficit() -> None:
    full = {"vision": Holding(borrowed=200)}
    (verdict,) = ask(job(units=0), holdings=full, pool=replace(POOL, capacity=100))
    assert verdict.admitted


def test_a_hold_lapses_and_a_lease_is_given() -> None:
    (verdict,) = ask(job(), policy=AdmissionPolicy(hold_seconds=30, lease_seconds=99))
    grant = verdict.grants[0]
    assert (grant.hold_until, grant.lease_seconds) == (NOW + timedelta(seconds=30), 99)


class TestReclaimability:
    """Of the pool's 150 units 140 are promised: slow spot has 10, slow borrowing its own path."""

    def test_units_that_come_back_in_time_may_fill_the_pool(self) -> None:
        (verdict,) = ask(job(units=110, reclaim_seconds=300))
        assert tier_and_units(verdict) == ("borrowed", 110)

    def test_slow_units_fill_their_own_path(self) -> None:
        """vision's 20 and research's 60; what nobody was promised is free, but not in the tree."""
        (most,) = ask(job(units=80, reclaim_seconds=301))
        assert tier_and_units(most) == ("borrowed", 80)
        (verdict,) = ask(job(units=81, reclaim_seconds=301))
        assert reasons(verdict) == [(None, "reclaim_target", 1)]

    def test_slow_units_reach_no_guarantee_beyond_a_borrowing_limit(self) -> None:
        """science's own 60 are not research's to have, so they cover nothing below it."""
        hard = {**QUOTAS, "science": Quota(guaranteed=60), "research": Quota(borrowing_limit=0)}
        (fast,) = ask(job(units=40), quotas=hard)
        assert tier_and_units(fast) == ("borrowed", 40)
        (slow,) = ask(job(units=40, reclaim_seconds=301), quotas=hard)
        assert reasons(slow) == [(None, "reclaim_target", 20)]

    @pytest.mark.parametrize("more", [{}, {"tier": "guaranteed"}, {"priority_class": "P0"}])
    def test_a_guarantee_that_those_below_hold_slowly_is_in_use(self, more: dict[str, str]) -> None:
        """By right: were research let in on idle guarantees of others, a claim would find its units
        within a guarantee, and vision's slow ones instead."""
        slow = {"vision": Holding(borrowed=80, slow_borrowed=80)}
        (verdict,) = ask(job(account="research", units=10, **more), holdings=slow)
        assert (None, "reclaim_target", 10) in reasons(verdict)
        fast = {"vision": Holding(borrowed=80)}
        (verdict,) = ask(job(account="research", units=10, **more), holdings=fast)
        assert tier_and_units(verdict) == ("guaranteed", 10)

    def test_slow_spot_has_only_what_is_not_promised(self) -> None:
        first, second = ask(
            job("a", units=10, tier="spot", reclaim_seconds=400),
            job("b", units=1, tier="spot", reclaim_seconds=400),
        )
        assert tier_and_units(first) == ("spot", 10)
        assert reasons(second) == [(None, "reclaim_target", 1)]

    def test_an_over_promised_pool_lends_nothing_and_still_honours_guarantees(self) -> None:
        small = replace(POOL, capacity=139)
        borrower, owner = ask(job("a", units=21), job("b", units=20), pool=small)
        assert reasons(borrower) == [(None, "reclaim_target", 22)]
        assert tier_and_units(owner) == ("guaranteed", 20)


class TestCompanions:
    def request(self, cpu: int, gpu: int = 8, **more: Any) -> AdmissionRequest:
        needs = (Need(pool="gpu", units=gpu), Need(pool="cpu", units=cpu))
        return AdmissionRequest(key=f"{gpu}/{cpu}", account="a", needs=needs, **more)

    def ask(self, *requests: AdmissionRequest) -> list[Verdict]:
        pools = {
            "gpu": PoolState(
                pool=Pool(name="gpu", capacity=16), quotas={"a": Quota(guaranteed=16)}
            ),
            "cpu": PoolState(
                pool=Pool(name="cpu", capacity=100), quotas={"b": Quota(guaranteed=100)}
            ),
        }
        return list(
            decide(
                accounts={"top": None, "a": "top", "b": "top"},
                pools=pools,
                requests=requests,
                now=NOW,
            )
        )

    def test_whole_or_not_at_all(self) -> None:
        denied, admitted, full = self.ask(
            self.request(101), self.request(100, gpu=16), self.request(1)
        )
        assert reasons(denied) == [("top", "guarantees", 1), (None, "capacity", 1)]
        assert {block.pool for block in denied.blocks} == {"cpu"}
        assert [(g.pool, g.tier, g.units) for g in admitted.grants] == [
            ("gpu", "guaranteed", 16),
            ("cpu", "borrowed", 100),
        ]
        assert {block.pool for block in full.blocks} == {"gpu", "cpu"}

    def test_a_companion_of_nothing_does_not_block(self) -> None:
        self.ask(self.request(100))
        (verdict,) = self.ask(self.request(0))
        assert [(g.pool, g.units) for g in verdict.grants] == [("gpu", 8)]

    def test_a_pool_named_twice_is_no_set(self) -> None:
        with pytest.raises(Invalid):
            AdmissionRequest(
                key="k", account="a", needs=(Need(pool="gpu", units=1), Need(pool="gpu", units=1))
            )


def test_the_same_job_twice_is_counted_once_and_other_content_is_a_conflict() -> None:
    first, again, other, requeued = ask(
        job("a", units=20), job("a", units=20), job("a", units=1), job("a", units=1, attempt=2)
    )
    assert first is again
    assert [limit for _, limit, _ in reasons(other)] == ["key_conflict"]
    assert tier_and_units(requeued) == ("borrowed", 1)


def test_unknown_accounts_and_pools_are_denied_not_fatal() -> None:
    nobody, nowhere = ask(
        job("a", account="nobody"),
        AdmissionRequest(key="b", account="vision", needs=(Need(pool="moon", units=1),)),
    )
    assert [limit for _, limit, _ in reasons(nobody)] == ["unknown_account"]
    assert [limit for _, limit, _ in reasons(nowhere)] == ["unknown_pool"]


class TestRelief:
    HOLDINGS = {
        "vision": Holding(guaranteed=20),
        "research": Holding(borrowed=90),
        "ops": Holding(spot=40),
    }
    OCCUPANTS = (
        Occupant(key="own", account="vision", tier="guaranteed", priority_class="P1", units=20),
        Occupant(
            key="train",
            account="research",
            tier="borrowed",
            priority_class="P1",
            units=60,
            ends_at=NOW + timedelta(hours=3),
        ),
        Occupant(
            key="batch",
            account="research",
            tier="borrowed",
            priority_class="P3",
            units=30,
            ends_at=NOW + timedelta(hours=5),
        ),
        Occupant(key="idle", account="ops", tier="spot", priority_class="P3", units=40),
    )

    def ask(self, **more: Any) -> Verdict:
        (verdict,) = ask(job(**more), holdings=self.HOLDINGS, occupants=self.OCCUPANTS)
        return verdict

    def test_borrowers_in_the_order_they_give_back_and_ends_by_time(self) -> None:
        (relief,) = self.ask(units=40, account="language", tier="spot").relief
        assert [o.key for o in relief.reclaim] == ["idle"]
        assert [o.key for o in relief.ends] == ["train"]
        assert relief.ends_enough_at == NOW + timedelta(hours=3)

    def test_spot_does_not_help_where_the_tree_is_full(self) -> None:
        (relief,) = self.ask(units=40).relief
        assert [o.key for o in relief.reclaim] == ["batch", "train"]
        assert relief.reclaim_enough

    def test_only_the_own_guarantee_helps_who_may_use_nothing_else(self) -> None:
        (relief,) = self.ask(units=1, tier="guaranteed").relief
        assert (relief.reclaim, relief.reclaim_enough) == ((), False)
        assert relief.ends == ()  # its own job has no known end

    def test_no_room_helps_against_a_rule(self) -> None:
        assert self.ask(units=1, priority_class="P2", duration_seconds=10**6).relief == ()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Need(pool="p", units=-1),
        lambda: Need(pool="p", units=AMOUNT_MAX + 1),
        lambda: Need(pool="p", units=True),
        lambda: Need(pool="p", units=4, min_units=5),
        lambda: job(priority_class="P4"),
        lambda: job(tier="free"),
        lambda: job(key=""),
        lambda: job(duration_seconds=0),
        lambda: job(attempt=0),
        lambda: AdmissionRequest(key="k", account="a", needs=()),
        lambda: Holding(borrowed=1, slow_borrowed=2),
        lambda: AdmissionPolicy(hold_seconds=0),
        lambda: Quota(guaranteed=-1),
        lambda: Quota(borrowing_limit=AMOUNT_MAX + 1),
        lambda: Pool(name="p", capacity=1, reclaim_target_seconds=-1),
    ],
)
def test_values_that_cannot_be_are_refused(make: Any) -> None:
    with pytest.raises(Invalid):
        make()


def test_a_batch_is_bounded_and_its_instant_has_a_zone() -> None:
    with pytest.raises(Invalid, match="at most 10000"):
        ask(*[job(str(number)) for number in range(10_001)])
    with pytest.raises(Invalid):
        decide(accounts={}, pools={}, requests=(), now=datetime(2026, 1, 1))
