"""What the domain writes in UTC is read on an organization's clock."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from ledger.instants import on_clock, written


@pytest.mark.parametrize(
    ("zone", "local"),
    [
        ("UTC", "2026-12-01 23:30"),
        ("Europe/Berlin", "2026-12-02 00:30"),
        ("America/St_Johns", "2026-12-01 20:00"),
    ],
)
def test_written_and_read(zone, local):
    at = datetime(2026, 12, 1, 23, 30, tzinfo=UTC)
    text = f"It lasts until {written(at)} already. Ask for later."
    assert on_clock(text, ZoneInfo(zone)) == f"It lasts until {local} already. Ask for later."


def test_another_zone_is_written_in_utc():
    at = datetime(2026, 12, 2, 0, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    assert written(at) == "2026-12-01 23:30 UTC"


@pytest.mark.parametrize("text", ["no time", "2026-13-45 99:99 UTC", "0001-01-01 00:00 UTC"])
def test_what_is_no_instant_stays(text):
    assert on_clock(text, ZoneInfo("America/New_York")) == text
