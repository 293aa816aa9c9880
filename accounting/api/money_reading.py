"""Who may read money over REST, and how addresses name months, accounts and lines."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.http import HttpRequest

from accounting import wire_money as wire
from accounting.domain import money
from accounting.domain.lines import Line
from accounting.queries import showback
from config.api import parameters
from config.api.schema import paging, query
from ledger.errors import Invalid
from quota.api.reading import QuotaOperation
from tenancy import queries
from tenancy.api.reading import account_named, authorize_reader
from tenancy.domain.roles import Scope
from tenancy.queries import AccountRow

LIMIT_DEFAULT = 100
LIMIT_MAX = 500
MONTH = query("month", "As 2026-11; the one that it is now if absent.")
ACCOUNT = query("account", "This account and what is below it; the root if absent.")
PAGING = paging(LIMIT_MAX, LIMIT_DEFAULT)


@dataclass(frozen=True, slots=True)
class Asked:
    """Whose month is asked for, and when."""

    organization_id: UUID
    account: AccountRow
    first: date
    now: datetime


class MoneyOperation(QuotaOperation):
    """What operations on money share. Helpers run inside `scope.reading`."""

    def authorize_reading(self, caller, account_id: UUID | None) -> None:
        """A machine by `export:read`, a person by a role on the account (None: on the root).

        Raises:
            Denied: naming what is missing.
        """
        authorize_reader(caller, Scope.EXPORT_READ, account_id)

    def asked(
        self, request: HttpRequest, caller, *, month: str | None, account: str | None
    ) -> Asked:
        """The account and the month, which the caller may read.

        Raises:
            Invalid: `month_malformed`. NotFound: `account_unknown`. Denied: not theirs.
        """
        here, now = caller.organization_id, datetime.now(UTC)
        organization = queries.organization(here)
        if account is None:
            row = queries.account(here, organization.root_account_id)
        else:
            self.readable(caller)
            row = account_named(here, account)
        self.authorize_reading(caller, row.id)
        zone = ZoneInfo(organization.time_zone)
        first = now.astimezone(zone).date().replace(day=1) if month is None else month_named(month)
        return Asked(here, row, first, now)

    def limit(self, request: HttpRequest) -> int:
        """How many entries a page has."""
        return parameters.integer(request, "limit", low=1, high=LIMIT_MAX, default=LIMIT_DEFAULT)


def month_named(value: str, *, field: str = "month") -> date:
    """The first day of a month written as 2026-11.

    Raises:
        Invalid: `month_malformed`.
    """
    try:
        found = date.fromisoformat(f"{value}-01") if len(value) == 7 else None
    except ValueError:
        found = None
    if found is None:
        raise Invalid("month_malformed", "A month is given as 2026-11.", field=field)
    return found


def month_or_none(value: str | None, *, field: str) -> date | None:
    """The same of a month that may be absent."""
    return None if value is None else month_named(value, field=field)


def month_text(value: date | None) -> str | None:
    """A month as 2026-11."""
    return None if value is None else f"{value:%Y-%m}"


def plain(value: Decimal) -> Decimal:
    """The same number without the zeros that a column adds."""
    return Decimal(f"{money.EXACT.normalize(value):f}")


def line_facts(line: Line, names: Mapping[Any, str]) -> wire.LineFacts:
    """A line on the wire."""
    key = line.key
    return wire.LineFacts(
        id=showback.line_id(line),
        kind=str(line.kind),
        of_kind=str(key.kind),
        account=names[key.account],
        pool=names.get(key.pool),
        flavor=names.get(key.flavor),
        tier=key.tier,
        grade=key.grade,
        about=month_text(line.about),
        unit_seconds=plain(line.unit_seconds),
        price=line.price and plain(line.price),
        list_price=line.list_price and plain(line.list_price),
        amount=line.amount,
        list_amount=line.list_amount,
        facts=dict(line.facts),
    )
