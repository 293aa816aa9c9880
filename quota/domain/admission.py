"""Deciding a batch of waiting jobs in its order, in one pass. Pure and deterministic.

A request passes where everything on its account's path lets it (the quota tree), units are
physically free, and the rules of its class and of reclaimability hold. Tiers (docs/design.md):

- *guaranteed*: fits in what is left of the account's own guarantee;
- *borrowed*: within the limits of the tree, on guarantees that are idle;
- *spot*: no entitlement, idle capacity only.

Of the tiers a request accepts, the one that gives it the most units wins, the better one on a tie.
A gang is admitted whole or not at all, an elastic job gets between its minimum and what it wants,
a companion set passes in every pool or in none. Asking 0 of something never blocks. Each admission
counts against those after it; a denial leaves no trace and names every reason.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from ledger.errors import Invalid
from quota.domain.batch import (
    REQUESTS_MAX,
    AdmissionPolicy,
    AdmissionRequest,
    Block,
    Grant,
    LimitName,
    Need,
    PoolState,
    Relief,
    Verdict,
)
from quota.domain.book import Accounts, Book
from quota.domain.column import PoolTree
from quota.domain.relief import ReliefIndex
from quota.domain.values import AccountKey, Tier

_PRODUCTION_SERVING = "P0"
_INTERACTIVE = "P2"


@dataclass(frozen=True, slots=True)
class _Placed:
    """Where one need of a job goes, before anything is entered."""

    book: Book
    row: int
    tier: Tier
    units: int
    slow: bool


class Admissions:
    """A batch in progress: `decide` may be called for one request after the other."""

    def __init__(
        self,
        *,
        accounts: Mapping[AccountKey, AccountKey | None] | Accounts,
        pools: Mapping[AccountKey, PoolState],
        now: datetime,
        policy: AdmissionPolicy | None = None,
        trees: Mapping[AccountKey, PoolTree | None] | None = None,
    ) -> None:
        """Accounts with their parents, the pools that requests may name, the instant.

        Args:
            trees: of pools, worked out before, on just these `Accounts`.

        Raises:
            Invalid: `quota_tree`; `instant_without_zone`.
        """
        if now.tzinfo is None:
            raise Invalid("instant_without_zone", "An instant names its zone.", field="now")
        self._now = now
        self._policy = policy or AdmissionPolicy()
        self.accounts = Accounts.of(accounts)
        known = trees or {}
        self.books = {
            key: Book(key, state, self.accounts, known.get(key)) for key, state in pools.items()
        }
        self._relief = {key: ReliefIndex(key, state, self.accounts) for key, state in pools.items()}
        self._answered: dict[tuple[str, int], tuple[AdmissionRequest, Verdict]] = {}

    def decide(self, request: AdmissionRequest) -> Verdict:
        """Admit or deny one job. The same key and attempt again gets the same answer."""
        name = (request.key, request.attempt)
        if name in self._answered:
            earlier, verdict = self._answered[name]
            if earlier == request:
                return verdict
            return self._denied(request, [_unrelated(request.needs[0], "key_conflict")])
        verdict = self._decide(request)
        self._answered[name] = request, verdict
        return verdict

    def _decide(self, request: AdmissionRequest) -> Verdict:
        blocks = self._rule_blocks(request)
        placed: list[_Placed] = []
        for need in request.needs:
            if need.units:
                found = self._place(request, need)
                if isinstance(found, _Placed):
                    placed.append(found)
                else:
                    blocks.extend(found)
        if blocks:
            return self._denied(request, blocks)
        for place in placed:
            if place.units:
                place.book.add(place.row, place.tier, place.units, slow=place.slow)
        return Verdict(
            key=request.key,
            attempt=request.attempt,
            admitted=True,
            grants=tuple(self._grant(request, place) for place in placed),
        )

    def _rule_blocks(self, request: AdmissionRequest) -> list[Block]:
        """What the job's class forbids, whatever is free."""
        need = next((need for need in request.needs if need.units), None)
        if need is None:
            return []
        blocks = []
        if request.priority_class == _PRODUCTION_SERVING and request.tier in ("borrowed", "spot"):
            blocks.append(_unrelated(need, "class_may_not_borrow", request.account))
        too_long = (request.duration_seconds or 0) > self._policy.interactive_seconds_max
        if request.priority_class == _INTERACTIVE and too_long:
            blocks.append(_unrelated(need, "duration", request.account))
        return blocks

    def _place(self, request: AdmissionRequest, need: Need) -> _Placed | list[Block]:
        book = self.books.get(need.pool)
        row = self.accounts.row_of.get(request.account)
        if book is None or row is None:
            limit: LimitName = "unknown_pool" if book is None else "unknown_account"
            return [_unrelated(need, limit, request.account)]
        slow = book.is_slow(request.reclaim_seconds)
        tiers = _tiers(request)
        best: Tier = tiers[0]
        units = -1
        for tier in tiers:
            most = min(book.most(row, tier, slow=slow), need.units)
            if most > units:
                best, units = tier, most
            if units == need.units:
                break
        if units >= need.least:
            return _Placed(book, row, best, units, slow)
        # Where borrowing would do, what is left of the own guarantee stops nobody.
        borrowing = [tier for tier in tiers if tier != "guaranteed"]
        blocks = book.blocks(need, row, borrowing or tiers, slow=slow)
        may_not_borrow = request.priority_class == _PRODUCTION_SERVING and request.tier is None
        if may_not_borrow and book.most(row, "borrowed", slow=slow) >= need.least:
            blocks.append(_unrelated(need, "class_may_not_borrow", request.account))
        return blocks

    def _grant(self, request: AdmissionRequest, place: _Placed) -> Grant:
        duration = request.duration_seconds
        if duration is None and request.priority_class == _INTERACTIVE:
            duration = self._policy.interactive_seconds_max
        return Grant(
            pool=place.book.key,
            units=place.units,
            tier=place.tier,
            hold_until=self._now + timedelta(seconds=self._policy.hold_seconds),
            lease_seconds=self._policy.lease_seconds,
            duration_seconds=duration,
        )

    def _denied(self, request: AdmissionRequest, blocks: Sequence[Block]) -> Verdict:
        relief: list[Relief] = []
        for pool in dict.fromkeys(block.pool for block in blocks):
            index = self._relief.get(pool)
            here = [block for block in blocks if block.pool == pool]
            found = index.relief(request.account, here) if index else None
            if found is not None:
                relief.append(found)
        return Verdict(
            key=request.key,
            attempt=request.attempt,
            admitted=False,
            blocks=tuple(blocks),
            relief=tuple(relief),
        )


def decide(
    *,
    accounts: Mapping[AccountKey, AccountKey | None],
    pools: Mapping[AccountKey, PoolState],
    requests: Sequence[AdmissionRequest],
    now: datetime,
    policy: AdmissionPolicy | None = None,
) -> tuple[Verdict, ...]:
    """One verdict per request, in order; see the module's text.

    Raises:
        Invalid: `requests_too_many`; as `Admissions`.
    """
    if len(requests) > REQUESTS_MAX:
        raise Invalid(
            "requests_too_many",
            f"A batch holds at most {REQUESTS_MAX} requests, not {len(requests)}.",
            field="requests",
            facts={"maximum": REQUESTS_MAX},
        )
    batch = Admissions(accounts=accounts, pools=pools, now=now, policy=policy)
    return tuple(batch.decide(request) for request in requests)


def _tiers(request: AdmissionRequest) -> tuple[Tier, ...]:
    """The tiers a job accepts, best first."""
    if request.tier is not None:
        return (request.tier,)
    if request.priority_class == _PRODUCTION_SERVING:
        return ("guaranteed",)
    return (
        ("guaranteed", "borrowed", "spot") if request.spot_allowed else ("guaranteed", "borrowed")
    )


def _unrelated(need: Need, limit: LimitName, account: AccountKey | None = None) -> Block:
    """A reason that no amount of room would lift: all that is asked is short."""
    return Block(pool=need.pool, account=account, limit=limit, available=0, short_by=need.units)
