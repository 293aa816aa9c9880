"""An account's month, from figures where its lines are too many to be read, else from its lines:
pages and REST ask here and need not know which. Runs inside `scope.reading`."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any
from uuid import UUID

from accounting.domain.lines import Line
from accounting.domain.rating import Unrated
from accounting.queries import month_figures, showback
from accounting.queries.expected import Expected, expected_adjustments
from accounting.queries.month_figures import ExpectedSum, Figures
from accounting.queries.showback import Cell, Showback

Month = Showback | Figures


def month_of(
    organization_id: UUID,
    account: UUID,
    first: date,
    *,
    now: datetime,
    by: Sequence[str] = (),
    details: Sequence[str] = (),
) -> Month:
    """An account's month.

    Args:
        by: what it will be told apart by.
        details: what its lines must be told apart by, where they are read.

    Raises:
        Invalid: `month_malformed`.
    """
    drawn = month_figures.wide_figures(organization_id, account, first, now=now, by=by)
    if drawn is not None:
        return drawn
    wanted = (*by, *details)
    return showback.showback(organization_id, account, first, now=now, details=wanted)


def drill(
    found: Month, dimensions: Sequence[str], names: Mapping[Any, str], *, limit: int
) -> tuple[list[Cell], int]:
    """A month by one or two dimensions, the largest amounts first, and how many groups there are.

    Raises:
        Invalid: `grouping_unknown`.
    """
    showback.check_dimensions(dimensions)
    if isinstance(found, Figures):
        return month_figures.cells(found, dimensions, names, limit=limit)
    cells = showback.drill(found, dimensions, names)
    return cells[:limit], len(cells)


def largest_lines(found: Month, *, limit: int | None) -> list[Line]:
    """The lines with the largest amounts; none of figures of an open month, which are no lines.

    Args:
        limit: at most so many; None: all, in order.
    """
    if isinstance(found, Figures):
        return month_figures.largest_lines(found, limit=limit or PRINTED_MAX)
    if limit is None:
        return list(found.lines)
    return sorted(found.lines, key=lambda line: -abs(line.amount))[:limit]


PRINTED_MAX = 1_000
"""So many lines of a wide month are printed; an export has all."""


def most_unrated(found: Month) -> list[Unrated]:
    """Use without a price; of figures the most of it."""
    if isinstance(found, Figures):
        return month_figures.unrated(found)
    return list(found.unrated)


def expected(organization_id: UUID, found: Month, *, now: datetime) -> Expected | ExpectedSum:
    """Adjustments that the account would get if the month closed now: drawn ones of a large month,
    however few lines the account has."""
    if found.state != "closed":
        first, places = found.month.first, found.ground.places
        drawn = month_figures.expected_sum(organization_id, found.account, first, places)
        if drawn is not None:
            return drawn
    if isinstance(found, Figures):
        return Expected((), ())
    return expected_adjustments(organization_id, found, now=now)
