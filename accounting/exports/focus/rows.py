"""Lines of statements as FOCUS has them: a row a line, day and labels of the use, checked as they
are written.

List and contracted cost are exact products of the quantity as it stands in the file; billed and
effective cost are the rounded line, split over its rows by largest remainder. So the products hold
to the last digit and the billed costs add up to the statement to the cent (docs/user/exports.md).
Runs inside `scope.snapshot`.
"""

import pickle
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final
from uuid import UUID

from django.conf import settings

from accounting.domain import lines, money, rating, splitting, statements
from accounting.domain.lines import Kind, Line
from accounting.domain.tagging import LABELS
from accounting.exports.extent import Extent
from accounting.exports.focus import columns, measures
from accounting.exports.focus.rules import FileCheck
from accounting.exports.focus.skus import Sku, sku_of, tags_of
from accounting.exports.lines import Charge, Lines
from accounting.exports.tables import MadeTable, Table, month
from ledger.sql import server_cursor

QUANTITY_PLACES: Final = 6
_TYPES: Final = ("Organization", "Department", "Team", "Project")
_WORDS: Final = {
    Kind.USAGE: "Use",
    Kind.IDLE: "Guarantee that was not used",
    Kind.LENDING: "Credit for what others borrowed",
    Kind.DISCOUNT: "Discount for utilization",
    Kind.COMMITMENT: "Missing to a commitment",
    Kind.CREDIT: "Credit",
}
_REASONS: Final = {
    Kind.LENDING: "lending",
    Kind.DISCOUNT: "utilization-discount",
    Kind.COMMITMENT: "commitment",
    Kind.CREDIT: "credit",
}
_RATED: Final = (Kind.USAGE, Kind.IDLE)


def table(wanted: Lines) -> Table:
    """The rows of an export, in order. Iterating them checks them.

    Raises:
        Refused: `focus_invalid`, while they are read.
    """
    extent = wanted.extent
    version = extent.spec.focus_version
    names = tuple(one.name for one in columns.columns(version))

    def rows() -> Iterator[tuple]:
        check = FileCheck(version=version, invoices=_invoices(wanted), places=extent.ground.places)
        check.head(names)
        for order, row in in_order(_Mapper(extent).rows(wanted.charges())):
            check.row(row, order)
            yield tuple(row[name] for name in names)
        check.end()

    return MadeTable(
        columns=columns.written(version),
        facts={"FocusVersion": version, "SchemaId": columns.schema(version)["SchemaId"]},
        rows=rows(),
        guards=False,
    )


Order = tuple[datetime, int, int, int]
"""Start of the charge, chunk, line, row of the line."""
Placed = tuple[Order, dict[str, Any]]


def in_order(rows: Iterator[Placed]) -> Iterator[Placed]:
    """Rows by the start of their charge, then as their lines are. They come by line, so each start
    has a file of its own for a while: a month has few starts, and memory stays flat."""
    piles: dict[datetime, Any] = {}
    try:
        for order, row in rows:
            if order[0] not in piles:
                piles[order[0]] = tempfile.TemporaryFile()  # noqa: SIM115 (closed below)
            pickle.dump((order, row), piles[order[0]], protocol=pickle.HIGHEST_PROTOCOL)
        for start in sorted(piles):
            piles[start].seek(0)
            yield from _unpiled(piles[start])
    finally:
        for pile in piles.values():
            pile.close()


def _unpiled(pile: Any) -> Iterator[Placed]:
    while True:
        try:
            yield pickle.load(pile)
        except EOFError:
            return


def _invoices(wanted: Lines) -> dict[str | None, Decimal]:
    """What each statement comes to, asked apart from the rows; without an id all are one."""
    found: dict[str | None, Decimal] = {}
    for center, amount in wanted.by_billing_account().items():
        name = invoice_of(wanted.extent, center)
        found[name] = found.get(name, Decimal(0)) + amount
    return found


def invoice_of(extent: Extent, center: UUID) -> str | None:
    """The statement of a cost center and month; none while the month is open."""
    if extent.state == "open":
        return None
    name = f"{extent.ground.month.name}/{center}"
    return name if extent.state == "closed" else f"{name}/provisional"


@dataclass(frozen=True, slots=True)
class _Pool:
    name: str
    cluster: str


class _Mapper:
    """Makes rows of charges."""

    def __init__(self, extent: Extent) -> None:
        self.extent = extent
        self.month = extent.ground.month
        self.places = extent.ground.places
        with server_cursor() as cursor:
            rows = cursor.execute(
                "SELECT id, name, cluster FROM quota_pool WHERE organization_id = %b",
                (extent.ground.organization_id,),
            ).fetchall()
        self.measured = measures.measured(extent)
        self.pools = {row[0]: _Pool(row[1], row[2]) for row in rows}
        version = extent.spec.focus_version
        provider = ("ProviderName", "PublisherName", "InvoiceIssuerName")
        if version != "1.2":
            provider = ("ServiceProviderName", "HostProviderName", "InvoiceIssuerName")
        empty = {one.name: None for one in columns.columns(version)}
        self.base: dict[str, Any] = empty | {
            **dict.fromkeys(provider, settings.EXPORT_PROVIDER),
            "BillingCurrency": extent.ground.currency,
            "BillingPeriodStart": self.month.start,
            "BillingPeriodEnd": self.month.end,
            "x_OrganizationId": str(extent.ground.organization_id),
            "x_CostBasis": "showback",
        }

    def rows(self, charges: Iterator[Charge]) -> Iterator[Placed]:
        """Of each line its parts, in order."""
        for charge in charges:
            base = self._base(charge)
            tags = self._tags(charge.line)
            for number, (period, labels, values) in enumerate(self._values(charge)):
                row = base | values
                row["Tags"] = tags_of(*tags, dict(zip(LABELS, labels, strict=False)))
                row["ChargePeriodStart"], row["ChargePeriodEnd"] = period
                yield (period[0], charge.chunk, charge.line_no, number), row

    def _tags(self, line: Line) -> tuple[str, str | None, str | None]:
        """Of what our own tags are: organization, department, team."""
        above, names = line.key.above, self.extent.names
        department, team = (names[above[at]] if len(above) > at else None for at in (1, 2))
        return self.extent.organization, department, team

    def _base(self, charge: Charge) -> dict[str, Any]:
        line, names = charge.line, self.extent.names
        key = line.key
        center = key.above[1] if len(key.above) > 1 else key.above[0]
        pool = self.pools.get(key.pool)
        sku = sku_of(names.get(key.flavor), key.tier, key.grade)
        depth = len(key.above) - 1
        _, department, team = self._tags(line)
        return self.base | {
            "BillingAccountId": str(center),
            "BillingAccountName": names[center],
            "BillingAccountType": _TYPES[min(depth, 1)],
            "SubAccountId": str(key.account),
            "SubAccountName": names[key.account],
            "SubAccountType": _TYPES[min(depth, len(_TYPES) - 1)],
            "InvoiceId": invoice_of(self.extent, center),
            "ChargeDescription": self._description(line, pool),
            "ServiceCategory": sku.category,
            "ServiceSubcategory": sku.subcategory,
            "ServiceName": sku.service,
            "RegionId": pool.cluster if pool else None,
            "RegionName": pool.cluster if pool else None,
            "x_LineId": charge.id,
            "x_LineKind": str(line.kind),
            "x_AccountPath": self.extent.path(key.above),
            "x_Department": department,
            "x_Team": team,
            "x_Cluster": pool.cluster if pool else None,
            "x_Tier": key.tier,
            "x_Grade": key.grade,
            "x_RateCardVersion": str(key.version) if key.version else None,
            "x_AboutMonth": month(line.about),
            "x_AdjustmentReason": "late-use" if line.adjusts else _REASONS.get(key.kind),
            **measures.of_line(self.measured, line).columns(line.price),
            **self._category(line, sku),
        }

    def _description(self, line: Line, pool: _Pool | None) -> str:
        key = line.key
        parts = [_WORDS[key.kind]]
        if pool:
            parts.append(f"of {pool.name}")
        if key.tier:
            parts.append(f"({key.tier})")
        if line.adjusts:
            parts.append(f"in {month(line.about)}, known later")
        return " ".join(parts)

    def _category(self, line: Line, sku: Sku) -> dict[str, Any]:
        """What is the same on every day of a line."""
        kind = line.key.kind
        late = line.adjusts or (line.about is not None and line.about < self.month.first)
        found: dict[str, Any] = {"ChargeClass": "Correction" if late else None}
        if kind not in _RATED:
            credit = kind != Kind.COMMITMENT and not line.adjusts
            category = "Credit" if credit else "Adjustment"
            return found | {"ChargeCategory": category, "ChargeFrequency": "One-Time"}
        reservation = None
        if line.key.tier == "guaranteed":
            reservation = f"quota:{line.key.account}/{line.key.pool}"
        idle = kind == Kind.IDLE
        found |= {
            "ChargeCategory": "Usage",
            "ChargeFrequency": "Usage-Based",
            "SkuId": sku.id,
            "SkuMeter": sku.meter,
            "CapacityReservationId": reservation,
            "CapacityReservationStatus": None
            if reservation is None
            else ("Unused" if idle else "Used"),
        }
        if idle:
            found |= {"ResourceId": reservation, "ResourceType": "Quota Reservation"}
        if not line.adjusts:
            found |= {
                "SkuPriceId": sku.price_id,
                "SkuPriceDetails": sku.details,
                "PricingCategory": "Dynamic" if line.key.tier == "spot" else "Standard",
                "PricingUnit": sku.unit,
                "ConsumedUnit": sku.unit,
            }
        return found

    def _values(self, charge: Charge) -> Iterator[tuple[tuple[datetime, datetime], tuple, dict]]:
        """The parts of a line, or the one stretch that it is about, with labels and amounts."""
        line = charge.line
        if line.adjusts or line.key.kind not in _RATED:
            yield self._period(line), (), self._unpriced(line)
            return
        share = Decimal(line.facts.get("share", 1))
        places = _quantity_places(line)
        used = _hours(line.unit_seconds, Decimal(1), places)
        priced = used if share == 1 else _hours(line.unit_seconds, share, places)
        if not charge.parts:
            yield self._period(line), (), _priced(line, line.amount, used, priced)
            return
        amounts = lines.parts(line.amount, charge.parts, places=self.places)
        hours = lines.parts(used, charge.parts, places=places)
        for part in charge.parts:
            day, *labels = part
            values = _priced(line, amounts[part], hours[part], hours[part])
            yield self._day(day), tuple(labels), values

    def _unpriced(self, line: Line) -> dict[str, Any]:
        amount = line.amount
        listed = line.list_amount if line.key.kind in _RATED else amount
        hours = _hours(line.unit_seconds, Decimal(1), QUANTITY_PLACES)
        return {
            "BilledCost": amount,
            "EffectiveCost": amount,
            "ListCost": listed,
            "ContractedCost": amount,
            "x_UnitHours": hours if line.unit_seconds else None,
        }

    def _period(self, line: Line) -> tuple[datetime, datetime]:
        """The month that a line is about."""
        if line.about is None or line.about == self.month.first:
            return self.month.start, self.month.end
        about = statements.month_of(line.about, self.extent.ground.zone)
        return about.start, about.end

    def _day(self, day: date) -> tuple[datetime, datetime]:
        zone = self.extent.ground.zone
        after = splitting.next_bucket(day, "day")
        return splitting.start_of_day(day, zone), splitting.start_of_day(after, zone)


def _priced(line: Line, amount: Decimal, used: Decimal, priced: Decimal) -> dict[str, Any]:
    listed, contracted = _digits(line.list_price), _digits(line.price)
    return {
        "BilledCost": amount,
        "EffectiveCost": amount,
        "PricingQuantity": priced,
        "ConsumedQuantity": used,
        "ListUnitPrice": listed,
        "ContractedUnitPrice": contracted,
        "ListCost": money.EXACT.multiply(listed, priced),
        "ContractedCost": money.EXACT.multiply(contracted, priced),
        "x_UnitHours": used,
    }


def _digits(price: Decimal | None) -> Decimal:
    """A price without the zeros that its column has."""
    return money.EXACT.normalize(price) if price else Decimal(0)


def _quantity_places(line: Line) -> int:
    """As many decimals of hours as leave room for those of the prices in the product."""
    prices = [one for one in (line.price, line.list_price) if one]
    exponents = [int(money.EXACT.normalize(one).as_tuple().exponent) for one in prices]
    return max(0, min(QUANTITY_PLACES, columns.SCALE + min([0, *exponents])))


def _hours(unit_seconds: Decimal, share: Decimal, places: int) -> Decimal:
    exact = Fraction(unit_seconds) * Fraction(share) / rating.HOUR_SECONDS
    return money.rounded(exact, places)
