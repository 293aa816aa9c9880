"""Find what is odd, and decide what becomes of it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from ledger.errors import Invalid, NotFound, Refused
from ledger.execution import Unit, handles
from preemption import detection_events as ev
from preemption import detection_loading as loading
from preemption.commands.detection_finding import Found, find
from preemption.detection_loading import Known
from quota.commands.taking_back import PoolInHand
from quota.queries.work import works
from quota.recording import check_reason
from tenancy.domain.roles import REQUEST_WRITE, SYSTEM_ONLY

QUIET_DAYS_MAX = 366
FOUND_MAX = 2_000
"""Detections that one run opens: the next one goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindDetections:
    """Look at a pool's jobs, or at its accounts' `consumption`. Run twice, late or by two at once,
    it has one effect."""

    pool_id: UUID
    consumption: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionsFound:
    """How many were opened, told again, and closed."""

    found: int = 0
    reopened: int = 0
    cleared: int = 0


@handles(FindDetections, permission=SYSTEM_ONLY)
def find_detections(command: FindDetections, unit: Unit) -> DetectionsFound:
    """What is so and was not known is found; what was known and is not so any more is cleared."""
    here, now = unit.organization_id, unit.now
    policy = loading.policy(here)
    loading.lock(here, command.pool_id)
    known = {
        (one.kind, one.subject): one
        for one in loading.current(here, command.pool_id)
        if (one.kind == "surge") == command.consumption
    }
    look = find(unit, command.pool_id, policy, known.values(), consumption=command.consumption)
    cleared = 0
    for key, one in known.items():
        if key not in look.found:
            why = look.why_over(one, policy)
            unit.record(ev.DetectionCleared(**_place(one), why=why))
            cleared += 1
    reopened = [
        one
        for key, one in known.items()
        if key in look.found and one.quiet_until is not None and one.quiet_until <= now
    ]
    for one in reopened:
        unit.record(ev.DetectionReopened(**_place(one), kind=one.kind))
    quiet = loading.quiet(here, command.pool_id, now=now)
    fresh = [one for key, one in look.found.items() if key not in known and key not in quiet]
    for one in fresh[:FOUND_MAX]:
        unit.record(_found(unit, command.pool_id, one))
    return DetectionsFound(found=len(fresh[:FOUND_MAX]), reopened=len(reopened), cleared=cleared)


def _found(unit: Unit, pool_id: UUID, one: Found) -> ev.DetectionFound:
    return ev.DetectionFound(
        detection_id=unit.new_id(),
        pool_id=pool_id,
        account_id=one.account_id,
        kind=one.kind,
        since=one.since,
        units=one.units,
        worth_per_hour=one.worth_per_hour,
        allocation_id=one.allocation_id,
        person_id=one.person_id,
        job=one.job,
        work=one.work,
        use=one.use,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AcknowledgeDetection:
    """Say that it is known and why it is so. `until`: quiet until then, and told again if it is
    still so; None: as long as it lasts."""

    detection_id: UUID
    account_id: UUID
    until: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseDetected:
    """Release the allocation that does nothing: its units are free at once."""

    detection_id: UUID
    account_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionDecided:
    """`changed` False: it was so already. `units` are free now."""

    changed: bool
    state: str
    units: int = 0


@handles(AcknowledgeDetection, permission=REQUEST_WRITE, on="account_id")
def acknowledge_detection(command: AcknowledgeDetection, unit: Unit) -> DetectionDecided:
    """Refused once it is closed."""
    check_reason(unit)
    until = command.until
    latest = unit.now + timedelta(days=QUIET_DAYS_MAX)
    if until is not None and (until.tzinfo is None or not unit.now < until <= latest):
        raise Invalid(
            "until_out_of_range",
            f"Quiet until an instant within {QUIET_DAYS_MAX} days, with its zone.",
            field="until",
        )
    one = _one(unit, command.detection_id, command.account_id)
    if one.state not in ("open", "acknowledged"):
        raise _closed()
    unit.record(ev.DetectionAcknowledged(**_place(one), until=until))
    return DetectionDecided(changed=True, state="acknowledged")


@handles(ReleaseDetected, permission=REQUEST_WRITE, on="account_id")
def release_detected(command: ReleaseDetected, unit: Unit) -> DetectionDecided:
    """Under the lock of the pool, and only while the job told of nothing better: one that works
    again is left alone."""
    check_reason(unit)
    here = unit.organization_id
    pool_id, allocation_id = _meant(unit, command)
    # The pool first, as everybody does who ends allocations.
    pool = PoolInHand(unit, pool_id=pool_id, allocation_ids=(allocation_id,))
    one = _one(unit, command.detection_id, command.account_id)
    if one.state == "acted":
        return DetectionDecided(changed=False, state="acted")
    if one.state == "cleared":
        raise _closed()
    work = works(here, [allocation_id]).get(allocation_id)
    rule = loading.policy(here).rule
    limit = rule.idle_below if one.kind == "idle" else rule.zombie_below
    if work is None or work.compute_util is None or work.compute_util >= limit:
        raise Refused(
            "detection_over",
            "The job has told of work since. Nothing was released; the detection will be cleared.",
        )
    units = pool.allocations[allocation_id].value.units
    outcome = pool.end(allocation_id, at=unit.now)
    pool.record()
    if not outcome.changed or outcome.code != "released":
        unit.record(ev.DetectionCleared(**_place(one), why="ended"))
        return DetectionDecided(changed=False, state="cleared")
    unit.record(ev.DetectionActed(**_place(one), units=units))
    return DetectionDecided(changed=True, state="acted", units=units)


def _meant(unit: Unit, command: ReleaseDetected) -> tuple[UUID, UUID]:
    one = loading.one(unit.organization_id, command.detection_id)
    if one is None or one.account_id != command.account_id:
        raise _unknown()
    if one.allocation_id is None:
        raise Refused(
            "nothing_to_release",
            "This is about an account's use and not about one job. Acknowledge it, or ask for the "
            "quota that it needs.",
        )
    return one.pool_id, one.allocation_id


def _one(unit: Unit, detection_id: UUID, account_id: UUID) -> Known:
    one = loading.one_for_update(unit.organization_id, detection_id)
    if one is None or one.account_id != account_id:
        raise _unknown()
    return one


def _unknown() -> NotFound:
    return NotFound("detection_unknown", "There is no such detection.", field="detection")


def _closed() -> Refused:
    return Refused("detection_closed", "It is no longer so, or somebody has acted on it already.")


def _place(one: Known) -> dict[str, UUID]:
    return {"detection_id": one.id, "pool_id": one.pool_id, "account_id": one.account_id}
