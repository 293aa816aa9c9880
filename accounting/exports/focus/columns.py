"""The columns of the FinOps cost and usage specification that we have, by version. Pure.

Levels, nulls, types and allowed values are those of the published documents: 1.2 as released in
May 2025, 1.4 as its data model has them. What a provider has only if it supports a thing is left
out where we do not: another pricing currency, commitment discounts, availability zones, split
costs (docs/user/exports.md has the whole mapping).
"""

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, Final

from accounting.domain.exports import FOCUS_VERSIONS
from accounting.exports.tables import Column, Kind

PRECISION: Final = 38
SCALE: Final = 12
TAG_PREFIX: Final = "apportion/"
_MADE: Final = {"1.2": "2026-11-29T00:00:00Z", "1.4": "2026-11-29T00:00:00Z"}
"""When the columns of a version became what they are: part of the schema, so it is fixed."""

CHARGE_CATEGORIES: Final = ("Usage", "Purchase", "Tax", "Credit", "Adjustment")
SERVICE_CATEGORIES: Final = (
    *("AI and Machine Learning", "Analytics", "Business Applications", "Compute", "Databases"),
    *("Developer Tools", "Multicloud", "Identity", "Integration", "Internet of Things"),
    *("Management and Governance", "Media", "Migration", "Mobile", "Networking", "Security"),
    *("Storage", "Web", "Other"),
)
SUBCATEGORIES: Final = {
    **dict.fromkeys(
        ("Containers", "End User Computing", "Quantum Compute", "Serverless Compute"), "Compute"
    ),
    **dict.fromkeys(("Virtual Machines", "Other (Compute)"), "Compute"),
    "Other (Storage)": "Storage",
}


class Level(StrEnum):
    """How a column stands in the specification; `custom` are our own."""

    MANDATORY = "Mandatory"
    CONDITIONAL = "Conditional"
    RECOMMENDED = "Recommended"
    CUSTOM = "Custom"


class Form(StrEnum):
    """What the values look like, beyond their type."""

    TEXT = "String"
    DECIMAL = "Decimal"
    PRICE = "Decimal, not negative"
    INSTANT = "Date/Time"
    CURRENCY = "Currency"
    UNIT = "Unit"
    TAGS = "Key-Value"


@dataclass(frozen=True, slots=True, kw_only=True)
class FocusColumn:
    """A column as a version has it."""

    name: str
    level: Level
    null: bool
    form: Form = Form.TEXT
    allowed: tuple[str, ...] | None = None

    @property
    def kind(self) -> Kind:
        """As writers have it."""
        if self.form in (Form.DECIMAL, Form.PRICE):
            return Kind.POINTED
        return Kind.INSTANT if self.form == Form.INSTANT else Kind.TEXT


def _all(level: Level, null: bool, names: str, form: Form = Form.TEXT) -> list[FocusColumn]:
    return [
        FocusColumn(name=name, level=level, null=null, form=form, allowed=_ALLOWED.get(name))
        for name in names.split()
    ]


_ALLOWED: Final[dict[str, tuple[str, ...]]] = {
    "ChargeCategory": CHARGE_CATEGORIES,
    "ChargeClass": ("Correction",),
    "ChargeFrequency": ("One-Time", "Recurring", "Usage-Based"),
    "PricingCategory": ("Standard", "Dynamic", "Committed", "Other"),
    "CapacityReservationStatus": ("Used", "Unused"),
    "ServiceCategory": SERVICE_CATEGORIES,
}
_M, _C, _R, _X = Level.MANDATORY, Level.CONDITIONAL, Level.RECOMMENDED, Level.CUSTOM
_COMMON: Final = (
    *_all(_M, False, "BilledCost ContractedCost EffectiveCost ListCost", Form.DECIMAL),
    *_all(_M, False, "BillingPeriodStart BillingPeriodEnd", Form.INSTANT),
    *_all(_M, False, "ChargePeriodStart ChargePeriodEnd", Form.INSTANT),
    *_all(_M, False, "BillingCurrency", Form.CURRENCY),
    *_all(_M, False, "BillingAccountId ChargeCategory InvoiceIssuerName"),
    *_all(_M, False, "ServiceCategory ServiceName"),
    *_all(_M, True, "BillingAccountName ChargeClass ChargeDescription"),
    *_all(_M, True, "PricingQuantity", Form.DECIMAL),
    *_all(_M, True, "PricingUnit", Form.UNIT),
    *_all(_R, False, "ChargeFrequency ServiceSubcategory"),
    *_all(_C, False, "BillingAccountType"),
    *_all(_C, True, "SubAccountId SubAccountName SubAccountType"),
    *_all(_C, True, "ConsumedQuantity", Form.DECIMAL),
    *_all(_C, True, "ConsumedUnit", Form.UNIT),
    *_all(_C, True, "ListUnitPrice ContractedUnitPrice", Form.PRICE),
    *_all(_C, True, "PricingCategory SkuId SkuMeter SkuPriceId"),
    *_all(_C, True, "SkuPriceDetails Tags", Form.TAGS),
    *_all(_C, True, "ResourceId ResourceName ResourceType RegionId RegionName"),
    *_all(_C, True, "CapacityReservationId CapacityReservationStatus"),
)
_OF_VERSION: Final = {
    "1.2": (
        *_all(_M, False, "ProviderName PublisherName"),
        *_all(_R, True, "InvoiceId"),
    ),
    "1.4": (
        *_all(_M, False, "ServiceProviderName"),
        *_all(_M, True, "HostProviderName"),
        *_all(_C, True, "InvoiceId"),
    ),
}
_OWN: Final = (
    *_all(_X, False, "x_OrganizationId x_LineId x_LineKind x_CostBasis x_AccountPath"),
    *_all(_X, True, "x_Department x_Team x_Cluster x_Tier x_Grade x_RateCardVersion"),
    *_all(_X, True, "x_AboutMonth x_AdjustmentReason"),
    *_all(_X, True, "x_UnitHours", Form.DECIMAL),
    *_all(_X, True, "x_CostPerProductiveHour", Form.PRICE),
    *_all(_X, True, "x_ProductiveUtilization x_ComputeUtilization", Form.DECIMAL),
)


@cache
def columns(version: str) -> tuple[FocusColumn, ...]:
    """The columns of a version in the order in which they are written: the specification's by
    name, then our own."""
    if version not in FOCUS_VERSIONS:
        raise ValueError(f"there is no FOCUS {version} here")
    theirs = sorted((*_COMMON, *_OF_VERSION[version]), key=lambda one: one.name)
    return (*theirs, *_OWN)


@cache
def written(version: str) -> tuple[Column, ...]:
    """The same as writers have them."""
    return tuple(Column(one.name, one.kind) for one in columns(version))


def schema(version: str) -> dict[str, Any]:
    """The metadata that lies beside the data: the schema object of the specification. It is
    another one whenever the columns are."""
    definitions = [_definition(one) for one in columns(version)]
    name = hashlib.sha256(repr((version, definitions)).encode()).hexdigest()[:32]
    return {
        "SchemaId": name,
        "FocusVersion": version,
        "CreationDate": _MADE[version],
        "DataGeneratorVersion": "1",
        "ColumnDefinition": definitions,
    }


def _definition(one: FocusColumn) -> dict[str, Any]:
    kinds = {Kind.POINTED: "Decimal", Kind.INSTANT: "DateTime", Kind.TEXT: "String"}
    found: dict[str, Any] = {"ColumnName": one.name, "DataType": kinds[one.kind]}
    if one.form == Form.TAGS:
        found["DataType"] = "JSON"
    if one.kind == Kind.POINTED:
        found |= {"NumericPrecision": PRECISION, "NumberScale": SCALE}
    elif one.kind == Kind.TEXT:
        found["StringEncoding"] = "UTF-8"
    if one.name == "Tags":
        found["ProviderTagPrefixes"] = [TAG_PREFIX]
    return found
