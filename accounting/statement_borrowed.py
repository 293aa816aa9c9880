"""Borrowed use of each pool, day by day: what guarantees were lent.

Whole days come from the daily rollup, which has settled use exactly, cut at the same midnights;
what runs, or ended so lately that the rollup was not told, is added. Parts of days, where prices
change at noon or the month is not over, are added up from the records. Runs inside `scope.reading`
or a command.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import timedelta
from decimal import Decimal
from itertools import groupby
from uuid import UUID

from accounting.domain import money, splitting
from accounting.staging import TIERS
from accounting.statement_rating import Ground, Segment
from accounting.usage_sums import Wanted, added_up
from ledger.sql import server_cursor

_ROLLED_UP = """
SELECT u.pool_id, u.day, sum(u.unit_seconds)
FROM accounting_usageday u
WHERE u.organization_id = %b AND u.day BETWEEN %b AND %b AND u.tier = %b::smallint
GROUP BY 1, 2
"""
_ONE_DAY = timedelta(days=1)
PARTS_MAX = 1
"""Stretches of parts of days that are read by themselves: each may read a month of records."""


def borrowed_by_segment(here: Ground, segments: Sequence[Segment]) -> dict[tuple[UUID, int], int]:
    """Borrowed use of each pool in each segment, counted from 0, in unit-microseconds.

    Args:
        segments: days or parts of days, without gaps.
    """
    whole = [_is_whole(here, one) for one in segments]
    parts = [list(run) for is_whole, run in groupby(range(len(segments)), whole.__getitem__)
             if not is_whole]  # fmt: skip
    if len(parts) > PARTS_MAX:
        parts, whole = [list(range(len(segments)))], [False] * len(segments)
    found: dict[tuple[UUID, int], Decimal] = defaultdict(Decimal)
    for pool, number, unit_seconds in [
        *_whole_days(here, segments, whole),
        *(each for run in parts for each in _added_up(here, segments, run, unsettled_only=False)),
    ]:
        place = (pool, number)
        found[place] = money.EXACT.add(found[place], unit_seconds)
    return {place: int(amount.scaleb(6, money.EXACT)) for place, amount in found.items()}


def _is_whole(here: Ground, segment: Segment) -> bool:
    day = segment.day
    if day is None:
        return False
    ends = splitting.start_of_day(day + _ONE_DAY, here.zone)
    return segment.start == splitting.start_of_day(day, here.zone) and segment.end == ends


def _whole_days(
    here: Ground, segments: Sequence[Segment], whole: Sequence[bool]
) -> Iterable[tuple[UUID, int, Decimal]]:
    numbers = [n for n, is_whole in enumerate(whole) if is_whole]
    if not numbers:
        return
    places = {segments[n].day: n for n in numbers}
    days = [segments[n].day for n in numbers]
    with server_cursor() as cursor:
        rows = cursor.execute(
            _ROLLED_UP, (here.organization_id, min(days), max(days), TIERS["borrowed"])
        ).fetchall()
    for pool, day, unit_seconds in rows:
        if day in places:
            yield pool, places[day], unit_seconds
    every = range(len(segments))
    for pool, number, unit_seconds in _added_up(here, segments, every, unsettled_only=True):
        if whole[number]:
            yield pool, number, unit_seconds


def _added_up(
    here: Ground, segments: Sequence[Segment], numbers: Sequence[int], *, unsettled_only: bool
) -> Iterable[tuple[UUID, int, Decimal]]:
    """Pool, segment and unit-seconds of a run of segments."""
    wanted = Wanted(
        organization_id=here.organization_id,
        bounds=[*(segments[n].start for n in numbers), segments[numbers[-1]].end],
        tier="borrowed",
        by_account=False,
        unsettled_only=unsettled_only,
    )
    for _, pool, _, number, unit_seconds, _ in added_up(wanted):
        yield pool, numbers[number - 1], unit_seconds
