"""Close a review cycle: apply all its decisions in one transaction, or say which cannot be."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from ledger.errors import DomainError, Refused
from ledger.execution import Unit, handles
from quota import cycle_events as ev
from quota.domain.cycles import Chosen, EntryState, Outcome, check_open, together
from quota.domain.routing import Human, same_human
from quota.loading import cycles as loading
from quota.loading import requests as request_loading
from quota.loading.cycles import Cycle, Entry
from quota.ports import Place
from quota.recording import Books, open_books, record
from quota.requesting import person_of
from tenancy import policy as tenancy_policy
from tenancy.domain.roles import REQUEST_REVIEW, TAKE_PART

NAMED_MAX = 200
"""Quotas that a refusal names one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseCycle:
    """Apply the decisions of a cycle and end it.

    Attributes:
        undecided_keep: quotas without a decision stay as they are; otherwise the close is refused
            while there are some.
        without_impossible: decisions that cannot be applied are left out and said; otherwise the
            close is refused, and nothing is applied.
    """

    cycle_id: UUID
    undecided_keep: bool = False
    without_impossible: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ImpossibleDecision:
    """A decision that could not be applied, and why."""

    account: str
    pool: str
    units: int
    code: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleClosed:
    """What came of it. `impossible` names the first NAMED_MAX."""

    cycle_id: UUID
    changed: int
    kept: int
    undecided: int
    impossible_count: int
    impossible: tuple[ImpossibleDecision, ...]


@handles(CloseCycle, permission=TAKE_PART)
def close_cycle(command: CloseCycle, unit: Unit) -> CycleClosed:
    """Pools under lock first, in the one order; then the cycle, alone: nobody decides meanwhile."""
    person = person_of(unit)
    seen = loading.cycle(unit.organization_id, command.cycle_id)
    tenancy_policy.authorize(unit.actor, REQUEST_REVIEW, seen.account_id, unit.organization_id)
    pools = loading.pools_of(unit.organization_id, command.cycle_id)
    books = open_books(unit, pools)
    cycle = loading.cycle(unit.organization_id, command.cycle_id, lock="FOR UPDATE")
    check_open(cycle.state)
    closing = _Closing(unit, books, loading.entries(unit.organization_id, cycle.id))
    if closing.undecided and not command.undecided_keep:
        raise _undecided(closing.undecided)
    closing.leave_to_others(person)
    # The quotas' own history says where the change comes from.
    unit.reason = _reason(cycle, unit.reason)
    closing.apply()
    if closing.impossible and not command.without_impossible:
        raise _impossible(closing.named())
    closing.tell(cycle)
    return CycleClosed(
        cycle_id=cycle.id,
        changed=closing.counts[Outcome.CHANGED],
        kept=closing.counts[Outcome.KEPT],
        undecided=closing.counts[Outcome.UNDECIDED],
        impossible_count=len(closing.impossible),
        impossible=closing.named(),
    )


@dataclass(slots=True)
class _Closing:
    unit: Unit
    books: Books
    entries: Mapping[Place, Entry]
    impossible: dict[Place, DomainError] = field(default_factory=dict)
    before: dict[Place, int] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def undecided(self) -> list[Entry]:
        return [one for one in self.entries.values() if one.state != EntryState.DECIDED]

    @property
    def decided(self) -> dict[Place, Chosen]:
        return {place: _chosen(one) for place, one in self.entries.items() if _is_decided(one)}

    def leave_to_others(self, person: UUID) -> None:
        """Rises as large as need two people: whoever decided one is not who closes."""
        limit = request_loading.policy(self.unit.organization_id).two_approvals_units
        large = [
            self.entries[place] for place, one in self.decided.items() if one.rise >= max(1, limit)
        ]
        people = {one.reviewer_id for one in large if one.reviewer_id}
        if not people:
            return
        leads = loading.leads_of(self.unit.organization_id, large)
        leading = {one for each in leads.values() for one in each}
        humans = request_loading.humans(self.unit.organization_id, {person, *people, *leading})
        me = humans.get(person, Human(person_id=person))
        for entry in large:
            barred = {entry.reviewer_id, *leads[entry.account_id]}
            if any(same_human(me, humans[one]) for one in barred if one in humans):
                self.impossible[entry.place] = Refused(
                    "second_person_needed",
                    f"A rise of {limit} units or more takes two people: another reviewer, who does "
                    "not lead the account, has to close the cycle.",
                    facts={"limit": limit},
                )

    def apply(self) -> None:
        """Pool by pool, all decisions at once."""
        by_pool: dict[UUID, dict[UUID, Chosen]] = {}
        for (account, pool), one in self.decided.items():
            if (account, pool) not in self.impossible:
                by_pool.setdefault(pool, {})[account] = one
        for account, pool in self.entries:
            book = self.books.of[pool]
            self.before[account, pool] = book.cell(account).quota.guaranteed
        for pool, chosen in by_pool.items():
            book = self.books.of[pool]
            self.books.paths.load(chosen)
            made = together(book, chosen, at=self.unit.now)
            for account, error in made.impossible.items():
                self.impossible[account, pool] = error
            record(self.unit, pool, made.changes)

    def named(self) -> tuple[ImpossibleDecision, ...]:
        """The first of those that cannot be, by account and pool."""
        found = [
            ImpossibleDecision(
                account=one.account,
                pool=one.pool,
                units=one.units or 0,
                code=self.impossible[place].code,
                detail=self.impossible[place].detail,
            )
            for place, one in self.entries.items()
            if place in self.impossible
        ]
        return tuple(found[:NAMED_MAX])

    def tell(self, cycle: Cycle) -> None:
        """Events of what became of each quota, in bounded parts, then of the close."""
        settled = [self._settled(place, one) for place, one in self.entries.items()]
        self.counts.update(one.outcome for one in settled)
        for start in range(0, len(settled), ev.LISTED_MAX):
            part = tuple(settled[start : start + ev.LISTED_MAX])
            self.unit.record(ev.CycleSettled(cycle_id=cycle.id, quotas=part))
        self.unit.record(
            ev.CycleClosed(
                cycle_id=cycle.id,
                account_id=cycle.account_id,
                changed=self.counts[Outcome.CHANGED],
                kept=self.counts[Outcome.KEPT],
                undecided=self.counts[Outcome.UNDECIDED],
                impossible=len(self.impossible),
            )
        )

    def _settled(self, place: Place, entry: Entry) -> ev.SettledQuota:
        account, pool = place
        error = self.impossible.get(place)
        before = self.before[place]
        after = self.books.of[pool].cell(account).quota.guaranteed
        if error is not None:
            outcome = Outcome.IMPOSSIBLE
        elif not _is_decided(entry):
            outcome = Outcome.UNDECIDED
        else:
            outcome = Outcome.CHANGED if after != before else Outcome.KEPT
        return ev.SettledQuota(
            account_id=account,
            pool_id=pool,
            outcome=str(outcome),
            before=before,
            after=after,
            code=error.code if error else None,
            detail=error.detail if error else None,
        )


def _is_decided(entry: Entry) -> bool:
    return entry.state == EntryState.DECIDED


def _chosen(entry: Entry) -> Chosen:
    assert entry.units is not None and entry.seen_guaranteed is not None
    return Chosen(
        units=entry.units,
        guaranteed=entry.seen_guaranteed,
        base=entry.seen_base or 0,
    )


def _reason(cycle: Cycle, said: str) -> str:
    return f"{cycle.name}: {said.strip()}" if said.strip() else cycle.name


def _undecided(entries: Iterable[Entry]) -> Refused:
    left = [f"{one.account} in {one.pool}" for one in entries]
    return Refused(
        "cycle_undecided",
        f"{len(left)} quotas have no decision. Decide them, or say that they stay as they are.",
        field="undecided_keep",
        facts={"count": len(left), "undecided": left[:NAMED_MAX]},
    )


def _impossible(found: tuple[ImpossibleDecision, ...]) -> Refused:
    first = found[0]
    more = f" And {len(found) - 1} more." if len(found) > 1 else ""
    return Refused(
        "cycle_impossible",
        f"Nothing was applied: {first.account} in {first.pool} cannot become {first.units}. "
        f"{first.detail}{more} Decide them again, or close without them.",
        field="without_impossible",
        facts={
            "count": len(found),
            "impossible": [
                {
                    "account": one.account,
                    "pool": one.pool,
                    "units": one.units,
                    "code": one.code,
                    "detail": one.detail,
                }
                for one in found
            ],
        },
    )
