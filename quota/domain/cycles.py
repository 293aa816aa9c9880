"""Review cycles: every quota of a subtree looked at once, decided, and applied together. Pure.

A decision is a word of a reviewer about one quota: keep it, take the recommended figure, set
another, or ask the lead first. Nothing changes before the close; then all decisions of a pool are
one step: cuts first, then rises, so that only their sum has to fit (docs/design.md parts 3 and 6).
The recommended figure is accounting's (`accounting.domain.evidence.recommended`); there is no
other one here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Final

from ledger.errors import Conflict, DomainError, Invalid, Refused
from quota.domain.changes import Became, Cell, QuotaBook
from quota.domain.promise import check_whole_plan
from quota.domain.values import AccountKey, check_amount

NAME_LENGTH_MAX: Final = 80
TEXT_LENGTH_MAX: Final = 2_000
WINDOW_DAYS: Final = 90
WINDOW_DAYS_MAX: Final = 400
DEADLINE_DAYS_MAX: Final = 366
DECIDE_DAYS_MAX: Final = 80
OPENING_DAYS: Final = 14
"""So long into a quarter its cycle is opened; a policy switched on later begins with the next."""


class Decision(StrEnum):
    """What is to become of a quota."""

    KEEP = "keep"
    RECOMMENDED = "recommended"
    SET = "set"


class EntryState(StrEnum):
    """Where the review of one quota stands. Only `decided` is a decision."""

    UNDECIDED = "undecided"
    ASKED = "asked"
    ANSWERED = "answered"
    DECIDED = "decided"


class CycleState(StrEnum):
    """An open cycle is closed or cancelled once, for good."""

    OPEN = "open"
    CLOSED = "closed"
    CANCELLED = "cancelled"


class Outcome(StrEnum):
    """What the close made of a quota: it has another guarantee; it was kept by decision; nobody
    decided, which was said to mean keep; its decision could not be applied, and it stays."""

    CHANGED = "changed"
    KEPT = "kept"
    UNDECIDED = "undecided"
    IMPOSSIBLE = "impossible"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarter:
    """A quarter of the calendar in the organization's time zone."""

    year: int
    number: int

    @property
    def key(self) -> str:
        return f"{self.year}-Q{self.number}"

    @property
    def name(self) -> str:
        return f"Review Q{self.number} {self.year}"

    @property
    def first_day(self) -> date:
        return date(self.year, 3 * self.number - 2, 1)


def quarter_of(today: date) -> Quarter:
    """The quarter that a day lies in."""
    return Quarter(year=today.year, number=(today.month + 2) // 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class CyclePolicy:
    """Whether a cycle over the whole organization opens by itself each quarter, over which window
    of use, and how long it has."""

    automatic: bool = True
    window_days: int = WINDOW_DAYS
    decide_days: int = 28


DEFAULT: Final = CyclePolicy()


def check_policy(policy: CyclePolicy) -> None:
    """Raises Invalid: `window_out_of_range`, `deadline_out_of_range`."""
    _check_window(policy.window_days)
    if not 1 <= policy.decide_days <= DECIDE_DAYS_MAX:
        raise Invalid(
            "deadline_out_of_range",
            f"A cycle has 1 to {DECIDE_DAYS_MAX} days, so that it ends before the next begins.",
            field="decide_days",
            facts={"minimum": 1, "maximum": DECIDE_DAYS_MAX},
        )


def check_cycle(*, name: str, deadline: datetime, window_days: int, now: datetime) -> str:
    """The name without spaces around it.

    Raises:
        Invalid: `name_length`, `instant_without_zone`, `deadline_out_of_range`,
            `window_out_of_range`.
    """
    said = " ".join(name.split())
    if not 1 <= len(said) <= NAME_LENGTH_MAX or not said.isprintable():
        raise Invalid(
            "name_length",
            f"A cycle's name has 1 to {NAME_LENGTH_MAX} characters.",
            field="name",
            facts={"maximum": NAME_LENGTH_MAX},
        )
    if deadline.tzinfo is None:
        raise Invalid("instant_without_zone", "An instant names its zone.", field="deadline")
    if not now < deadline <= now + timedelta(days=DEADLINE_DAYS_MAX):
        raise Invalid(
            "deadline_out_of_range",
            f"The deadline lies ahead, at most {DEADLINE_DAYS_MAX} days.",
            field="deadline",
            facts={"maximum": DEADLINE_DAYS_MAX},
        )
    _check_window(window_days)
    return said


def _check_window(days: int) -> None:
    if not 1 <= days <= WINDOW_DAYS_MAX:
        raise Invalid(
            "window_out_of_range",
            f"The window of use has 1 to {WINDOW_DAYS_MAX} days.",
            field="window_days",
            facts={"minimum": 1, "maximum": WINDOW_DAYS_MAX},
        )


def check_text(text: str, *, field: str) -> str:
    """A question or an answer, without spaces around it.

    Raises:
        Invalid: `text_missing`, `text_too_long`.
    """
    said = text.strip()
    if not said:
        raise Invalid("text_missing", "Write a sentence.", field=field)
    if len(said) > TEXT_LENGTH_MAX:
        raise Invalid(
            "text_too_long",
            f"At most {TEXT_LENGTH_MAX} characters.",
            field=field,
            facts={"maximum": TEXT_LENGTH_MAX},
        )
    return said


def check_open(state: str) -> None:
    """Raises Refused: `cycle_not_open`."""
    if state != CycleState.OPEN:
        raise Refused(
            "cycle_not_open",
            f"This review cycle is {state}; nothing in it changes any more.",
            facts={"state": str(state)},
        )


def decided_units(
    decision: Decision, *, guaranteed: int, recommended: int | None, units: int | None
) -> int:
    """The guarantee that a decision means.

    Args:
        guaranteed: what stands.
        recommended: accounting's figure now; None: too little is known.
        units: for `set` the new guarantee; for `recommended` the figure that the reviewer saw,
            None where they took whatever it is.

    Raises:
        Invalid: `units_missing`, or no amount.
        Refused: `nothing_recommended`.
        Conflict: `recommendation_moved`: use has changed the figure since it was seen.
    """
    if decision == Decision.KEEP:
        return guaranteed
    if decision == Decision.SET:
        if units is None:
            raise Invalid("units_missing", "Say how many units to set.", field="units")
        check_amount(units, field="units")
        return units
    if recommended is None:
        raise Refused(
            "nothing_recommended",
            "Too little of its use is known to recommend a figure. Keep it, set one, or ask.",
            field="decision",
        )
    if units is not None and units != recommended:
        raise Conflict(
            "recommendation_moved",
            f"The recommended figure is {recommended} now, not {units}: use changed meanwhile. "
            "Look at the row again.",
            facts={"seen": units, "found": recommended},
        )
    return recommended


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """A decision as the close meets it.

    Attributes:
        units: the guarantee it means.
        guaranteed, base: what stood when it was taken, and what that would return to.
    """

    units: int
    guaranteed: int
    base: int

    @property
    def changes(self) -> bool:
        return self.units != self.guaranteed

    @property
    def rise(self) -> int:
        """Units more than stood; 0 for a cut."""
        return max(0, self.units - self.guaranteed)


@dataclass(frozen=True, slots=True)
class Together:
    """What a pool's decisions come to: changes in the order in which they are recorded, and the
    decisions that cannot be, each with why."""

    changes: list[Became]
    impossible: dict[AccountKey, DomainError]


def together(book: QuotaBook, chosen: Mapping[AccountKey, Chosen], *, at: datetime) -> Together:
    """Let all decisions of a pool stand at once. The book is changed to what comes out.

    Cuts are taken first. Of the rises that do not all fit, the smallest go first, so that as few as
    possible are impossible. Limits stay. A temporary quota keeps its end, what it returns to (but
    never more than it has now) and its lender, who pays for a rise and gets back what a cut frees;
    a lender with a decision of its own gets what that says.
    """
    step = _Step(book)
    rises: list[tuple[int, str, AccountKey]] = []
    for account, one in chosen.items():
        if one.changes and step.is_unmoved(account, one):
            step.named.add(account)
    for account, one in chosen.items():
        if account not in step.named:
            continue
        if one.rise:
            rises.append((one.rise, str(account), account))
        else:
            step.take(account, one.units)
    for _, _, account in sorted(rises):
        try:
            step.take(account, chosen[account].units)
        except DomainError as error:
            step.impossible[account] = error
    return Together(step.changes(at), step.impossible)


class _Step:
    """Cells as they would become. `named`: accounts with a decision that can be tried."""

    __slots__ = ("_book", "_borrower", "_promised", "after", "impossible", "named")

    def __init__(self, book: QuotaBook) -> None:
        self._book = book
        self._promised = sum(book.guarantees())
        self._borrower: dict[AccountKey, AccountKey] = {}
        self.named: set[AccountKey] = set()
        self.after: dict[AccountKey, Cell] = {}
        self.impossible: dict[AccountKey, DomainError] = {}

    def is_unmoved(self, account: AccountKey, one: Chosen) -> bool:
        """Whether the account still takes quota and has what it had when it was decided; if not,
        its decision is impossible."""
        try:
            self._book.path(account)
        except DomainError as error:
            self.impossible[account] = error
            return False
        cell = self._book.cell(account)
        if (cell.quota.guaranteed, cell.base.guaranteed) == (one.guaranteed, one.base):
            return True
        self.impossible[account] = Refused(
            "quota_changed_since",
            f"It had {one.guaranteed} units when this was decided and has "
            f"{cell.quota.guaranteed} now, {cell.base.guaranteed} for good. Decide it again.",
            facts={"seen": one.guaranteed, "found": cell.quota.guaranteed},
        )
        return False

    def take(self, account: AccountKey, units: int) -> None:
        """Put one decision into the draft; nothing of it where it does not fit.

        Raises:
            Refused: `promise_exceeded`, `pool_over_promised`, `carve_exceeded`.
        """
        after, lender, back = _with_units(self._book.cell(account), units)
        draft = {account: after}
        if lender is not None and lender not in self.named and back:
            draft[lender] = self._shifted(lender, back)
        rise = sum(
            new.quota.guaranteed - self.after.get(key, self._book.cell(key)).quota.guaranteed
            for key, new in draft.items()
        )
        check_whole_plan(self._book.pool, (self._promised,), (self._promised + rise,))
        self.after.update(draft)
        self._promised += rise
        if lender in draft:
            self._borrower[lender] = account

    def _shifted(self, lender: AccountKey, units: int) -> Cell:
        cell = self.after.get(lender, self._book.cell(lender))
        available = min(cell.quota.guaranteed, cell.base.guaranteed)
        if available + units < 0:
            raise Refused(
                "carve_exceeded",
                f"The account that lends for it has {available} units of its own left to give, "
                f"{-units} are needed.",
                facts={"asked": -units, "available": available, "short_by": -units - available},
            )
        return cell.shifted(units)

    def changes(self, at: datetime) -> list[Became]:
        """Changes, units that go before units that come; the book is as they leave it."""
        found = []
        for account, after in self.after.items():
            before = self._book.cell(account)
            borrower = self._borrower.get(account)
            units = after.quota.guaranteed - before.quota.guaranteed
            kind = "set" if borrower is None else "repaid" if units > 0 else "lent"
            other = borrower or (after.temporary.lender if after.temporary else None)
            found.append(
                (
                    units > 0,
                    Became(
                        account=account, before=before, after=after, at=at, kind=kind, other=other
                    ),
                )
            )
        self._book.cells.update(self.after)
        return [change for _, change in sorted(found, key=lambda one: one[0])]


def _with_units(cell: Cell, units: int) -> tuple[Cell, AccountKey | None, int]:
    """The cell with another guarantee; its lender, and how many units go back to it (negative: it
    lends more)."""
    quota = replace(cell.quota, guaranteed=units)
    if cell.temporary is None:
        return Cell(quota=quota), None, 0
    base = replace(cell.base, guaranteed=min(cell.base.guaranteed, units))
    after = Cell(quota=quota, temporary=replace(cell.temporary, base=base))
    lent = cell.quota.guaranteed - cell.base.guaranteed
    back = lent - (units - base.guaranteed)
    return after, cell.temporary.lender, back
