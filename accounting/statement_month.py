"""A month's statements: everything that is in them, computed from use, promises and prices.

An open month is this, whenever somebody asks; the close of a month stores the same lines. Runs
inside `scope.reading` or a command.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from uuid import UUID

from accounting import statement_rating
from accounting.domain import lines
from accounting.domain.lines import Guarantee, Key, Line
from accounting.domain.rating import Unrated
from accounting.domain.statements import Finding, in_order
from accounting.queries import statements as queries
from accounting.statement_guarantees import month_guarantees
from accounting.statement_rating import Ground, Weights
from ledger.sql import server_cursor
from quota.loading.allocations import pool_names


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthLines:
    """A month as it would be charged now.

    Attributes:
        lines: in order, without adjustments, which are found when a later month closes.
        unrated: use without a price, in no line.
        guarantees: what became of each; those without a price are in no line.
        parts: of lines of usage, unit-seconds by the details that were asked for.
    """

    ground: Ground
    lines: tuple[Line, ...]
    unrated: tuple[Unrated, ...]
    guarantees: tuple[Guarantee, ...]
    parts: Mapping[Key, Weights]


def month_lines(
    organization_id: UUID,
    first: date,
    *,
    now: datetime,
    under: UUID | None = None,
    details: Sequence[str] = (),
) -> MonthLines:
    """The lines of an organization's month, or of an account and all that were below it.

    Args:
        under: commitments of accounts above it are not in its lines.
        details: some of `statement_rating.DETAILS`.
    """
    here = statement_rating.ground(organization_id, first, now=now)
    accounts = None if under is None else accounts_under(here, under)
    use = statement_rating.month_use(here, accounts=accounts, details=details)
    guarantees = month_guarantees(here)
    charged = rated_lines(here, use.lines, guarantees)
    # Before anything is left out: an account that moved in the month has committed as a whole.
    charged = [
        *charged,
        *queries.credits_of(here),
        *queries.commitments_of(here, charged),
    ]
    unrated = use.rating.unrated
    if under is not None:
        charged = [line for line in charged if under in line.key.above]
        guarantees = [one for one in guarantees if under in one.above]
        unrated = tuple(one for one in unrated if under in one.group.account[1])
    return MonthLines(
        ground=here,
        lines=tuple(in_order(charged)),
        unrated=unrated,
        guarantees=tuple(guarantees),
        parts={
            line.key: use.parts[one.group]
            for one, line in zip(use.rating.lines, use.lines, strict=True)
            if details
        },
    )


def rated_lines(
    here: Ground, usage: Collection[Line], guarantees: Collection[Guarantee]
) -> list[Line]:
    """Lines of use with what follows from them and from promises."""
    terms = queries.terms_of(here.organization_id, here.month.first).terms
    return [*usage, *guarantee_lines(here, usage, guarantees, terms)]


def guarantee_lines(
    here: Ground,
    usage: Collection[Line],
    guarantees: Collection[Guarantee],
    terms: lines.Terms,
) -> list[Line]:
    """What idle guarantees cost, what lending gives back and what good use earns."""
    found = [
        line for one in guarantees for line in lines.of_guarantee(one, terms, places=here.places)
    ]
    return [*found, *lines.discounts(usage, guarantees, terms, places=here.places)]


def accounts_under(here: Ground, account: UUID) -> list[UUID]:
    """Every account that was at or below another at any time of the month."""
    return sorted({one for tree in here.trees for one, above in tree.items() if account in above})


def findings(organization_id: UUID, first: date, *, now: datetime) -> list[Finding]:
    """What is odd about a month: use without a price, pools that nobody told of, records that were
    refused or contradict each other, jobs in dispute."""
    here = statement_rating.ground(organization_id, first, now=now)
    use = statement_rating.month_use(here)
    guarantees = month_guarantees(here)
    found = []
    unrated = {one.group.pool for one in use.rating.unrated}
    if queries.terms_of(organization_id, first).terms.idle_share:
        unrated |= {one.pool for one in guarantees if one.price is None and one.idle}
    if unrated:
        found.append(
            _named(organization_id, "unrated_use", unrated, "have use or promises without a price")
        )
    gaps = _pools_with_gaps(here, guarantees)
    if gaps:
        found.append(
            _named(
                organization_id,
                "telemetry_missing",
                gaps,
                "have promises in time of which no use is known, which is not charged",
            )
        )
    return [*found, *queries.record_findings(organization_id, here.month)]


def _named(organization_id: UUID, code: str, pools: Collection[UUID], words: str) -> Finding:
    names = ", ".join(sorted(pool_names(organization_id, pools).values()))
    return Finding(code, f"{names} {words}", (("pools", names),))


_PROMISED = """
SELECT q.pool_id, sum(q.guaranteed * extract(epoch FROM
    least(coalesce(q.valid_to, %(end)b), %(end)b) - greatest(q.valid_from, %(start)b)))
FROM quota_quotahistory q
WHERE q.organization_id = %(organization)b AND q.guaranteed > 0 AND q.valid_from < %(end)b
    AND (q.valid_to > %(start)b OR q.valid_to IS NULL)
GROUP BY q.pool_id
"""


def _pools_with_gaps(here: Ground, guarantees: Collection[Guarantee]) -> set[UUID]:
    """Pools of which more was promised in the month than in the time in which use is known."""
    counted: dict[UUID, Fraction] = {}
    for one in guarantees:
        counted[one.pool] = counted.get(one.pool, Fraction(0)) + one.promised
    with server_cursor() as cursor:
        rows = cursor.execute(
            _PROMISED,
            {
                "organization": here.organization_id,
                "start": here.month.start,
                "end": here.until,
            },
        ).fetchall()
    return {pool for pool, promised in rows if Fraction(promised) > counted.get(pool, 0)}
