"""Numbers as people read them; what is not known is never shown as nothing."""

from datetime import timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from frontend import numbers
from frontend.templatetags import ui
from tests.world import NOW


@pytest.mark.parametrize(
    ("shown", "want"),
    [
        (numbers.units(1234567), "1,234,567"),
        (numbers.units(None), "unknown"),
        (numbers.several(1), "1 unit"),
        (numbers.several(0), "0 units"),
        (numbers.several(1200), "1,200 units"),
        (numbers.amount(0), "0"),
        (numbers.amount(0.0421), "0.042"),
        (numbers.amount(0.00001), "1.0e-05"),
        (numbers.amount(7.254), "7.25"),
        (numbers.amount(81.25), "81.2"),
        (numbers.amount(Decimal("1234.5")), "1,234"),
        (numbers.unit_hours(Decimal(7200)), "2.00"),
        (numbers.unit_hours(None), "unknown"),
        (numbers.percent(None), "unknown"),
        (numbers.percent(float("nan")), "unknown"),
        (numbers.percent(0), "0.0\N{NO-BREAK SPACE}%"),
        (numbers.percent(0.0001), "< 0.1\N{NO-BREAK SPACE}%"),
        (numbers.percent(0.12345), "12.3\N{NO-BREAK SPACE}%"),
        (numbers.percent(1), "100\N{NO-BREAK SPACE}%"),
        (numbers.percent(23.4), "2,340\N{NO-BREAK SPACE}%"),
        (numbers.factor(0.5), "0.500000"),
        (numbers.level(float("inf")), "∞"),
        (numbers.level(float("nan")), "–"),
        (numbers.level(2.5), "2.50"),
        (numbers.place(43, 43), "1"),
        (numbers.place(1, 1043), "1,043"),
        (numbers.place(0, 43), "–"),
        (numbers.shares(None), "parent"),
        (numbers.shares(0), "0"),
        (numbers.duration(90_061), "1 d 1 h"),
        (numbers.duration(0), "0 s"),
    ],
)
def test_shown_as(shown, want):
    assert shown == want


def test_a_ratio_of_nothing_is_unknown_not_zero():
    assert numbers.ratio(Decimal(0), Decimal(0)) is None
    assert numbers.ratio(None, 5) is None
    assert numbers.ratio(Decimal(1), Decimal(4)) == 0.25


def test_instants_carry_their_zone():
    assert numbers.instant(NOW, ZoneInfo("Europe/Berlin")) == "2026-11-29 13:00:00 CET"


@pytest.mark.parametrize(
    ("away", "want"),
    [
        (timedelta(0), "just now"),
        (timedelta(minutes=-1), "1 minute ago"),
        (timedelta(hours=-5), "5 hours ago"),
        (timedelta(days=3), "in 3 days"),
    ],
)
def test_relative_times(away, want):
    assert numbers.ago(NOW + away, NOW) == want


def test_a_bar_says_its_numbers_and_needs_no_style():
    svg = ui.bar(0.6, 0.4)
    assert 'aria-label="60.0\N{NO-BREAK SPACE}% used of a share of 40.0\N{NO-BREAK SPACE}%"' in svg
    assert 'class="actual" y="1" width="40.00"' in svg
    assert 'class="beyond" x="40.00" y="1" width="20.00"' in svg
    assert "style" not in svg
