"""A month's use, added up from the daily rollup where that has what is wanted.

The rollup has settled use exactly, cut at the midnights of the organization's time zone. Whole days
come from it, and with them what runs, or ended so lately that the rollup was not told. Parts of
days, where prices change at noon say, are added up from the records, and so is everything where
labels or memory are wanted. The answer is that of `accounting.usage_sums` either way. Runs inside
`scope.reading` or a command.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from itertools import groupby, pairwise
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from accounting.domain import splitting
from accounting.usage_sums import Wanted, added_up, filter_values, filters
from ledger.sql import server_cursor

PERSON: Final = "u.person_id"
PARTS_MAX: Final = 1
"""Stretches of parts of days that are read by themselves: each may read a month of records."""
_ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A day, or a part of one, in one segment (from 1)."""

    start: datetime
    end: datetime
    day: date
    segment: int
    is_whole: bool


def added_up_by_days(wanted: Wanted, *, zone: ZoneInfo) -> list[tuple]:
    """As `accounting.usage_sums.added_up`. `zone` is the organization's."""
    if wanted.memory or set(wanted.columns) - {PERSON}:
        return added_up(wanted)
    pieces = list(_pieces(wanted, zone))
    runs = [list(run) for _, run in groupby(pieces, key=lambda piece: piece.is_whole)]
    if sum(not run[0].is_whole for run in runs) > PARTS_MAX:
        return added_up(wanted)
    found: list[tuple] = []
    for run in runs:
        if run[0].is_whole:
            found += _rolled_up(wanted, run)
        found += _of_pieces(replace(wanted, unsettled_only=run[0].is_whole), run)
    return found


def _pieces(wanted: Wanted, zone: ZoneInfo) -> Iterator[_Piece]:
    bounds = wanted.bounds
    # How far use is settled matters only where the last day is not over, so not for closed months.
    ends_with_a_day = bounds[-1] == splitting.start_of_day(splitting.day_of(bounds[-1], zone), zone)
    today_too = not ends_with_a_day and bounds[-1] >= _settled_until(wanted.organization_id)
    for number, (start, end) in enumerate(pairwise(bounds), start=1):
        for one in splitting.pieces(start, end, zone=zone, bucket="day"):
            ends = splitting.start_of_day(one.bucket + _ONE_DAY, zone)
            is_last = today_too and one.end == bounds[-1]
            is_whole = one.start == splitting.start_of_day(one.bucket, zone) and (
                one.end == ends or is_last
            )
            yield _Piece(one.start, one.end, one.bucket, number, is_whole)


def _settled_until(organization_id: UUID) -> datetime:
    """Before this instant ended everything that the rollup has."""
    with server_cursor() as cursor:
        (found,) = cursor.execute(
            """
SELECT greatest(
    (SELECT max(recorded_at) FROM accounting_usagebatch WHERE organization_id = %(organization)b),
    (SELECT (payload->>'until')::timestamptz FROM ledger_event
        WHERE organization_id = %(organization)b AND stream = %(stream)b
        ORDER BY version DESC LIMIT 1))
""",
            {
                "organization": organization_id,
                "stream": f"usage_settlement:{organization_id}",
            },
        ).fetchone()
    return found or datetime.min.replace(tzinfo=UTC)


_ROLLED_UP = """
SELECT {account}, u.pool_id, u.tier, d.n, sum(u.unit_seconds), NULL::numeric {person}
FROM accounting_usageday u
JOIN unnest(%(days)b::date[], %(numbers)b::bigint[]) AS d(day, n) ON d.day = u.day
WHERE u.organization_id = %(organization)b AND u.day BETWEEN %(first)b AND %(last)b
    AND u.pool_id IN (SELECT id FROM quota_pool WHERE organization_id = %(organization)b)
    {among} {only}
GROUP BY 1, 2, 3, 4 {person_number}
"""


def _rolled_up(wanted: Wanted, run: Sequence[_Piece]) -> list[tuple]:
    has_person = bool(wanted.columns)
    parts = {
        "account": "u.account_id" if wanted.by_account else "NULL::uuid AS account_id",
        "person": ", u.person_id" if has_person else "",
        "person_number": ", 7" if has_person else "",
        **filters(wanted),
    }
    values: dict[str, Any] = {
        **filter_values(wanted),
        "days": [piece.day for piece in run],
        "numbers": [piece.segment for piece in run],
        "first": run[0].day,
        "last": run[-1].day,
    }
    with server_cursor() as cursor:
        return cursor.execute(_ROLLED_UP.format(**parts), values, prepare=False).fetchall()


def _of_pieces(wanted: Wanted, run: Sequence[_Piece]) -> Iterable[tuple]:
    """Of a run of pieces, joined where they are of one segment."""
    joined = [list(part) for _, part in groupby(run, key=lambda piece: piece.segment)]
    bounds = [*(part[0].start for part in joined), joined[-1][-1].end]
    for account, pool, tier, number, *amounts in added_up(replace(wanted, bounds=bounds)):
        yield account, pool, tier, joined[number - 1][0].segment, *amounts
