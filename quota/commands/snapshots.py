"""Reconcile a pool with its scheduler's whole truth, so that no lost message leaves units stuck."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

import msgspec

from ledger.errors import Denied, Invalid, NotFound
from ledger.execution import Unit, handles
from quota import allocation_events as ev
from quota import allocation_facts as facts
from quota import wire
from quota.allocation_facts import StoredAllocation
from quota.commands import settling
from quota.commands.admissions import view
from quota.domain import lifecycle
from quota.domain.book import Accounts, Book
from quota.domain.lifecycle import CLOCK_SKEW_MAX, LIVE, Allocation, Outcome, Step
from quota.domain.values import Tier
from quota.loading import allocations as loading
from quota.loading import standings
from tenancy.domain.roles import Scope

JOBS_MAX = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcilePool:
    """What ran in a pool at an instant, all of it."""

    pool: str
    at: datetime
    jobs: tuple[wire.SnapshotJob, ...]


@handles(ReconcilePool, permission=Scope.ADMISSION_WRITE)
def reconcile_pool(command: ReconcilePool, unit: Unit) -> wire.Reconciled:
    """End what runs no more, take note of what does, adopt what was not known, say what differs.

    Raises:
        NotFound: `pool_unknown`. Denied: `pool_denied`. Invalid: `snapshot_too_old`,
            `snapshot_from_the_future`, `too_many_items`, `duplicate_key`.
    """
    _check(command, unit.now)
    found = _Reconciliation(unit, command)
    found.end_missing()
    for job in command.jobs:
        found.compare(job)
    return found.finish()


def _check(command: ReconcilePool, now: datetime) -> None:
    if len(command.jobs) > JOBS_MAX:
        raise Invalid(
            "too_many_items",
            f"A snapshot has at most {JOBS_MAX} jobs.",
            field="jobs",
            facts={"limit": JOBS_MAX},
        )
    names = {(job.key, job.attempt) for job in command.jobs}
    # Without an attempt the newest is meant, so it may not stand beside one that is named.
    twice = any(attempt is not None and (key, None) in names for key, attempt in names)
    if twice or len(names) < len(command.jobs):
        raise Invalid("duplicate_key", "A job runs once: its key occurs twice.", field="jobs")
    if command.at > now + CLOCK_SKEW_MAX:
        raise Invalid(
            "snapshot_from_the_future", "`at` lies in the future. Check the clock.", field="at"
        )


def _check_age(at: datetime, *, now: datetime, lease_seconds: int) -> None:
    """What was true a lease ago tells nothing any more."""
    oldest = now - timedelta(seconds=lease_seconds)
    if at < oldest:
        raise Invalid(
            "snapshot_too_old",
            "The snapshot is older than a lease; too much may have happened since. Take another.",
            field="at",
            facts={"oldest": oldest.isoformat()},
        )


class _Reconciliation:
    """A pool under lock beside what its scheduler says."""

    def __init__(self, unit: Unit, command: ReconcilePool) -> None:
        here = unit.organization_id
        self._unit = unit
        self._jobs = command.jobs
        self._named = {(job.key, job.attempt) for job in command.jobs}
        self._at = min(command.at, unit.now)
        pools = standings.lock_pools(here, names=(command.pool,))
        if not pools:
            raise NotFound("pool_unknown", f"There is no pool {command.pool}.", field="pool")
        (self._pool_id,) = pools
        self._names = {self._pool_id: command.pool}
        allowed = unit.actor.pool_ids
        if allowed is not None and self._pool_id not in allowed:
            raise Denied("pool_denied", f"This token may not speak for pool {command.pool}.")
        accounts = {job.account for job in command.jobs}
        self._standing = standings.standing(
            here,
            pools,
            now=unit.now,
            account_names=accounts,
            person_names={job.person for job in command.jobs},
        )
        lease_seconds = self._standing.policy.lease_seconds
        _check_age(command.at, now=unit.now, lease_seconds=lease_seconds)
        self._account_ids = {name: id_ for id_, name in self._standing.names.items()}
        self._people = self._standing.people
        self._events: list = settling.end_lapsed(unit, list(pools), self._standing)
        self._gone = {event.allocation_id for event in self._events}
        self._changed: dict[UUID, StoredAllocation] = {}
        self._renewals: list[ev.Renewal] = []
        self._differences: list[wire.Difference] = []
        self._known = self._adopted = self._ended = self._disputed = 0
        self._ours = self._load(command.jobs)
        self._name_accounts()
        tree = Accounts(self._standing.accounts)
        self._tree = tree
        self._book: Book | None = None

    def _load(self, jobs: Sequence[wire.SnapshotJob]) -> dict[str, list[StoredAllocation]]:
        """What is recorded of the pool's live jobs and of those the scheduler names; judged now."""
        here = self._unit.organization_id
        rows = {one.id: one for one in loading.live(here, self._pool_id)}
        rows |= {one.id: one for one in loading.of_keys(here, {job.key for job in jobs})}
        found: dict[str, list[StoredAllocation]] = {}
        for one in rows.values():
            if one.value.pool == self._pool_id:
                judged = lifecycle.judge(one.value, now=self._unit.now)
                found.setdefault(one.value.key, []).append(settling.as_of(one, judged))
        return found

    def _name_accounts(self) -> None:
        """What is over may be of an account that has neither quota nor units here any more."""
        accounts = {one.value.account for mine in self._ours.values() for one in mine}
        if missing := accounts - self._standing.names.keys():
            here = self._unit.organization_id
            more = loading.account_names(here, missing)
            self._standing.names = {**self._standing.names, **more}

    def _meant(self, job: wire.SnapshotJob) -> StoredAllocation | None:
        """The allocation that the scheduler speaks of: of the attempt it names, else the newest.
        It goes on counting the attempt in whose place another one was adopted."""
        mine = self._ours.get(job.key, [])
        newest = max(mine, key=lambda stored: stored.value.attempt, default=None)
        if newest is None or job.attempt is None:
            return newest
        one = next((stored for stored in mine if stored.value.attempt == job.attempt), None)
        goes_on = (
            one is not None
            and one.value.state == "expired"
            and newest.value.state == "running"
            and (job.key, newest.value.attempt) not in self._named
        )
        return newest if goes_on else one

    def end_missing(self) -> None:
        """Running jobs that the scheduler does not name have ended. Holds may still be started."""
        meant = {one.id for job in self._jobs if (one := self._meant(job)) is not None}
        for mine in self._ours.values():
            for one in mine:
                value = one.value
                if value.state != "running" or one.id in meant or value.heard_at > self._at:
                    continue
                outcome = lifecycle.release(value, at=self._at, now=self._unit.now)
                self._events.append(facts.change(one, outcome.allocation))
                self._gone.add(one.id)
                settling.leave(self._standing, one)
                self._ended += 1
                detail = "The scheduler does not run it any more; its units are free."
                self._say(one, outcome.allocation, "ended", "not_running", detail)
        self._book = Book(self._pool_id, self._standing.state(self._pool_id), self._tree)

    def compare(self, job: wire.SnapshotJob) -> None:
        """One job that runs."""
        one = self._meant(job)
        if one is None:
            self._adopt(job, job.attempt or 1)
        elif one.value.state == "expired" and one.value.ended_at <= self._at:
            # Only its messages were lost: it does run, so it counts, as another attempt of ours.
            mine = [stored.value for stored in self._ours[job.key]]
            # What it used until then counts already.
            until = max(value.ended_at for value in mine if value.ended_at is not None)
            job = msgspec.structs.replace(
                job,
                started_at=max(job.started_at or self._at, until),
                job_class=one.value.priority_class,
                reclaim_seconds=one.value.reclaim_seconds,
                labels=one.labels if job.labels is None else job.labels,
            )
            self._adopt(job, max(value.attempt for value in mine) + 1)
        elif one.value.state not in LIVE:
            if one.value.ended_at <= self._at:
                detail = "It was reported as ended before. End it, or report its next attempt."
                self._dispute(job, one, "already_ended", detail)
        elif self._standing.names.get(one.value.account) != job.account:
            detail = f"It is recorded for account {self._standing.names[one.value.account]}."
            self._dispute(job, one, "other_account", detail)
        else:
            self._agree(job, one)

    def _agree(self, job: wire.SnapshotJob, one: StoredAllocation) -> None:
        """The job lives on both sides: catch up with what was missed."""
        now = self._unit.now
        started = one.value.state == "held"
        if started:
            outcome = lifecycle.start(one.value, at=job.started_at or self._at, now=now)
            one = self._keep(one, outcome)
            self._say(one, one.value, "started", "started", "Its start had not been told.")
        resized = job.units != one.value.units
        if resized:
            outcome = self._resize(job, one)
            if outcome.code != "resized":
                detail = f"It is recorded with {one.value.units} units, it runs with {job.units}."
                self._dispute(job, one, "other_units", detail)
                return
            one = self._keep(one, outcome)
            self._say(one, one.value, "resized", "resized", "Its new size had not been told.")
        if not started and not resized:
            self._known += 1
            self._keep(one, lifecycle.heartbeat(one.value, at=self._at, now=now))

    def _resize(self, job: wire.SnapshotJob, one: StoredAllocation) -> Outcome:
        value = one.value
        row = self._tree.row_of[value.account]
        outcome = lifecycle.resize(
            value,
            units=job.units,
            at=self._at,
            now=self._unit.now,
            room=self._book.most(row, value.tier, slow=one.slow),
        )
        if outcome.code == "resized":
            more = job.units - value.units
            self._book.add(row, value.tier, more, slow=one.slow)
            self._standing.move(value.pool, value.account, value.tier, more, slow=one.slow)
        return outcome

    def _keep(self, before: StoredAllocation, outcome: Outcome) -> StoredAllocation:
        change = facts.change(before, outcome.allocation)
        after = settling.as_of(before, outcome.allocation)
        if isinstance(change, ev.Renewal):
            self._renewals.append(change)
        elif change is not None:
            self._events.append(change)
        self._changed[before.id] = after
        return after

    def _adopt(self, job: wire.SnapshotJob, attempt: int) -> None:
        account = self._account_ids.get(job.account)
        person = self._people.get(job.person)
        if account is None or person is None:
            what = f"account {job.account}" if account is None else f"person {job.person}"
            self._dispute(job, None, "unknown_owner", f"There is no {what}, so it cannot count.")
            return
        pool = self._standing.pools[self._pool_id].pool
        slow = job.reclaim_seconds > pool.reclaim_target_seconds
        tier = self._tier_for(account, job.units)
        self._book.add(self._tree.row_of[account], tier, job.units, slow=slow)
        self._standing.move(self._pool_id, account, tier, job.units, slow=slow)
        value = self._running(job, attempt, account, person, tier)
        made = StoredAllocation(self._unit.new_id(), slow, job.labels or {}, value)
        self._events.append(facts.adopted(made))
        self._adopted += 1
        detail = "It ran without having been admitted; it counts from its start."
        self._say(made, value, "adopted", "not_admitted", detail)

    def _tier_for(self, account: UUID, units: int) -> Tier:
        """By right where the tree lets it through. Whether units are free is no question: they
        are in use."""
        row = self._tree.row_of[account]
        if self._book.column.headroom(row) < units:
            return "spot"
        return "guaranteed" if self._book.guarantee_left(row) >= units else "borrowed"

    def _running(
        self, job: wire.SnapshotJob, attempt: int, account: UUID, person: UUID, tier: Tier
    ) -> Allocation:
        started_at = min(job.started_at or self._at, self._at)
        lease_seconds = self._standing.policy.lease_seconds
        return Allocation(
            key=job.key,
            attempt=attempt,
            account=account,
            person=person,
            pool=self._pool_id,
            units=job.units,
            min_units=job.units,
            wanted_units=job.units,
            priority_class=job.job_class,
            tier=tier,
            reclaim_seconds=job.reclaim_seconds,
            lease_seconds=lease_seconds,
            state="running",
            held_at=started_at,
            hold_until=started_at,
            started_at=started_at,
            heard_at=self._at,
            lease_until=self._at + timedelta(seconds=lease_seconds),
            steps=(Step(started_at, job.units, tier),),
        )

    def _dispute(
        self, job: wire.SnapshotJob, one: StoredAllocation | None, code: str, detail: str
    ) -> None:
        self._disputed += 1
        if one is not None:
            self._say(one, one.value, "disputed", code, detail)
            return
        self._differences.append(
            wire.Difference(
                key=job.key, attempt=job.attempt, done="disputed", code=code, detail=detail
            )
        )

    def _say(
        self, one: StoredAllocation, after: Allocation, done: str, code: str, detail: str
    ) -> None:
        shown = view(replace(one, value=after), self._names, self._standing.names)
        self._differences.append(
            wire.Difference(
                key=after.key,
                attempt=after.attempt,
                done=done,
                code=code,
                detail=detail,
                allocation=shown,
            )
        )

    def finish(self) -> wire.Reconciled:
        """Let others rise into what is free now, and record everything."""
        if self._renewals:
            self._events.append(
                ev.AllocationLeasesRenewed(pool_id=self._pool_id, renewals=tuple(self._renewals))
            )
        self._events += settling.promote(
            self._unit, self._standing, self._pool_id, gone=self._gone, changed=self._changed
        )
        self._events.append(
            ev.PoolSnapshotReconciled(
                pool_id=self._pool_id,
                at=self._at,
                known=self._known,
                adopted=self._adopted,
                ended=self._ended,
                disputed=self._disputed,
            )
        )
        settling.record(self._unit, self._events)
        return wire.Reconciled(
            at=self._at,
            dry_run=False,
            pool=self._names[self._pool_id],
            known=self._known,
            differences=self._differences,
        )
