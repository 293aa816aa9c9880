"""Which jobs a change of guarantees would be felt by, before it is made: the reading twin of
quota/commands/reclassifying.py. What exposes lets go first, then whoever has room rises."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from quota.allocation_facts import StoredAllocation
from quota.domain.batch import PoolState
from quota.domain.changes import QuotaBook
from quota.domain.exposure import demotions
from quota.domain.lifecycle import Allocation
from quota.domain.promotion import Promotion, promotions
from quota.loading import allocations as loading
from quota.loading.standings import Standing


@dataclass(frozen=True, slots=True)
class Tiers:
    """Jobs above a guarantee that no longer holds them, and jobs that would rise."""

    above: tuple[Allocation, ...]
    rises: tuple[Promotion, ...]


def tiers_of(
    organization_id: UUID,
    pool_id: UUID,
    standing: Standing,
    before: QuotaBook,
    after: QuotaBook,
    *,
    exposed: UUID | None,
    now: datetime,
) -> Tiers:
    """Two questions to the database at most.

    Args:
        standing: of the pool, without what has lapsed.
        exposed: whose change it is, where what runs above a guarantee loses its tier; None:
            it keeps it.
    """
    holdings = standing.holdings.get(pool_id, {})
    lowered = {
        account
        for account in holdings
        if after.cell(account).quota.guaranteed < before.cell(account).quota.guaranteed
        or account == exposed
    }
    over = {
        account: after.cell(account).quota.guaranteed
        for account in lowered
        if holdings[account].guaranteed > after.cell(account).quota.guaranteed
    }
    stored = (
        _live(loading.guaranteed_of(organization_id, pool_id, accounts=over), now) if over else []
    )
    above = demotions(guarantees=over, allocations=[one.value for one in stored])
    then = replace(standing, holdings={pool_id: dict(holdings)})
    if exposed is not None:
        slow = {(one.value.key, one.value.attempt): one.slow for one in stored}
        for one in above:
            is_slow = slow[one.key, one.attempt]
            then.move(pool_id, one.account, "guaranteed", -one.units, slow=is_slow)
            then.move(pool_id, one.account, "borrowed", one.units, slow=is_slow)
    return Tiers(
        above, _rises(organization_id, pool_id, standing, then, before=before, after=after, now=now)
    )


def _rises(
    organization_id: UUID,
    pool_id: UUID,
    standing: Standing,
    then: Standing,
    *,
    before: QuotaBook,
    after: QuotaBook,
    now: datetime,
) -> tuple[Promotion, ...]:
    """Who would rise that does not rise anyway."""
    if not any(held.borrowed or held.spot for held in standing.holdings.get(pool_id, {}).values()):
        return ()
    with_room = [
        account
        for account, held in then.holdings[pool_id].items()
        if held.borrowed and after.cell(account).quota.guaranteed > held.guaranteed
    ]
    stored = _live(loading.risers(organization_id, pool_id, accounts=with_room), now)
    live = [one.value for one in stored]
    rising = _rising(pool_id, then, after, live) if live else ()
    if not rising:
        return ()
    anyway = {_key(one) for one in _rising(pool_id, standing, before, live)}
    return tuple(one for one in rising if _key(one) not in anyway)


def _rising(
    pool_id: UUID, standing: Standing, book: QuotaBook, live: list[Allocation]
) -> tuple[Promotion, ...]:
    return promotions(
        accounts=standing.accounts,
        pool=pool_id,
        state=PoolState(
            pool=book.pool,
            quotas={account: cell.quota for account, cell in book.cells.items()},
            holdings=standing.holdings.get(pool_id, {}),
        ),
        allocations=live,
    )


def _key(one: Promotion) -> tuple[str, int, str]:
    return one.allocation.key, one.allocation.attempt, one.tier


def _live(stored: Iterable[StoredAllocation], now: datetime) -> list[StoredAllocation]:
    return [one for one in stored if one.value.lapses_at is None or one.value.lapses_at > now]
