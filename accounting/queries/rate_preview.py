"""What a month would have cost at other prices. Runs inside `scope.reading` or a dry run."""

from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from accounting import statement_month, statement_rating
from accounting.domain import money
from accounting.domain.lines import Kind, Line
from accounting.domain.rate_cards import RateLine, RateVersion, rate_card
from accounting.statement_guarantees import month_guarantees


@dataclass(frozen=True, slots=True)
class Compared:
    """A kind of line of a pool and tier, as it was and as it would be."""

    kind: Kind
    pool: UUID | None
    tier: str | None
    was: Decimal
    would_be: Decimal

    @property
    def difference(self) -> Decimal:
        """What it would be more."""
        return self.would_be - self.was


@dataclass(frozen=True, slots=True)
class RatePreview:
    """A month at both prices, the largest difference first. `unrated` are pools with use that the
    new prices would leave without one."""

    rows: tuple[Compared, ...]
    was: Decimal
    would_be: Decimal
    unrated: tuple[UUID, ...]


def would_have_cost(
    organization_id: UUID,
    first: date,
    *,
    lines: tuple[RateLine, ...],
    memory_flavor: UUID | None,
    now: datetime,
) -> RatePreview:
    """A month's use and guarantees, had these prices held all the month. Credits, commitments and
    adjustments stay out: prices do not change what they are."""
    here = statement_rating.ground(organization_id, first, now=now)
    version = RateVersion(
        id="preview", effective_from=here.month.start, lines=lines, memory_flavor=memory_flavor
    )
    other = replace(here, card=rate_card([version]))
    both, unrated = [], set()
    for each in (here, other):
        use = statement_rating.month_use(each)
        both.append(statement_month.rated_lines(each, use.lines, month_guarantees(each)))
        unrated = {one.group.pool for one in use.rating.unrated}
    was, would_be = both
    sums: dict[Any, list[Decimal]] = {}
    for found, place in ((was, 0), (would_be, 1)):
        for line in found:
            have = sums.setdefault(_key(line), [Decimal(0), Decimal(0)])
            have[place] = money.EXACT.add(have[place], line.amount)
    rows = [Compared(*key, *have) for key, have in sums.items()]
    return RatePreview(
        rows=tuple(sorted(rows, key=lambda row: (-abs(row.difference), str(row.pool)))),
        was=money.total([line.amount for line in was]),
        would_be=money.total([line.amount for line in would_be]),
        unrated=tuple(sorted(unrated)),
    )


def _key(line: Line) -> tuple[Kind, Any, str | None]:
    return (line.kind, line.key.pool, line.key.tier)
