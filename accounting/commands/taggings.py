"""Tag past use, or have another account charged for it; and take that back. In open months only."""

from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID
from zoneinfo import ZoneInfo

from accounting import tag_events as events
from accounting.domain import splitting, tagging
from accounting.locking import take_lock
from accounting.queries import statements, taggings
from accounting.queries.taggings import TaggingRow
from accounting.statement_tags import TAGGINGS_MAX
from ledger.errors import Conflict, Invalid, NotFound, Refused
from ledger.execution import Unit, handles
from ledger.sql import server_cursor
from quota.recording import check_reason
from tenancy.domain.roles import RATE_WRITE, USE_TAG


@dataclass(frozen=True, slots=True, kw_only=True)
class UseChosen:
    """Which use a tagging is about: what an account and all below it used in some days.

    Attributes:
        since, until: days of the organization's time zone, both included.
        job: a pattern of keys, in which `*` stands for anything.
        batch_id: only records that came in this batch.
    """

    account_id: UUID
    since: date
    until: date
    person_id: UUID | None = None
    pool_id: UUID | None = None
    job: str | None = None
    batch_id: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TagUsage:
    """Set labels of past use. The reason goes with the command.

    Attributes:
        account_id: the account of `chosen`, on which the permission is needed.
        only_untagged: what use has already stays.
    """

    account_id: UUID
    chosen: UseChosen
    project: str | None = None
    model: str | None = None
    workload: str | None = None
    only_untagged: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignUsage:
    """Another account is charged for past use, whose labels may be set as well. What filled a
    guarantee, and what counts for priority, stays with who used it. The reason goes with it."""

    chosen: UseChosen
    to_account_id: UUID
    project: str | None = None
    model: str | None = None
    workload: str | None = None
    only_untagged: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TaggingRef:
    """The tagging that a command made or took back."""

    tagging_id: UUID


@handles(TagUsage, permission=USE_TAG, on="account_id")
def tag_usage(command: TagUsage, unit: Unit) -> TaggingRef:
    """Check and record it."""
    if command.account_id != command.chosen.account_id:
        raise Invalid("account_unknown", "The account is that of the use.", field="account")
    return _tag(command, unit, to_account=None)


@handles(AssignUsage, permission=RATE_WRITE)
def assign_usage(command: AssignUsage, unit: Unit) -> TaggingRef:
    """Check and record it."""
    _check_known(unit, "tenancy_account", command.to_account_id, "account", "to_account")
    if command.to_account_id == command.chosen.account_id:
        raise Invalid("assigned_to_itself", "Choose another account.", field="to_account")
    return _tag(command, unit, to_account=command.to_account_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoTagging:
    """Take a tagging back, of `account_id`. The reason goes with the command."""

    account_id: UUID
    tagging_id: UUID


@handles(UndoTagging, permission=USE_TAG, on="account_id")
def undo_tagging(command: UndoTagging, unit: Unit) -> TaggingRef:
    """Record it."""
    row = _found(unit, command.tagging_id)
    if row.account_id != command.account_id or row.to_account_id is not None:
        raise NotFound("tagging_unknown", "There is no such tagging.", field="tagging")
    return _undo(unit, row)


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoAssignment:
    """Take an assignment back. The reason goes with the command."""

    tagging_id: UUID


@handles(UndoAssignment, permission=RATE_WRITE)
def undo_assignment(command: UndoAssignment, unit: Unit) -> TaggingRef:
    """Record it."""
    row = _found(unit, command.tagging_id)
    if row.to_account_id is None:
        raise NotFound("tagging_unknown", "There is no such assignment.", field="tagging")
    return _undo(unit, row)


def _tag(command: TagUsage | AssignUsage, unit: Unit, *, to_account: UUID | None) -> TaggingRef:
    check_reason(unit)
    zone = _lock(unit)
    chosen = command.chosen
    tagging.check_period(chosen.since, chosen.until, today=splitting.day_of(unit.now, zone))
    labels = tagging.check_labels({name: getattr(command, name) for name in tagging.LABELS})
    if not labels and to_account is None:
        raise Invalid("tag_missing", "Give a project, a model or a workload.", field="project")
    if chosen.job is not None:
        tagging.like(chosen.job)
    _check_open(unit, chosen.since, zone)
    for table, ident, what in (
        ("tenancy_account", chosen.account_id, "account"),
        ("tenancy_person", chosen.person_id, "person"),
        ("quota_pool", chosen.pool_id, "pool"),
        ("accounting_usagebatch", chosen.batch_id, "batch"),
    ):
        if ident is not None:
            _check_known(unit, table, ident, what, what)
    if len(taggings.holding(unit.organization_id, *_months(chosen))) >= TAGGINGS_MAX:
        raise Refused(
            "taggings_full",
            f"At most {TAGGINGS_MAX} taggings hold in these months. Take one back, or choose more "
            "with one: a pattern of jobs, a whole account.",
            facts={"maximum": TAGGINGS_MAX},
        )
    tagging_id = unit.new_id()
    unit.record(
        events.UsageTagged(
            tagging_id=tagging_id,
            account_id=chosen.account_id,
            since=chosen.since,
            until=chosen.until,
            person_id=chosen.person_id,
            pool_id=chosen.pool_id,
            job=chosen.job,
            batch_id=chosen.batch_id,
            only_untagged=command.only_untagged,
            project=labels.get("project"),
            model=labels.get("model"),
            workload=labels.get("workload"),
            to_account_id=to_account,
        )
    )
    return TaggingRef(tagging_id=tagging_id)


def wanted_row(command: TagUsage | AssignUsage, *, now: datetime) -> TaggingRow:
    """The tagging that a command would make, for a look at what it would change."""
    chosen = command.chosen
    return TaggingRow(
        id=chosen.account_id,  # of nothing that is stored
        account_id=chosen.account_id,
        since=chosen.since,
        until=chosen.until,
        person_id=chosen.person_id,
        pool_id=chosen.pool_id,
        job=chosen.job,
        batch_id=chosen.batch_id,
        only_untagged=command.only_untagged,
        project=command.project,
        model=command.model,
        workload=command.workload,
        to_account_id=getattr(command, "to_account_id", None),
        tagged_at=now,
        tagged_by="",
        reason="",
        undone_at=None,
    )


def _undo(unit: Unit, row: TaggingRow) -> TaggingRef:
    check_reason(unit)
    zone = _lock(unit)
    if row.undone_at is not None:
        raise Conflict("tagging_undone", "It was taken back already.", field="tagging")
    _check_open(unit, row.since, zone)
    unit.record(events.UsageUntagged(tagging_id=row.id))
    return TaggingRef(tagging_id=row.id)


def _months(chosen: UseChosen) -> tuple[date, date]:
    """From the first of the first month through the last of the last."""
    after = splitting.next_bucket(chosen.until.replace(day=1), "month")
    return chosen.since.replace(day=1), date.fromordinal(after.toordinal() - 1)


def _found(unit: Unit, tagging_id: UUID) -> TaggingRow:
    row = taggings.tagging(unit.organization_id, tagging_id)
    if row is None:
        raise NotFound("tagging_unknown", "There is no such tagging.", field="tagging")
    return row


def _check_open(unit: Unit, since: date, zone: ZoneInfo) -> None:
    until = statements.closed_until(unit.organization_id)
    if until is not None and splitting.start_of_day(since, zone) < until:
        first = splitting.day_of(until, zone)
        raise Refused(
            "month_closed",
            f"The months before {first} are closed or closing, and stay as they are. Choose days "
            "from then on; what was charged wrongly before is made good by a credit.",
            field="since",
            facts={"earliest": until.isoformat()},
        )


def _check_known(unit: Unit, table: str, ident: UUID, what: str, field: str) -> None:
    with server_cursor() as cursor:
        found = cursor.execute(
            f"SELECT 1 FROM {table} WHERE organization_id = %b AND id = %b",
            (unit.organization_id, ident),
        ).fetchone()
    if found is None:
        raise NotFound(f"{what}_unknown", f"There is no such {what}.", field=field)


def _lock(unit: Unit) -> ZoneInfo:
    """One change of what months are charged at a time: the lock that a close takes."""
    take_lock(unit, "rates")
    with server_cursor() as cursor:
        zone = cursor.execute(
            "SELECT time_zone FROM tenancy_organization WHERE id = %b", (unit.organization_id,)
        ).fetchone()[0]
    return ZoneInfo(zone)
