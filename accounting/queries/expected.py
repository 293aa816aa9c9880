"""Adjustments that an open month would get if it closed now. Runs inside `scope.reading`.

They are shown beside the month and are in none of its sums: until it closes, more may come. Every
closed month that something came for since the last close is worked out anew for them, as the close
will do, so they cost as much as those months; where nothing came late, one question says so. Of a
large month they are drawn with its figures instead (`accounting.month_figures`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from uuid import UUID

from accounting import statement_close
from accounting.domain import money
from accounting.domain.lines import Line
from accounting.domain.statements import in_order
from accounting.queries import statements as queries
from accounting.queries.showback import Showback
from accounting.statement_rating import Ground


@dataclass(frozen=True, slots=True)
class Expected:
    """What is expected, about which closed months."""

    lines: tuple[Line, ...]
    months: tuple[date, ...]

    as_of: None = None

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.lines)

    @property
    def amount(self) -> Decimal:
        """What they add up to."""
        return money.total([line.amount for line in self.lines])


NOTHING = Expected((), ())


def expected_adjustments(organization_id: UUID, found: Showback, *, now: datetime) -> Expected:
    """Of the account of `found` and all below it; nothing but for the month that closes next, or
    is closing."""
    if found.state == "closed":
        return NOTHING
    _, lines = untold_lines(found.ground, now=now)
    own = in_order([line for line in lines if found.account in line.key.above])
    return Expected(tuple(own), tuple(_about(own)))


def untold_lines(here: Ground, *, now: datetime) -> tuple[list[date], list[Line]]:
    """The closed months that something came for since, if an open month closes next or is closing;
    and what they are to be adjusted by, of the whole organization."""
    months = late_months(here)
    return months, [
        line
        for month in months
        for line in statement_close.late_lines(here.organization_id, month, now=now)
    ]


def late_months(here: Ground) -> list[date]:
    """The closed months that an open one would be worked out anew for."""
    if not _is_next(here):
        return []
    return queries.months_with_late_use(here.organization_id, here.month)


def _is_next(here: Ground) -> bool:
    rows = queries.closes(here.organization_id, limit=1)
    if not rows:
        return False
    month = here.month.first
    return month in (rows[0].month, queries.turn(rows, this_month=month))


def _about(lines: Sequence[Line]) -> list[date]:
    return sorted({line.about for line in lines if line.about is not None})
