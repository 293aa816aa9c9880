"""`GET /api/v1/usage/days` and `/api/v1/usage/batches`: use as it was counted, in pages."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from accounting.api import examples
from accounting.queries import batches, usage
from accounting.staging import TIER_NAMES
from accounting.wire_usage import (
    Batches,
    BatchFacts,
    BatchRecord,
    BatchRecords,
    UsageGroup,
    UsageGroups,
)
from config.api import cursors, parameters
from config.api.operation import Operation
from config.api.schema import describe, paging, query
from ledger import scope
from ledger.errors import Invalid, NotFound
from ledger.types import ActorKind
from quota.queries import pools_with_weights
from tenancy import policy
from tenancy import queries as tenancy
from tenancy.api.reading import authorize_reader
from tenancy.domain.roles import READ, Scope

LIMIT_DEFAULT = 100
DAYS_DEFAULT = 30
_BY_DEFAULT = "day,account,pool"


def _paging(maximum: int) -> tuple:
    return paging(maximum, LIMIT_DEFAULT)


def _limit(request: HttpRequest, maximum: int) -> int:
    return parameters.integer(request, "limit", low=1, high=maximum, default=LIMIT_DEFAULT)


class _UsageOperation(Operation):
    """Reads of use. Helpers run inside `scope.reading`."""

    def authorize(self, caller, account_id: UUID | None) -> None:
        """A machine by `export:read`, a person by a role on the account (None: on the root).

        Raises:
            Denied: naming what is missing.
        """
        authorize_reader(caller, Scope.EXPORT_READ, account_id)

    def authorize_facts(self, caller) -> None:
        """Facts of batches: also for the machines that report use.

        Raises:
            Denied: naming what is missing.
        """
        if Scope.USAGE_WRITE not in caller.actor.scopes:
            self.authorize(caller, None)

    def readable(self, caller) -> tuple[UUID, ...]:
        """The topmost accounts whose use the caller may read.

        Raises:
            Denied: none.
        """
        if caller.actor.kind == ActorKind.PERSON:
            found = policy.accounts_with(caller.actor, READ, caller.organization_id)
            if found:
                return found
        self.authorize(caller, None)
        return (tenancy.organization(caller.organization_id).root_account_id,)


class UsageDaysOperation(_UsageOperation):
    """Read daily use."""

    parameters = frozenset(
        {"account", "person", "pool", "tier", "since", "until", "by", "sort", "cursor", "limit"}
    )

    @describe(
        "readUsageByDay",
        tag="usage",
        summary="Ended use of an account and all below it, grouped",
        gives=UsageGroups,
        parameters=(
            query("account", "This account and what is below it; the root if absent."),
            query("person", "Only this person's use."),
            query("pool", "Only use of this pool."),
            query("tier", "Only this tier.", enum=list(TIER_NAMES)),
            query(
                "since",
                f"The first day (UTC); {DAYS_DEFAULT} days up to `until` if absent.",
                format="date",
            ),
            query("until", "The last day, included; today if absent.", format="date"),
            query(
                "by",
                f"What to group by: some of {', '.join(usage.DIMENSIONS)}, with commas.",
                default=_BY_DEFAULT,
            ),
            query(
                "sort",
                "`key`: newest day first, then names; `use`: largest use first.",
                enum=list(usage.SORTS),
                default="key",
            ),
            *_paging(usage.PAGE_MAX),
        ),
        problems=(404,),
        examples=(examples.USAGE_DAYS,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """Amounts in unit-seconds, as text with exact decimals. Records that still run are not in
        it. Over several flavors there is no sum: `unit_seconds` is null, and `weighted` counts by
        the flavors' economic weights. Unmeasured utilization is null, never zero."""
        caller = self.caller(request)
        limit = _limit(request, usage.PAGE_MAX)
        after = cursors.read(request, list[str])
        by = tuple((parameters.text(request, "by") or _BY_DEFAULT).split(","))
        sort = parameters.one_of(request, "sort", usage.SORTS, default="key")
        with scope.reading(caller.organization_id):
            chosen = self._filter(request, caller)
            page = usage.usage_rows(
                caller.organization_id,
                chosen,
                by=by,
                sort=sort,
                after=None if after is None else tuple(after),
                limit=limit,
            )
        following = page.next_after
        return self.respond(
            UsageGroups(
                since=chosen.since,
                until=chosen.until,
                groups=[_group(row) for row in page.rows],
                next=None if following is None else cursors.next_address(request, following),
            )
        )

    def _filter(self, request: HttpRequest, caller) -> usage.UsageFilter:
        here = caller.organization_id
        account = parameters.text(request, "account")
        if account is None:
            account_id = tenancy.organization(here).root_account_id
        else:
            account_id = tenancy.account_by_name(here, account).id
        self.authorize(caller, account_id)
        person = parameters.text(request, "person")
        pool = parameters.text(request, "pool")
        tier = parameters.text(request, "tier")
        until = day_of_address(request, "until") or datetime.now(UTC).date()
        since = day_of_address(request, "since") or until - timedelta(days=DAYS_DEFAULT - 1)
        return usage.UsageFilter(
            account_id=account_id,
            since=since,
            until=until,
            person_id=None if person is None else tenancy.person_by_name(here, person).id,
            pool_id=None if pool is None else _pool_id(here, pool),
            tier=tier,
        )


class UsageBatchesOperation(_UsageOperation):
    """Read the batches of usage."""

    parameters = frozenset({"cursor", "limit"})

    @describe(
        "listUsageBatches",
        tag="usage",
        summary="Batches of usage, newest first",
        gives=Batches,
        parameters=_paging(batches.PAGE_MAX - 1),
        examples=(examples.BATCHES,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """Every accepted batch with its counts, its digest and the event that vouches for it."""
        caller = self.caller(request)
        limit = _limit(request, batches.PAGE_MAX - 1)
        before = cursors.read(request, tuple[datetime, UUID])
        with scope.reading(caller.organization_id):
            self.authorize_facts(caller)
            rows = batches.batches(caller.organization_id, before=before, limit=limit + 1)
        older = None
        if len(rows) > limit:
            older = cursors.next_address(request, [rows[limit - 1].recorded_at, rows[limit - 1].id])
        return self.respond(Batches([_facts(row) for row in rows[:limit]], older))


class UsageBatchOperation(_UsageOperation):
    """Read one batch."""

    @describe(
        "readUsageBatch",
        tag="usage",
        summary="One batch of usage",
        gives=BatchFacts,
        problems=(404,),
    )
    def get(self, request: HttpRequest, batch_id: UUID) -> HttpResponse:
        """Counts, totals and digest of one accepted batch."""
        caller = self.caller(request)
        with scope.reading(caller.organization_id):
            self.authorize_facts(caller)
            row = batches.batch(caller.organization_id, batch_id)
        return self.respond(_facts(row))


class UsageBatchRecordsOperation(_UsageOperation):
    """Read the records of one batch."""

    parameters = frozenset({"cursor", "limit"})

    @describe(
        "listUsageBatchRecords",
        tag="usage",
        summary="The records of one batch",
        gives=BatchRecords,
        parameters=_paging(batches.PAGE_MAX - 1),
        problems=(404,),
    )
    def get(self, request: HttpRequest, batch_id: UUID) -> HttpResponse:
        """Rows as stored, of the accounts whose use the caller may read. What takes back a
        corrected record has `sign` -1 and comes first."""
        caller = self.caller(request)
        limit = _limit(request, batches.PAGE_MAX - 1)
        after = cursors.read(request, int)
        with scope.reading(caller.organization_id):
            under = self.readable(caller)
            batches.batch(caller.organization_id, batch_id)
            rows = batches.batch_rows(
                caller.organization_id,
                batch_id,
                under=under,
                after_row=batches.ROW_FIRST if after is None else batches.ROW_FIRST + after,
                limit=limit + 1,
            )
        following = None
        if len(rows) > limit:
            # Cursors hold no negative numbers, which numbers of reversals are.
            place = rows[limit - 1].row_no - batches.ROW_FIRST
            following = cursors.next_address(request, place)
        return self.respond(BatchRecords([_record(row) for row in rows[:limit]], following))


def day_of_address(request: HttpRequest, name: str) -> date | None:
    value = parameters.text(request, name)
    if value is None:
        return None
    try:
        found = date.fromisoformat(value)
    except ValueError:
        found = None
    if found is None or not date(2000, 1, 1) <= found <= date(2099, 12, 31):
        raise Invalid("parameter_invalid", f"`{name}` is a day such as 2026-11-29.", field=name)
    return found


def _pool_id(organization_id: UUID, name: str) -> UUID:
    for row in pools_with_weights(organization_id):
        if row.name == name:
            return row.id
    raise NotFound("pool_unknown", "There is no such pool.", field="pool")


def _group(row: usage.UsageRow) -> UsageGroup:
    return UsageGroup(
        day=row.day,
        account=row.account,
        person=row.person,
        pool=row.pool,
        tier=row.tier,
        unit_seconds=None if row.unit_seconds is None else _amount(row.unit_seconds),
        weighted=_amount(row.weighted),
        compute_util=_share(row.compute.utilisation),
        compute_known=_share(_part(row.compute.known, row.all_seconds)),
        productive_util=_share(row.productive.utilisation),
        productive_known=_share(_part(row.productive.known, row.all_seconds)),
    )


def _amount(value: Decimal) -> Decimal:
    """Exact; nothing reads as `0`, not as `0E-10`."""
    return value or Decimal(0)


def _part(known: Decimal, whole: Decimal) -> Decimal:
    return known / whole if whole else Decimal(0)


def _share(value: Decimal | None) -> float | None:
    return None if value is None else round(float(value), 6)


def _facts(row: batches.BatchFacts) -> BatchFacts:
    return BatchFacts(
        id=row.id,
        event_id=row.event_id,
        sources=list(row.sources),
        recorded_at=row.recorded_at,
        rows=row.rows,
        duplicates=row.duplicates,
        conflicts=row.conflicts,
        rejected=row.rejected,
        unit_seconds=_amount(row.unit_seconds),
        digest=row.digest,
    )


def _record(row: batches.BatchRow) -> BatchRecord:
    return BatchRecord(
        sign=row.sign,
        source=row.source,
        key=row.key,
        account=row.account,
        person=row.person,
        pool=row.pool,
        tier=row.tier,
        units=row.units,
        start=row.start,
        end=row.end,
        compute_util=_share(row.compute_util),
        productive_util=_share(row.productive_util),
        supersedes=row.supersedes,
    )
