"""What a request would make of a pool's quotas, over the whole of its period. Pure.

The pre-check beside the form and the command that grants call the same functions on the same
book, so they cannot disagree. `attempt` plays the request into a copy of the book, together with
everything that is known to come: a grant that fits today but would make a change lapse that was
approved before it does not fit.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

from ledger.errors import DomainError, Refused
from ledger.instants import written
from quota.domain.beside import check_quiet, held_for_good, wish_beside
from quota.domain.changes import Became, Cell, Change, Lapsed, QuotaBook, Scheduled, Wish
from quota.domain.requests import AT_ONCE, Kind, Terms
from quota.domain.values import AccountKey, Quota

SHORTAGES = frozenset(
    {"promise_exceeded", "pool_over_promised", "carve_exceeded", "capacity_over_period"}
)
"""Refusals of a request that more room, less units or another time would cure: it may be handed
in all the same, and a reviewer sees what can be done."""
TRIES_MAX = 8
_MINE = "~"
"""Id of what is tried: after every real one, as the newest change has the last id."""
STARTS_MAX = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeAt:
    """A pool from an instant until the next: `free` = promisable - promised, below 0 where
    over-promised."""

    at: datetime
    promised: int
    promisable: int

    @property
    def free(self) -> int:
        return self.promisable - self.promised


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What would come of a request.

    Attributes:
        wishes: what is set when it is granted, in order; empty for a justification.
        starts_at: when.
        problem: why it does not fit; None: it does.
        rise: units by which the account's guarantee grows (of a ceiling: its borrowing limit).
        before, after: the account's quota at the start.
        base, base_from: what the account's temporary quota returns to, and when; None: it has none.
        lender_id: the account above whose own guarantee pays, or takes back; None: the promise.
        series: the pool without the request, from now on; `series_with`: with it.
    """

    wishes: tuple[Wish, ...]
    starts_at: datetime
    problem: DomainError | None
    rise: int
    before: Quota
    after: Quota
    lender_id: UUID | None
    base: Quota | None = None
    base_from: datetime | None = None
    series: tuple[FreeAt, ...]
    series_with: tuple[FreeAt, ...]

    @property
    def fits(self) -> bool:
        return self.problem is None

    @property
    def short_by(self) -> int | None:
        """Units short; None where it fits."""
        return self.problem.facts.get("short_by") if self.problem else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """The nearest requests that would pass: the most units for the same period, and the earliest
    start for the same units (with its end). None: there is none."""

    units: int | None = None
    starts_at: datetime | None = None
    ends_at: datetime | None = None


def attempt(terms: Terms, book: QuotaBook, pending: Iterable[Scheduled], *, now: datetime) -> Trial:
    """Try a request on a pool; the book stays as it is.

    Args:
        book: settled at `now`.
        pending: changes to come after `now`.

    Raises:
        Refused: what is asked cannot be, whatever room there is (`guarantee_held`,
            `not_held`, `temporary_running`, `change_to_come`, ...).
        NotFound: an account that does not exist.
    """
    coming = [change for change in pending if change.starts_at > now]
    start = terms.begins(now)
    then = _copy(book)
    then.settle([change for change in coming if change.starts_at <= start], now=start)
    wishes = wishes_of(terms, then, coming=coming, at=start, is_later=start > now)
    cell = then.cell(terms.account_id)
    running = cell.temporary
    end = max(start, _last_instant(book, coming, wishes))
    baseline_changes = _copy(book).settle(coming, now=end)
    series = _series(book, baseline_changes, now=now)
    made, problem = _played(wishes, book, coming, start=start, now=now, end=end)
    problem = problem or _displaced(baseline_changes, made, book)
    return Trial(
        wishes=wishes,
        starts_at=start,
        problem=problem,
        rise=rise_of(terms, book),
        before=cell.quota,
        after=wishes[0].quota if wishes else cell.quota,
        lender_id=wishes[0].lender if wishes else None,
        base=(wishes[0].base if wishes else None) or (cell.base if running else None),
        base_from=running.ends_at if running else None,
        series=series,
        series_with=_series(book, made, now=now) if problem is None else series,
    )


def _played(
    wishes: Collection[Wish],
    book: QuotaBook,
    coming: Collection[Scheduled],
    *,
    start: datetime,
    now: datetime,
    end: datetime,
) -> tuple[list[Change], DomainError | None]:
    """What happens with the wishes among everything to come, and why they themselves cannot be.
    What begins later is put down like any change to come, in the order in which they fall due."""
    mine = _copy(book)
    if start > now:
        planned = [Scheduled(id=_MINE, starts_at=start, wish=wish) for wish in wishes]
        made = mine.settle([*coming, *planned], now=end)
        own = [one for one in made if isinstance(one, Lapsed) and one.scheduled == _MINE]
        return made, own[0].error if own else None
    try:
        granted = grant(mine, wishes, at=start)
    except Refused as error:
        return [], error
    return [*granted, *mine.settle(coming, now=end)], None


def grant(book: QuotaBook, wishes: Collection[Wish], *, at: datetime) -> list[Became]:
    """Set what a request asks for. Two quotas, of a transfer, stand at once: only their sum must
    fit, so units also move within a pool that is over-promised.

    Raises:
        Refused: as `QuotaBook.set`.
    """
    if len(wishes) > 1:
        rises = {
            wish.account: wish.quota.guaranteed - book.cell(wish.account).quota.guaranteed
            for wish in wishes
        }
        return book.shift(rises, at=at)
    return [change for wish in wishes for change in book.set(wish, at=at)]


def rise_of(terms: Terms, book: QuotaBook) -> int:
    """Units more that a request asks for: what its size is judged by."""
    if terms.kind == Kind.EXTENSION:
        cell = book.cell(terms.account_id)
        return max(0, cell.quota.guaranteed - cell.base.guaranteed)
    if terms.kind in (Kind.LOWER, Kind.JUSTIFICATION):
        return 0
    return terms.units or 0


def wishes_of(
    terms: Terms,
    book: QuotaBook,
    *,
    coming: Collection[Scheduled] = (),
    at: datetime,
    is_later: bool = False,
) -> tuple[Wish, ...]:
    """What to set so that the request is granted at an instant, which may lie in the future.

    Raises:
        Refused: see `attempt`.
    """
    account = terms.account_id
    above = book.path(account)
    cell = book.cell(account)
    if terms.kind == Kind.JUSTIFICATION:
        if cell.quota.guaranteed == 0:
            raise _nothing_held("to justify")
        return ()
    check_quiet(terms, coming, at=at)
    if terms.kind == Kind.EXTENSION:
        if cell.temporary is None:
            raise Refused(
                "not_temporary",
                "This quota has no end to put off. Ask for a raise instead.",
                field="kind",
            )
        if terms.ends_at is None or terms.ends_at <= cell.temporary.ends_at:
            raise Refused(
                "extension_not_later",
                f"It lasts until {written(cell.temporary.ends_at)} already. Ask for later.",
                field="ends_at",
                facts={"ends_at": cell.temporary.ends_at.isoformat()},
            )
        return (
            Wish(
                account=account,
                quota=cell.quota,
                lender=cell.temporary.lender,
                ends_at=terms.ends_at,
                expose=cell.temporary.expose,
            ),
        )
    if terms.kind == Kind.TRANSFER:
        return _transfer(terms, book, above)
    if cell.temporary is not None:
        beside = wish_beside(
            terms, book, cell, above, target=_target, lender_of=lender_of, is_later=is_later
        )
        return (beside,)
    quota = _target(terms, cell.quota)
    rise = quota.guaranteed - cell.quota.guaranteed
    return (
        Wish(
            account=account,
            quota=quota,
            lender=lender_of(book, above, rise),
            ends_at=terms.ends_at,
        ),
    )


def _target(terms: Terms, quota: Quota) -> Quota:
    units = terms.units or 0
    if terms.kind == Kind.CEILING:
        return replace(quota, borrowing_limit=units)
    if terms.kind == Kind.LOWER:
        if units > quota.guaranteed:
            raise _nothing_held("to give back", held=quota.guaranteed, units=units)
        return replace(quota, guaranteed=quota.guaranteed - units)
    if terms.kind == Kind.NEW and quota.guaranteed > 0:
        raise Refused(
            "guarantee_held",
            f"The account has {quota.guaranteed:,} units here. Ask for a raise instead.",
            field="kind",
            facts={"held": quota.guaranteed},
        )
    return replace(quota, guaranteed=quota.guaranteed + units)


def _transfer(terms: Terms, book: QuotaBook, above: tuple) -> tuple[Wish, ...]:
    taker = terms.to_account_id
    if not above or book.path(taker)[-1:] != above[-1:]:
        raise Refused(
            "transfer_not_siblings",
            "Units are transferred between accounts under the same parent.",
            field="to_account",
        )
    giver = book.cell(terms.account_id)
    giving, getting = giver.quota, book.cell(taker).quota
    units = terms.units or 0
    if units > held_for_good(giver):
        raise _nothing_held("to transfer", held=held_for_good(giver), units=units)
    return (
        Wish(account=terms.account_id, quota=replace(giving, guaranteed=giving.guaranteed - units)),
        Wish(account=taker, quota=replace(getting, guaranteed=getting.guaranteed + units)),
    )


def lender_of(book: QuotaBook, above: tuple, rise: int) -> UUID | None:
    """The account above that pays for a rise: the nearest with enough of its own; None: the
    pool's promise grows. What is given back goes to the nearest that has a quota in the pool."""
    for account in reversed(above):
        cell = book.cells.get(account)
        if cell is None or rise == 0:
            continue
        if rise < 0 or min(cell.quota.guaranteed, cell.base.guaranteed) >= rise:
            return account
    return None


def _nothing_held(what: str, *, held: int = 0, units: int = 1) -> Refused:
    return Refused(
        "not_held",
        f"The account has {held:,} units here {what}.",
        field="units",
        facts={"held": held, "asked": units, "short_by": units - held},
    )


def nearest(
    terms: Terms, book: QuotaBook, pending: Collection[Scheduled], trial: Trial, *, now: datetime
) -> Nearest:
    """What would pass instead of a request that does not fit."""
    if trial.fits or terms.kind in (Kind.EXTENSION, Kind.JUSTIFICATION):
        return Nearest()
    start = _earliest_start(terms, book, pending, trial, now=now)
    return Nearest(
        units=_most_units(terms, book, pending, trial, now=now),
        starts_at=start.starts_at if start else None,
        ends_at=start.ends_at if start else None,
    )


def _most_units(
    terms: Terms, book: QuotaBook, pending: Collection[Scheduled], trial: Trial, *, now: datetime
) -> int | None:
    """Go down by what is short until it fits. Less units may find another lender, so the first
    that fits is the answer, not a bound."""
    units = terms.units or 0
    for _ in range(TRIES_MAX):
        units -= max(1, trial.short_by or 1)
        if units < 1:
            return None
        trial = attempt(replace(terms, units=units), book, pending, now=now)
        if trial.fits:
            return units
    return None


def _earliest_start(
    terms: Terms, book: QuotaBook, pending: Collection[Scheduled], trial: Trial, *, now: datetime
) -> Terms | None:
    """Try the instants at which something is freed, with the same length."""
    if terms.kind in AT_ONCE:
        return None
    length = terms.ends_at - trial.starts_at if terms.ends_at else None
    freeing = [
        later.at
        for earlier, later in zip(trial.series, trial.series[1:], strict=False)
        if later.free > earlier.free and later.at > trial.starts_at
    ]
    for at in freeing[:STARTS_MAX]:
        moved = replace(terms, starts_at=at, ends_at=at + length if length else None)
        try:
            if attempt(moved, book, pending, now=now).fits:
                return moved
        except Refused:
            continue
    return None


@dataclass(slots=True)
class _TrialBook(QuotaBook):
    """A copy of a book that keeps the sum of its guarantees: a trial plays hundreds of changes
    into a pool of thousands of accounts while somebody types."""

    promised: int = 0

    def guarantees(self) -> Iterable[int]:
        return (self.promised,)

    def _check(self, after: Mapping[AccountKey, Cell]) -> None:
        QuotaBook._check(self, after)
        # What passes is kept: the book takes these cells next.
        self.promised += sum(
            cell.quota.guaranteed - self.cell(account).quota.guaranteed
            for account, cell in after.items()
        )


def _copy(book: QuotaBook) -> _TrialBook:
    return _TrialBook(
        pool=book.pool,
        cells=dict(book.cells),
        path=book.path,
        promised=sum(book.guarantees()),
    )


def _last_instant(book: QuotaBook, coming: Iterable[Scheduled], wishes: Iterable[Wish]) -> datetime:
    """After everything that is known to come."""
    instants = [cell.temporary.ends_at for cell in book.cells.values() if cell.temporary]
    for change in coming:
        instants += [change.starts_at, change.wish.ends_at or change.starts_at]
    instants += [wish.ends_at for wish in wishes if wish.ends_at]
    return max(instants, default=datetime.min.replace(tzinfo=UTC))


def _displaced(
    baseline: Iterable[Change], made: Iterable[Change], book: QuotaBook
) -> Refused | None:
    """The first change to come that the request would make lapse; None: none."""
    lapsing = {_lapse(change) for change in baseline if isinstance(change, Lapsed)}
    for change in made:
        if isinstance(change, Lapsed) and _lapse(change) not in lapsing:
            short_by = change.error.facts.get("short_by")
            return Refused(
                "capacity_over_period",
                f"On {written(change.at)} {book.pool.name} is promised to others: "
                f"{short_by or 'some'} units short from then on. Ask for less, or until then.",
                field="units",
                facts={"short_by": short_by, "at": change.at.isoformat(), "pool": book.pool.name},
            )
    return None


def _lapse(change: Lapsed) -> tuple:
    return (change.account, change.scheduled)


def _series(book: QuotaBook, changes: Iterable[Change], *, now: datetime) -> tuple[FreeAt, ...]:
    """The promise after each instant of change."""
    promisable, promised = book.pool.promisable, book.promise().promised
    found = {now: promised}
    for change in changes:
        if isinstance(change, Became):
            promised += change.after.quota.guaranteed - change.before.quota.guaranteed
            found[max(now, change.at)] = promised
    return tuple(
        FreeAt(at=at, promised=units, promisable=promisable) for at, units in found.items()
    )
