"""A chart is data: no color value, no gap, and a sentence and a table that say the same."""

import json
from datetime import date
from decimal import Decimal
from uuid import UUID

from accounting.queries.usage import DayUse
from frontend import charts

POOL = UUID(int=1)
SINCE, UNTIL = date(2026, 11, 1), date(2026, 11, 3)


def test_days_without_use_are_drawn_as_zero_and_pools_stack():
    use = [
        DayUse(SINCE, POOL, "h100", Decimal(7200)),
        DayUse(UNTIL, POOL, "h100", Decimal(3600)),
        DayUse(UNTIL, POOL, "a100", Decimal(1800)),
    ]
    chart = charts.use_by_day(use, since=SINCE, until=UNTIL)
    a100, h100 = chart.figure["data"]
    assert (a100["name"], a100["y"]) == ("a100", [0, 0, 0.5])
    assert (h100["name"], h100["y"]) == ("h100", [2, 0, 1])
    assert chart.figure["layout"]["barmode"] == "stack"
    assert chart.rows[0] == ("2026-11-03", ("0.500", "1.00"))
    assert "h100 3.00 unit-h" in chart.summary and "2026-11-01" in chart.summary


def test_colors_are_names_so_that_the_theme_decides():
    chart = charts.use_by_day([DayUse(SINCE, POOL, "h100", Decimal(1))], since=SINCE, until=UNTIL)
    assert "--series-0" in json.dumps(chart.figure)
    assert '"#' not in json.dumps(chart.figure)


def test_nothing_used_is_said():
    chart = charts.use_by_day([], since=SINCE, until=UNTIL)
    assert chart.empty
    assert chart.summary == "No use ended from 2026-11-01 to 2026-11-03."
