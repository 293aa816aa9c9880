"""What accounts are promised: set it now, later or for a while, end, cancel, record what is due."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from ledger.errors import Invalid, Refused
from ledger.execution import Unit, handles
from quota import events
from quota.commands.reclassifying import reclassify
from quota.domain.changes import Lapsed, QuotaBook, Scheduled, Wish
from quota.domain.values import Quota
from quota.loading import quotas as loading
from quota.recording import Books, check_reason, open_books, record, values
from tenancy.domain.roles import POOL_WRITE, SYSTEM_ONLY

SCHEDULED_MAX = 1_000
"""Changes to come in one pool."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetQuota:
    """What an account is promised in a pool, as a whole: what is left out is no limit.

    Attributes:
        carve_from_id: the account above whose own guarantee pays for a rise and takes back what a
            cut frees; None: the pool's promise itself rises or falls.
        effective_at: a later instant; None: now.
        ends_at: when the quota returns to what it was before; None: it stays.
        expose: what runs above a lowered guarantee loses its tier and becomes borrowed, of the
            lender as well, and again when `ends_at` comes; see `quota.domain.exposure`.
        expected_version: of the quota's stream when its author looked at it; another one is
            a conflict. None: whatever stands is replaced.
    """

    account_id: UUID
    pool_id: UUID
    guaranteed: int
    borrowing_limit: int | None = None
    lending_limit: int | None = None
    carve_from_id: UUID | None = None
    effective_at: datetime | None = None
    ends_at: datetime | None = None
    expose: bool = False
    expected_version: int | None = None

    @property
    def wish(self) -> Wish:
        """What is to stand, whenever it begins."""
        return Wish(
            account=self.account_id,
            quota=Quota(
                guaranteed=self.guaranteed,
                borrowing_limit=self.borrowing_limit,
                lending_limit=self.lending_limit,
            ),
            lender=self.carve_from_id,
            ends_at=self.ends_at,
            expose=self.expose,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaChanged:
    """What came of it.

    Attributes:
        changed: False: it was so already.
        change_id: of a change to come.
        promised, promisable: of the pool, after the change (for one to come: now).
        foreseen: why a change to come would be refused as things stand now; None: it would not.
    """

    account_id: UUID
    pool_id: UUID
    changed: bool
    promised: int
    promisable: int
    change_id: UUID | None = None
    foreseen: str | None = None


@handles(SetQuota, permission=POOL_WRITE)
def set_quota(command: SetQuota, unit: Unit) -> QuotaChanged:
    """Record what is due, then check the promise rule and record the change, or put it down for
    later."""
    check_reason(unit)
    _check_instants(command, unit.now)
    _expect(unit, command)
    wish = command.wish
    books = open_books(unit, (command.pool_id,))
    if command.effective_at is not None and command.effective_at > unit.now:
        # Now, while the book says what stands: below it is used to look ahead.
        reclassify(unit, books)
        return _schedule(unit, books, command, wish)
    book = books.of[command.pool_id]
    changes = book.set(wish, at=unit.now)
    record(unit, command.pool_id, changes)
    if command.expose:
        # Also what an earlier change left above the guarantee, where this one changes nothing.
        books.expose(command.pool_id, command.account_id)
    tiers = reclassify(unit, books)
    changed = bool(changes or tiers.demoted)
    return _changed(command.account_id, command.pool_id, book, changed=changed)


def _expect(unit: Unit, command: "SetQuota | EndQuota") -> None:
    if command.expected_version is not None:
        stream = f"quota:{command.account_id}:{command.pool_id}"
        unit.expect(stream, command.expected_version)


def _check_instants(command: SetQuota, now: datetime) -> None:
    for field in ("effective_at", "ends_at"):
        instant = getattr(command, field)
        if instant is not None and instant.tzinfo is None:
            raise Invalid("instant_without_zone", "An instant names its zone.", field=field)
    if command.effective_at is not None and command.effective_at < now:
        raise Invalid(
            "effective_in_past",
            "A change takes effect now or later; what was promised before is history.",
            field="effective_at",
        )
    if command.ends_at is not None and command.ends_at <= (command.effective_at or now):
        raise Invalid("end_not_later", "A quota ends after it begins.", field="ends_at")


def _schedule(unit: Unit, books: Books, command: SetQuota, wish: Wish) -> QuotaChanged:
    book, pending = books.of[command.pool_id], books.pending[command.pool_id]
    if len(pending) >= SCHEDULED_MAX:
        raise Refused(
            "too_many_scheduled",
            f"{book.pool.name} has {SCHEDULED_MAX} changes to come. Cancel some first.",
            facts={"maximum": SCHEDULED_MAX},
        )
    above = book.path(wish.account)
    if wish.lender is not None and wish.lender not in above:
        raise Invalid(
            "carve_not_ancestor",
            "A guarantee is carved from an account above; name one of them or add to the promise.",
            field="carve_from",
        )
    change = Scheduled(id=unit.new_id(), starts_at=command.effective_at, wish=wish)
    unit.record(
        events.QuotaScheduled(
            account_id=command.account_id,
            pool_id=command.pool_id,
            change_id=change.id,
            quota=values(wish.quota),
            starts_at=change.starts_at,
            ends_at=wish.ends_at,
            lender_id=wish.lender,
            expose=wish.expose,
        )
    )
    answer = _changed(command.account_id, command.pool_id, book, changed=True, change_id=change.id)
    # The book is this command's own and not needed any more: see what would become of it.
    foreseen = [
        made.error.detail
        for made in book.settle([*pending, change], now=change.starts_at)
        if isinstance(made, Lapsed) and made.scheduled == change.id
    ]
    return QuotaChanged(
        account_id=answer.account_id,
        pool_id=answer.pool_id,
        changed=True,
        change_id=change.id,
        promised=answer.promised,
        promisable=answer.promisable,
        foreseen=foreseen[0] if foreseen else None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class EndQuota:
    """End a temporary quota before its time. `expected_version` as in SetQuota."""

    account_id: UUID
    pool_id: UUID
    expected_version: int | None = None


@handles(EndQuota, permission=POOL_WRITE)
def end_quota(command: EndQuota, unit: Unit) -> QuotaChanged:
    """Return to what was before, if the promise rule lets it; give back what was carved."""
    check_reason(unit)
    _expect(unit, command)
    book = open_books(unit, (command.pool_id,)).of[command.pool_id]
    changes = book.end(command.account_id, at=unit.now)
    record(unit, command.pool_id, changes, early=True)
    return _changed(command.account_id, command.pool_id, book, changed=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelScheduledQuota:
    """Take a change back that has not taken effect."""

    change_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleCancelled:
    """The change that will not come."""

    change_id: UUID


@handles(CancelScheduledQuota, permission=POOL_WRITE)
def cancel_scheduled_quota(command: CancelScheduledQuota, unit: Unit) -> ScheduleCancelled:
    """Refuse what has taken effect, is due, or never was."""
    check_reason(unit)
    pool_id = loading.pool_of_scheduled(unit.organization_id, command.change_id)
    pending = open_books(unit, (pool_id,)).pending[pool_id] if pool_id else []
    for change in pending:
        if change.id == command.change_id:
            unit.record(
                events.QuotaScheduleCancelled(
                    account_id=change.wish.account, pool_id=pool_id, change_id=change.id
                )
            )
            return ScheduleCancelled(change_id=change.id)
    raise Refused(
        "not_scheduled",
        "This change is not to come: it took effect, lapsed or was cancelled. See the history.",
        field="change",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SettleQuotas:
    """Record every change and end that has fallen due."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotasSettled:
    """How many events that took."""

    recorded: int


@handles(SettleQuotas, permission=SYSTEM_ONLY)
def settle_quotas(command: SettleQuotas, unit: Unit) -> QuotasSettled:
    """Lock only the pools in which something is due."""
    due = loading.due_pools(unit.organization_id, now=unit.now)
    if due:
        reclassify(unit, open_books(unit, due))
    return QuotasSettled(recorded=len(unit.recorded))


def _changed(
    account_id: UUID,
    pool_id: UUID,
    book: QuotaBook,
    *,
    changed: bool,
    change_id: UUID | None = None,
) -> QuotaChanged:
    promise = book.promise()
    return QuotaChanged(
        account_id=account_id,
        pool_id=pool_id,
        changed=changed,
        promised=promise.promised,
        promisable=promise.promisable,
        change_id=change_id,
    )
