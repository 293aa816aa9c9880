"""A plan from Kueue's ClusterQueue, Cohort and ResourceFlavor. Pure.

apiVersion `kueue.x-k8s.io/v1beta1` or `v1beta2` (Cohort also `v1alpha1`); several documents, or a
List of them as `kubectl get -o yaml` writes it. Field names as in Kueue's `clusterqueue_types.go`
and `cohort_types.go`: `spec.cohort` became `cohortName` in v1beta2, a Cohort's `parent` became
`parentName`.

- A Cohort is an inner account, a ClusterQueue a leaf. A cohort that is only named exists, too.
- A (flavor, resource) pair is a pool: `<flavor>` for a `*/gpu` resource, `<flavor>-cpu-core`,
  `<flavor>-ram-gb`, `<flavor>-storage-gb`, else `<flavor>-<resource>`.
- What Kueue means without writing it down is written down here. Trees of cohorts share nothing: the
  top of each neither borrows nor lends. A ClusterQueue that does not list a pool may not use it: it
  gets borrowing limit 0 there.
- `fairSharing.weight` becomes shares.
"""

import math
from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from ledger.errors import Invalid
from quota.domain.values import AMOUNT_MAX, Quota
from quota.importers.plan import NewPool, PlanReading, PoolEntry, QuotaEntry, QuotaPlan
from quota.importers.quantities import BadQuantity, parse, whole_units
from quota.importers.yaml_values import Items, Map, Problems, Value, empty, line_of
from tenancy.domain.tree import SHARES_MAX, check_name
from tenancy.importers.tree import AccountEntry, TreeBuilder, TreeSkipped

GROUP: Final = "kueue.x-k8s.io/"
VERSIONS: Final = {
    "ClusterQueue": ("v1beta1", "v1beta2"),
    "Cohort": ("v1alpha1", "v1beta1", "v1beta2"),
    "ResourceFlavor": ("v1beta1", "v1beta2"),
}
PARENT_FIELDS: Final = {
    "ClusterQueue": ("cohort", "cohortName"),
    "Cohort": ("parent", "parentName"),
}
NAMED: Final = {"cpu": "cpu-core", "memory": "ram-gb", "ephemeral-storage": "storage-gb"}


@dataclass(slots=True, kw_only=True)
class _Node:
    name: str
    kind: str
    line: int
    parent: str | None = None
    weight: Fraction | None = None
    quotas: dict[str, Quota] = field(default_factory=dict)


def is_kueue(document: Value) -> bool:
    """Whether a document is a Kubernetes object rather than a plan of ours."""
    return isinstance(document, Map) and "apiVersion" in document


def read(documents: list[Value], *, cluster: str) -> PlanReading:
    """The plan, or every problem by line."""
    reader = _Reader(cluster)
    for document in documents:
        reader.take(document)
    return reader.finish()


class _Reader:
    def __init__(self, cluster: str) -> None:
        self.cluster = cluster
        self.problems = Problems()
        self.skipped: list[TreeSkipped] = []
        self.nodes: dict[str, _Node] = {}
        self.pools: dict[str, tuple[str, str]] = {}

    def take(self, document: Value) -> None:
        if not isinstance(document, Map):
            self.problems.add(1, "file", "wrong_type", "Expected Kubernetes objects.")
            return
        kind = self.problems.text(document, "kind", "object", required=True) or ""
        version = self.problems.text(document, "apiVersion", "object", required=True) or ""
        if kind.endswith("List") and isinstance(document.get("items"), Items):
            for item in document["items"]:
                self.take(item)
        elif not version.startswith(GROUP) or kind not in VERSIONS:
            self._skip(document.line, "says nothing about quotas", f"{version} {kind}")
        elif version.removeprefix(GROUP) not in VERSIONS[kind]:
            self.problems.add(
                line_of(document, "apiVersion"),
                "apiVersion",
                "unknown_version",
                f"{kind} is read as {', '.join(VERSIONS[kind])}.",
                version,
            )
        elif kind != "ResourceFlavor":
            self._node(document, kind)

    def _node(self, document: Map, kind: str) -> None:
        metadata = document.get("metadata")
        named = metadata if isinstance(metadata, Map) else empty(document.line)
        name = self.problems.text(named, "name", f"{kind}.metadata", required=True)
        if name is None:
            return
        if name in self.nodes:
            self.problems.add(
                line_of(named, "name"),
                f"{kind}.metadata.name",
                "name_taken",
                f"{name} is also a {self.nodes[name].kind} in line {self.nodes[name].line}; "
                "accounts need names of their own.",
                name,
            )
            return
        node = _Node(name=name, kind=kind, line=document.line)
        self.nodes[name] = node
        spec = document.get("spec")
        if not isinstance(spec, Map):
            return
        place = f"{kind} {name}: spec"
        node.parent = self._parent(spec, kind, place)
        node.weight = self._weight(spec, place)
        for where, group in self.problems.items(
            spec.get("resourceGroups"), f"{place}.resourceGroups"
        ):
            if isinstance(group, Map):
                self._group(node, group, where)
        stopped = self.problems.text(spec, "stopPolicy", place)
        if stopped not in (None, "None"):
            self._skip(line_of(spec, "stopPolicy"), "has no counterpart", f"{name}: {stopped}")

    def _parent(self, spec: Map, kind: str, place: str) -> str | None:
        found = [self.problems.text(spec, name, place) for name in PARENT_FIELDS[kind]]
        if None not in found and found[0] != found[1]:
            first, second = PARENT_FIELDS[kind]
            self.problems.add(
                spec.line, place, "two_parents", f"{first} and {second} name different cohorts."
            )
        return found[1] or found[0]

    def _weight(self, spec: Map, place: str) -> Fraction | None:
        sharing = spec.get("fairSharing")
        text = (
            self.problems.text(sharing, "weight", f"{place}.fairSharing")
            if isinstance(sharing, Map)
            else None
        )
        if text is None:
            return None
        try:
            return parse(text)
        except BadQuantity as error:
            self.problems.add(
                line_of(sharing, "weight"),
                f"{place}.fairSharing.weight",
                "bad_quantity",
                str(error),
            )
            return None

    def _group(self, node: _Node, group: Map, place: str) -> None:
        for where, flavor in self.problems.items(group.get("flavors"), f"{place}.flavors"):
            if not isinstance(flavor, Map):
                continue
            name = self.problems.text(flavor, "name", where, required=True)
            for at, resource in self.problems.items(flavor.get("resources"), f"{where}.resources"):
                if name and isinstance(resource, Map):
                    self._resource(node, name, resource, at)

    def _resource(self, node: _Node, flavor: str, record: Map, place: str) -> None:
        resource = self.problems.text(record, "name", place, required=True)
        if resource is None:
            return
        nominal = self._quantity(record, "nominalQuota", resource, place)
        borrowing = self._quantity(record, "borrowingLimit", resource, place)
        lending = self._quantity(record, "lendingLimit", resource, place)
        if record.get("nominalQuota") is None:
            self.problems.add(
                record.line, f"{place}.nominalQuota", "missing", "nominalQuota is required."
            )
        pool = pool_name(flavor, resource)
        known = self.pools.setdefault(pool, (flavor, resource))
        if known != (flavor, resource) or pool in node.quotas:
            self.problems.add(
                record.line,
                place,
                "pool_twice",
                f"{resource} of {flavor} would be pool {pool}, as is {known[1]} of {known[0]}.",
            )
            return
        try:
            check_name(pool, field="pool")
        except Invalid as error:
            self.problems.add(record.line, place, error.code, error.detail, pool)
            return
        node.quotas[pool] = Quota(
            guaranteed=nominal or 0, borrowing_limit=borrowing, lending_limit=lending
        )

    def _quantity(self, record: Map, name: str, resource: str, place: str) -> int | None:
        text = self.problems.text(record, name, place)
        if text is None:
            return None
        try:
            units = whole_units(text, resource)
        except BadQuantity as error:
            detail = str(error)
        else:
            if units <= AMOUNT_MAX:
                return units
            detail = f"{text} is beyond {AMOUNT_MAX} units."
        self.problems.add(line_of(record, name), f"{place}.{name}", "bad_quantity", detail, text)
        return None

    def _skip(self, line: int, reason: str, detail: str) -> None:
        self.skipped.append(TreeSkipped(line=line, reason=reason, detail=detail))

    def finish(self) -> PlanReading:
        """Add what is only meant, and make the plan."""
        for node in list(self.nodes.values()):
            if node.parent and node.parent not in self.nodes:
                self.nodes[node.parent] = _Node(name=node.parent, kind="Cohort", line=node.line)
            elif node.parent and self.nodes[node.parent].kind == "ClusterQueue":
                self.problems.add(
                    node.line, node.name, "bad_parent", f"{node.parent} is a ClusterQueue."
                )
        builder = TreeBuilder()
        shares = self._shares()
        for node in self.nodes.values():
            builder.account(
                node.line,
                AccountEntry(name=node.name, parent=node.parent, shares=shares.get(node.name, 1)),
            )
        tree = builder.finish()
        found = sorted([*self.problems.found, *tree.problems], key=lambda one: one.line)
        if found or tree.plan is None:
            return PlanReading(plan=None, problems=tuple(found), skipped=tuple(self.skipped))
        self._write_down_what_is_meant()
        return PlanReading(
            plan=QuotaPlan(
                pools=tuple(self._pools()),
                tree=tree.plan,
                shares_given=frozenset(shares),
                quotas=tuple(
                    QuotaEntry(account=node.name, pool=pool, quota=quota)
                    for node in self.nodes.values()
                    for pool, quota in node.quotas.items()
                ),
            ),
            skipped=tuple(self.skipped),
        )

    def _pools(self) -> list[PoolEntry]:
        """Kueue knows no capacity: a new pool gets as much as is promised of it."""
        promised: dict[str, int] = defaultdict(int)
        for node in self.nodes.values():
            for pool, quota in node.quotas.items():
                promised[pool] += quota.guaranteed
        return [
            PoolEntry(
                name=pool,
                if_new=NewPool(flavor=pool, cluster=self.cluster, capacity=promised[pool]),
            )
            for pool in self.pools
        ]

    def _write_down_what_is_meant(self) -> None:
        tops = {name: self._top(name) for name in self.nodes}
        of_tree: dict[str, dict[str, None]] = defaultdict(dict)
        for name, node in self.nodes.items():
            of_tree[tops[name]].update(dict.fromkeys(node.quotas))
        for name, node in self.nodes.items():
            top = tops[name]
            for pool in of_tree[top]:
                if name == top:
                    own = node.quotas.get(pool, Quota()).guaranteed
                    node.quotas[pool] = Quota(guaranteed=own, borrowing_limit=0, lending_limit=0)
                elif node.kind == "ClusterQueue" and pool not in node.quotas:
                    node.quotas[pool] = Quota(borrowing_limit=0)

    def _top(self, name: str) -> str:
        while (parent := self.nodes[name].parent) is not None:
            name = parent
        return name

    def _shares(self) -> dict[str, int]:
        """Weights as whole shares in the same proportion; nobody's where the file has none."""
        weights = {name: node.weight for name, node in self.nodes.items()}
        if not any(weight is not None for weight in weights.values()):
            return {}
        known = {name: Fraction(1) if one is None else one for name, one in weights.items()}
        scale = math.lcm(*(weight.denominator for weight in known.values()))
        if max(known.values()) * scale > SHARES_MAX:
            self.problems.add(
                1, "fairSharing.weight", "bad_quantity", "Weights differ beyond what shares hold."
            )
            return {}
        return {name: int(weight * scale) for name, weight in known.items()}


def pool_name(flavor: str, resource: str) -> str:
    """The pool that holds a resource of a flavor."""
    short = resource.rsplit("/", 1)[-1]
    if short == "gpu" and "/" in resource:
        return flavor
    return f"{flavor}-{NAMED.get(resource, short)}"
