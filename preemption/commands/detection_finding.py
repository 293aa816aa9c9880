"""One look at a pool: which jobs do nothing, which accounts use a multiple of their usual day."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

from ledger.execution import Unit
from preemption import detection_events as ev
from preemption import detection_loading as loading
from preemption.detection_loading import DayUse, DetectionPolicy, Known, Prices
from preemption.domain.detection import SurgeFinding
from preemption.domain.findings import JobFinding, of_account, of_job, samples
from preemption.domain.worth import excess_per_hour, idle_per_hour
from quota.queries.work import WorkingJob, barely_working, running_among

_SIX = Decimal("0.000001")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Something that is so now; fields as in `DetectionFound`."""

    kind: str
    account_id: UUID
    since: datetime
    units: int
    worth_per_hour: Decimal | None
    allocation_id: UUID | None = None
    person_id: UUID | None = None
    job: str | None = None
    work: ev.WorkEvidence | None = None
    use: ev.UseEvidence | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What was found, by kind and subject, and which allocations of interest still run."""

    found: Mapping[tuple[str, UUID], Found]
    running: frozenset[UUID] = frozenset()
    worked: frozenset[UUID] = frozenset()
    worse: frozenset[UUID] = field(default_factory=frozenset)

    def why_over(self, one: Known, policy: DetectionPolicy) -> str:
        """What ended a detection that is not found any more."""
        if one.kind not in policy.kinds:
            return "off"
        if one.allocation_id is None:
            return "over"
        if one.allocation_id not in self.running:
            return "ended"
        if one.kind == "idle" and one.allocation_id in self.worse:
            return "worse"
        return "over" if one.allocation_id in self.worked else "unknown"


def find(
    unit: Unit,
    pool_id: UUID,
    policy: DetectionPolicy,
    known: Collection[Known],
    *,
    consumption: bool,
) -> Look:
    """Look at jobs, or at consumption.

    Args:
        known: detections that are not closed.
    """
    prices = Prices(unit.organization_id, pool_id, at=unit.now)
    if consumption:
        return _accounts(unit, pool_id, policy, prices)
    return _jobs(unit, pool_id, policy, known, prices)


def _jobs(
    unit: Unit,
    pool_id: UUID,
    policy: DetectionPolicy,
    known: Collection[Known],
    prices: Prices,
) -> Look:
    rule = policy.rule
    below = _decimal(max(rule.idle_below, rule.zombie_below))
    jobs = barely_working(unit.organization_id, pool_id, now=unit.now, below=below)
    found: dict[tuple[str, UUID], Found] = {}
    stale = set()
    for job in jobs:
        fresh = timedelta(seconds=job.lease_seconds)
        if job.work.until is None or unit.now - job.work.until > fresh:
            stale.add(job.id)
        finding = of_job(
            job.work,
            started_at=job.started_at,
            fresh=fresh,
            at=unit.now,
            rule=rule,
            kinds=policy.kinds,
        )
        if finding is not None:
            found[finding.kind, job.id] = _of_job(job, finding, policy, prices)
    of_interest = [one.allocation_id for one in known if one.allocation_id is not None]
    running = running_among(unit.organization_id, of_interest, now=unit.now)
    return Look(
        found=found,
        running=frozenset(running),
        worked=frozenset(running - stale),
        worse=frozenset(id_ for kind, id_ in found if kind == "zombie"),
    )


def _of_job(job: WorkingJob, finding: JobFinding, policy: DetectionPolicy, prices: Prices) -> Found:
    rule, work = policy.rule, job.work
    is_idle = finding.kind == "idle"
    price = prices.price(job.account_id, job.tier)
    used = finding.compute_util if is_idle else Fraction(0)
    return Found(
        kind=finding.kind,
        account_id=job.account_id,
        since=finding.since,
        units=job.units,
        worth_per_hour=None if price is None else _decimal(idle_per_hour(job.units, used, price)),
        allocation_id=job.id,
        person_id=job.person_id,
        job=job.key,
        work=ev.WorkEvidence(
            until=work.until,
            compute_util=_decimal(finding.compute_util),
            below=_decimal(rule.idle_below if is_idle else rule.zombie_below),
            limit_seconds=rule.idle_minutes * 60 if is_idle else rule.progress_seconds_max,
            memory_gb=work.memory_gb,
            progress_at=finding.progress_at,
            stretches=tuple(
                ev.WorkStretch(
                    start=one.start,
                    mean=_decimal(one.compute_util),
                    peak=_decimal(one.peak),
                )
                for one in samples(work)
            ),
        ),
    )


def _accounts(unit: Unit, pool_id: UUID, policy: DetectionPolicy, prices: Prices) -> Look:
    found: dict[tuple[str, UUID], Found] = {}
    if "surge" not in policy.kinds:
        return Look(found=found)
    for account_id, uses in loading.day_uses(unit.organization_id, pool_id, now=unit.now).items():
        for use in uses:
            finding = of_account(use.consumed, use.days, rule=policy.rule)
            if finding is not None:
                found["surge", account_id] = _of_account(
                    account_id, use, finding, policy, prices, now=unit.now
                )
                break
    return Look(found=found)


def _of_account(
    account_id: UUID,
    use: DayUse,
    finding: SurgeFinding,
    policy: DetectionPolicy,
    prices: Prices,
    *,
    now: datetime,
) -> Found:
    price = prices.price(account_id, "guaranteed")
    worth = None
    if price is not None:
        worth = _decimal(excess_per_hour(use.consumed, finding.median, price))
    return Found(
        kind="surge",
        account_id=account_id,
        since=use.starts_at,
        units=-int(-(use.consumed - finding.median) // 86_400),
        worth_per_hour=worth,
        use=ev.UseEvidence(
            day=use.day,
            consumed=use.consumed,
            median=_decimal(finding.median),
            deviation=_decimal(finding.deviation),
            times=_decimal(finding.times),
            factor=policy.rule.baseline_factor,
            spread=policy.rule.baseline_spread,
            first_day=use.first_day,
            days=use.days,
        ),
    )


def _decimal(share: Fraction) -> Decimal:
    return (Decimal(share.numerator) / Decimal(share.denominator)).quantize(_SIX)
