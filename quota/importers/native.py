"""A plan from our own YAML, and back. Pure.

    flavors:
      - {name: h100-80gb, weight: 1}
    pools:
      - {name: h100, flavor: h100-80gb, cluster: lab, capacity: 100, safety_margin: 4}
    accounts:
      - {name: research, shares: 60}
      - {name: nlp, parent: research}
    quotas:
      - {account: research, pool: h100, guaranteed: 30}
      - {account: nlp, pool: h100, guaranteed: 60, borrowing_limit: 20}

Every part may be missing. Accounts may also nest under `accounts`.
"""

from collections.abc import Iterable
from decimal import Decimal, InvalidOperation

import yaml

from ledger.errors import Invalid
from quota.domain.values import AMOUNT_MAX, RECLAIM_SECONDS_MAX, Quota
from quota.importers.plan import FlavorEntry, PlanReading, PoolEntry, QuotaEntry, QuotaPlan
from quota.importers.yaml_values import Map, Problems, Value, line_of
from tenancy.domain.tree import check_name
from tenancy.importers.tree import AccountEntry, TreeBuilder, TreePlan, parse_shares

TOP = ("flavors", "pools", "accounts", "quotas")
_SIZES = ("capacity", "unavailable", "safety_margin")
_POOL = ("name", "flavor", "cluster", *_SIZES, "reclaim_target_seconds")
_ACCOUNT = ("name", "parent", "shares", "description", "accounts")
_QUOTA = ("account", "pool", "guaranteed", "borrowing_limit", "lending_limit")


def read(document: Value) -> PlanReading:
    """The plan, or every problem by line."""
    reader = _Reader()
    top = reader.problems.record(document, "file", TOP)
    flavors = tuple(reader.flavors(top.get("flavors")))
    pools = tuple(reader.pools(top.get("pools")))
    reader.accounts(top.get("accounts"), "accounts", parent=None)
    quotas = tuple(reader.quotas(top.get("quotas")))
    tree = reader.builder.finish()
    problems = sorted([*reader.problems.found, *tree.problems], key=lambda one: one.line)
    if problems or tree.plan is None:
        return PlanReading(plan=None, problems=tuple(problems))
    return PlanReading(
        plan=QuotaPlan(
            flavors=flavors,
            pools=pools,
            tree=tree.plan,
            shares_given=frozenset(reader.shares_given),
            quotas=quotas,
        )
    )


class _Reader:
    def __init__(self) -> None:
        self.problems = Problems()
        self.builder = TreeBuilder()
        self.shares_given: set[str] = set()

    def flavors(self, value: Value) -> Iterable[FlavorEntry]:
        seen: set[str] = set()
        for place, item in self.problems.items(value, "flavors"):
            record = self.problems.record(item, place, ("name", "weight"))
            name = self._name(record, "name", place, seen)
            if name:
                yield FlavorEntry(name=name, weight=self._weight(record, place))

    def pools(self, value: Value) -> Iterable[PoolEntry]:
        seen: set[str] = set()
        for place, item in self.problems.items(value, "pools"):
            record = self.problems.record(item, place, _POOL)
            name = self._name(record, "name", place, seen)
            if name is None:
                continue
            yield PoolEntry(
                name=name,
                flavor=self.problems.text(record, "flavor", place),
                cluster=self.problems.text(record, "cluster", place),
                **{
                    size: self.problems.whole(record, size, place, maximum=AMOUNT_MAX)
                    for size in _SIZES
                },
                reclaim_target_seconds=self.problems.whole(
                    record, "reclaim_target_seconds", place, maximum=RECLAIM_SECONDS_MAX
                ),
            )

    def accounts(self, value: Value, place: str, *, parent: str | None) -> None:
        for here, item in self.problems.items(value, place):
            record = self.problems.record(item, here, _ACCOUNT)
            name = self.problems.text(record, "name", here, required=True)
            if name is None:
                continue
            own_parent = self.problems.text(record, "parent", here)
            if own_parent and parent and own_parent != parent:
                self.problems.add(
                    line_of(record, "parent"),
                    f"{here}.parent",
                    "two_parents",
                    f"Account {name} lies under {parent} and names {own_parent} as parent.",
                    own_parent,
                )
            self.builder.account(
                record.line,
                AccountEntry(
                    name=name,
                    parent=own_parent or parent,
                    shares=self._shares(record, name, here),
                    description=self.problems.text(record, "description", here) or "",
                ),
            )
            self.accounts(record.get("accounts"), f"{here}.accounts", parent=name)

    def quotas(self, value: Value) -> Iterable[QuotaEntry]:
        seen: dict[tuple[str, str], int] = {}
        for place, item in self.problems.items(value, "quotas"):
            record = self.problems.record(item, place, _QUOTA)
            account = self.problems.text(record, "account", place, required=True)
            pool = self.problems.text(record, "pool", place, required=True)
            amounts = {
                name: self.problems.whole(record, name, place, maximum=AMOUNT_MAX)
                for name in _QUOTA[2:]
            }
            if account is None or pool is None:
                continue
            if (account, pool) in seen:
                self.problems.add(
                    record.line,
                    place,
                    "duplicate_quota",
                    f"{account} in {pool} is already in line {seen[account, pool]}.",
                )
            seen[account, pool] = record.line
            guaranteed = amounts.pop("guaranteed") or 0
            yield QuotaEntry(
                account=account, pool=pool, quota=Quota(guaranteed=guaranteed, **amounts)
            )

    def _name(self, record: Map, field: str, place: str, seen: set[str]) -> str | None:
        name = self.problems.text(record, field, place, required=True)
        if name is None:
            return None
        line = line_of(record, field)
        try:
            check_name(name, field=field)
        except Invalid as error:
            self.problems.add(line, f"{place}.{field}", error.code, error.detail, name)
            return None
        if name in seen:
            self.problems.add(line, f"{place}.{field}", "duplicate_name", f"{name} comes twice.")
        seen.add(name)
        return name

    def _weight(self, record: Map, place: str) -> Decimal | None:
        text = self.problems.text(record, "weight", place)
        try:
            weight = None if text is None else Decimal(text)
        except InvalidOperation:
            weight = Decimal("NaN")
        if weight is not None and not (weight.is_finite() and weight >= 0):
            self.problems.add(
                line_of(record, "weight"),
                f"{place}.weight",
                "bad_weight",
                "A weight is a number of at least 0.",
                text or "",
            )
            return None
        return weight

    def _shares(self, record: Map, name: str, place: str) -> int | None:
        text = self.problems.text(record, "shares", place)
        if text is not None:
            self.shares_given.add(name)
        try:
            return parse_shares(text or "")
        except ValueError as error:
            self.problems.add(
                line_of(record, "shares"), f"{place}.shares", "bad_shares", str(error), text or ""
            )
            return None


def write(plan: QuotaPlan) -> str:
    """The plan as a file that `read` reads back to the same."""
    content = {
        "flavors": [_said(name=one.name, weight=_number(one.weight)) for one in plan.flavors],
        "pools": [_said(**{field: getattr(one, field) for field in _POOL}) for one in plan.pools],
        "accounts": _accounts(plan.tree, plan.shares_given),
        "quotas": [
            _said(
                account=one.account,
                pool=one.pool,
                guaranteed=one.quota.guaranteed,
                borrowing_limit=one.quota.borrowing_limit,
                lending_limit=one.quota.lending_limit,
            )
            for one in plan.quotas
        ],
    }
    return yaml.safe_dump(
        {name: entries for name, entries in content.items() if entries},
        sort_keys=False,
        default_flow_style=None,
        allow_unicode=True,
        width=10_000,
    )


def _accounts(tree: TreePlan, shares_given: frozenset[str]) -> list[dict]:
    return [
        _said(
            name=one.name,
            parent=one.parent,
            shares=None
            if one.name not in shares_given
            else "parent"
            if one.shares is None
            else one.shares,
            description=one.description or None,
        )
        for one in tree.accounts
    ]


def _said(**fields) -> dict:
    return {name: value for name, value in fields.items() if value is not None}


def _number(weight: Decimal | None) -> int | str | None:
    """Without a point where there is none, and never as a binary fraction."""
    if weight is None:
        return None
    return int(weight) if weight == int(weight) else f"{weight.normalize():f}"
