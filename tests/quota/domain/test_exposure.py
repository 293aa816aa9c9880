"""Who loses the guaranteed tier when a change exposes."""

from datetime import UTC, datetime, timedelta

import pytest

from quota.domain.exposure import Guaranteed, above

T0 = datetime(2026, 11, 29, 12, tzinfo=UTC)


def job(key: str, units: int, *, minute: int = 0, keeps: bool = False) -> Guaranteed:
    return Guaranteed(
        account="a",
        key=key,
        attempt=1,
        units=units,
        held_at=T0 + timedelta(minutes=minute),
        keeps=keeps,
    )


OLD, MIDDLE, YOUNG = job("old", 16), job("middle", 8, minute=1), job("young", 6, minute=2)
P0 = job("p0", 10, minute=9, keeps=True)


@pytest.mark.parametrize(
    ("guarantee", "jobs", "falls"),
    [
        (30, [OLD, MIDDLE, YOUNG], []),
        (29, [OLD, MIDDLE, YOUNG], ["young"]),
        (22, [OLD, MIDDLE, YOUNG], ["middle"]),
        (22, [YOUNG, MIDDLE, OLD], ["middle"]),
        (15, [OLD, MIDDLE, YOUNG], ["old"]),
        (0, [OLD, MIDDLE, YOUNG], ["old", "middle", "young"]),
        (0, [job("nothing", 0)], []),
        (16, [OLD, P0], ["old"]),
        (26, [OLD, P0], []),
        (4, [P0, YOUNG], ["young"]),
        (8, [job("b", 8), job("a", 8)], ["b"]),
    ],
)
def test_the_oldest_that_fit_stay(guarantee: int, jobs: list[Guaranteed], falls: list[str]) -> None:
    assert [one.key for one in above(guarantee, jobs)] == falls
