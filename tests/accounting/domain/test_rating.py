"""Rating: worked cases to the unit, cuts at prices, grades, days and months, gaps without price."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest

from accounting.domain import money, rating
from accounting.domain.rate_cards import RateLine, RateVersion, rate_card
from accounting.domain.rating import Record

BERLIN = ZoneInfo("Europe/Berlin")
START = datetime(2026, 11, 1, tzinfo=UTC)


def version(at: datetime = START, /, *, name: str = "v1", until=None, memory=None, **prices: str):
    """`h100=2` is for every tier, `h100_spot=0.7` for one."""
    lines = []
    for key, price in prices.items():
        flavor, _, tier = key.partition("_")
        lines.append(RateLine(flavor=flavor, tier=tier or None, list_price=Decimal(price)))
    return RateVersion(
        id=name, effective_from=at, effective_until=until, lines=tuple(lines), memory_flavor=memory
    )


def used(units, hours, *, start=START, tier="guaranteed", flavor="h100", **values) -> Record:
    values = {"account": "nlp"} | values
    end = start + timedelta(hours=1) * hours if isinstance(hours, int) else start + hours
    return Record(flavor=flavor, tier=tier, units=units, start=start, end=end, **values)


def rate(records, *versions, zone=UTC, **values):
    zone = ZoneInfo("UTC") if zone is UTC else zone
    return rating.rate(records, rate_card(versions), zone=zone, **({"currency": "EUR"} | values))


def test_gpu_hours_with_their_memory_make_153600():
    record = used(128, 100, memory_gb=Decimal(128 * 80))
    found = rate([record], version(h100="8", memory="ram", ram="0.05"))
    gpu, memory = found.lines
    assert (gpu.unit_seconds / 3600, gpu.amount) == (12_800, Decimal("102400.00"))
    assert (memory.group.flavor, memory.unit_seconds / 3600) == ("ram", 1_024_000)
    assert memory.amount == Decimal("51200.00")
    assert found.total == Decimal("153600.00")


def test_companions_that_are_metered_on_their_own_make_the_same():
    companion = used(10_240, 100, flavor="ram")
    found = rate([used(128, 100), companion], version(h100="8", ram="0.05"))
    assert found.total == Decimal("153600.00")


def test_512_gpus_for_336_hours_at_2_make_344064():
    found = rate([used(512, 336)], version(h100="2"))
    assert found.total == Decimal("344064.00")


def test_the_same_work_has_a_price_per_productive_hour():
    productive, total = Fraction(336), 336 * Fraction(21, 20) + 196 * Fraction(1, 2)
    price = rating.per_productive_hour(Decimal("0.70"), productive / total)
    assert round(512 * 336 * price) == 161_567


def test_spot_with_checkpoints_and_restarts_makes_161567():
    """The same work as 336 h without interruption: 5 % more for checkpoints, and half an hour of
    all 512 GPUs lost at each of 196 restarts. 512 x (336 x 1.05 + 196 x 0.5) h x 0.70."""
    work = timedelta(hours=336) * 105 / 100
    lost = 196 * timedelta(minutes=30)
    records = [
        used(512, work, tier="spot"),
        used(512, lost, tier="spot", start=START + work),
    ]
    found = rate(records, version(h100="2", h100_spot="0.70"))
    assert found.exact == Fraction("161566.72")
    assert found.total == Decimal("161566.72")
    assert money.rounded(found.exact, 0) == 161_567


def test_500_gpus_idle_for_three_weeks_at_2_make_504000():
    assert rating.charge(Decimal(500 * 21 * 86400), Decimal(2)) == 504_000


def test_a_record_is_cut_at_the_exact_instant_of_a_price_change():
    change = START + timedelta(hours=1, minutes=20)
    found = rate([used(3, 2)], version(h100="2"), version(change, name="v2", h100="3"))
    first, second = found.lines
    assert (first.group.version, first.unit_seconds) == ("v1", 3 * 4800)
    assert (second.group.version, second.unit_seconds) == ("v2", 3 * 2400)
    assert [line.amount for line in found.lines] == [Decimal("8.00"), Decimal("6.00")]


@pytest.mark.parametrize(
    ("day", "hours"), [(date(2026, 3, 29), 23), (date(2026, 3, 30), 24), (date(2026, 10, 25), 25)]
)
def test_days_are_those_of_the_time_zone_with_23_or_25_hours(day, hours):
    start = datetime(day.year, day.month, day.day, tzinfo=BERLIN) - timedelta(days=2)
    record = used(1, 5 * 24, start=start.astimezone(UTC))
    card = version(datetime(2026, 1, 1, tzinfo=UTC), h100="1")
    found = rate([record], card, zone=BERLIN, bucket="day")
    assert {line.group.bucket: line.amount for line in found.lines}[day] == hours
    assert found.total == 5 * 24


def test_months_are_those_of_the_time_zone():
    record = used(1, 2, start=datetime(2026, 11, 30, 22, 0, tzinfo=UTC))
    found = rate([record], version(h100="1"), zone=BERLIN)
    assert [(line.group.bucket, line.amount) for line in found.lines] == [
        (date(2026, 11, 1), 1),
        (date(2026, 12, 1), 1),
    ]


def test_a_day_that_a_zone_skipped_and_a_midnight_that_does_not_exist():
    apia, cairo = ZoneInfo("Pacific/Apia"), ZoneInfo("Africa/Cairo")
    record = used(1, 48, start=datetime(2011, 12, 29, 10, tzinfo=UTC))
    card = version(datetime(2011, 1, 1, tzinfo=UTC), h100="1")
    found = rate([record], card, zone=apia, bucket="day")
    days = [(line.group.bucket, line.amount) for line in found.lines]
    assert days == [(date(2011, 12, 29), 24), (date(2011, 12, 31), 24)]
    record = used(1, 48, start=datetime(2026, 4, 22, 22, tzinfo=UTC))
    card = version(datetime(2026, 1, 1, tzinfo=UTC), h100="1")
    found = rate([record], card, zone=cairo, bucket="day")
    days = [(line.group.bucket, line.amount) for line in found.lines]
    assert days == [(date(2026, 4, 23), 24), (date(2026, 4, 24), 23), (date(2026, 4, 25), 1)]


def test_use_before_the_first_rates_and_in_a_gap_is_listed_and_not_free():
    gap = START + timedelta(hours=2)
    records = [used(1, 5, start=START - timedelta(hours=1)), used(2, 1, flavor="tpu")]
    found = rate(
        records,
        version(until=gap, h100="1"),
        version(gap + timedelta(hours=1), name="v2", h100="1"),
    )
    assert [(one.why, one.unit_seconds / 3600, one.group.flavor) for one in found.unrated] == [
        ("no_version", 1, "h100"),
        ("no_version", 1, "h100"),
        ("no_price", 2, "tpu"),
    ]
    assert found.total == 3


def test_a_price_of_zero_is_a_price():
    found = rate([used(1, 1)], version(h100="0"))
    assert found.unrated == () and [line.amount for line in found.lines] == [0]


@pytest.mark.parametrize(
    ("tier", "grade", "price"),
    [
        ("spot", "academic", 1),
        ("spot", None, 2),
        ("spot", "industry", 2),
        ("borrowed", "academic", 3),
        ("borrowed", None, 4),
    ],
)
def test_the_tier_decides_before_the_grade(tier, grade, price):
    lines = tuple(
        RateLine(flavor="h100", tier=t, grade=g, list_price=Decimal(p))
        for t, g, p in [
            ("spot", "academic", 1),
            ("spot", None, 2),
            (None, "academic", 3),
            (None, None, 4),
        ]
    )
    rates = RateVersion(id="v1", effective_from=START, lines=lines)
    grades = {"nlp": [(START, grade)]}
    assert rate([used(1, 1, tier=tier)], rates, grades=grades).total == price


def test_a_grade_that_changes_cuts_the_record():
    lines = (
        RateLine(flavor="h100", list_price=Decimal(4)),
        RateLine(flavor="h100", grade="academic", list_price=Decimal(1)),
    )
    rates = RateVersion(id="v1", effective_from=START, lines=lines)
    grades = {"nlp": [(START + timedelta(hours=1), "academic"), (START + timedelta(hours=3), None)]}
    found = rate([used(1, 4)], rates, grades=grades)
    assert [(line.group.grade, line.amount) for line in found.lines] == [(None, 8), ("academic", 2)]


def test_the_contracted_price_is_charged_and_the_list_price_shown():
    line = RateLine(flavor="h100", list_price=Decimal(4), contracted_price=Decimal("3.10"))
    rates = RateVersion(id="v1", effective_from=START, lines=(line,))
    (found,) = rate([used(10, 1)], rates).lines
    assert (found.amount, found.list_amount) == (31, 40)


@pytest.mark.parametrize(("currency", "amount"), [("EUR", "0.02"), ("JPY", "0"), ("KWD", "0.025")])
def test_a_line_rounds_once_half_to_even_to_the_minor_unit(currency, amount):
    records = [used(1, 1, start=START + timedelta(hours=n)) for n in range(25)]
    found = rate(records, version(h100="0.001"), currency=currency)
    assert str(found.total) == amount
    assert found.exact == Fraction(25, 1000)


def test_labels_make_lines_and_untagged_use_is_shown_as_such():
    records = [
        used(1, 1, labels={"project": "x"}),
        used(2, 1, labels={"other": "y"}),
        used(4, 1),
    ]
    found = rate(records, version(h100="1"), labels=["project"])
    assert [(line.group.labels, line.amount) for line in found.lines] == [((None,), 6), (("x",), 1)]


def test_what_is_taken_back_leaves_no_line():
    records = [used(4, 2), used(-4, 2)]
    assert rate(records, version(h100="1")).lines == ()


def test_totals_by_a_field_add_up():
    records = [used(1, 1), used(2, 1, account="vision"), used(3, 1, tier="spot")]
    found = rate(records, version(h100="1"))
    assert rating.totals(found.lines, by="account") == {"nlp": 4, "vision": 2}
    assert rating.totals(found.lines, by="tier") == {"guaranteed": 3, "spot": 3}


@pytest.mark.parametrize(
    ("amount", "weights", "parts"),
    [
        ("100.00", [1, 1, 1], ["33.34", "33.33", "33.33"]),
        ("0.01", [1, 1], ["0.01", "0.00"]),
        ("-0.05", [1, 1, 2], ["-0.01", "-0.01", "-0.03"]),
        ("10.00", [0, 0], ["10.00", "0.00"]),
        ("0.00", [5, 1], ["0.00", "0.00"]),
        ("1.00", [Fraction(1, 3), Fraction(2, 3)], ["0.33", "0.67"]),
    ],
)
def test_splits_use_the_largest_remainder(amount, weights, parts):
    found = money.split(Decimal(amount), weights, 2)
    assert [str(part).replace("-0.00", "0.00") for part in found] == parts


@pytest.mark.parametrize("weights", [[], [1, -1]])
def test_splits_need_weights(weights):
    with pytest.raises(ValueError, match="weights"):
        money.split(Decimal(1), weights, 2)
    with pytest.raises(ValueError, match="finer"):
        money.split(Decimal("0.001"), [1], 2)
