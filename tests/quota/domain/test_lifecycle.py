"""The life of an allocation: every message in every state, late, repeated and contradictory."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from ledger.errors import Invalid
from quota.domain import lifecycle
from quota.domain.batch import AdmissionRequest, Grant, Need
from quota.domain.lifecycle import Allocation, Outcome, Span, spans

T0 = datetime(2026, 11, 29, 12, tzinfo=UTC)


def after(seconds: float) -> datetime:
    return T0 + timedelta(seconds=seconds)


def held(**more: Any) -> Allocation:
    """Held at T0 for 300 s; leases of 900 s; elastic 4 to 16, 8 given."""
    request = AdmissionRequest(
        key="job",
        account="vision",
        needs=(Need(pool="h100", units=16, min_units=4),),
        priority_class="P1",
    )
    grant = Grant(
        pool="h100",
        units=8,
        tier="borrowed",
        hold_until=after(300),
        lease_seconds=900,
        duration_seconds=more.pop("duration_seconds", None),
    )
    return replace(lifecycle.hold(request, grant, now=T0), **more)


def running(at: float = 10, **more: Any) -> Allocation:
    return start(held(**more), at).allocation


def start(allocation: Allocation, at: float, now: float | None = None) -> Outcome:
    return lifecycle.start(allocation, at=after(at), now=after(at if now is None else now))


def beat(allocation: Allocation, at: float, now: float | None = None) -> Outcome:
    return lifecycle.heartbeat(allocation, at=after(at), now=after(at if now is None else now))


def size(allocation: Allocation, units: int, at: float, room: int = 100) -> Outcome:
    return lifecycle.resize(allocation, units=units, at=after(at), now=after(at), room=room)


def release(allocation: Allocation, at: float, now: float | None = None, **more: Any) -> Outcome:
    now = at if now is None else now
    return lifecycle.release(allocation, at=after(at), now=after(now), **more)


def test_the_usual_life() -> None:
    allocation = held()
    assert (allocation.state, allocation.lapses_at) == ("held", after(300))
    allocation = start(allocation, 10).allocation
    assert (allocation.state, allocation.lapses_at) == ("running", after(910))
    allocation = beat(allocation, 500).allocation
    assert allocation.lapses_at == after(1400)
    allocation = size(allocation, 12, 600).allocation
    allocation = release(allocation, 1000).allocation
    assert (allocation.state, allocation.ended_at) == ("released", after(1000))
    assert spans(allocation) == (
        Span(after(10), after(600), 8, "borrowed"),
        Span(after(600), after(1000), 12, "borrowed"),
    )


class TestLapses:
    @pytest.mark.parametrize(
        ("case", "allocation", "last_alive"),
        [
            ("a hold", held(), 300),
            ("a lease", running(), 910),
            ("a bounded run", running(duration_seconds=60), 70),
        ],
    )
    def test_judged_at_any_instant(
        self, case: str, allocation: Allocation, last_alive: float
    ) -> None:
        before = lifecycle.judge(allocation, now=after(last_alive - 0.001))
        assert before is allocation
        for late in (0, 5, 10**6):
            gone = lifecycle.judge(allocation, now=after(last_alive + late))
            assert (gone.state, gone.ended_at) == ("expired", after(last_alive))

    def test_the_sweeper_records_it_once(self) -> None:
        swept = lifecycle.expire(running(), now=after(5000))
        assert (swept.code, swept.changed) == ("expired", True)
        again = lifecycle.expire(swept.allocation, now=after(9000))
        assert (again.code, again.changed) == ("already_ended", False)
        assert not lifecycle.expire(running(), now=after(20)).changed

    @pytest.mark.parametrize("message", ["start", "beat", "size", "release"])
    def test_a_message_after_the_lapse_finds_it_whether_swept_or_not(self, message: str) -> None:
        def send(allocation: Allocation) -> Outcome:
            if message == "size":
                return size(allocation, 12, 5000)
            return {"start": start, "beat": beat, "release": release}[message](allocation, 5000)

        unswept = send(running())
        swept = send(lifecycle.expire(running(), now=after(4000)).allocation)
        assert unswept.allocation == swept.allocation
        assert unswept.allocation.ended_at == after(910)
        assert unswept.code == swept.code == "ended_otherwise"
        assert unswept.contradiction
        assert swept.contradiction
        assert (unswept.changed, swept.changed) == (True, False)

    def test_heartbeats_never_pass_the_end_of_a_bounded_run(self) -> None:
        allocation = beat(running(duration_seconds=1000), 900).allocation
        assert allocation.lapses_at == after(1010)


class TestMessages:
    def test_a_repeated_start_changes_nothing(self) -> None:
        again = start(running(), 10, now=20)
        assert (again.code, again.changed, again.contradiction) == ("already_running", False, False)

    def test_a_start_told_again_without_its_instant_repeats(self) -> None:
        again = lifecycle.start(running(), at=None, now=after(20))
        assert (again.code, again.changed, again.contradiction) == ("already_running", False, False)

    def test_a_start_told_as_before_the_hold_repeats(self) -> None:
        begun = start(held(), -3600, now=10).allocation
        assert begun.started_at == begun.held_at
        again = start(begun, -3600, now=20)
        assert (again.code, again.changed, again.contradiction) == ("already_running", False, False)

    def test_another_start_contradicts_and_changes_nothing(self) -> None:
        other = start(running(), 15)
        assert (other.code, other.changed, other.contradiction) == ("already_running", False, True)

    def test_old_and_repeated_heartbeats_change_nothing(self) -> None:
        allocation = beat(running(), 500).allocation
        for at in (500, 200):
            outcome = beat(allocation, at, now=600)
            assert (outcome.code, outcome.allocation) == ("nothing_newer", allocation)

    def test_a_late_heartbeat_counts_from_when_it_was_sent(self) -> None:
        assert beat(running(), 100, now=700).allocation.lapses_at == after(1000)

    def test_before_the_start_nothing_but_start_and_end_is_taken(self) -> None:
        for outcome in (beat(held(), 5), size(held(), 12, 5)):
            assert (outcome.code, outcome.changed) == ("not_started", False)

    def test_a_release_that_overtakes_the_start_stands(self) -> None:
        released = release(held(), 50)
        assert (released.code, spans(released.allocation)) == ("released", ())
        late = start(released.allocation, 10, now=60)
        assert (late.code, late.changed, late.contradiction) == ("already_ended", False, False)

    def test_a_release_can_tell_of_the_start_nobody_heard(self) -> None:
        released = release(held(), 50, started_at=after(10)).allocation
        assert spans(released) == (Span(after(10), after(50), 8, "borrowed"),)

    def test_the_first_end_stands(self) -> None:
        first = release(running(), 100).allocation
        again = release(first, 100, now=120)
        assert (again.code, again.changed, again.contradiction) == ("already_ended", False, False)
        other = lifecycle.preempt(first, at=after(90), now=after(120))
        assert (other.code, other.changed, other.contradiction) == ("ended_otherwise", False, True)
        assert other.allocation is first

    def test_preemption_ends_what_is_held_or_runs(self) -> None:
        for allocation in (held(), running()):
            outcome = lifecycle.preempt(allocation, at=after(60), now=after(61))
            assert outcome.allocation.state == "preempted"
            assert outcome.allocation.ended_at == after(60)

    def test_instants_are_taken_to_lie_between_what_is_known_and_now(self) -> None:
        early = start(held(), -100, now=20).allocation
        assert early.started_at == T0
        assert release(early, -50, now=30).allocation.ended_at == T0
        ahead = start(held(), 50, now=20).allocation
        assert ahead.started_at == after(20)

    @pytest.mark.parametrize(
        "send",
        [
            lambda: start(held(), 200, now=100),
            lambda: beat(running(), 200, now=100),
            lambda: release(running(), 200, now=100),
        ],
    )
    def test_the_future_is_not_believed(self, send: Any) -> None:
        outcome = send()
        assert (outcome.code, outcome.changed) == ("from_the_future", False)

    def test_instants_without_zone_are_refused(self) -> None:
        with pytest.raises(Invalid):
            lifecycle.start(held(), at=datetime(2026, 1, 1), now=T0)


class TestResize:
    @pytest.mark.parametrize(
        ("units", "room", "code"),
        [
            (8, 0, "no_change"),
            (12, 4, "resized"),
            (12, 3, "no_room"),
            (4, 0, "resized"),
            (3, 0, "not_elastic"),
            (17, 100, "not_elastic"),
        ],
    )
    def test_within_the_range_and_the_room(self, units: int, room: int, code: str) -> None:
        outcome = size(running(), units, 100, room)
        assert outcome.code == code
        assert outcome.allocation.units == (units if code == "resized" else 8)

    def test_one_that_was_overtaken_changes_nothing(self) -> None:
        allocation = size(running(), 12, 100).allocation
        assert size(allocation, 4, 50).code == "nothing_newer"

    def test_an_end_before_the_last_change_counts_only_what_was(self) -> None:
        allocation = release(size(running(), 12, 100).allocation, 60, now=120).allocation
        assert spans(allocation) == (Span(after(10), after(60), 8, "borrowed"),)


class TestPromote:
    def test_the_better_tier_counts_from_now_on(self) -> None:
        outcome = lifecycle.promote(running(), "guaranteed", now=after(100))
        assert outcome.code == "promoted"
        assert spans(release(outcome.allocation, 200).allocation) == (
            Span(after(10), after(100), 8, "borrowed"),
            Span(after(100), after(200), 8, "guaranteed"),
        )

    def test_tiers_only_rise(self) -> None:
        for tier in ("borrowed", "spot"):
            assert lifecycle.promote(running(), tier, now=after(100)).code == "no_change"  # type: ignore[arg-type]

    def test_what_has_lapsed_rises_no_more(self) -> None:
        outcome = lifecycle.promote(running(), "guaranteed", now=after(2000))
        assert (outcome.code, outcome.allocation.state) == ("already_ended", "expired")


class TestDemote:
    def test_it_is_borrowed_from_now_on_and_may_rise_again(self) -> None:
        guaranteed = lifecycle.promote(running(), "guaranteed", now=after(100)).allocation
        outcome = lifecycle.demote(guaranteed, now=after(150))
        assert outcome.code == "demoted"
        back = lifecycle.promote(outcome.allocation, "guaranteed", now=after(180)).allocation
        assert [span.tier for span in spans(release(back, 200).allocation)] == [
            "borrowed",
            "guaranteed",
            "borrowed",
            "guaranteed",
        ]

    def test_only_what_is_guaranteed_and_lives(self) -> None:
        assert lifecycle.demote(running(), now=after(100)).code == "no_change"
        outcome = lifecycle.demote(running(), now=after(2000))
        assert (outcome.code, outcome.allocation.state) == ("already_ended", "expired")


@pytest.mark.parametrize(
    "change",
    [
        {"units": 3},
        {"units": 17},
        {"state": "running"},
        {"state": "released"},
        {"ended_at": T0},
        {"tier": "free"},
        {"held_at": datetime(2026, 1, 1)},
    ],
)
def test_allocations_that_cannot_be_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        held(**change)
