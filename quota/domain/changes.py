"""What changes a pool's quotas: grants, carving, temporary quotas, changes that fall due. Pure.

A `QuotaBook` holds the quotas of all accounts of one pool and lets them change one at a time. Each
change is checked by the promise rule on what it makes of the *whole* pool (quota/domain/promise.py)
and given back as values, which a command records as events and a reader uses as they are. Both
call `settle`, so a page is right although the task that records what falls due is late.

*Carving.* A rise with a `lender`, an account above, is paid from the lender's own guarantee; what a
cut frees goes back to it.

*Temporary.* A quota with an end remembers what it returns to (its `base`) and who lent. When it
ends, the account gets its base back and the lender what it lent, no matter what else has happened
to the lender. Setting a quota while a temporary one runs ends that one first, in one step; a wish
with a `base`, and `shift`, leave it running and move what it returns to with it.

*Due.* At equal instants ends come first, then changes that free units, then those that take some;
equal ones by id. What the promise rule refuses at its due time lapses: values stay, it is said.
"""

import heapq
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from ledger.errors import DomainError, Invalid, Refused
from quota.domain.promise import Promise, check_whole_plan, promise_of
from quota.domain.values import NO_QUOTA, AccountKey, Pool, Quota, check_amount

Path = Callable[[AccountKey], tuple[AccountKey, ...]]
"""The accounts above one, from the root down; raises `Refused` where it takes no quota."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Temporary:
    """The end of a quota.

    Attributes:
        ends_at: from this instant on it is over.
        base: what it returns to.
        lender: whose own guarantee paid for the rise above the base.
        expose: what runs above a guarantee that the end lowers loses its tier.
    """

    ends_at: datetime
    base: Quota
    lender: AccountKey | None = None
    expose: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """The quota of an account in the pool, and its end where it has one."""

    quota: Quota = NO_QUOTA
    temporary: Temporary | None = None

    @property
    def base(self) -> Quota:
        """What stands when nothing temporary does."""
        return self.temporary.base if self.temporary else self.quota

    def shifted(self, units: int) -> "Cell":
        """The cell with `units` more of guarantee, now and after its end.

        Raises:
            _Short: it has not so many to give.
        """
        least = min(self.quota.guaranteed, self.base.guaranteed)
        if least + units < 0:
            raise _Short(available=least)
        moved = replace(self.quota, guaranteed=self.quota.guaranteed + units)
        if self.temporary is None:
            return Cell(quota=moved)
        base = replace(self.base, guaranteed=self.base.guaranteed + units)
        return Cell(quota=moved, temporary=replace(self.temporary, base=base))


class _Short(Exception):
    def __init__(self, *, available: int) -> None:
        self.available = available


NO_CELL = Cell()


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What an account's quota is to become.

    Attributes:
        lender: the account above that pays for a rise and takes back what a cut frees.
        ends_at: None: for good.
        expose: what runs above a lowered guarantee loses its tier: the account's, the lender's,
            and again where a temporary quota ends.
        base: a change for good beside the temporary quota that runs: what that returns to from
            now on. Its end and its lender stay, and `lender` pays for the rise of the base.
    """

    account: AccountKey
    quota: Quota
    lender: AccountKey | None = None
    ends_at: datetime | None = None
    expose: bool = False
    base: Quota | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduled:
    """A wish that takes effect later."""

    id: Any
    starts_at: datetime
    wish: Wish


@dataclass(frozen=True, slots=True, kw_only=True)
class Became:
    """An account's cell after a change.

    Attributes:
        kind: `set`; `ended` for the end of a temporary quota; `lent` and `repaid` where the change
            is that of another account, `other`, that carved from this one.
        other: for `set` and `ended`, who lends or is repaid.
        scheduled: id of the wish that fell due.
    """

    account: AccountKey
    before: Cell
    after: Cell
    at: datetime
    kind: str
    other: AccountKey | None = None
    scheduled: Any = None
    expose: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Lapsed:
    """A change that fell due and was refused; `scheduled` None: the end of a temporary quota,
    whose values now stay."""

    account: AccountKey
    at: datetime
    cell: Cell
    error: DomainError
    scheduled: Any = None


Change = Became | Lapsed


@dataclass(slots=True)
class QuotaBook:
    """The quotas of one pool, open to change. Accounts without a cell have no quota."""

    pool: Pool
    cells: dict[AccountKey, Cell]
    path: Path

    def cell(self, account: AccountKey) -> Cell:
        return self.cells.get(account, NO_CELL)

    def guarantees(self) -> Iterable[int]:
        return (cell.quota.guaranteed for cell in self.cells.values())

    def promise(self) -> Promise:
        return promise_of(self.pool, self.guarantees())

    def set(self, wish: Wish, *, at: datetime, scheduled: Any = None) -> list[Became]:
        """Give an account its quota. Nothing comes of a wish that is true already.

        Raises:
            Invalid: `carve_not_ancestor`, `end_not_later`.
            Refused: `promise_exceeded`, `pool_over_promised`, `carve_exceeded`; of `path`.
        """
        above = self.path(wish.account)
        if wish.lender is not None and wish.lender not in above:
            raise Invalid(
                "carve_not_ancestor",
                "A guarantee is carved from an account above; name one of them or add to the "
                "promise.",
                field="carve_from",
            )
        if wish.ends_at is not None and wish.ends_at <= at:
            raise Invalid("end_not_later", "A quota ends after it begins.", field="ends_at")
        cell = self.cell(wish.account)
        if cell == Cell(quota=wish.quota) and wish.ends_at is None:
            return []
        draft = _Draft(self.cells)
        base = cell.base
        if wish.base is not None:
            temporary = self._beside(wish, cell)
            rise = wish.base.guaranteed - base.guaranteed
        else:
            draft.repay(cell)
            rise = wish.quota.guaranteed - base.guaranteed
            temporary = (
                Temporary(ends_at=wish.ends_at, base=base, lender=wish.lender, expose=wish.expose)
                if wish.ends_at
                else None
            )
        if wish.lender is not None:
            draft.shift(wish.lender, -rise)
        return self._take(
            draft,
            wish.account,
            Cell(quota=wish.quota, temporary=temporary),
            at=at,
            kind="set",
            other=wish.lender,
            scheduled=scheduled,
            expose=wish.expose,
        )

    @staticmethod
    def _beside(wish: Wish, cell: Cell) -> Temporary:
        if cell.temporary is None or wish.ends_at is not None:
            raise Refused(
                "not_temporary",
                "No temporary quota runs here any more. Ask again.",
                field="account",
            )
        check_amount(wish.base.guaranteed, field="guaranteed")
        return replace(cell.temporary, base=wish.base)

    def shift(self, units: Mapping[AccountKey, int], *, at: datetime) -> list[Became]:
        """Let accounts have so many units more or fewer, for good and at once: only their sum must
        fit. A temporary quota runs on, and what it returns to moves with it.

        Raises:
            Refused: `promise_exceeded`, `pool_over_promised`, `carve_exceeded`; of `path`.
        """
        cells: list[tuple[AccountKey, Cell, str]] = []
        for account, rise in units.items():
            self.path(account)
            try:
                cells.append((account, self.cell(account).shifted(rise), "set"))
            except _Short as short:
                raise _carve_exceeded(asked=-rise, available=short.available) from None
        return self._keep(cells, at=at)

    def set_all(self, quotas: Mapping[AccountKey, Quota], *, at: datetime) -> list[Became]:
        """Let many quotas stand at once, as in a plan: only their sum must fit. A temporary quota
        with the right base goes on; any other ends. Lenders are repaid, unless named themselves.

        Raises:
            Refused: `promise_exceeded`, `pool_over_promised`, `carve_exceeded`.
        """
        draft = _Draft(self.cells)
        chosen = {
            account: Cell(quota=quota)
            for account, quota in quotas.items()
            if self.cell(account).base != quota
        }
        for account in chosen:
            draft.repay(self.cell(account))
        shifted = draft.close(without=chosen.keys())
        return self._keep(
            [(account, draft.after[account], "repaid") for account in shifted]
            + [(account, cell, "set") for account, cell in chosen.items()],
            at=at,
        )

    def _keep(self, cells: list[tuple[AccountKey, Cell, str]], *, at: datetime) -> list[Became]:
        after = {account: cell for account, cell, _ in cells}
        self._check(after)
        changes = [
            Became(account=account, before=self.cell(account), after=cell, at=at, kind=kind)
            for account, cell, kind in cells
        ]
        self.cells.update(after)
        return changes

    def end(self, account: AccountKey, *, at: datetime) -> list[Became]:
        """End an account's temporary quota.

        Raises:
            Refused: `not_temporary`; or it would return to more than the pool or the lender has.
        """
        cell = self.cell(account)
        if cell.temporary is None:
            raise Refused(
                "not_temporary",
                "This quota has no end that could come early. Set another quota instead.",
                field="account",
            )
        draft = _Draft(self.cells)
        draft.repay(cell)
        return self._take(
            draft,
            account,
            Cell(quota=cell.base),
            at=at,
            kind="ended",
            other=cell.temporary.lender,
            expose=cell.temporary.expose,
        )

    def settle(self, pending: Iterable[Scheduled], *, now: datetime) -> list[Change]:
        """Everything that has fallen due by `now`, in order. Changes the book."""
        due = [self._due(scheduled) for scheduled in pending if scheduled.starts_at <= now]
        for account, cell in self.cells.items():
            if cell.temporary and cell.temporary.ends_at <= now:
                due.append(_end_of(account, cell.temporary))
        heapq.heapify(due)
        changes: list[Change] = []
        while due:
            at, *_, account, scheduled = heapq.heappop(due)
            made = self._fall_due(account, scheduled, at)
            changes += made
            temporary = self.cell(account).temporary
            if scheduled and temporary and temporary.ends_at <= now:
                heapq.heappush(due, _end_of(account, temporary))
        return changes

    def _due(self, scheduled: Scheduled) -> tuple:
        wish = scheduled.wish
        rise = wish.quota.guaranteed - self.cell(wish.account).quota.guaranteed
        return (scheduled.starts_at, 1, rise, str(scheduled.id), wish.account, scheduled)

    def _fall_due(
        self, account: AccountKey, scheduled: Scheduled | None, at: datetime
    ) -> list[Change]:
        cell = self.cell(account)
        try:
            if scheduled is not None:
                made = self.set(scheduled.wish, at=at, scheduled=scheduled.id)
                # True already: it is recorded all the same, or it would be due for ever.
                return list(made) or [
                    Became(
                        account=account,
                        before=cell,
                        after=cell,
                        at=at,
                        kind="set",
                        scheduled=scheduled.id,
                        expose=scheduled.wish.expose,
                    )
                ]
            if cell.temporary is None or cell.temporary.ends_at > at:
                return []
            return list(self.end(account, at=at))
        except DomainError as error:
            if scheduled is None:
                self.cells[account] = Cell(quota=cell.quota)
            return [
                Lapsed(
                    account=account,
                    at=at,
                    cell=self.cell(account),
                    error=error,
                    scheduled=scheduled.id if scheduled else None,
                )
            ]

    def _take(
        self,
        draft: "_Draft",
        account: AccountKey,
        cell: Cell,
        *,
        at: datetime,
        kind: str,
        expose: bool,
        **facts: Any,
    ) -> list[Became]:
        """Check and keep a draft. The changes, those of lenders first: what is given was taken
        before."""
        shifts = draft.close()
        draft.after[account] = cell
        self._check(draft.after)
        changes = [
            Became(
                account=other,
                before=self.cell(other),
                after=draft.after[other],
                at=at,
                kind="repaid" if units > 0 else "lent",
                other=account,
                expose=expose,
            )
            for other, units in shifts.items()
        ]
        changes.append(
            Became(
                account=account,
                before=self.cell(account),
                after=cell,
                at=at,
                kind=kind,
                expose=expose,
                **facts,
            )
        )
        self.cells.update(draft.after)
        return changes

    def _check(self, after: Mapping[AccountKey, Cell]) -> None:
        for cell in after.values():
            check_amount(cell.quota.guaranteed, field="guaranteed")
        promised = sum(self.guarantees())
        rise = sum(
            cell.quota.guaranteed - self.cell(account).quota.guaranteed
            for account, cell in after.items()
        )
        check_whole_plan(self.pool, (promised,), (promised + rise,))


class _Draft:
    """Cells as they would become, before anything is checked or kept. What several steps take
    from a lender counts as one: only their sum must be there."""

    __slots__ = ("_cells", "_units", "after")

    def __init__(self, cells: Mapping[AccountKey, Cell]) -> None:
        self._cells = cells
        self._units: dict[AccountKey, int] = {}
        self.after: dict[AccountKey, Cell] = {}

    def repay(self, cell: Cell) -> None:
        """Give a lender back what a temporary quota took (or take what it gave)."""
        if cell.temporary is not None and cell.temporary.lender is not None:
            units = cell.quota.guaranteed - cell.base.guaranteed
            self.shift(cell.temporary.lender, units)

    def shift(self, account: AccountKey, units: int) -> None:
        self._units[account] = self._units.get(account, 0) + units

    def close(self, *, without: Collection[AccountKey] = ()) -> dict[AccountKey, int]:
        """Shift the lenders. Returns by how much each was."""
        shifts = {
            account: units
            for account, units in self._units.items()
            if units and account not in without
        }
        for account, units in shifts.items():
            try:
                self.after[account] = self._cells.get(account, NO_CELL).shifted(units)
            except _Short as short:
                raise _carve_exceeded(asked=-units, available=short.available) from None
        return shifts


def _carve_exceeded(*, asked: int, available: int) -> Refused:
    short_by = asked - available
    return Refused(
        "carve_exceeded",
        f"The account above has {available} units of its own to give, {asked} are asked: "
        f"{short_by} short. Give less, or add to the pool's promise.",
        field="guaranteed",
        facts={"asked": asked, "available": available, "short_by": short_by},
    )


def _end_of(account: AccountKey, temporary: Temporary) -> tuple:
    return (temporary.ends_at, 0, 0, str(account), account, None)
