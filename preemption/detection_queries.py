"""Typed reads of detections, bounded and paged. All run inside `scope.reading`."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

import msgspec

from ledger.sql import server_cursor
from preemption.detection_events import UseEvidence, WorkEvidence
from preemption.domain.findings import samples
from quota.queries.work import works

LIST_MAX = 500
STATE_CHOICES = ("current", "open", "acknowledged", "acted", "cleared", "all")


@dataclass(frozen=True, slots=True, kw_only=True)
class DetectionRow:
    """A detection with names; see `preemption.detection_models.Detection`."""

    id: UUID
    kind: str
    state: str
    account_id: UUID
    account: str
    pool_id: UUID
    pool: str
    person: str | None
    allocation_id: UUID | None
    job: str | None
    units: int
    worth_per_hour: Decimal | None
    since: datetime
    found_at: datetime
    by: str
    reason: str
    acknowledged_at: datetime | None
    quiet_until: datetime | None
    closed_at: datetime | None
    why: str
    work: WorkEvidence | None
    use: UseEvidence | None

    @property
    def is_current(self) -> bool:
        """It is so now, as of the last look."""
        return self.closed_at is None


@dataclass(frozen=True, slots=True, kw_only=True)
class KindTotal:
    """What is so now of one kind: how many, units, and what they cost an hour together; `unrated`
    of them have no price."""

    kind: str
    count: int
    units: int
    worth_per_hour: Decimal
    unrated: int


_ROWS = """
SELECT d.id, d.kind, d.state, d.account_id, a.name, d.pool_id, p.name, s.name, d.allocation_id,
    d.job, d.units, d.worth_per_hour, d.since, d.found_at, d.by, d.reason, d.acknowledged_at,
    d.quiet_until, d.closed_at, d.why, d.work::text, d.use::text
FROM preemption_detection d
JOIN tenancy_account a ON a.organization_id = d.organization_id AND a.id = d.account_id
JOIN quota_pool p ON p.organization_id = d.organization_id AND p.id = d.pool_id
LEFT JOIN tenancy_person s ON s.organization_id = d.organization_id AND s.id = d.person_id
WHERE d.organization_id = %b AND
"""


def detections(
    organization_id: UUID,
    *,
    accounts: Collection[UUID] | None = None,
    pool_ids: Collection[UUID] | None = None,
    kind: str | None = None,
    state: str = "current",
    before: UUID | None = None,
    limit: int = 50,
) -> list[DetectionRow]:
    """A page, the newest first; at most LIST_MAX.

    Args:
        accounts: of these only; None: of all.
        pool_ids: in these only; None: in all.
        state: one of STATE_CHOICES; `current` is open or acknowledged.
        before: the last detection of the page before.
    """
    where, values = _where(accounts=accounts, pool_ids=pool_ids, kind=kind)
    if state == "current":
        where.append("d.closed_at IS NULL")
    elif state != "all":
        where.append("d.state = %b")
        values.append(state)
    if before is not None:
        where.append("d.id < %b")
        values.append(before)
    return _read(
        organization_id,
        f"{' AND '.join(where)} ORDER BY d.id DESC LIMIT %b",
        [*values, min(limit, LIST_MAX)],
    )


def detection(organization_id: UUID, detection_id: UUID) -> DetectionRow | None:
    """One detection."""
    found = _read(organization_id, "d.id = %b", [detection_id])
    return found[0] if found else None


def current_of(
    organization_id: UUID, *, allocation_ids: Collection[UUID]
) -> dict[UUID, DetectionRow]:
    """What is so now of allocations, by allocation."""
    condition = "d.allocation_id = ANY(%b::uuid[]) AND d.closed_at IS NULL"
    found = _read(organization_id, condition, [list(allocation_ids)])
    return {one.allocation_id: one for one in found if one.allocation_id is not None}


def totals(
    organization_id: UUID,
    *,
    accounts: Collection[UUID] | None = None,
    pool_ids: Collection[UUID] | None = None,
) -> dict[str, KindTotal]:
    """What is so now, by kind; kinds of which nothing is are left out."""
    where, values = _where(accounts=accounts, pool_ids=pool_ids, kind=None)
    with server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT d.kind, count(*), sum(d.units)::bigint, coalesce(sum(d.worth_per_hour), 0), "
            "count(*) FILTER (WHERE d.worth_per_hour IS NULL) FROM preemption_detection d "
            f"WHERE d.organization_id = %b AND {' AND '.join(where)} AND d.closed_at IS NULL "
            "GROUP BY d.kind",
            (organization_id, *values),
        ).fetchall()
    names = tuple(KindTotal.__dataclass_fields__)
    return {row[0]: KindTotal(**dict(zip(names, row, strict=True))) for row in rows}


@dataclass(frozen=True, slots=True)
class WorkPoint:
    """From `start` until `end` compute was `mean` busy and at most `peak`, 0 to 1."""

    start: datetime
    end: datetime
    mean: float
    peak: float


def work_since(organization_id: UUID, row: DetectionRow) -> list[WorkPoint]:
    """What an allocation told, as far as it is kept: as it is now while the detection stands, as it
    was found after that."""
    if row.allocation_id is None or row.work is None:
        return []
    now = works(organization_id, [row.allocation_id]).get(row.allocation_id)
    if row.is_current and now is not None and now.stretches:
        return [
            WorkPoint(one.start, one.end, float(one.compute_util or 0), float(one.peak or 0))
            for one in samples(now)
        ]
    ends = [one.start for one in row.work.stretches[1:]] + [row.work.until]
    return [
        WorkPoint(one.start, end, float(one.mean), float(one.peak))
        for one, end in zip(row.work.stretches, ends, strict=True)
    ]


def _where(
    *,
    accounts: Collection[UUID] | None,
    pool_ids: Collection[UUID] | None,
    kind: str | None,
) -> tuple[list[str], list]:
    where, values = ["true"], []
    for column, ids in (("account_id", accounts), ("pool_id", pool_ids)):
        if ids is not None:
            where.append(f"d.{column} = ANY(%b::uuid[])")
            values.append(list(ids))
    if kind is not None:
        where.append("d.kind = %b")
        values.append(kind)
    return where, values


def _read(organization_id: UUID, condition: str, values: list) -> list[DetectionRow]:
    names = tuple(DetectionRow.__dataclass_fields__)[:-2]
    with server_cursor() as cursor:
        rows = cursor.execute(f"{_ROWS} {condition}", (organization_id, *values)).fetchall()
    return [
        DetectionRow(
            **dict(zip(names, row, strict=False)),
            work=_evidence(row[-2], WorkEvidence),
            use=_evidence(row[-1], UseEvidence),
        )
        for row in rows
    ]


def _evidence(text: str | None, kind: type) -> WorkEvidence | UseEvidence | None:
    return None if text is None else msgspec.json.decode(text, type=kind)
