"""The question of `manage.py whatif preempt`: a validated document as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

from ledger import document_fields as fields
from ledger.errors import Invalid
from preemption.domain.budgets import BudgetPolicy, Preempted
from preemption.domain.values import SECONDS_MAX, OpenPlan, PlanRequest, Running
from quota.domain.tree import DEPTH_MAX
from quota.domain.values import (
    AMOUNT_MAX,
    CLASSES,
    RECLAIM_SECONDS_MAX,
    TIERS,
    AccountKey,
    Pool,
    Quota,
)

ACCOUNTS_MAX = 100_000
ALLOCATIONS_MAX = 1_000_000
POOLS_MAX = 1_000
WEIGHT_MAX = 10**9
PRICE_MAX = 10**9
ATTEMPT_MAX = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolLine:
    pool: Pool
    resource: str
    price: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountLine:
    parent: str | None
    weight: Fraction
    quotas: Mapping[str, Quota]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Everything by name; what is listed per pool is so by its `pool` field.

    Attributes:
        pool: the one that the request is about.
    """

    at: datetime
    pools: Mapping[str, PoolLine]
    accounts: Mapping[str, AccountLine]
    running: Mapping[str, tuple[Running, ...]]
    open_plans: Mapping[str, tuple[OpenPlan, ...]]
    history: Mapping[str, tuple[Preempted, ...]]
    policy: BudgetPolicy
    pool: str
    request: PlanRequest


def read(document: bytes) -> Question:
    """Decode and check everything; nothing is computed from a document with a fault.

    Raises:
        Invalid: `whatif_invalid` with the place in `field`.
    """
    found = fields.record(
        fields.decode(document),
        "",
        required=("at", "pools", "accounts", "request"),
        optional=("allocations", "budgets", "history", "open_plans"),
    )
    at = moment(found["at"], "at")
    pools = _pools(found["pools"])
    accounts = _accounts(found["accounts"], pools)
    reader = _Reader(pools=pools, accounts=accounts)
    pool, request = reader.request(found["request"], "request")
    return Question(
        at=at,
        pools=pools,
        accounts=accounts,
        running=reader.lists(found, "allocations", lambda e, p: reader.running(e, p, at)),
        open_plans=reader.lists(found, "open_plans", reader.open_plan),
        history=reader.lists(found, "history", reader.preempted),
        policy=_policy({} if found.get("budgets") is None else found["budgets"]),
        pool=pool,
        request=request,
    )


def moment(value: Any, place: str) -> datetime:
    """RFC 3339 with a zone, in UTC, to the microsecond."""
    return datetime.fromtimestamp(fields.instant(value, place), UTC)


def choice(entry: Mapping[str, Any], name: str, place: str, choices: tuple[Any, ...]) -> Any:
    value = entry.get(name)
    if value is not None and value not in choices:
        allowed = ", ".join(choices)
        raise fields.refuse(f"{place}.{name}", f"must be one of {allowed}, not {value!r}")
    return value


def flag(entry: Mapping[str, Any], name: str, place: str, *, or_else: bool) -> bool:
    value = entry.get(name)
    if value is not None and not isinstance(value, bool):
        raise fields.refuse(f"{place}.{name}", f"must be true or false, not {fields.kind(value)}")
    return or_else if value is None else value


def whole_or(
    entry: Mapping[str, Any], name: str, place: str, or_else: Any, *, low: int, high: int
) -> Any:
    if entry.get(name) is None:
        return or_else
    return fields.whole(entry[name], f"{place}.{name}", low=low, high=high)


def _named(value: Any, place: str, count_max: int) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise fields.refuse(place, f"must be an object, not {fields.kind(value)}")
    if len(value) > count_max:
        raise fields.refuse(place, f"names {len(value)} pools; at most {count_max} are taken")
    return {fields.name(name, place): entry for name, entry in value.items()}


def _pools(value: Any) -> dict[str, PoolLine]:
    found = {}
    for name, entry in _named(value, "pools", POOLS_MAX).items():
        place = f"pools.{name}"
        entry = fields.record(
            entry,
            place,
            required=("capacity",),
            optional=("unavailable", "safety_margin", "reclaim_target_seconds", "flavor", "price"),
        )
        amounts = {
            each: whole_or(entry, each, place, 0, low=0, high=AMOUNT_MAX)
            for each in ("capacity", "unavailable", "safety_margin")
        }
        target = whole_or(
            entry, "reclaim_target_seconds", place, 300, low=0, high=RECLAIM_SECONDS_MAX
        )
        flavor = entry.get("flavor")
        found[name] = PoolLine(
            pool=Pool(name=name, reclaim_target_seconds=target, **amounts),
            resource=name if flavor is None else fields.name(flavor, f"{place}.flavor"),
            price=fields.amount(entry.get("price", 0), f"{place}.price", high=PRICE_MAX),
        )
    return found


def _accounts(value: Any, pools: Mapping[str, PoolLine]) -> dict[str, AccountLine]:
    found: dict[str, AccountLine] = {}
    places: dict[str, str] = {}
    for place, entry in fields.entries(value, "accounts", count_max=ACCOUNTS_MAX):
        entry = fields.record(
            entry, place, required=("name",), optional=("parent", "weight", "quotas")
        )
        name = fields.name(entry["name"], f"{place}.name")
        if name in places:
            raise fields.refuse(f"{place}.name", f"{name!r} is also the name of {places[name]}")
        parent = entry.get("parent")
        places[name] = place
        weight = entry.get("weight")
        quotas = {} if entry.get("quotas") is None else entry["quotas"]
        found[name] = AccountLine(
            parent=None if parent is None else fields.name(parent, f"{place}.parent"),
            weight=Fraction(1)
            if weight is None
            else Fraction(fields.amount(weight, f"{place}.weight", high=WEIGHT_MAX)),
            quotas={
                pool: _quota(quota, f"{place}.quotas.{pool}", pool, pools)
                for pool, quota in _named(quotas, f"{place}.quotas", POOLS_MAX).items()
            },
        )
    fields.check_tree(
        {name: line.parent for name, line in found.items()},
        places,
        noun="account",
        depth_max=DEPTH_MAX,
    )
    return found


def _quota(value: Any, place: str, pool: str, pools: Mapping[str, PoolLine]) -> Quota:
    if pool not in pools:
        raise fields.refuse(place, f"no pool is named {pool!r}")
    entry = fields.record(
        value, place, required=(), optional=("guaranteed", "borrowing_limit", "lending_limit")
    )
    return Quota(
        guaranteed=whole_or(entry, "guaranteed", place, 0, low=0, high=AMOUNT_MAX),
        borrowing_limit=whole_or(entry, "borrowing_limit", place, None, low=0, high=AMOUNT_MAX),
        lending_limit=whole_or(entry, "lending_limit", place, None, low=0, high=AMOUNT_MAX),
    )


def _policy(value: Any) -> BudgetPolicy:
    seconds = (
        "pool_window_seconds",
        "job_window_seconds",
        "cooldown_seconds",
        "min_run_seconds",
    )
    entry = fields.record(
        value, "budgets", required=(), optional=("pool_percent", "aged_per_day", *seconds)
    )
    given: dict[str, Any] = {
        name: fields.whole(entry[name], f"budgets.{name}", low=0, high=SECONDS_MAX)
        for name in seconds
        if entry.get(name) is not None
    }
    if entry.get("pool_percent") is not None:
        percent = fields.amount(entry["pool_percent"], "budgets.pool_percent", high=100)
        given["pool_share"] = Fraction(percent) / 100
    if entry.get("aged_per_day") is not None:
        given["aged_per_day"] = fields.whole(
            entry["aged_per_day"], "budgets.aged_per_day", low=0, high=AMOUNT_MAX
        )
    return BudgetPolicy(**given)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reader:
    """Reads what names pools and accounts."""

    pools: Mapping[str, PoolLine]
    accounts: Mapping[str, AccountLine]

    def lists(self, found: Mapping[str, Any], name: str, one: Any) -> dict[str, tuple[Any, ...]]:
        """A list of entries, each with its pool, by pool. Keys are given once."""
        by_pool: dict[str, list[Any]] = {pool: [] for pool in self.pools}
        places: dict[tuple[Any, ...], str] = {}
        value = [] if found.get(name) is None else found[name]
        for place, entry in fields.entries(value, name, count_max=ALLOCATIONS_MAX):
            pool, line = one(entry, place)
            if not isinstance(line, Preempted):
                key = (pool, line.key)
                if key in places:
                    raise fields.refuse(
                        f"{place}.key", f"{line.key!r} is also the key of {places[key]}"
                    )
                places[key] = place
            by_pool[pool].append(line)
        return {pool: tuple(lines) for pool, lines in by_pool.items()}

    def pool(self, entry: Mapping[str, Any], place: str) -> str:
        """The pool that an entry names; with a single pool it need not."""
        if entry.get("pool") is None:
            if len(self.pools) == 1:
                return next(iter(self.pools))
            raise fields.refuse(f"{place}.pool", "is required where there are several pools")
        pool = fields.name(entry["pool"], f"{place}.pool")
        if pool not in self.pools:
            raise fields.refuse(f"{place}.pool", f"no pool is named {pool!r}")
        return pool

    def account(self, entry: Mapping[str, Any], place: str, name: str = "account") -> AccountKey:
        account = fields.name(entry[name], f"{place}.{name}")
        if account not in self.accounts:
            raise fields.refuse(f"{place}.{name}", f"no account is named {account!r}")
        return account

    def running(self, value: Any, place: str, at: datetime) -> tuple[str, Running]:
        entry = fields.record(
            value,
            place,
            required=("key", "account", "units", "tier", "class", "since"),
            optional=(
                "pool",
                "attempt",
                "min_units",
                "checkpoint_at",
                "saves",
                "reload_seconds",
                "warm_up_seconds",
                "reclaim_seconds",
                "ending_units",
            ),
        )
        units = fields.whole(entry["units"], f"{place}.units", low=0, high=AMOUNT_MAX)
        since = moment(entry["since"], f"{place}.since")
        saved = entry.get("checkpoint_at")
        saved_at = None if saved is None else moment(saved, f"{place}.checkpoint_at")
        for name, instant in (("since", since), ("checkpoint_at", saved_at)):
            if instant is not None and instant > at:
                raise fields.refuse(f"{place}.{name}", "is after `at`")
        seconds = {
            name: whole_or(entry, name, place, low, low=0, high=SECONDS_MAX)
            for name, low in (
                ("reload_seconds", 0),
                ("warm_up_seconds", 0),
                ("reclaim_seconds", 60),
            )
        }
        return self.pool(entry, place), Running(
            key=fields.name(entry["key"], f"{place}.key"),
            attempt=whole_or(entry, "attempt", place, 1, low=1, high=ATTEMPT_MAX),
            account=self.account(entry, place),
            units=units,
            min_units=whole_or(entry, "min_units", place, units, low=0, high=units),
            tier=_required(entry, "tier", place, TIERS),
            priority_class=_required(entry, "class", place, CLASSES),
            since=since,
            saved_at=saved_at,
            saves=flag(entry, "saves", place, or_else=True),
            ending_units=whole_or(entry, "ending_units", place, 0, low=0, high=units),
            **seconds,
        )

    def open_plan(self, value: Any, place: str) -> tuple[str, OpenPlan]:
        entry = fields.record(
            value, place, required=("key", "account", "units"), optional=("pool", "tier")
        )
        return self.pool(entry, place), OpenPlan(
            key=fields.name(entry["key"], f"{place}.key"),
            account=self.account(entry, place),
            units=fields.whole(entry["units"], f"{place}.units", low=0, high=AMOUNT_MAX),
            tier=choice(entry, "tier", place, TIERS) or "guaranteed",
        )

    def preempted(self, value: Any, place: str) -> tuple[str, Preempted]:
        entry = fields.record(
            value,
            place,
            required=("at", "job", "units"),
            optional=("pool", "by_account", "by_job", "by_aged"),
        )
        named = entry.get("by_account") is not None
        by_job = entry.get("by_job")
        return self.pool(entry, place), Preempted(
            at=moment(entry["at"], f"{place}.at"),
            job=fields.name(entry["job"], f"{place}.job"),
            units=fields.whole(entry["units"], f"{place}.units", low=0, high=AMOUNT_MAX),
            by_account=self.account(entry, place, "by_account") if named else None,
            by_job=None if by_job is None else fields.name(by_job, f"{place}.by_job"),
            by_aged=flag(entry, "by_aged", place, or_else=False),
        )

    def request(self, value: Any, place: str) -> tuple[str, PlanRequest]:
        entry = fields.record(
            value,
            place,
            required=("account", "units", "class"),
            optional=(
                *("pool", "job", "min_units", "tier", "deadline", "aged", "reclaim_seconds"),
                "override",
            ),
        )
        job, deadline = entry.get("job"), entry.get("deadline")
        given: dict[str, Any] = {
            "account": self.account(entry, place),
            "units": fields.whole(entry["units"], f"{place}.units", low=0, high=AMOUNT_MAX),
            "priority_class": _required(entry, "class", place, CLASSES),
            "job": None if job is None else fields.name(job, f"{place}.job"),
            "min_units": None
            if entry.get("min_units") is None
            else fields.whole(entry["min_units"], f"{place}.min_units", low=0, high=AMOUNT_MAX),
            "tier": choice(entry, "tier", place, TIERS),
            "deadline": None if deadline is None else moment(deadline, f"{place}.deadline"),
            "aged": flag(entry, "aged", place, or_else=False),
            "reclaim_seconds": whole_or(
                entry, "reclaim_seconds", place, 60, low=0, high=SECONDS_MAX
            ),
            "override": flag(entry, "override", place, or_else=False),
        }
        try:
            return self.pool(entry, place), PlanRequest(**given)
        except Invalid as error:
            if error.code == "whatif_invalid":
                raise
            raise fields.refuse(f"{place}.{error.field}", error.detail) from error


def _required(entry: Mapping[str, Any], name: str, place: str, choices: tuple[Any, ...]) -> Any:
    if entry[name] is None:
        raise fields.refuse(f"{place}.{name}", f"must be one of {', '.join(choices)}")
    return choice(entry, name, place, choices)
