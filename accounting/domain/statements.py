"""Months, what a statement adds up to, and the digest that makes it final. Pure.

A statement is of a month and an account. It is `open` while it is computed anew whenever somebody
asks, `closing` while its lines are drawn, and `closed` for good (docs/design.md part 9). There is
no way back: what comes late is an adjustment in the next statement.
"""

import hashlib
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal
from zoneinfo import ZoneInfo

import msgspec

from accounting.domain import money, splitting
from accounting.domain.lines import Line
from ledger.errors import Conflict, Invalid, Refused

State = Literal["open", "closing", "closed"]
YEAR_FIRST, YEAR_LAST = 2000, 2098


@dataclass(frozen=True, slots=True)
class Month:
    """A month of an organization's time zone: half-open, from instant to instant."""

    first: date
    start: datetime
    end: datetime

    @property
    def name(self) -> str:
        """As 2026-11."""
        return f"{self.first:%Y-%m}"


def month_of(first: date, zone: ZoneInfo) -> Month:
    """The month that begins with a date.

    Raises:
        Invalid: `month_malformed`: it is not the first of a month, or of an absurd year.
    """
    if first.day != 1 or not YEAR_FIRST <= first.year <= YEAR_LAST:
        raise Invalid(
            "month_malformed",
            f"A month is given by its first day, from {YEAR_FIRST} to {YEAR_LAST}.",
            field="month",
        )
    after = splitting.next_bucket(first, "month")
    return Month(first, splitting.start_of_day(first, zone), splitting.start_of_day(after, zone))


def month_before(first: date) -> date:
    """The first day of the month before."""
    return first.replace(year=first.year - (first.month == 1), month=(first.month - 2) % 12 + 1)


def month_after(first: date) -> date:
    """The first day of the month after."""
    return splitting.next_bucket(first, "month")


def check_close(
    month: Month, *, state: State, last_closed: date | None, now: datetime, newest: State
) -> None:
    """Whether a month may begin to close: when it is over, once, and one after the other.

    Args:
        last_closed: the latest month that is closed or closing; None: the first may be any.
        newest: the state of that month.

    Raises:
        Conflict: `month_closing`, `month_closed_already`.
        Refused: `month_not_over`, `month_out_of_turn`.
    """
    if state == "closing":
        raise Conflict("month_closing", f"{month.name} is being closed already.", field="month")
    if state == "closed":
        raise Conflict(
            "month_closed_already",
            f"{month.name} is closed for good. Correct it by a credit in the next month.",
            field="month",
        )
    if now < month.end:
        raise Refused(
            "month_not_over",
            f"{month.name} can be closed from {month.end.isoformat()} on.",
            field="month",
            facts={"earliest": month.end.isoformat()},
        )
    if last_closed is None:
        return
    wanted = month_after(last_closed)
    if month.first != wanted or newest != "closed":
        waits = newest == "closing"
        name = f"{last_closed if waits else wanted:%Y-%m}"
        raise Refused(
            "month_out_of_turn",
            f"Months close one after the other: {name} is {'closing' if waits else 'next'}.",
            field="month",
            facts={"next": name},
        )


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to look at before a month closes. `code` is what must be accepted by name."""

    code: str
    detail: str
    facts: tuple[tuple[str, str], ...] = ()


def check_accepted(findings: Iterable[Finding], accepted: Iterable[str]) -> None:
    """Whoever closes a month has seen what is odd about it.

    Raises:
        Refused: `findings_open`, with the codes that were not accepted in `facts`.
    """
    known = set(accepted)
    left = [one for one in findings if one.code not in known]
    if left:
        raise Refused(
            "findings_open",
            "Before the month closes, repair or accept: "
            + "; ".join(one.detail for one in left)
            + ".",
            field="accept",
            facts={"codes": sorted({one.code for one in left})},
        )


@dataclass(frozen=True, slots=True)
class Totals:
    """What lines add up to."""

    lines: int
    amount: Decimal
    list_amount: Decimal


def totals(lines: Iterable[Line]) -> Totals:
    """The sum of lines: of a statement, of many, of an organization."""
    found = list(lines)
    return Totals(
        len(found),
        money.total([line.amount for line in found]),
        money.total([line.list_amount for line in found]),
    )


def by_account(lines: Iterable[Line]) -> dict[Hashable, list[Line]]:
    """The statements: each account's own lines."""
    found: dict[Hashable, list[Line]] = {}
    for line in lines:
        found.setdefault(line.key.account, []).append(line)
    return found


def in_order(lines: Iterable[Line]) -> list[Line]:
    """Lines in the one order in which they are numbered, whatever order they were found in."""
    return sorted(lines, key=lambda line: _plain(line))


def digest(rows: Iterable[tuple]) -> str:
    """SHA-256 of rows in order; each value in the one form it is written in."""
    found = hashlib.sha256()
    for row in rows:
        found.update(msgspec.json.encode([_value(value) for value in row]))
        found.update(b"\n")
    return found.hexdigest()


def _plain(line: Line) -> tuple:
    key = line.key
    parts: tuple[Any, ...] = (
        key.account,
        line.adjusts,
        line.about or date.min,
        key.kind,
        key.pool,
        key.flavor,
        key.tier,
        key.grade,
        key.version,
        key.ref,
        key.above,
    )
    return tuple(str(part) for part in parts)


def _value(value: Any) -> Any:
    if isinstance(value, Decimal):
        return "0" if not value else f"{money.EXACT.normalize(value):f}"
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, dict):
        return dict(sorted(value.items()))
    if isinstance(value, list | tuple):
        return [_value(one) for one in value]
    return value if value is None or isinstance(value, int | str) else str(value)
