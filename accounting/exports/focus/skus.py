"""What a flavor is to FOCUS: its SKU, meter, unit and service. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import msgspec

from accounting.exports.focus.columns import TAG_PREFIX

ANY_GRADE: Final = "standard"
_MIG: Final = "-mig-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sku:
    """See the columns of the same names. `price_id` is the same as long as flavor, tier and grade
    are: the version of the rates is a column of its own."""

    id: str | None
    meter: str | None
    unit: str
    price_id: str | None
    details: str | None
    service: str
    category: str
    subcategory: str


@cache
def sku_of(flavor: str | None, tier: str | None, grade: str | None) -> Sku:
    """The SKU of a line. By the names that docs/design.md part 2 gives to companions: `cpu-…` is
    in cores, `ram-…` and `storage-…` in GB; everything else is in units of accelerators."""
    storage = bool(flavor) and flavor.startswith("storage")
    unit, meter, details = "GPU-Hours", "GPU Time", None
    if flavor and flavor.startswith("cpu"):
        unit, meter = "Core-Hours", "CPU Time"
    elif flavor and (storage or flavor.startswith(("ram", "memory"))):
        unit, meter = "GB-Hours", "Storage Time" if storage else "Memory Time"
    elif flavor:
        facts: dict[str, str | int] = {"GpuCount": 1, "InstanceType": flavor}
        if _MIG in flavor:
            facts["x_MigProfile"] = flavor.split(_MIG, 1)[1]
        details = msgspec.json.encode(facts).decode()
    return Sku(
        id=flavor,
        meter=meter if flavor else None,
        unit=unit,
        price_id=f"{flavor}/{tier or 'any'}/{grade or ANY_GRADE}" if flavor else None,
        details=details,
        service="GPU Cluster Storage" if storage else "GPU Cluster",
        category="Storage" if storage else "Compute",
        subcategory="Other (Storage)" if storage else "Other (Compute)",
    )


def tags_of(
    organization: str, department: str | None, team: str | None, labels: Mapping[str, str | None]
) -> str:
    """Tags that we give have a prefix, as the specification wants of a provider's; the labels of
    the use are their owners' and have none."""
    found = {"org": organization, "department": department, "team": team}
    ours = {f"{TAG_PREFIX}{name}": value for name, value in found.items() if value}
    theirs = {name: value for name, value in labels.items() if value}
    return msgspec.json.encode(ours | theirs).decode()
