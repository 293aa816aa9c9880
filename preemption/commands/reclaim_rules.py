"""Use it or lose it: set the organization's rule, or a pool's own; or let a pool follow again."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

from ledger.errors import Invalid, NotFound
from ledger.execution import Unit, handles
from ledger.sql import server_cursor
from ledger.types import Event
from preemption import reclaim_events as ev
from preemption import reclaim_loading as loading
from preemption.domain.reclaim import SECONDS_MAX, ReclaimRule
from preemption.reclaim_loading import PoolRule
from quota.recording import check_reason
from tenancy.domain.roles import POOL_WRITE

EXEMPT_MAX = 1_000
MAINTENANCE_MAX = 100
MAINTENANCE_DAYS_MAX = 90
SHARE_PLACES = 4
_FIELDS = (
    *("enabled", "threshold", "window_seconds", "watch_seconds", "clear_margin"),
    *("cooldown_seconds", "gap_seconds_max", "unknown_seconds_max"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SetReclaimRule:
    """A rule as a whole; see `preemption.reclaim_events.ReclaimRuleSet`. `pool_id`: whose own it
    is, whatever the organization's says; None: the organization's, for all pools without one.
    `expected_version`: of the rule's stream, as it was read; None: whatever it is."""

    pool_id: UUID | None
    enabled: bool = True
    threshold: Decimal = Decimal("0.2")
    window_seconds: int = 72 * 3600
    watch_seconds: int = 48 * 3600
    clear_margin: Decimal = Decimal("0.05")
    cooldown_seconds: int = 14 * 86_400
    gap_seconds_max: int = 2 * 3600
    unknown_seconds_max: int = 24 * 3600
    exempt_ids: tuple[UUID, ...] = ()
    maintenance: tuple[tuple[datetime, datetime], ...] = ()
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropReclaimRule:
    """A pool gives its own rule up and follows the organization's again."""

    pool_id: UUID
    expected_version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReclaimRuleChanged:
    """`changed` False: it was so already."""

    changed: bool


@handles(SetReclaimRule, permission=POOL_WRITE)
def set_reclaim_rule(command: SetReclaimRule, unit: Unit) -> ReclaimRuleChanged:
    """Check the bounds; record the rule for every run from now on."""
    check_reason(unit)
    here, pool_id = unit.organization_id, command.pool_id
    wanted = rule_of(command)
    _check_known(here, command)
    stands = loading.default_rule(here) if pool_id is None else loading.rule(here, pool_id)
    if wanted == stands:
        return ReclaimRuleChanged(changed=False)
    values = {name: getattr(command, name) for name in _FIELDS} | {
        "exempt_ids": wanted.exempt_ids,
        "maintenance": tuple(
            ev.MaintenanceWindow(start=low, end=high) for low, high in wanted.maintenance
        ),
    }
    if pool_id is None:
        event = ev.ReclaimDefaultSet(organization_id=here, **values)
    else:
        event = ev.ReclaimRuleSet(pool_id=pool_id, **values)
    _record(unit, event, command.expected_version)
    return ReclaimRuleChanged(changed=True)


@handles(DropReclaimRule, permission=POOL_WRITE)
def drop_reclaim_rule(command: DropReclaimRule, unit: Unit) -> ReclaimRuleChanged:
    """Record that the pool follows, from the next run on."""
    check_reason(unit)
    _check_pool(unit.organization_id, command.pool_id)
    if loading.rule(unit.organization_id, command.pool_id).set_for != "pool":
        return ReclaimRuleChanged(changed=False)
    _record(unit, ev.ReclaimRuleDropped(pool_id=command.pool_id), command.expected_version)
    return ReclaimRuleChanged(changed=True)


def _record(unit: Unit, event: Event, expected_version: int | None) -> None:
    if expected_version is not None:
        unit.expect(event.stream, expected_version)
    unit.record(event)


def rule_of(command: SetReclaimRule) -> PoolRule:
    """The rule that is meant.

    Raises:
        Invalid: `share_out_of_range`, `window_out_of_range`, `watch_out_of_range`,
            `seconds_out_of_range`, `exempt_too_many`, `maintenance_out_of_range`.
    """
    _check_shares_and_hours(command)
    if len(command.exempt_ids) > EXEMPT_MAX:
        raise Invalid("exempt_too_many", f"At most {EXEMPT_MAX} accounts.", field="exempt")
    _check_maintenance(command)
    return PoolRule(
        set_for="organization" if command.pool_id is None else "pool",
        enabled=command.enabled,
        rule=ReclaimRule(
            threshold=Fraction(command.threshold),
            window_seconds=command.window_seconds,
            watch_part=Fraction(command.watch_seconds, command.window_seconds),
            clear_margin=Fraction(command.clear_margin),
            cooldown_seconds=command.cooldown_seconds,
            gap_seconds_max=command.gap_seconds_max,
            unknown_seconds_max=command.unknown_seconds_max,
        ),
        exempt_ids=tuple(sorted(set(command.exempt_ids))),
        maintenance=tuple(sorted(set(command.maintenance))),
    )


def _check_shares_and_hours(command: SetReclaimRule) -> None:
    for name in ("threshold", "clear_margin"):
        share = getattr(command, name)
        if not share.is_finite() or share != round(share, SHARE_PLACES):
            raise Invalid("share_out_of_range", f"{name} must be 0 to 1, to 0.01 %.", field=name)
    if command.window_seconds % 3600 or not 3600 <= command.window_seconds <= SECONDS_MAX:
        raise Invalid(
            "window_out_of_range",
            "A window is whole hours, one to a year's.",
            field="window_seconds",
        )
    hours, rest = divmod(command.watch_seconds, 3600)
    if rest or not hours >= 1 or command.watch_seconds > command.window_seconds:
        raise Invalid(
            "watch_out_of_range",
            "A watch is whole hours, one to the window's.",
            field="watch_seconds",
        )


def _check_maintenance(command: SetReclaimRule) -> None:
    longest = timedelta(days=MAINTENANCE_DAYS_MAX)
    for low, high in command.maintenance:
        if not low.tzinfo or not high.tzinfo or not low < high <= low + longest:
            raise Invalid(
                "maintenance_out_of_range",
                f"Maintenance ends after it begins, within {MAINTENANCE_DAYS_MAX} days; both "
                "instants name their zone.",
                field="maintenance",
            )
    if len(command.maintenance) > MAINTENANCE_MAX:
        raise Invalid(
            "maintenance_out_of_range", f"At most {MAINTENANCE_MAX} windows.", field="maintenance"
        )


def _check_pool(organization_id: UUID, pool_id: UUID) -> None:
    with server_cursor() as cursor:
        found = cursor.execute(
            "SELECT 1 FROM quota_pool WHERE organization_id = %b AND id = %b",
            (organization_id, pool_id),
        ).fetchone()
    if found is None:
        raise NotFound("pool_unknown", "There is no such pool.", field="pool")


def _check_known(organization_id: UUID, command: SetReclaimRule) -> None:
    if command.pool_id is not None:
        _check_pool(organization_id, command.pool_id)
    with server_cursor() as cursor:
        (accounts,) = cursor.execute(
            "SELECT count(*) FROM tenancy_account WHERE organization_id = %b AND id = ANY(%b)",
            (organization_id, list(command.exempt_ids)),
        ).fetchone()
    if accounts != len(set(command.exempt_ids)):
        raise NotFound("account_unknown", "There is no such account.", field="exempt")
