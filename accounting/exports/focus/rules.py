"""The rules of the specification that one row, or the whole file, has to keep. Pure.

Written from the published rules by charge category, and asked of every row of every export before
it is offered: validators of others pass a file if any of its rows is right, or look at the
structure alone (docs/decisions/0017-exports.md).
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

import msgspec

from accounting.domain import money
from accounting.exports.focus import columns as table
from accounting.exports.focus.columns import FocusColumn, Form, Level
from ledger.errors import Refused

Row = Mapping[str, Any]
COLUMN_LENGTH_MAX: Final = 50
TEXT_LENGTH_MAX: Final = 4_096
_NAME = re.compile(r"(x_)?[A-Z][A-Za-z0-9]*")
_CURRENCY = re.compile(r"[A-Z]{3}")
_UNIT = re.compile(r"[A-Z][A-Za-z]*-(Hours|Days|Months)")
_NOTHING: Final = frozenset({"", "N/A", "NULL", "null", "None", "-"})
_COSTS: Final = ("ListCost", "ContractedCost")
_PRICE_OF: Final = {"ListCost": "ListUnitPrice", "ContractedCost": "ContractedUnitPrice"}
_UNIT_OF: Final = {"PricingQuantity": "PricingUnit", "ConsumedQuantity": "ConsumedUnit"}
_OF_SKU_PRICE: Final = (
    *("ListUnitPrice", "ContractedUnitPrice", "PricingCategory", "PricingQuantity"),
    *("ConsumedQuantity", "SkuPriceDetails"),
)
_OF_USE: Final = (
    *("PricingQuantity", "ListUnitPrice", "ContractedUnitPrice", "PricingCategory"),
    *("SkuId", "SkuPriceId"),
)


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that a row does not keep."""

    rule: str
    column: str
    why: str


Rule = Callable[[Row, str], Iterator[Broken]]


def broken(row: Row, version: str) -> Iterator[Broken]:
    """Every rule that a row does not keep."""
    for column in table.columns(version):
        yield from _value(column, row)
    for rule in _RULES:
        yield from rule(row, version)


# ---------------------------------------------------------------- one value
def _value(column: FocusColumn, row: Row) -> Iterator[Broken]:
    name = column.name
    if name not in row:
        yield Broken("column_missing", name, "every row has every column")
        return
    value = row[name]
    if value is None:
        if not column.null:
            yield Broken("null", name, "is never null")
        return
    why = _FORMS[column.form](value)
    if why:
        yield Broken("form", name, why)
    elif column.allowed is not None and value not in column.allowed:
        yield Broken("allowed", name, f"{value!r} is none of the allowed values")


def _text(value: Any) -> str | None:
    if not isinstance(value, str) or value in _NOTHING:
        return "nothing is null, no text that says so"
    return None if len(value) <= TEXT_LENGTH_MAX else "is too long"


def _decimal(value: Any) -> str | None:
    if not isinstance(value, Decimal) or not value.is_finite():
        return "is no decimal"
    plain = money.EXACT.normalize(value).as_tuple()
    digits, exponent = len(plain.digits), int(plain.exponent)
    if -exponent > table.SCALE or digits + max(exponent, 0) > table.PRECISION:
        return f"has more digits than Decimal({table.PRECISION}, {table.SCALE})"
    return None


def _price(value: Any) -> str | None:
    return _decimal(value) or ("is negative" if value < 0 else None)


def _instant(value: Any) -> str | None:
    if not isinstance(value, datetime) or value.utcoffset() is None:
        return "is no instant"
    return "has a fraction of a second" if value.microsecond else None


def _tags(value: Any) -> str | None:
    try:
        found = msgspec.json.decode(value)
    except (msgspec.DecodeError, TypeError):
        return "is no JSON"
    if not isinstance(found, dict):
        return "is no object"
    flat = all(one is None or isinstance(one, str | int | float | bool) for one in found.values())
    return None if flat else "is not flat"


def _matching(pattern: re.Pattern[str], what: str) -> Callable[[Any], str | None]:
    def check(value: Any) -> str | None:
        return None if isinstance(value, str) and pattern.fullmatch(value) else f"is no {what}"

    return check


_FORMS: Final[dict[Form, Callable[[Any], str | None]]] = {
    Form.TEXT: _text,
    Form.DECIMAL: _decimal,
    Form.PRICE: _price,
    Form.INSTANT: _instant,
    Form.TAGS: _tags,
    Form.CURRENCY: _matching(_CURRENCY, "code of ISO 4217"),
    Form.UNIT: _matching(_UNIT, "unit like GPU-Hours"),
}


# ---------------------------------------------------------------- one row
def _periods(row: Row, version: str) -> Iterator[Broken]:
    """Start before end, and a charge outside of its billing period is a correction."""
    for kind in ("Billing", "Charge"):
        start, end = row.get(f"{kind}PeriodStart"), row.get(f"{kind}PeriodEnd")
        if _known(start) and _known(end) and not start < end:
            yield Broken("period", f"{kind}PeriodEnd", "ends before it starts")
    bounds = [row.get(f"{kind}Period{at}") for at in ("Start", "End") for kind in _KINDS]
    if row.get("ChargeClass") == "Correction" or not all(map(_known, bounds)):
        return
    billing_start, charge_start, billing_end, charge_end = bounds
    if charge_start < billing_start or charge_end > billing_end:
        yield Broken("period_outside", "ChargePeriodStart", "lies outside of the billing period")


_KINDS: Final = ("Billing", "Charge")


def _required(row: Row, version: str) -> Iterator[Broken]:
    """What use and purchases have unless they are corrections; what taxes never have."""
    category, correction = row.get("ChargeCategory"), row.get("ChargeClass") == "Correction"
    if category in ("Usage", "Purchase") and not correction:
        for name in _OF_USE:
            if row.get(name) is None:
                yield Broken("required_for_use", name, f"is never null for {category}")
    if category == "Tax":
        for name in _OF_USE:
            if row.get(name) is not None:
                yield Broken("null_for_tax", name, "is null for Tax")


def _consumption(row: Row, version: str) -> Iterator[Broken]:
    category, quantity = row.get("ChargeCategory"), row.get("ConsumedQuantity")
    if category != "Usage" and quantity is not None:
        yield Broken("consumption", "ConsumedQuantity", "is of Usage only")
    if category == "Usage" and quantity is None and row.get("ChargeClass") != "Correction":
        yield Broken("consumption", "ConsumedQuantity", "is never null for Usage")


def _units(row: Row, version: str) -> Iterator[Broken]:
    for quantity, unit in _UNIT_OF.items():
        if (row.get(quantity) is None) is not (row.get(unit) is None):
            yield Broken("unit", unit, f"is null exactly where {quantity} is")


def _sku(row: Row, version: str) -> Iterator[Broken]:
    """A price's id goes with its prices and its SKU; without one there is nothing to multiply."""
    if row.get("SkuPriceId") is None:
        for name in _OF_SKU_PRICE:
            if row.get(name) is not None:
                yield Broken("sku_price", name, "is null where SkuPriceId is")
        return
    for name in ("SkuId", "ListUnitPrice", "ContractedUnitPrice"):
        if row.get(name) is None:
            yield Broken("sku_price", name, "is never null where SkuPriceId is not")


def _products(row: Row, version: str) -> Iterator[Broken]:
    """Costs are unit price x quantity, to the last digit."""
    quantity = row.get("PricingQuantity")
    for cost in _COSTS:
        price = row.get(_PRICE_OF[cost])
        if None in (quantity, price, row.get(cost)):
            continue
        if money.EXACT.multiply(price, quantity) != row[cost]:
            yield Broken("product", cost, f"is not {_PRICE_OF[cost]} x PricingQuantity")


def _equal_costs(row: Row, version: str) -> Iterator[Broken]:
    if row.get("ChargeCategory") in ("Credit", "Adjustment"):
        for name in (*_COSTS, "EffectiveCost"):
            if row.get(name) != row.get("BilledCost"):
                yield Broken("equal_costs", name, "equals BilledCost for credits and adjustments")


def _frequency(row: Row, version: str) -> Iterator[Broken]:
    category, frequency = row.get("ChargeCategory"), row.get("ChargeFrequency")
    if category == "Purchase" and frequency == "Usage-Based":
        yield Broken("frequency", "ChargeFrequency", "is not Usage-Based for Purchase")


def _reservation(row: Row, version: str) -> Iterator[Broken]:
    name, status = row.get("CapacityReservationId"), row.get("CapacityReservationStatus")
    if name is None and status is not None:
        yield Broken("reservation", "CapacityReservationStatus", "is of a reservation")
    if name is not None and status is None and row.get("ChargeCategory") == "Usage":
        yield Broken("reservation", "CapacityReservationStatus", "is said of every reservation")


def _service(row: Row, version: str) -> Iterator[Broken]:
    sub = row.get("ServiceSubcategory")
    if sub is not None and table.SUBCATEGORIES.get(sub) != row.get("ServiceCategory"):
        yield Broken("subcategory", "ServiceSubcategory", "is of another ServiceCategory")


def _issuer(row: Row, version: str) -> Iterator[Broken]:
    provider = "ProviderName" if version == "1.2" else "ServiceProviderName"
    if row.get(provider) != row.get("InvoiceIssuerName") and row.get("BilledCost"):
        yield Broken("issuer", "BilledCost", "is 0 where a third party is paid")


def _accounts(row: Row, version: str) -> Iterator[Broken]:
    for kind in ("BillingAccount", "SubAccount"):
        if row.get(f"{kind}Id") is None and row.get(f"{kind}Type") is not None:
            yield Broken("account_type", f"{kind}Type", f"is null where {kind}Id is")


_RULES: Final[tuple[Rule, ...]] = (
    *(_periods, _required, _consumption, _units, _sku, _products, _equal_costs, _frequency),
    *(_reservation, _service, _issuer, _accounts),
)


def _known(at: Any) -> bool:
    return isinstance(at, datetime) and at.utcoffset() is not None


# ---------------------------------------------------------------- the file
@dataclass(slots=True, kw_only=True)
class FileCheck:
    """Goes over the rows of a file in their order; see `row` and `end`.

    Attributes:
        invoices: by InvoiceId (None: not yet), what the statement says.
        places: decimals of the currency.
    """

    version: str
    invoices: Mapping[str | None, Decimal]
    places: int
    rows: int = 0
    _sums: dict[str | None, Decimal] = field(default_factory=dict)
    _skus: dict[str, str] = field(default_factory=dict)
    _last: tuple | None = None

    def head(self, names: tuple[str, ...]) -> None:
        """Check the columns.

        Raises:
            Refused: `focus_invalid`.
        """
        wanted = tuple(one.name for one in table.columns(self.version))
        own = [name.startswith("x_") for name in names]
        wrong = [n for n in names if len(n) > COLUMN_LENGTH_MAX or not _NAME.fullmatch(n)]
        missing = {
            one.name for one in table.columns(self.version) if one.level == Level.MANDATORY
        } - set(names)
        if missing:
            raise _invalid(0, Broken("column_missing", min(missing), "is mandatory"))
        if wrong or len(set(names)) != len(names):
            raise _invalid(0, Broken("column_name", (wrong or list(names))[0], "is no name"))
        if own != sorted(own) or names != wanted:
            raise _invalid(0, Broken("column_order", names[0], "stand in another order"))

    def row(self, row: Row, order: tuple) -> None:
        """Check the next row.

        Args:
            order: start of the charge and place of its line, strictly ascending: so none is there
                twice.

        Raises:
            Refused: `focus_invalid`, with rule, column and row.
        """
        self.rows += 1
        for one in broken(row, self.version):
            raise _invalid(self.rows, one)
        if self._last is not None and not self._last < order:
            raise _invalid(self.rows, Broken("order", "x_LineId", "is not behind the row before"))
        self._last = order
        for name in ("BilledCost", "EffectiveCost"):
            if row[name] != round(row[name], self.places):
                raise _invalid(self.rows, Broken("minor_unit", name, "is finer than the currency"))
        known = self._skus.setdefault(row["SkuPriceId"] or "", row["SkuId"] or "")
        if row["SkuPriceId"] and known != row["SkuId"]:
            raise _invalid(self.rows, Broken("sku_of_price", "SkuPriceId", "is of two SKUs"))
        invoice = row["InvoiceId"]
        so_far = self._sums.get(invoice, Decimal(0))
        self._sums[invoice] = money.EXACT.add(so_far, row["BilledCost"])

    def end(self) -> None:
        """Check the sums.

        Raises:
            Refused: `focus_invalid`.
        """
        for invoice in sorted({*self._sums, *self.invoices}, key=str):
            if self._sums.get(invoice, Decimal(0)) != self.invoices.get(invoice, Decimal(0)):
                why = f"of {invoice} does not add up to the statement"
                raise _invalid(self.rows, Broken("invoice_sum", "BilledCost", why))


def _invalid(number: int, one: Broken) -> Refused:
    return Refused(
        "focus_invalid",
        f"Row {number} does not keep the rule {one.rule} of FOCUS: {one.column} {one.why}.",
        facts={"row": number, "rule": one.rule, "column": one.column},
    )
