"""What detections are decided on: the policy, what was found before, work of jobs, use by day."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from accounting.domain import rating
from accounting.domain.rate_cards import RateCard
from accounting.queries import rates
from accounting.queries.use_by_hour import HOUR_SECONDS, PoolUse, use_by_hour
from ledger.sql import server_cursor
from preemption.domain.detection import DEFAULT_DETECTION, DetectionRule

BASELINE_DAYS = 28
"""Whole days before the one that is judged: four of each weekday."""
ALL_KINDS = ("idle", "zombie", "surge")


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionPolicy:
    """What an organization has set. Kinds that are not in `kinds` are not looked for."""

    kinds: tuple[str, ...] = ALL_KINDS
    rule: DetectionRule = DEFAULT_DETECTION


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A detection as a command needs it; see `preemption.detection_models.Detection`."""

    id: UUID
    kind: str
    state: str
    pool_id: UUID
    account_id: UUID
    allocation_id: UUID | None
    quiet_until: datetime | None

    @property
    def subject(self) -> UUID:
        """What it is about, in its pool."""
        return self.allocation_id or self.account_id


@dataclass(frozen=True, slots=True, kw_only=True)
class DayUse:
    """An account's use by whole days, and of the day that is judged, in unit-seconds.

    Attributes:
        starts_at: when `day` begins.
        days: from `first_day` on; None: not known.
        consumed: on `day`, so far where that is today.
    """

    day: date
    starts_at: datetime
    consumed: int
    first_day: date
    days: tuple[int | None, ...]


_RULE_FIELDS = (
    *("idle_below", "idle_minutes", "zombie_below", "progress_seconds_max", "baseline_factor"),
    *("baseline_spread", "baseline_days_min"),
)
_KNOWN_FIELDS = tuple(Known.__dataclass_fields__)
_KNOWN = f"SELECT {', '.join(_KNOWN_FIELDS)} FROM preemption_detection WHERE organization_id = %b"


def policy(organization_id: UUID) -> DetectionPolicy:
    """The organization's policy, the defaults where it has set none."""
    with server_cursor() as cursor:
        row = cursor.execute(
            f"SELECT kinds, {', '.join(_RULE_FIELDS)} FROM preemption_detectionpolicy "
            "WHERE organization_id = %b",
            (organization_id,),
        ).fetchone()
    if row is None:
        return DetectionPolicy()
    values: dict[str, Any] = dict(zip(_RULE_FIELDS, row[1:], strict=True))
    shares = {name: Fraction(values[name]) for name in ("idle_below", "zombie_below")}
    return DetectionPolicy(kinds=tuple(row[0]), rule=DetectionRule(**values | shares))


def lock(organization_id: UUID, pool_id: UUID) -> None:
    """Let one run at a time decide about a pool. Comes before the rows of detections; nobody who
    holds this one waits for a pool."""
    with server_cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%b, 0))",
            (f"detections:{organization_id}:{pool_id}",),
        )


def current(organization_id: UUID, pool_id: UUID) -> list[Known]:
    """What is not closed in a pool, locked, in the order of ids."""
    return _known(
        f"{_KNOWN} AND pool_id = %b AND closed_at IS NULL ORDER BY id FOR NO KEY UPDATE",
        (organization_id, pool_id),
    )


def quiet(organization_id: UUID, pool_id: UUID, *, now: datetime) -> set[tuple[str, UUID]]:
    """Kinds and subjects of which nobody wants to hear yet, though they were closed."""
    found = _known(
        f"{_KNOWN} AND pool_id = %b AND quiet_until > %b AND closed_at IS NOT NULL",
        (organization_id, pool_id, now),
    )
    return {(one.kind, one.subject) for one in found}


def one_for_update(organization_id: UUID, detection_id: UUID) -> Known | None:
    """A detection, locked."""
    found = _known(f"{_KNOWN} AND id = %b FOR NO KEY UPDATE", (organization_id, detection_id))
    return found[0] if found else None


def one(organization_id: UUID, detection_id: UUID) -> Known | None:
    """A detection, for what of it never changes: what it is about."""
    found = _known(f"{_KNOWN} AND id = %b", (organization_id, detection_id))
    return found[0] if found else None


def _known(sql: str, values: tuple) -> list[Known]:
    with server_cursor() as cursor:
        rows = cursor.execute(sql, values).fetchall()
    return [Known(**dict(zip(_KNOWN_FIELDS, row, strict=True))) for row in rows]


class Prices:
    """Prices per unit-hour in one pool at an instant, by tier and account; read once, if at all."""

    def __init__(self, organization_id: UUID, pool_id: UUID, *, at: datetime) -> None:
        self._here = organization_id
        self._pool_id = pool_id
        self._at = at
        self._card: tuple[RateCard, UUID, rating.Grades] | None = None

    def price(self, account_id: UUID, tier: str) -> Decimal | None:
        """What an account pays; None: unrated."""
        if self._card is None:
            self._card = self._read()
        card, flavor, grades = self._card
        grade = rating.grade_at(grades, account_id, self._at)
        line = card.price(self._at, flavor=flavor, tier=tier, grade=grade)
        return None if line is None else line.price

    def _read(self) -> tuple[RateCard, UUID, rating.Grades]:
        with server_cursor() as cursor:
            (flavor,) = cursor.execute(
                "SELECT flavor_id FROM quota_pool WHERE organization_id = %b AND id = %b",
                (self._here, self._pool_id),
            ).fetchone()
        return rates.rate_card(self._here), flavor, rates.grades(self._here)


def day_uses(
    organization_id: UUID, pool_id: UUID, *, now: datetime
) -> dict[UUID, tuple[DayUse, ...]]:
    """Each account's own use: of today against the days before it, and of yesterday. An hour counts
    for the day, in the organization's zone, in which it begins."""
    with server_cursor() as cursor:
        (name,) = cursor.execute(
            "SELECT time_zone FROM tenancy_organization WHERE id = %b", (organization_id,)
        ).fetchone()
    zone = ZoneInfo(name)
    today = now.astimezone(zone).date()
    first_day = today - timedelta(days=BASELINE_DAYS + 1)
    starts = [_start(first_day + timedelta(days=n), zone) for n in range(BASELINE_DAYS + 2)]
    use = use_by_hour(organization_id, pool_id, start=starts[0], end=now)
    bounds = [_hour(use, start) for start in (*starts, now + timedelta(hours=1))]
    known = [low < high and bool(use.known[low:high].all()) for low, high in pairwise(bounds[:-1])]
    found: dict[UUID, tuple[DayUse, ...]] = {}
    for account_id, hours in use.hours.items():
        sums = [int(hours[low:high].sum()) * HOUR_SECONDS for low, high in pairwise(bounds)]
        days = tuple(sum_ if known[n] else None for n, sum_ in enumerate(sums[:-1]))
        found[account_id] = (
            DayUse(
                day=today,
                starts_at=starts[-1],
                consumed=sums[-1],
                first_day=first_day + timedelta(days=1),
                days=days[1:],
            ),
            DayUse(
                day=today - timedelta(days=1),
                starts_at=starts[-2],
                consumed=sums[-2],
                first_day=first_day,
                days=days[:-1],
            ),
        )
    return found


def _start(day: date, zone: ZoneInfo) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)


def _hour(use: PoolUse, at: datetime) -> int:
    """The first full hour from an instant on, as a place in `use.hours`."""
    return max(0, -(-(int(at.timestamp()) - use.start) // HOUR_SECONDS))


def names(organization_id: UUID, ids: Collection[UUID]) -> dict[UUID, str]:
    """Names of accounts, pools and people by id."""
    wanted = list(ids)
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT id, name FROM tenancy_account WHERE organization_id = %b AND id = ANY(%b) "
            "UNION ALL SELECT id, name FROM quota_pool "
            "WHERE organization_id = %b AND id = ANY(%b) "
            "UNION ALL SELECT id, name FROM tenancy_person "
            "WHERE organization_id = %b AND id = ANY(%b)",
            (organization_id, wanted) * 3,
        ).fetchall()
    return dict(rows)


def evidence_of(stored: Any) -> dict[str, Any] | None:
    """Evidence as it is stored, as plain values."""
    return msgspec.json.decode(stored) if isinstance(stored, str | bytes) else stored


def pools(organization_id: UUID, *, consumption: bool) -> list[UUID]:
    """Pools at which a look is worth while: something runs there that tells of its work, or
    something was found; for consumption, all."""
    among = "" if consumption else _OF_INTEREST
    with server_cursor() as cursor:
        rows = cursor.execute(
            f"SELECT p.id FROM quota_pool p WHERE p.organization_id = %(organization)b {among} "
            "ORDER BY p.id",
            {"organization": organization_id},
        ).fetchall()
    return [row[0] for row in rows]


_OF_INTEREST = """
AND (EXISTS (SELECT 1 FROM preemption_detection d WHERE d.organization_id = p.organization_id
        AND d.pool_id = p.id AND d.closed_at IS NULL)
    OR EXISTS (SELECT 1 FROM quota_allocation a
        JOIN quota_allocationwork w
            ON w.organization_id = a.organization_id AND w.allocation_id = a.id
        WHERE a.organization_id = p.organization_id AND a.pool_id = p.id
            AND a.lapses_at IS NOT NULL))
"""
