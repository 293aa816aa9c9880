"""Use it or lose it: set a pool's rule."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from uuid import UUID

from ledger.errors import Invalid, NotFound
from ledger.execution import Unit, handles
from ledger.sql import server_cursor
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SetReclaimRule:
    """A pool's rule as a whole; see `preemption.reclaim_events.ReclaimRuleSet`."""

    pool_id: UUID
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ReclaimRuleChanged:
    """`changed` False: it was so already."""

    changed: bool


@handles(SetReclaimRule, permission=POOL_WRITE)
def set_reclaim_rule(command: SetReclaimRule, unit: Unit) -> ReclaimRuleChanged:
    """Check the bounds; record the rule for every run from now on."""
    check_reason(unit)
    wanted = rule_of(command)
    _check_known(unit.organization_id, command)
    if wanted == loading.rule(unit.organization_id, command.pool_id):
        return ReclaimRuleChanged(changed=False)
    unit.record(
        ev.ReclaimRuleSet(
            pool_id=command.pool_id,
            enabled=command.enabled,
            threshold=command.threshold,
            window_seconds=command.window_seconds,
            watch_seconds=command.watch_seconds,
            clear_margin=command.clear_margin,
            cooldown_seconds=command.cooldown_seconds,
            gap_seconds_max=command.gap_seconds_max,
            unknown_seconds_max=command.unknown_seconds_max,
            exempt_ids=wanted.exempt_ids,
            maintenance=tuple(
                ev.MaintenanceWindow(start=low, end=high) for low, high in wanted.maintenance
            ),
        )
    )
    return ReclaimRuleChanged(changed=True)


def rule_of(command: SetReclaimRule) -> PoolRule:
    """The rule that is meant.

    Raises:
        Invalid: `share_out_of_range`, `window_out_of_range`, `watch_out_of_range`,
            `seconds_out_of_range`, `exempt_too_many`, `maintenance_out_of_range`.
    """
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
    if len(command.exempt_ids) > EXEMPT_MAX:
        raise Invalid("exempt_too_many", f"At most {EXEMPT_MAX} accounts.", field="exempt")
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
    return PoolRule(
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


def _check_known(organization_id: UUID, command: SetReclaimRule) -> None:
    with server_cursor() as cursor:
        pools, accounts = cursor.execute(
            "SELECT (SELECT count(*) FROM quota_pool WHERE organization_id = %b AND id = %b), "
            "(SELECT count(*) FROM tenancy_account WHERE organization_id = %b AND id = ANY(%b))",
            (organization_id, command.pool_id, organization_id, list(command.exempt_ids)),
        ).fetchone()
    if not pools:
        raise NotFound("pool_unknown", "There is no such pool.", field="pool")
    if accounts != len(set(command.exempt_ids)):
        raise NotFound("account_unknown", "There is no such account.", field="exempt")
