"""Quotas over REST: those of a pool, and one account's standing in every pool."""

from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

import numpy as np
from django.http import HttpRequest, HttpResponse

from config.api import cursors, parameters
from config.api.schema import describe, paging, query
from ledger import scope
from ledger.queries import PAGE_MAX
from quota.api import quota_examples as examples
from quota.api import quota_wire as wire
from quota.api.reading import AS_OF, QuotaOperation, fields_of
from quota.domain.values import Quota
from quota.levels import Part, level
from quota.queries import quotas as queries
from quota.queries.capacity import NOTHING, Held
from quota.queries.quotas import QuotaRow
from quota.queries.standing import Ground, ground
from quota.queries.versions import versions
from quota.stops import above_of, stop_of
from tenancy.api.reading import PAGING, account_named

CHANGES_DEFAULT = 50
_TERMS = ("guaranteed", "borrowing_limit", "lending_limit")


class PoolQuotasOperation(QuotaOperation):
    """Read the quotas in a pool."""

    parameters = frozenset({"as_of", "cursor", "limit"})

    @describe(
        "listPoolQuotas",
        tag="quotas",
        summary="Quotas in a pool, by account",
        gives=wire.QuotasOfPool,
        parameters=(AS_OF, *PAGING),
        problems=(404,),
        examples=(examples.QUOTAS_OF_POOL,),
    )
    def get(self, request: HttpRequest, pool: str) -> HttpResponse:
        """A page of the accounts that the caller may read and that have a quota of their own,
        judged at the instant, whether or not a task has recorded what fell due."""
        caller = self.caller(request)
        now, as_of = self.instants(request)
        after, limit = self.page(request)
        with scope.reading(caller.organization_id):
            readable = self.readable_ids(caller)
            row = self.pool(caller, pool)
            rows = queries.quotas_of_pool(
                caller.organization_id,
                row.id,
                now=now,
                as_of=as_of,
                among=readable,
                after=after,
                limit=limit + 1,
            )
        more = len(rows) > limit
        following = cursors.next_address(request, rows[limit - 1].account) if more else None
        return self.respond(
            wire.QuotasOfPool(
                at=as_of or now,
                pool=row.name,
                quotas=[_quota(one) for one in rows[:limit]],
                next=following,
            )
        )


class AccountQuotasOperation(QuotaOperation):
    """Read an account's standing."""

    parameters = frozenset({"as_of", "pool"})

    @describe(
        "readAccountQuotas",
        tag="quotas",
        summary="What an account is promised, uses and could still get, and what stops it",
        gives=wire.AccountQuotas,
        parameters=(AS_OF, query("pool", "Only in this pool.")),
        problems=(404,),
        examples=(examples.ACCOUNT_QUOTAS,),
    )
    def get(self, request: HttpRequest, name: str) -> HttpResponse:
        """In every pool, or one. With `as_of`: quotas, sizes, use and the tree of that instant."""
        caller = self.caller(request)
        here = caller.organization_id
        now, as_of = self.instants(request)
        pool = parameters.text(request, "pool")
        with scope.reading(here):
            account = account_named(here, name)
            self.authorize_reading(caller, account.id)
            wanted = [self.pool(caller, pool)] if pool else list(self.pools(caller).values())
            found = standings(
                here,
                account.id,
                [one.id for one in wanted],
                now=now,
                as_of=as_of,
                readable=self.readable_ids(caller),
            )
        return self.respond(wire.AccountQuotas(at=as_of or now, account=account.name, quotas=found))


class AccountQuotaHistoryOperation(QuotaOperation):
    """Read what was changed."""

    parameters = frozenset({"pool", "cursor", "limit"})

    @describe(
        "listQuotaChanges",
        tag="quotas",
        summary="Changes of an account's quotas, newest first",
        gives=wire.QuotaHistory,
        parameters=(
            query("pool", "Only in this pool."),
            *paging(PAGE_MAX, CHANGES_DEFAULT),
        ),
        problems=(404,),
        examples=(examples.QUOTA_HISTORY,),
    )
    def get(self, request: HttpRequest, name: str) -> HttpResponse:
        """Who changed what and why. A change that fell due tells who had asked for it."""
        caller = self.caller(request)
        here = caller.organization_id
        pool = parameters.text(request, "pool")
        limit = parameters.integer(request, "limit", low=1, high=PAGE_MAX, default=CHANGES_DEFAULT)
        before = cursors.read(request, int)
        with scope.reading(here):
            account = account_named(here, name)
            self.authorize_reading(caller, account.id)
            pools = self.pools(caller)
            row = self.pool(caller, pool) if pool else None
            page = queries.history(
                here,
                account.id,
                pool_id=row.id if row else None,
                before_position=before,
                limit=limit,
            )
        names = {str(one.id): one.name for one in pools.values()}
        changes = [
            _change(one, names)
            for one in page.rows
            if caller.actor.pool_ids is None or one.event.payload.get("pool_id") in names
        ]
        following = cursors.next_address(request, page.next_before) if page.next_before else None
        return self.respond(
            wire.QuotaHistory(account=account.name, changes=changes, next=following)
        )


def standings(
    organization_id: UUID,
    account_id: UUID,
    pool_ids: list[UUID],
    *,
    now: datetime,
    as_of: datetime | None = None,
    readable: frozenset[UUID] | None = None,
) -> list[wire.QuotaStanding]:
    """One account in pools, by name. Runs inside `scope.reading`; none before it was opened.

    Args:
        readable: accounts that may be named beside it; None: all.
    """
    here = organization_id
    base = ground(here, pool_ids, now=now, as_of=as_of)
    place = base.row_of.get(account_id)
    if place is None:
        return []
    terms = {
        one.pool_id: one
        for one in queries.quotas_of_account(here, account_id, now=now, as_of=as_of)
    }
    beside = np.flatnonzero(base.tree.shape.parent == base.tree.shape.parent[place])
    known = versions(here, [f"quota:{account_id}:{pool}" for pool in pool_ids])
    return [
        _standing(
            base,
            (place, column),
            terms.get(pool),
            version=known.get(f"quota:{account_id}:{pool}", 0),
            level=_level(base, beside, column, readable),
        )
        for column, pool in enumerate(base.pool_ids)
    ]


def _level(
    base: Ground, rows: np.ndarray, column: int, readable: frozenset[UUID] | None
) -> wire.LevelFacts:
    found = level(base, rows, column, seen=lambda one: readable is None or one in readable)
    if found is None:
        return wire.LevelFacts(lenders=[], borrowers=[])
    return wire.LevelFacts(lenders=_parts(found.lenders), borrowers=_parts(found.borrowers))


def _parts(parts: Iterable[Part]) -> list[wire.LevelPart]:
    return [wire.LevelPart(account=one.name, units=one.units) for one in parts]


def _standing(
    base: Ground,
    at: tuple[int, int],
    terms: QuotaRow | None,
    *,
    version: int,
    level: wire.LevelFacts,
) -> wire.QuotaStanding:
    one, pool_id = base.at(*at), base.pool_ids[at[1]]
    pool, held = base.pools[pool_id], base.held.get(pool_id, {})
    free = base.free(at[1])
    idle = max(0, one.subtree - one.used)
    lending = one.quota.lending_limit
    above = above_of(base, *at)
    stop = stop_of(one, free=free, above=above)
    return wire.QuotaStanding(
        pool=pool.name,
        **fields_of(one.quota, _TERMS),
        **_temporary(terms),
        own=tiers(held.get(one.account_id, NOTHING)),
        set_aside=[
            wire.SetAside(**fields_of(kept, ("key", "tier", "units", "coming", "until")))
            for kept in base.kept_for(*at)
        ],
        **fields_of(one, ("subtree", "used", "borrowed", "overshoot", "potential")),
        available=max(0, one.available),
        lendable=idle if lending is None else min(idle, lending),
        obtainable=max(0, min(one.available, free)),
        stopped_by=wire.StopFacts(
            limit=stop.limit,
            account=above.account if above and stop.limit == "accounts_above" else None,
            detail=stop.detail,
            way_out=stop.way_out,
        ),
        level=level,
        version=version,
    )


def tiers(held: Held) -> wire.UnitsByTier:
    """Held units for JSON."""
    return wire.UnitsByTier(guaranteed=held.guaranteed, borrowed=held.borrowed, spot=held.spot)


def _terms(quota: Quota) -> wire.QuotaTerms:
    return wire.QuotaTerms(**fields_of(quota, _TERMS))


def _temporary(row: QuotaRow | None) -> dict:
    if row is None or row.ends_at is None:
        return {"ends_at": None, "returns_to": None, "lender": None}
    return {
        "ends_at": row.ends_at,
        "returns_to": _terms(row.base),
        "lender": row.lender,
    }


def _quota(row: QuotaRow) -> wire.QuotaFacts:
    return wire.QuotaFacts(
        account=row.account, pool=row.pool, **fields_of(row.quota, _TERMS), **_temporary(row)
    )


def _change(row: queries.ChangeRow, names: dict[str, str]) -> wire.QuotaChangeFacts:
    event, asked = row.event, row.asked_by
    return wire.QuotaChangeFacts(
        **fields_of(event, ("id", "type", "occurred_at", "recorded_at", "actor_kind", "reason")),
        actor=event.actor_label,
        pool=names.get(event.payload.get("pool_id", "")),
        asked_by=None
        if asked is None
        else wire.QuotaAsker(at=asked.recorded_at, actor=asked.actor_label, reason=asked.reason),
        data=event.payload,
    )
