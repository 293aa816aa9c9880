"""Rates as rating and pages read them. All run inside `scope.reading` or a command."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from accounting.domain import rate_cards
from accounting.domain.rate_cards import RateCard, RateLine, RateVersion
from accounting.domain.rating import Grades
from ledger.sql import server_cursor

_VERSIONS = """
SELECT v.id, v.effective_from, v.effective_until, v.memory_flavor_id, l.flavor_id, l.tier, l.grade,
    l.list_price, l.contracted_price
FROM accounting_rateversion v
JOIN accounting_rateline l ON l.organization_id = v.organization_id AND l.version_id = v.id
WHERE v.organization_id = %b ORDER BY v.effective_from, l.line_no
"""
_SHOWN = """
SELECT v.id, v.effective_from, v.effective_until,
    lead(v.effective_from) OVER (ORDER BY v.effective_from), m.name, v.published_at,
    v.published_by, v.reason
FROM accounting_rateversion v
LEFT JOIN quota_flavor m ON m.organization_id = v.organization_id AND m.id = v.memory_flavor_id
WHERE v.organization_id = %b ORDER BY v.effective_from DESC
"""
_LINES = """
SELECT f.name, l.tier, l.grade, l.list_price, l.contracted_price
FROM accounting_rateline l
JOIN quota_flavor f ON f.organization_id = l.organization_id AND f.id = l.flavor_id
WHERE l.organization_id = %b AND l.version_id = %b ORDER BY l.line_no
"""
_GRADES = """
SELECT a.id, array_position(a.ancestors, g.account_id), g.effective_from, g.grade
FROM tenancy_account a
JOIN accounting_rategrade g ON g.organization_id = a.organization_id
    AND g.account_id = ANY (a.ancestors)
WHERE a.organization_id = %b AND (%b::uuid[] IS NULL OR a.id = ANY (%b))
"""


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version as a page lists it. `holds_until`: its own end or the start of the next, whichever
    is first; None: for good."""

    id: UUID
    effective_from: datetime
    holds_until: datetime | None
    memory_flavor: str | None
    published_at: datetime
    published_by: str
    reason: str


@dataclass(frozen=True, slots=True)
class PriceRow:
    """A line as a page shows it, in the order in which it was given."""

    flavor: str
    tier: str | None
    grade: str | None
    list_price: Decimal
    contracted_price: Decimal | None


def rate_card(organization_id: UUID) -> RateCard:
    """Every price there ever was and is to come, flavors by id. One query."""
    with server_cursor() as cursor:
        rows = cursor.execute(_VERSIONS, (organization_id,)).fetchall()
    lines: dict[tuple, list[RateLine]] = defaultdict(list)
    for *version, flavor_id, tier, grade, list_price, contracted_price in rows:
        lines[tuple(version)].append(
            RateLine(
                flavor=flavor_id,
                tier=tier,
                grade=grade,
                list_price=list_price,
                contracted_price=contracted_price,
            )
        )
    return rate_cards.rate_card(
        [
            RateVersion(
                id=id_,
                effective_from=start,
                effective_until=until,
                memory_flavor=memory,
                lines=tuple(found),
            )
            for (id_, start, until, memory), found in lines.items()
        ]
    )


def rate_versions(organization_id: UUID) -> list[VersionRow]:
    """All versions, the latest to begin first."""
    with server_cursor() as cursor:
        rows = cursor.execute(_SHOWN, (organization_id,)).fetchall()
    return [
        VersionRow(id_, start, min(filter(None, (until, following)), default=None), *shown)
        for id_, start, until, following, *shown in rows
    ]


def rate_lines(organization_id: UUID, version_id: UUID) -> list[PriceRow]:
    """The prices of a version; none where there is no such version."""
    with server_cursor() as cursor:
        rows = cursor.execute(_LINES, (organization_id, version_id)).fetchall()
    return [PriceRow(*row) for row in rows]


def grades(organization_id: UUID, accounts: Collection[UUID] | None = None) -> Grades:
    """Which grade each account has from when, what it inherits worked out by the tree as it is
    now. Accounts that never have any are left out. One query.

    Args:
        accounts: of these only; None: of all.
    """
    which = None if accounts is None else list(accounts)
    with server_cursor() as cursor:
        rows = cursor.execute(_GRADES, (organization_id, which, which)).fetchall()
    said: dict[UUID, list[tuple[int, datetime, str | None]]] = defaultdict(list)
    for account_id, *entry in rows:
        said[account_id].append(tuple(entry))
    return {account_id: inherited(entries) for account_id, entries in said.items()}


def inherited(
    said: Sequence[tuple[int, datetime, str | None]],
) -> tuple[tuple[datetime, str | None], ...]:
    """One history from what was said of an account and those above it.

    Args:
        said: (level, from when, grade), deeper levels nearer to the account.
    """
    history = []
    now: dict[int, str | None] = {}
    for level, since, grade in sorted(said, key=lambda entry: (entry[1], entry[0])):
        now[level] = grade
        holding = next((now[at] for at in sorted(now, reverse=True) if now[at] is not None), None)
        if history and history[-1][0] == since:
            history[-1] = (since, holding)
        elif not history or history[-1][1] != holding:
            history.append((since, holding))
    return tuple(history)
