"""Events of rates: prices from when, and which grade an account has. Pure; names are fixed."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from ledger.registry import event
from ledger.types import Event


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceFacts:
    """One price per unit-hour. `tier` and `grade` null: all that have no line of their own;
    `contracted_price` null: the list price is charged."""

    flavor_id: UUID
    tier: str | None
    grade: str | None
    list_price: Decimal
    contracted_price: Decimal | None


@event("rates.published")
@dataclass(frozen=True, slots=True, kw_only=True)
class RatesPublished(Event):
    """Prices that hold from `effective_from` until `effective_until`, or until the next begin.
    `memory_flavor_id`: the flavor by whose price the memory of records is charged, too."""

    version_id: UUID
    effective_from: datetime
    effective_until: datetime | None
    currency: str
    memory_flavor_id: UUID | None
    lines: tuple[PriceFacts, ...]

    @property
    def stream(self) -> str:
        return f"rates:{self.version_id}"


@event("rates.withdrawn")
@dataclass(frozen=True, slots=True, kw_only=True)
class RatesWithdrawn(Event):
    """Prices that had not begun to hold never will; the ones before go on."""

    version_id: UUID

    @property
    def stream(self) -> str:
        return f"rates:{self.version_id}"


@event("rates.grade_set")
@dataclass(frozen=True, slots=True, kw_only=True)
class RateGradeSet(Event):
    """From `effective_from` on the account, and those below it without a grade of their own, are
    charged by this grade; null: by that of the account above."""

    account_id: UUID
    grade: str | None
    effective_from: datetime

    @property
    def stream(self) -> str:
        return f"rate_grade:{self.account_id}"
