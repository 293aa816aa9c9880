"""Review cycles: open one, by hand or for the quarter; give one up; how they open by themselves."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from ledger.errors import Conflict, Refused
from ledger.execution import Unit, handles
from quota import cycle_events as ev
from quota.cycle_figures import figures_of
from quota.domain import cycles as domain
from quota.domain.cycles import CyclePolicy, check_cycle, check_open, check_policy
from quota.loading import cycles as loading
from quota.queries.versions import versions
from quota.recording import check_reason
from quota.requesting import person_of
from tenancy import policy as tenancy_policy
from tenancy.domain.roles import POLICY_WRITE, REQUEST_REVIEW, SYSTEM_ONLY, TAKE_PART

QUOTAS_MAX = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenCycle:
    """Review every quota at and below an account.

    Attributes:
        window_days: over so many days back from the instant of reading, use is shown.
    """

    account_id: UUID
    name: str
    deadline: datetime
    window_days: int = domain.WINDOW_DAYS


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleOpened:
    """A cycle and how many quotas it reviews."""

    cycle_id: UUID
    quota_count: int


@handles(OpenCycle, permission=REQUEST_REVIEW, on="account_id")
def open_cycle(command: OpenCycle, unit: Unit) -> CycleOpened:
    """List the quotas as they are now: the list is fixed from here on."""
    person_of(unit)
    name = check_cycle(
        name=command.name,
        deadline=command.deadline,
        window_days=command.window_days,
        now=unit.now,
    )
    if loading.open_cycle_of(unit.organization_id, command.account_id) is not None:
        raise Conflict(
            "cycle_open_already",
            "A review cycle over exactly these accounts is open. Close or cancel it first.",
            field="account",
        )
    return _open(
        unit,
        account_id=command.account_id,
        name=name,
        deadline=command.deadline,
        window_days=command.window_days,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenQuarterlyCycle:
    """Open the cycle of the quarter that has begun, once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarterlyOpened:
    """The cycle, and why none was opened: `off`, `not_begun` (the quarter's first days are over),
    `opened_before`, `another_open` or `no_quotas`."""

    cycle_id: UUID | None
    because: str = ""


@handles(OpenQuarterlyCycle, permission=SYSTEM_ONLY)
def open_quarterly_cycle(command: OpenQuarterlyCycle, unit: Unit) -> QuarterlyOpened:
    """In the first OPENING_DAYS days of a quarter by the organization's calendar. A second run,
    also at the same time, finds the first one's."""
    policy = loading.policy(unit.organization_id)
    if not policy.automatic:
        return QuarterlyOpened(cycle_id=None, because="off")
    root, zone = loading.root_and_zone(unit.organization_id)
    today = unit.now.astimezone(ZoneInfo(zone)).date()
    quarter = domain.quarter_of(today)
    if (today - quarter.first_day).days >= domain.OPENING_DAYS:
        return QuarterlyOpened(cycle_id=None, because="not_begun")
    before = loading.cycle_of_quarter(unit.organization_id, root, quarter.key)
    if before is not None:
        return QuarterlyOpened(cycle_id=before, because="opened_before")
    if loading.open_cycle_of(unit.organization_id, root) is not None:
        return QuarterlyOpened(cycle_id=None, because="another_open")
    if not loading.quotas_below(unit.organization_id, root, now=unit.now):
        return QuarterlyOpened(cycle_id=None, because="no_quotas")
    opened = _open(
        unit,
        account_id=root,
        name=quarter.name,
        deadline=unit.now + timedelta(days=policy.decide_days),
        window_days=policy.window_days,
        quarter=quarter.key,
    )
    return QuarterlyOpened(cycle_id=opened.cycle_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelCycle:
    """Give a cycle up: nothing of it is applied. The reason is kept."""

    cycle_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class CycleCancelled:
    """The cycle that was given up."""

    cycle_id: UUID


@handles(CancelCycle, permission=TAKE_PART)
def cancel_cycle(command: CancelCycle, unit: Unit) -> CycleCancelled:
    """Whoever may close it may cancel it."""
    cycle = loading.cycle(unit.organization_id, command.cycle_id, lock="FOR UPDATE")
    tenancy_policy.authorize(unit.actor, REQUEST_REVIEW, cycle.account_id, unit.organization_id)
    person_of(unit)
    check_reason(unit)
    check_open(cycle.state)
    unit.record(ev.CycleCancelled(cycle_id=cycle.id, account_id=cycle.account_id))
    return CycleCancelled(cycle_id=cycle.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetCyclePolicy:
    """How cycles open by themselves from now on; the reason is kept.

    `expected_version`: of the policy that its author saw; None: whatever stands.
    """

    policy: CyclePolicy
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CyclePolicyAnswer:
    """`changed` False: it was so already. `version`: name it in the next change."""

    changed: bool
    version: int


@handles(SetCyclePolicy, permission=POLICY_WRITE)
def set_cycle_policy(command: SetCyclePolicy, unit: Unit) -> CyclePolicyAnswer:
    """A cycle that is open already goes on as it was opened."""
    check_reason(unit)
    check_policy(command.policy)
    stream = f"cycle_policy:{unit.organization_id}"
    found = versions(unit.organization_id, (stream,)).get(stream, 0)
    seen = found if command.expected_version is None else command.expected_version
    if seen == found and loading.policy(unit.organization_id) == command.policy:
        return CyclePolicyAnswer(changed=False, version=found)
    unit.expect(stream, seen)
    unit.record(ev.CyclePolicySet(policy_id=unit.organization_id, **asdict(command.policy)))
    return CyclePolicyAnswer(changed=True, version=found + 1)


def _open(
    unit: Unit,
    *,
    account_id: UUID,
    name: str,
    deadline: datetime,
    window_days: int,
    quarter: str | None = None,
) -> CycleOpened:
    quotas = loading.quotas_below(unit.organization_id, account_id, now=unit.now)
    if not quotas:
        raise Refused(
            "nothing_to_review",
            "No account there has a quota in any pool. Choose an account further up.",
            field="account",
        )
    if len(quotas) > QUOTAS_MAX:
        raise Refused(
            "too_many_quotas",
            f"A cycle reviews at most {QUOTAS_MAX} quotas, these are {len(quotas)}. "
            "Choose an account further down.",
            field="account",
            facts={"maximum": QUOTAS_MAX, "found": len(quotas)},
        )
    cycle_id = unit.new_id()
    unit.record(
        ev.CycleOpened(
            cycle_id=cycle_id,
            account_id=account_id,
            name=name,
            deadline=deadline,
            window_days=window_days,
            quota_count=len(quotas),
            quarter=quarter,
        )
    )
    for part in _parts(_listed(unit, quotas, window_days)):
        unit.record(ev.CycleListed(cycle_id=cycle_id, quotas=part))
    return CycleOpened(cycle_id=cycle_id, quota_count=len(quotas))


def _listed(
    unit: Unit, quotas: Sequence[tuple[UUID, UUID, int]], window_days: int
) -> list[ev.ListedQuota]:
    """The quotas with what orders them: asked for all at once, and kept, so that rows do not move
    under the reviewers' hands."""
    figures = figures_of(
        unit.organization_id,
        [(account, pool) for account, pool, _ in quotas],
        window_days=window_days,
        now=unit.now,
    )
    return [
        ev.ListedQuota(
            account_id=account,
            pool_id=pool,
            guaranteed=guaranteed,
            idle_units=figures[account, pool].idle_units,
            idle_cost=figures[account, pool].idle_cost,
        )
        for account, pool, guaranteed in quotas
    ]


def _parts(quotas: Sequence[ev.ListedQuota]) -> Iterator[tuple[ev.ListedQuota, ...]]:
    for start in range(0, len(quotas), ev.LISTED_MAX):
        yield tuple(quotas[start : start + ev.LISTED_MAX])
