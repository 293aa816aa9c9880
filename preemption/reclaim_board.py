"""Where guarantees stand about which use-it-or-lose-it said something: lists, counts and sums. Runs
inside `scope.reading`; a bounded number of statements."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from accounting.queries.evidence import Month, month_prices
from ledger.errors import Invalid
from ledger.sql import server_cursor
from quota.ports import Price

STAGES: Final = ("watched", "demoted", "justified", "restored", "returned")
"""What is on the board; what was cleared is not."""
PAGE_MAX: Final = 1_000
GUARANTEED: Final = "guaranteed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """Of what a list tells. None: of all.

    Attributes:
        under: accounts at or below any of these.
        stages: some of STAGES.
    """

    under: tuple[UUID, ...] | None = None
    pool_id: UUID | None = None
    stages: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """After which row a page goes on."""

    at: datetime
    account_id: UUID
    pool_id: UUID

    def text(self) -> str:
        """As an address holds it."""
        return f"{self.at.isoformat()}/{self.account_id}/{self.pool_id}"

    @classmethod
    def of(cls, text: str) -> "Place":
        """Raises `Invalid` `page_unusable`."""
        try:
            at, account, pool = text.replace(" ", "+").split("/")
            found = cls(at=datetime.fromisoformat(at), account_id=UUID(account), pool_id=UUID(pool))
        except ValueError:
            raise _unusable() from None
        if found.at.tzinfo is None:
            raise _unusable()
        return found


def _unusable() -> Invalid:
    return Invalid("page_unusable", "There is no such page. Begin with the first.", field="after")


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardRow:
    """One guarantee; see `preemption.reclaim_models.ReclaimState`.

    Attributes:
        guarantee: when that was said; `guarantee_now`: today; None: no quota any more.
        idle: units that would leave it, left it, or came back or not, by its state; None: the watch
            did not say.
        is_archived: the account.
    """

    account_id: UUID
    account: str
    pool_id: UUID
    pool: str
    state: str
    at: datetime
    guarantee: int
    guarantee_now: int | None
    idle: int | None
    units: int
    utilisation: Decimal | None
    p95: int | None
    in_use: int | None
    due_at: datetime | None
    until: datetime | None
    demotions: int
    justifications: int
    is_archived: bool

    @property
    def before(self) -> int:
        """The guarantee before its idle part left it."""
        return self.guarantee + self.units

    @property
    def place(self) -> Place:
        """Where it stands in the list."""
        return Place(at=self.at, account_id=self.account_id, pool_id=self.pool_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSum:
    """All guarantees in a stage.

    Attributes:
        units: idle ones; `unknown` guarantees among them did not say.
        worth: of the units a month, at today's prices; None: some pool is unrated.
    """

    stage: str
    count: int
    units: int
    unknown: int
    worth: Decimal | None


_IDLE = """CASE WHEN s.state NOT IN ('watched', 'justified') THEN s.units
    WHEN s.p95 IS NULL THEN NULL
    ELSE greatest(0, s.guarantee - greatest(s.p95, s.in_use)) END"""
_OF = """
FROM preemption_reclaimstate s
JOIN tenancy_account a ON a.organization_id = s.organization_id AND a.id = s.account_id
WHERE s.organization_id = %(organization)b AND s.state = ANY(%(states)b::text[])
    AND (%(pool)b::uuid IS NULL OR s.pool_id = %(pool)b)
    AND (%(under)b::uuid[] IS NULL OR a.ancestors && %(under)b)
"""
_COLUMNS = f"""
SELECT s.account_id, s.account, s.pool_id, p.name, s.state, s.at, s.guarantee, q.guaranteed,
    {_IDLE}, s.units, s.utilisation, s.p95, s.in_use, s.due_at, s.until, s.demotions,
    s.justifications, s.is_archived
"""
_NAMED = """
JOIN quota_pool p ON p.organization_id = s.organization_id AND p.id = s.pool_id
LEFT JOIN quota_quotahistory q ON q.organization_id = s.organization_id
    AND q.account_id = s.account_id AND q.pool_id = s.pool_id AND q.valid_to IS NULL
"""
_ROWS = f"""
{_COLUMNS} FROM (
    SELECT s.*, a.name AS account, a.archived_at IS NOT NULL AS is_archived {_OF}
        AND (%(at)b::timestamptz IS NULL OR s.at < %(at)b
            OR (s.at = %(at)b AND (s.account_id, s.pool_id) > (%(account)b, %(after_pool)b)))
    ORDER BY s.at DESC, s.account_id, s.pool_id LIMIT %(limit)b
) s {_NAMED} ORDER BY s.at DESC, s.account_id, s.pool_id
"""
_ONES = f"""
{_COLUMNS} FROM (
    SELECT s.*, a.name AS account, a.archived_at IS NOT NULL AS is_archived
    FROM preemption_reclaimstate s
    JOIN tenancy_account a ON a.organization_id = s.organization_id AND a.id = s.account_id
    WHERE s.organization_id = %(organization)b AND s.account_id = ANY(%(accounts)b)
        AND (%(pool)b::uuid IS NULL OR s.pool_id = %(pool)b)
    ORDER BY s.at DESC, s.account_id, s.pool_id LIMIT %(limit)b
) s {_NAMED} ORDER BY s.at DESC, s.account_id, s.pool_id
"""
_SUMS = f"SELECT s.state, s.pool_id, count(*), coalesce(sum({_IDLE}), 0)::bigint, "
_SUMS += f"count(*) FILTER (WHERE {_IDLE} IS NULL) {_OF} GROUP BY s.state, s.pool_id"
_NAMES = tuple(BoardRow.__dataclass_fields__)


def rows(
    organization_id: UUID, chosen: Chosen, *, after: Place | None = None, limit: int
) -> list[BoardRow]:
    """A page of the board, what was said last first; at most PAGE_MAX."""
    values = _values(organization_id, chosen) | {
        "at": None if after is None else after.at,
        "account": None if after is None else after.account_id,
        "after_pool": None if after is None else after.pool_id,
        "limit": min(limit, PAGE_MAX),
    }
    return _read(_ROWS, values)


def of_accounts(
    organization_id: UUID,
    accounts: Collection[UUID],
    *,
    pool_id: UUID | None = None,
    limit: int = 100,
) -> list[BoardRow]:
    """What was last said about guarantees of some accounts, cleared ones included."""
    values = {"organization": organization_id, "accounts": list(accounts)}
    return _read(_ONES, values | {"pool": pool_id, "limit": min(limit, PAGE_MAX)})


def sums(organization_id: UUID, chosen: Chosen, *, now: datetime) -> list[StageSum]:
    """Every stage over all that is chosen, whatever stage that is."""
    with server_cursor() as cursor:
        values = _values(organization_id, Chosen(under=chosen.under, pool_id=chosen.pool_id))
        found = cursor.execute(_SUMS, values).fetchall()
    prices = worth(organization_id, ((pool, units) for _, pool, _, units, _ in found), now=now)
    return [_sum(stage, [row for row in found if row[0] == stage], prices) for stage in STAGES]


def worth(
    organization_id: UUID, wanted: Iterable[tuple[UUID, int | None]], *, now: datetime
) -> Mapping[tuple[UUID, int], Price]:
    """Of units of pools, guaranteed for a month at today's prices; what is unrated is left out."""
    months: set[Month] = {(pool, units, GUARANTEED) for pool, units in wanted if units}
    if not months:
        return {}
    found = month_prices(organization_id, months, at=now)
    return {(pool, units): price for (pool, units, _), price in found.items()}


def _sum(stage: str, found: Sequence[tuple], prices: Mapping[tuple[UUID, int], Price]) -> StageSum:
    parts = [prices.get((pool, units)) for _, pool, _, units, _ in found if units]
    known = [part.amount for part in parts if part is not None]
    return StageSum(
        stage=stage,
        count=sum(row[2] for row in found),
        units=sum(row[3] for row in found),
        unknown=sum(row[4] for row in found),
        worth=sum(known, Decimal(0)) if len(known) == len(parts) else None,
    )


def _values(organization_id: UUID, chosen: Chosen) -> dict[str, Any]:
    return {
        "organization": organization_id,
        "states": list(STAGES if chosen.stages is None else chosen.stages),
        "pool": chosen.pool_id,
        "under": None if chosen.under is None else list(chosen.under),
    }


def _read(sql: str, values: dict[str, Any]) -> list[BoardRow]:
    with server_cursor() as cursor:
        found = cursor.execute(sql, values).fetchall()
    return [BoardRow(**dict(zip(_NAMES, row, strict=True))) for row in found]
