"""The question of `manage.py whatif quota`: a validated document as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from ledger import document_fields as fields
from ledger.errors import Invalid
from quota.domain.batch import (
    DURATION_SECONDS_MAX,
    GRACE_SECONDS_DEFAULT,
    KEY_LENGTH_MAX,
    NEEDS_MAX,
    REQUESTS_MAX,
    AdmissionRequest,
    Need,
)
from quota.domain.tree import DEPTH_MAX
from quota.domain.values import AMOUNT_MAX, CLASSES, RECLAIM_SECONDS_MAX, TIERS

NODES_MAX = 100_000
CELLS_MAX = 5_000_000
STATE_CELLS_MAX = 2_000_000
POOLS_MAX = 10_000
WEIGHT_MAX = 10**9
EXACT_AMOUNT_MAX = 2**63 - 1
"""Where nothing is decided, only computed: what other systems write for their largest amount."""

States = Literal["all", "path", "none"]


@dataclass(frozen=True, slots=True)
class Cell:
    """One node in one pool, as given; `used` was entered at the node itself."""

    guaranteed: int = 0
    borrowing_limit: int | None = None
    lending_limit: int | None = None
    used: int = 0


NO_CELL = Cell()


@dataclass(frozen=True, slots=True)
class NodeLine:
    name: str
    parent: str | None
    weight: Fraction
    cells: Mapping[str, Cell]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLine:
    """The physical side of a pool; `capacity` None: as many units as are promised."""

    capacity: int | None = None
    unavailable: int = 0
    safety_margin: int = 0
    reclaim_target_seconds: int | None = None
    resource: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`pools` in the order in which they are first named."""

    nodes: tuple[NodeLine, ...]
    pools: Mapping[str, PoolLine]
    requests: tuple[AdmissionRequest, ...]
    states: States


def read(document: bytes) -> Question:
    """Decode and check everything; nothing is computed from a document with a fault.

    Raises:
        Invalid: `whatif_invalid` with the place in `field`.
    """
    found = fields.record(
        fields.decode(document),
        "",
        required=("nodes",),
        optional=("requests", "pools", "states"),
    )
    asked = found.get("requests")
    high = AMOUNT_MAX if asked else EXACT_AMOUNT_MAX
    nodes = _nodes(found["nodes"], high)
    pools = _pools(found.get("pools"), nodes)
    if len(nodes) * len(pools) > CELLS_MAX:
        raise fields.refuse("nodes", f"times pools is more than {CELLS_MAX}")
    requests = _requests([] if asked is None else asked, {node.name for node in nodes}, pools)
    states = found.get("states", "all")
    if states not in ("all", "path", "none"):
        raise fields.refuse("states", f"must be all, path or none, not {states!r}")
    needs = sum(len(request.needs) for request in requests)
    if states == "all" and needs * len(nodes) > STATE_CELLS_MAX:
        raise fields.refuse(
            "requests",
            f"times nodes is more than {STATE_CELLS_MAX} numbers of state after each request; "
            'ask for "states": "path" or "none"',
        )
    return Question(nodes=nodes, pools=pools, requests=requests, states=states)


def _nodes(value: Any, high: int) -> tuple[NodeLine, ...]:
    lines: list[NodeLine] = []
    places: dict[str, str] = {}
    for place, entry in fields.entries(value, "nodes", count_max=NODES_MAX):
        entry = fields.record(
            entry, place, required=("name",), optional=("parent", "weight", "pools")
        )
        name = fields.name(entry["name"], f"{place}.name")
        if name in places:
            raise fields.refuse(f"{place}.name", f"{name!r} is also the name of {places[name]}")
        parent = entry.get("parent")
        if parent is not None:
            parent = fields.name(parent, f"{place}.parent")
        places[name] = place
        cells = {
            pool: _cell(cell, f"{place}.pools.{pool}", high)
            for pool, cell in _named(entry.get("pools"), f"{place}.pools").items()
        }
        lines.append(NodeLine(name, parent, _weight(entry, place), cells))
    fields.check_tree(
        # The root is a level of the document, but none of the depth.
        {line.name: line.parent for line in lines},
        places,
        noun="node",
        depth_max=DEPTH_MAX + 1,
    )
    return tuple(lines)


def _named(value: Any, place: str) -> dict[str, Any]:
    """An object whose fields are names of pools; null is none."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise fields.refuse(place, f"must be an object, not {fields.kind(value)}")
    if len(value) > POOLS_MAX:
        raise fields.refuse(place, f"names {len(value)} pools; at most {POOLS_MAX} are taken")
    return {fields.name(name, place): entry for name, entry in value.items()}


def _cell(value: Any, place: str, high: int) -> Cell:
    entry = fields.record(
        value,
        place,
        required=(),
        optional=("guaranteed", "borrowing_limit", "lending_limit", "used"),
    )

    def amount(name: str) -> int:
        return fields.whole(entry.get(name, 0), f"{place}.{name}", low=0, high=high)

    def limit(name: str) -> int | None:
        return None if entry.get(name) is None else amount(name)

    return Cell(
        amount("guaranteed"), limit("borrowing_limit"), limit("lending_limit"), amount("used")
    )


def _weight(entry: Mapping[str, Any], place: str) -> Fraction:
    if entry.get("weight") is None:
        return Fraction(1)
    return Fraction(fields.amount(entry["weight"], f"{place}.weight", high=WEIGHT_MAX))


def _pools(value: Any, nodes: tuple[NodeLine, ...]) -> dict[str, PoolLine]:
    given = _named(value, "pools")
    named = dict.fromkeys([*given, *(pool for node in nodes for pool in node.cells)])
    if len(named) > POOLS_MAX:
        raise fields.refuse("nodes", f"name {len(named)} pools; at most {POOLS_MAX} are taken")
    return {name: _pool(name, given.get(name, {}), f"pools.{name}") for name in named}


def _pool(name: str, value: Any, place: str) -> PoolLine:
    amounts = ("capacity", "unavailable", "safety_margin")
    entry = fields.record(
        value, place, required=(), optional=(*amounts, "reclaim_target_seconds", "resource")
    )
    found: dict[str, Any] = {
        field: fields.whole(entry[field], f"{place}.{field}", low=0, high=AMOUNT_MAX)
        for field in amounts
        if entry.get(field) is not None
    }
    if "capacity" not in found and found:
        raise fields.refuse(f"{place}.capacity", "is required together with what is taken from it")
    target = entry.get("reclaim_target_seconds")
    if target is not None:
        found["reclaim_target_seconds"] = fields.whole(
            target, f"{place}.reclaim_target_seconds", low=0, high=RECLAIM_SECONDS_MAX
        )
    if entry.get("resource") is not None:
        resource = fields.name(entry["resource"], f"{place}.resource")
    else:  # a name like flavor/resource names it
        resource = name.split("/", 1)[1] if name.count("/") and name.split("/", 1)[1] else name
    return PoolLine(**found, resource=resource)


def _requests(
    value: Any, accounts: set[str], pools: Mapping[str, PoolLine]
) -> tuple[AdmissionRequest, ...]:
    found: list[AdmissionRequest] = []
    places: dict[str, str] = {}
    for place, entry in fields.entries(value, "requests", count_max=REQUESTS_MAX):
        request = _request(entry, place, accounts, pools)
        if request.key in places:
            other = places[request.key]
            raise fields.refuse(f"{place}.key", f"{request.key!r} is also the key of {other}")
        places[request.key] = place
        found.append(request)
    return tuple(found)


def _request(
    value: Any, place: str, accounts: set[str], pools: Mapping[str, PoolLine]
) -> AdmissionRequest:
    entry = fields.record(
        value,
        place,
        required=("key", "account", "pool", "units"),
        optional=(
            "min_units",
            "class",
            "tier",
            "spot_allowed",
            "duration_seconds",
            "reclaim_seconds",
            "companions",
            "person",
        ),
    )
    account = fields.name(entry["account"], f"{place}.account")
    if account not in accounts:
        raise fields.refuse(f"{place}.account", f"no node is named {account!r}")
    person = entry.get("person")
    needs = [_need(entry, place, pools)]
    companions = entry.get("companions")
    for at, line in fields.entries(
        [] if companions is None else companions, f"{place}.companions", count_max=NEEDS_MAX - 1
    ):
        line = fields.record(line, at, required=("pool", "units"), optional=("min_units",))
        need = _need(line, at, pools)
        if need.pool in {other.pool for other in needs}:
            raise fields.refuse(f"{at}.pool", f"{need.pool!r} is in the set already")
        needs.append(need)
    return AdmissionRequest(
        key=_key(entry["key"], f"{place}.key"),
        account=account,
        person=None if person is None else fields.name(person, f"{place}.person"),
        needs=tuple(needs),
        priority_class=_choice(entry, "class", place, CLASSES) or "P3",
        tier=_choice(entry, "tier", place, TIERS),
        spot_allowed=_flag(entry, "spot_allowed", place),
        duration_seconds=_seconds(entry, "duration_seconds", place, low=1),
        reclaim_seconds=_seconds(
            entry, "reclaim_seconds", place, low=0, or_else=GRACE_SECONDS_DEFAULT
        ),
    )


def _key(value: Any, place: str) -> str:
    key = fields.name(value, place)
    if len(key) > KEY_LENGTH_MAX:
        raise fields.refuse(place, f"must be at most {KEY_LENGTH_MAX} characters")
    return key


def _need(entry: Mapping[str, Any], place: str, pools: Mapping[str, PoolLine]) -> Need:
    pool = fields.name(entry["pool"], f"{place}.pool")
    if pool not in pools:
        raise fields.refuse(f"{place}.pool", f"no node has a quota in a pool {pool!r}")
    units = fields.whole(entry["units"], f"{place}.units", low=0, high=AMOUNT_MAX)
    least = entry.get("min_units")
    if least is not None:
        least = fields.whole(least, f"{place}.min_units", low=0, high=AMOUNT_MAX)
    try:
        return Need(pool=pool, units=units, min_units=least)
    except Invalid as error:
        raise fields.refuse(f"{place}.{error.field}", error.detail) from error


def _choice(entry: Mapping[str, Any], name: str, place: str, choices: tuple[Any, ...]) -> Any:
    value = entry.get(name)
    if value is not None and value not in choices:
        allowed = ", ".join(choices)
        raise fields.refuse(f"{place}.{name}", f"must be one of {allowed}, not {value!r}")
    return value


def _flag(entry: Mapping[str, Any], name: str, place: str) -> bool:
    value = entry.get(name)
    if value is not None and not isinstance(value, bool):
        raise fields.refuse(f"{place}.{name}", f"must be true or false, not {fields.kind(value)}")
    return bool(value)


def _seconds(
    entry: Mapping[str, Any], name: str, place: str, *, low: int, or_else: Any = None
) -> Any:
    if entry.get(name) is None:
        return or_else
    return fields.whole(entry[name], f"{place}.{name}", low=low, high=DURATION_SECONDS_MAX)
