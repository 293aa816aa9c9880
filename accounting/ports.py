"""What accounting must ask of apps above it: what preemption cost. Pure.

`preemption` answers and `config/wiring.py` hands the answer over with `use_ports`; until then it is
unknown, and nothing here invents a number.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID


@dataclass(frozen=True, slots=True)
class PreemptionTax:
    """What was taken from accounts in a time, and the work that was lost by it, in money: as
    reported, else as reckoned when the plan was made."""

    actions: int
    units: int
    amount: Decimal


TaxOf = Callable[[UUID, Collection[UUID] | None, datetime, datetime], PreemptionTax]
"""(organization, accounts or None for all, from, before) -> tax. Runs inside `scope.reading`."""
_ports: list[TaxOf] = []


def use_ports(*, preemption_tax: TaxOf) -> None:
    """Install the answers. `config/wiring.py` calls it once."""
    _ports[:] = [preemption_tax]


def preemption_tax(
    organization_id: UUID, accounts: Collection[UUID] | None, start: datetime, end: datetime
) -> PreemptionTax | None:
    """The tax; None: nobody can say."""
    return _ports[0](organization_id, accounts, start, end) if _ports else None
