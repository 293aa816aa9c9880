"""Admit a scheduler's waiting jobs, in its order, all in one transaction."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ledger import scope
from ledger.errors import Invalid
from ledger.execution import Unit, handles
from quota import allocation_facts as facts
from quota import allocation_words as words
from quota import wire
from quota.allocation_facts import StoredAllocation
from quota.commands import settling
from quota.domain import lifecycle
from quota.domain.admission import Admissions
from quota.domain.batch import (
    REQUESTS_MAX,
    AdmissionRequest,
    Block,
    Grant,
    Need,
    Occupant,
    Relief,
    Verdict,
)
from quota.domain.reservation import Reservation
from quota.loading import allocations as loading
from quota.loading import standings
from quota.loading.occupants import Occupants
from quota.loading.standings import Standing
from quota.reservation_events import ReservationEnded
from tenancy.domain.roles import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmitBatch:
    """Decide waiting jobs in this order; at most REQUESTS_MAX.

    A job (key and attempt) that was admitted before gets its allocations again.
    """

    requests: tuple[wire.Ask, ...]


def _standing_of(command: AdmitBatch, organization_id: UUID, now: datetime) -> scope.Ahead:
    """Lock the pools that are asked, and what they stand at."""
    requests = command.requests[:REQUESTS_MAX]
    return standings.locked_standing_ahead(
        organization_id,
        now=now,
        pool_names={need.pool for ask in requests for need in needs_of(ask)},
        account_names={ask.account for ask in requests},
        person_names={ask.person for ask in requests},
        keys=[ask.key for ask in requests],
    )


@handles(AdmitBatch, permission=Scope.ADMISSION_WRITE, ahead=_standing_of)
def admit_batch(command: AdmitBatch, unit: Unit) -> wire.Admissions:
    """Lock the pools, record what has lapsed in them, decide, record the holds."""
    requests = command.requests
    if len(requests) > REQUESTS_MAX:
        raise Invalid(
            "too_many_items",
            f"One batch takes at most {REQUESTS_MAX} requests. Send the rest in further ones.",
            field="requests",
            facts={"limit": REQUESTS_MAX},
        )
    batch = _Batch(unit, requests)
    results = [batch.answer(ask) for ask in requests]
    settling.record(unit, batch.events)
    return wire.Admissions(
        at=unit.now,
        dry_run=False,
        admitted=sum(result.status == "admitted" for result in results),
        denied=sum(result.status == "denied" for result in results),
        heartbeat_seconds=batch.policy.heartbeat_seconds,
        results=results,
    )


class _Batch:
    """Everything loaded for the jobs of a command, and the events that come of them."""

    def __init__(self, unit: Unit, requests: tuple[wire.Ask, ...]) -> None:
        here = unit.organization_id
        self._unit = unit
        ahead = unit.ahead
        standing = standings.standing_from(
            here, ahead.rows, now=unit.now, known=ahead.memo, is_kept=True
        )
        self._standing: Standing = standing
        self.policy = standing.policy
        pools = standing.pools
        self._pools = {one.pool.name: id_ for id_, one in pools.items()}
        ground = standing.ground
        self._accounts = (
            ground.ids if ground else {name: id_ for id_, name in standing.names.items()}
        )
        self._people = standing.people
        self._pool_names = {id_: one.pool.name for id_, one in pools.items()}
        self._earlier: dict[tuple[str, int], list[StoredAllocation]] = {}
        if standing.has_known_keys:
            self._load_earlier(requests)
        self.events: list = settling.end_lapsed(unit, list(pools), standing)
        gone = {event.allocation_id for event in self.events}
        for pool_id in {event.pool_id for event in self.events}:
            self.events += settling.promote(unit, standing, pool_id, gone=gone)
        self._admissions = Admissions(
            accounts=standing.tree(),
            pools={id_: standing.state(id_, Occupants(here, id_, now=unit.now)) for id_ in pools},
            trees={id_: standing.pool_tree(id_) for id_ in pools},
            now=unit.now,
            policy=standing.policy,
        )
        self._made: dict[tuple[str, int], list[wire.AllocationView]] = {}

    def _load_earlier(self, requests: tuple[wire.Ask, ...]) -> None:
        here = self._unit.organization_id
        for stored in loading.of_keys(
            here, [ask.key for ask in requests], attempts=[ask.attempt for ask in requests]
        ):
            name = (stored.value.key, stored.value.attempt)
            self._earlier.setdefault(name, []).append(stored)
        elsewhere = {s.value.pool for found in self._earlier.values() for s in found}
        self._pool_names |= loading.pool_names(here, elsewhere)

    def answer(self, ask: wire.Ask) -> wire.AdmissionResult:
        """Decide one job, or say why it cannot be decided, or what was decided before."""
        faults = self._faults(ask)
        if faults:
            return _result(ask, "invalid", errors=faults)
        earlier = self._earlier.get((ask.key, ask.attempt))
        if earlier:
            return self._again(ask, earlier)
        try:
            request = self._request(ask)
        except Invalid as error:
            fault = wire.Fault(code=error.code, field=error.field, detail=error.detail)
            return _result(ask, "invalid", errors=[fault])
        verdict = self._decide(request)
        if not verdict.admitted:
            return self._denied(ask, verdict)
        made = self._made.get((ask.key, ask.attempt))
        if made is not None:
            return _result(ask, "admitted", allocations=made, repeated=True)
        made = [
            self._hold(ask, request, grant, leads=number == 0)
            for number, grant in enumerate(verdict.grants)
        ]
        self._made[ask.key, ask.attempt] = made
        return _result(ask, "admitted", allocations=made)

    def _decide(self, request: AdmissionRequest) -> Verdict:
        """What is set aside for the job counts as free for it alone, and is its own afterwards."""
        pools = {need.pool for need in request.needs}
        mine = [
            one
            for one in self._standing.reservations
            if one.key == request.key and one.account == request.account and one.pool in pools
        ]
        for one in mine:
            self._reserve(one, -one.units)
        verdict = self._admissions.decide(request)
        for one in mine:
            if verdict.admitted:
                self._standing.reservations.remove(one)
                used = ReservationEnded(reservation_id=one.id, pool_id=one.pool, why="used")
                self.events.append(used)
            else:
                self._reserve(one, one.units)
        return verdict

    def _reserve(self, one: Reservation, units: int) -> None:
        book = self._admissions.books[one.pool]
        row = self._admissions.accounts.row_of[one.account]
        book.add(row, one.tier, units, slow=one.slow)

    def _faults(self, ask: wire.Ask) -> list[wire.Fault]:
        found = []
        account = self._accounts.get(ask.account)
        if account is None:
            found.append(
                _fault("account_unknown", "account", f"There is no account {ask.account}.")
            )
        elif account in self._standing.closed:
            detail = f"The account {ask.account} is archived."
            found.append(_fault("account_archived", "account", detail))
        if ask.person not in self._people:
            found.append(_fault("person_unknown", "person", f"There is no person {ask.person}."))
        needs = needs_of(ask)
        if not needs or (ask.needs and (ask.pool or ask.units or ask.min_units)):
            detail = "Give `pool` and `units`, or `needs` for a job over several pools."
            found.append(_fault("needs_malformed", "needs", detail))
        allowed = self._unit.actor.pool_ids
        for need in needs:
            pool_id = self._pools.get(need.pool)
            if pool_id is None:
                found.append(_fault("pool_unknown", "pool", f"There is no pool {need.pool}."))
            elif allowed is not None and pool_id not in allowed:
                detail = f"This token may not ask for units of pool {need.pool}."
                found.append(_fault("pool_denied", "pool", detail))
        return found

    def _request(self, ask: wire.Ask) -> AdmissionRequest:
        return AdmissionRequest(
            key=ask.key,
            attempt=ask.attempt,
            account=self._accounts[ask.account],
            person=self._people[ask.person],
            needs=tuple(
                Need(pool=self._pools[n.pool], units=n.units, min_units=n.min_units)
                for n in needs_of(ask)
            ),
            priority_class=ask.job_class,
            tier=ask.tier,
            spot_allowed=ask.spot_allowed,
            duration_seconds=ask.duration_seconds,
            reclaim_seconds=ask.reclaim_seconds,
        )

    def _hold(
        self, ask: wire.Ask, request: AdmissionRequest, grant: Grant, *, leads: bool
    ) -> wire.AllocationView:
        slow = (
            request.reclaim_seconds > self._standing.pools[grant.pool].pool.reclaim_target_seconds
        )
        value = lifecycle.hold(request, grant, now=self._unit.now)
        made = StoredAllocation(self._unit.new_id(), slow, ask.labels or {}, value)
        self.events.append(facts.held(made, leads=leads))
        return view(made, self._pool_names, self._standing.names)

    def _again(self, ask: wire.Ask, earlier: list[StoredAllocation]) -> wire.AdmissionResult:
        """What this attempt was given before; judged now."""
        if not self._same(ask, earlier):
            need = needs_of(ask)[0]
            block = Block(
                pool=self._pools[need.pool],
                account=self._accounts[ask.account],
                limit="key_conflict",
                available=0,
                short_by=0,
            )
            return _result(ask, "denied", blocks=[self._block(block)])
        now = self._unit.now
        judged = [settling.as_of(s, lifecycle.judge(s.value, now=now)) for s in earlier]
        views = [view(stored, self._pool_names, self._standing.names) for stored in judged]
        lives = any(stored.value.state in lifecycle.LIVE for stored in judged)
        status = "admitted" if lives else "ended"
        return _result(ask, status, allocations=views, repeated=True)

    def _same(self, ask: wire.Ask, earlier: list[StoredAllocation]) -> bool:
        wanted = {self._pools[n.pool]: (n.min_units or n.units, n.units) for n in needs_of(ask)}
        given = {s.value.pool: (s.value.min_units, s.value.wanted_units) for s in earlier}
        first = earlier[0].value
        return wanted == given and (
            first.account,
            first.person,
            first.priority_class,
            first.tier_wish,
        ) == (
            self._accounts[ask.account],
            self._people[ask.person],
            ask.job_class,
            ask.tier,
        )

    def _denied(self, ask: wire.Ask, verdict: Verdict) -> wire.AdmissionResult:
        return _result(
            ask,
            "denied",
            blocks=[self._block(block) for block in verdict.blocks],
            relief=[self._relief(relief) for relief in verdict.relief],
        )

    def _block(self, block: Block) -> wire.BlockView:
        pool = self._pool_names[block.pool]
        account = None if block.account is None else self._standing.names[block.account]
        return wire.BlockView(
            pool=pool,
            account=account,
            limit=block.limit,
            available=block.available,
            short_by=block.short_by,
            detail=words.block(block, pool=pool, account=account),
        )

    def _relief(self, relief: Relief) -> wire.ReliefView:
        return wire.ReliefView(
            pool=self._pool_names[relief.pool],
            reclaim=[self._occupant(one) for one in relief.reclaim],
            reclaim_enough=relief.reclaim_enough,
            ends=[self._occupant(one) for one in relief.ends],
            ends_enough_at=relief.ends_enough_at,
        )

    def _occupant(self, one: Occupant) -> wire.OccupantView:
        return wire.OccupantView(
            key=one.key,
            account=self._standing.names[one.account],
            tier=one.tier,
            job_class=one.priority_class,
            units=one.units,
            ends_at=one.ends_at,
        )


def needs_of(ask: wire.Ask) -> list[wire.PoolNeed]:
    """What a job needs, in whichever form it was asked; empty when in neither."""
    if ask.needs:
        return [need for need in ask.needs if need.units]
    if ask.pool is None or ask.units is None:
        return []
    return [wire.PoolNeed(pool=ask.pool, units=ask.units, min_units=ask.min_units)]


def view(
    stored: StoredAllocation, pools: dict[UUID, str], accounts: dict[UUID, str]
) -> wire.AllocationView:
    """An allocation with names."""
    value = stored.value
    return wire.AllocationView(
        id=str(stored.id),
        key=value.key,
        attempt=value.attempt,
        pool=pools[value.pool],
        account=accounts[value.account],
        units=value.units,
        tier=value.tier,
        state=value.state,
        hold_until=value.hold_until,
        lease_seconds=value.lease_seconds,
        duration_seconds=value.duration_seconds,
        started_at=value.started_at,
        lease_until=value.lease_until,
        ended_at=value.ended_at,
    )


def _result(ask: wire.Ask, status: str, **more) -> wire.AdmissionResult:
    return wire.AdmissionResult(key=ask.key, attempt=ask.attempt, status=status, **more)


def _fault(code: str, field: str, detail: str) -> wire.Fault:
    return wire.Fault(code=code, field=field, detail=detail)
