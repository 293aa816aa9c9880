"""Tags for past use. All run inside `scope.reading` or a command."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from accounting.domain import splitting
from accounting.domain.tagging import LABELS, Tagging
from ledger.sql import server_cursor

PAGE_MAX = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggingRow:
    """A tagging as it is listed: see `accounting.models.UsageTagging`."""

    id: UUID
    account_id: UUID
    since: date
    until: date
    person_id: UUID | None
    pool_id: UUID | None
    job: str | None
    batch_id: UUID | None
    only_untagged: bool
    project: str | None
    model: str | None
    workload: str | None
    to_account_id: UUID | None
    tagged_at: datetime
    tagged_by: str
    reason: str
    undone_at: datetime | None

    @property
    def labels(self) -> dict[str, str]:
        """The labels that it sets."""
        return {name: value for name in LABELS if (value := getattr(self, name)) is not None}

    def in_zone(self, zone: ZoneInfo) -> Tagging:
        """The same for the domain."""
        after = splitting.next_bucket(self.until, "day")
        return Tagging(
            id=self.id,
            account=self.account_id,
            start=splitting.start_of_day(self.since, zone),
            end=splitting.start_of_day(after, zone),
            person=self.person_id,
            pool=self.pool_id,
            job=self.job,
            batch=self.batch_id,
            only_untagged=self.only_untagged,
            labels=self.labels,
            to_account=self.to_account_id,
        )


_COLUMNS = tuple(TaggingRow.__dataclass_fields__)
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM accounting_usagetagging WHERE organization_id = %b"


def _rows(condition: str, *values: object) -> list[TaggingRow]:
    with server_cursor() as cursor:
        rows = cursor.execute(f"{_SELECT} {condition}", values).fetchall()
    return [TaggingRow(**dict(zip(_COLUMNS, row, strict=True))) for row in rows]


def holding(organization_id: UUID, since: date, until: date) -> list[TaggingRow]:
    """Taggings of some of the days, the earlier first; not those that were taken back."""
    return _rows(
        "AND undone_at IS NULL AND until >= %b AND since <= %b ORDER BY id",
        *(organization_id, since, until),
    )


def tagging(organization_id: UUID, tagging_id: UUID) -> TaggingRow | None:
    """One tagging."""
    return next(iter(_rows("AND id = %b", organization_id, tagging_id)), None)


def taggings(
    organization_id: UUID,
    *,
    accounts: Collection[UUID] | None = None,
    before: UUID | None = None,
    limit: int = 100,
) -> list[TaggingRow]:
    """Taggings, also those taken back, the latest first.

    Args:
        accounts: of the use of these; None: of all.
        before: the last one of the page before.
    """
    condition, values = "", []
    if accounts is not None:
        condition += "AND account_id = ANY (%b::uuid[]) "
        values.append(list(accounts))
    if before is not None:
        condition += "AND id < %b "
        values.append(before)
    return _rows(
        f"{condition} ORDER BY id DESC LIMIT %b",
        *(organization_id, *values, min(limit, PAGE_MAX)),
    )
