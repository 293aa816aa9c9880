"""What a preemption costs, to the cent."""

from datetime import timedelta
from decimal import Decimal
from fractions import Fraction

import pytest

from ledger.errors import Invalid
from preemption.domain.tax import Loss, checkpoint_interval_seconds, time_lost
from tests.conftest import NOW

LOST = time_lost(
    at=NOW, saved_at=NOW - timedelta(minutes=15), reload_seconds=1200, warm_up_seconds=600
)


def test_the_worked_case() -> None:
    """64 units, 15 + 20 + 10 minutes, 2 per unit-hour: 96; twelve a day lose 9 h, 576 hours."""
    assert timedelta(minutes=45) == LOST
    assert Loss(lost=LOST, units=64).tax(Decimal(2)) == 96
    assert timedelta(hours=9) == 12 * LOST
    assert 12 * Loss(lost=LOST, units=64).unit_seconds == 576 * 3600


def test_nothing_is_rounded() -> None:
    second = Loss(lost=timedelta(seconds=1), units=1)
    assert second.tax(Decimal("0.1")) == Fraction(1, 36_000)


def test_a_checkpoint_from_a_clock_ahead_loses_no_work() -> None:
    assert time_lost(at=NOW, saved_at=NOW + timedelta(seconds=5)) == timedelta(0)


def test_negative_times_are_refused() -> None:
    with pytest.raises(Invalid):
        time_lost(at=NOW, saved_at=NOW, reload_seconds=-1)
    with pytest.raises(Invalid):
        checkpoint_interval_seconds(checkpoint_seconds=0, mean_between_seconds=1)


@pytest.mark.parametrize(
    ("checkpoint", "between", "interval"),
    [
        (60, 12_000, 1200),  # sqrt(2 x 60 x 12,000)
        (300, 86_400, 7200),
        (1, 1, 1),
        (10_000, 5_000, 5_000),  # outside the formula's range: never longer than M
    ],
)
def test_young_and_daly(checkpoint: int, between: int, interval: int) -> None:
    found = checkpoint_interval_seconds(checkpoint_seconds=checkpoint, mean_between_seconds=between)
    assert found == interval
