"""Which pool a job of another system used. Pure.

Explicit entries win, the most exact first: kind in a cluster, kind, partition. A kind goes before
a partition because unlike flavors never add up: a job with two kinds of device in one partition
must not become one sum. Where no entry fits, the caller's resolver is asked.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self

from accounting.importers.record import FieldError

ResolvePool = Callable[[str, str, str | None], str | None]
"""(cluster, partition, kind or None) -> name of the pool, or None when it cannot tell."""

CPU_KIND = "cpu"
"""The kind by which jobs without any device are mapped, to a pool of cores."""


def resolves_nothing(cluster: str, partition: str, kind: str | None) -> str | None:
    """The resolver of a caller that relies on explicit entries alone."""
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolMap:
    """Explicit entries from the names of another system to pools of ours."""

    by_partition: Mapping[str, str] = field(default_factory=dict)
    by_kind: Mapping[str, str] = field(default_factory=dict)
    by_cluster_kind: Mapping[tuple[str, str], str] = field(default_factory=dict)

    @classmethod
    def parse(cls, entries: Iterable[str]) -> Self:
        """Entries as people write them on a command line.

        ``partition:gpu=lab-h100``, ``kind:h100=lab-h100``, ``kind:lab/h100=lab-h100`` (cluster
        before the slash), ``kind:cpu=lab-cpu``. FieldError (field ``pool_map``) for anything else
        and for two entries that disagree.
        """
        by_partition: dict[str, str] = {}
        by_kind: dict[str, str] = {}
        by_cluster_kind: dict[tuple[str, str], str] = {}
        for entry in entries:
            left, _, pool = entry.rpartition("=")
            what, _, name = left.partition(":")
            cluster, slash, kind = name.rpartition("/")
            if what == "partition" and name and pool:
                known = by_partition.setdefault(name, pool)
            elif what == "kind" and kind and pool and bool(slash) == bool(cluster):
                if cluster:
                    known = by_cluster_kind.setdefault((cluster, kind), pool)
                else:
                    known = by_kind.setdefault(kind, pool)
            else:
                raise FieldError(
                    "pool_map",
                    "bad_pool_map",
                    "Write partition:NAME=POOL, kind:NAME=POOL or kind:CLUSTER/NAME=POOL.",
                    entry,
                )
            if known != pool:
                raise FieldError(
                    "pool_map", "bad_pool_map", f"{left} is already mapped to {known}.", entry
                )
        return cls(by_partition=by_partition, by_kind=by_kind, by_cluster_kind=by_cluster_kind)

    def find(self, *, cluster: str, partition: str, kind: str | None) -> str | None:
        """The pool by explicit entries alone; ``kind`` None is a device of unknown kind."""
        if kind is not None:
            pool = self.by_cluster_kind.get((cluster, kind)) or self.by_kind.get(kind)
            if pool is not None or kind == CPU_KIND:
                # A job without devices is in no partition's device pool.
                return pool
        return self.by_partition.get(partition)
