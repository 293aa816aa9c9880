"""In which orders allocations are listed, and which ranges of which indexes each of them reads."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ledger.errors import Invalid

UNITS_MAX = 2**62

_LIVE = ("a.lapses_at > %b", 1)
_HELD = ("a.lapses_at > %b AND a.state = 'held'", 1)
_RUNNING = ("a.lapses_at > %b AND a.state = 'running'", 1)
_LAPSED = ("a.lapses_at <= %b", 1)
_UNENDED = ("a.lapses_at IS NOT NULL", 0)
_ENDED = ("a.ended_at IS NOT NULL", 0)
_ALL = ("true", 0)

Branch = tuple[str, int]
"""A condition and how often it asks for the present instant."""


def _ended_as(state: str) -> Branch:
    return (f"a.state = '{state}' AND a.ended_at IS NOT NULL", 0)


_LIVING: dict[str | None, tuple[Branch, ...]] = {
    "live": (_LIVE,),
    "held": (_HELD,),
    "running": (_RUNNING,),
}
_PAST: dict[str | None, tuple[Branch, ...]] = {
    "released": (_ended_as("released"),),
    "preempted": (_ended_as("preempted"),),
}
_EXPIRED: tuple[Branch, ...] = (_LAPSED, _ended_as("expired"))
STATES = (*_LIVING, *_PAST, "expired")
"""What a list can be narrowed to; `live` is held or running."""


@dataclass(frozen=True, slots=True)
class Order:
    """An order of the whole list, ties by id. `field`: of AllocationRow. `branches` by state:
    disjoint ranges that make up what the state means in this order; a state that is missing has
    no such order."""

    name: str
    column: str
    field: str
    direction: str
    branches: dict[str | None, tuple[Branch, ...]]


ORDERS: dict[str, Order] = {
    order.name: order
    for order in (
        Order(
            "newest", "id", "id", "DESC", {None: (_ALL,), **_LIVING, **_PAST, "expired": _EXPIRED}
        ),
        Order(
            "units",
            "units",
            "units",
            "DESC",
            {None: (_UNENDED, _ENDED), **_LIVING, **_PAST, "expired": _EXPIRED},
        ),
        Order("lease", "lapses_at", "lapses_at", "ASC", {None: (_LIVE,), **_LIVING}),
        Order(
            "ended",
            "ended_at",
            "ended_at",
            "DESC",
            {None: (_ENDED,), **_PAST, "expired": (_ended_as("expired"),)},
        ),
    )
}
"""`newest`: last held first. `units`: largest first. `lease`: of those that live, what is over
first. `ended`: of those whose end is recorded, last ended first."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a page ended: the value that the list is ordered by, and the id."""

    value: Any
    id: UUID

    def text(self) -> str:
        """For an address."""
        value = self.value
        said = value.isoformat() if isinstance(value, datetime) else str(value)
        return f"{said}~{self.id}"

    @classmethod
    def of(cls, text: str, sort: str) -> "Place":
        """The other way round.

        Raises:
            Invalid: not a place in this order.
        """
        said, _, ident = text.partition("~")
        try:
            return cls(value=_value(said, ORDERS[sort].column), id=UUID(ident))
        except ValueError:
            raise Invalid(
                "page_unknown",
                "The page belongs to another question. Start again from the first.",
                field="cursor",
            ) from None


def _value(said: str, column: str) -> Any:
    if column == "id":
        return UUID(said)
    if column == "units":
        if not said.isascii() or not said.isdigit() or len(said) > 19 or int(said) > UNITS_MAX:
            raise ValueError(said)
        return int(said)
    found = datetime.fromisoformat(said)
    if found.tzinfo is None:
        raise ValueError(said)
    return found


def order_for(sort: str, state: str | None) -> Order:
    """The order by its name.

    Raises:
        Invalid: there is none, or not of allocations in this state.
    """
    order = ORDERS.get(sort)
    if order is None:
        raise Invalid("sort_unknown", f"Sort by one of {', '.join(ORDERS)}.", field="sort")
    if state not in order.branches:
        fit = ", ".join(str(one) for one in order.branches if one)
        raise Invalid(
            "sort_unfit",
            f"The order `{sort}` is one of allocations that are {fit}.",
            field="sort",
            facts={"states": [one for one in order.branches if one]},
        )
    return order
