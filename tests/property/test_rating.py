"""Rating is a sum: neither how use is cut into records, nor their order, changes an amount."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from zoneinfo import ZoneInfo

from hypothesis import given, settings
from hypothesis import strategies as st

from accounting.domain import money, splitting
from accounting.domain.rate_cards import TIERS, RateCard, RateLine, RateVersion, rate_card
from accounting.domain.rating import Record, charge, rate, totals

BEGIN = datetime(2026, 3, 1, tzinfo=UTC)
ZONES = st.sampled_from(
    [ZoneInfo(name) for name in ("UTC", "Europe/Berlin", "America/Havana", "Africa/Cairo")]
)
INSTANTS = st.timedeltas(timedelta(), timedelta(days=80)).map(lambda after: BEGIN + after)
PRICES = st.decimals(0, 100, places=6)
FLAVORS = ("h100", "a100", "ram")


@st.composite
def cards(draw: st.DrawFn) -> RateCard:
    starts = draw(st.lists(INSTANTS, unique=True, max_size=4))
    return rate_card(
        [
            RateVersion(
                id=f"v{at}",
                effective_from=start,
                lines=tuple(
                    RateLine(flavor=flavor, tier=tier, list_price=draw(PRICES))
                    for flavor in FLAVORS
                    for tier in draw(st.sampled_from([(None,), ("spot", None), ("spot",)]))
                ),
                memory_flavor=draw(st.sampled_from([None, "ram"])),
            )
            for at, start in enumerate(starts)
        ]
    )


@st.composite
def records(draw: st.DrawFn) -> Record:
    start = draw(INSTANTS)
    return Record(
        account=draw(st.sampled_from("ab")),
        flavor=draw(st.sampled_from(FLAVORS)),
        tier=draw(st.sampled_from(TIERS)),
        units=draw(st.integers(1, 10_000)),
        start=start,
        end=start + draw(st.timedeltas(timedelta(), timedelta(days=40))),
        memory_gb=draw(st.none() | st.decimals(0, 1000, places=3)),
    )


RECORDS = st.lists(records(), max_size=5)
CUTS = st.lists(st.floats(0, 1), max_size=4)


def cut(record: Record, where: Sequence[float]) -> list[Record]:
    length = record.end - record.start
    bounds = sorted({record.start, record.end, *(record.start + length * at for at in where)})
    values = {
        name: getattr(record, name) for name in ("account", "flavor", "tier", "units", "memory_gb")
    }
    return [Record(start=a, end=b, **values) for a, b in pairwise(bounds)]


@settings(deadline=None)
@given(RECORDS, CUTS, cards(), ZONES, st.sampled_from(splitting.BUCKETS))
def test_however_records_are_cut_every_line_is_the_same(found, where, card, zone, bucket):
    parts = [part for record in found for part in cut(record, where)]
    whole = rate(found, card, zone=zone, currency="EUR", bucket=bucket)
    split = rate(parts, card, zone=zone, currency="EUR", bucket=bucket)
    assert split == whole
    assert split.exact == whole.exact


@settings(deadline=None)
@given(st.permutations(range(5)), st.lists(records(), min_size=5, max_size=5), cards(), ZONES)
def test_order_changes_nothing(order, found, card, zone):
    shuffled = [found[at] for at in order]
    assert rate(shuffled, card, zone=zone, currency="EUR") == rate(
        found, card, zone=zone, currency="EUR"
    )


@settings(deadline=None)
@given(RECORDS, cards(), ZONES)
def test_buckets_change_no_total_before_rounding(found, card, zone):
    by_day = rate(found, card, zone=zone, currency="EUR", bucket="day")
    by_month = rate(found, card, zone=zone, currency="EUR", bucket="month")
    assert by_day.exact == by_month.exact


@settings(deadline=None)
@given(RECORDS, cards(), ZONES)
def test_all_use_is_in_a_line_or_listed_as_unrated(found, card, zone):
    result = rate([Record(**values(record)) for record in found], card, zone=zone, currency="EUR")
    used = sum(record.units * splitting.microseconds(record.start, record.end) for record in found)
    seen = sum(one.unit_seconds for one in (*result.lines, *result.unrated))
    assert seen * 10**6 == used


def values(record: Record) -> dict:
    """Without memory, so that only units are counted."""
    names = ("account", "flavor", "tier", "units", "start", "end")
    return {name: getattr(record, name) for name in names}


@settings(deadline=None)
@given(RECORDS, cards(), ZONES)
def test_lines_add_up_to_accounts_and_accounts_to_the_whole(found, card, zone):
    result = rate(found, card, zone=zone, currency="EUR")
    for by in ("account", "flavor", "tier", "bucket"):
        assert money.total(list(totals(result.lines, by=by).values())) == result.total
    for line in result.lines:
        assert abs(Fraction(line.amount) - line.exact) <= Fraction(1, 200)
        assert line.exact == charge(line.unit_seconds, line.price)


@given(
    st.decimals(-10_000, 10_000, places=2),
    st.lists(st.fractions(0, 1000), min_size=1, max_size=8),
)
def test_splits_add_up_and_no_part_is_a_cent_off(amount, weights):
    parts = money.split(amount, weights, 2)
    assert money.total(parts) == amount
    whole = sum(weights)
    for part, weight in zip(parts, weights, strict=True):
        if whole:
            assert abs(Fraction(part) - Fraction(amount) * weight / whole) < Fraction(1, 100)


@given(INSTANTS, st.timedeltas(timedelta(), timedelta(days=90)), ZONES, st.lists(INSTANTS))
def test_pieces_are_the_period(start, length, zone, cuts):
    end = start + length
    for bucket in splitting.BUCKETS:
        found = list(splitting.pieces(start, end, zone=zone, bucket=bucket, cuts=sorted(set(cuts))))
        bounds = [start, *(piece.end for piece in found)]
        assert [piece.start for piece in found] == bounds[:-1]
        assert bounds[-1] == end
        assert {cut for cut in cuts if start < cut < end} <= set(bounds)
        for piece in found:
            first = splitting.start_of_day(piece.bucket, zone)
            after = splitting.start_of_day(splitting.next_bucket(piece.bucket, bucket), zone)
            assert first <= piece.start < piece.end <= after
