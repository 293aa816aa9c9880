"""What a caller can say to any importer. Pure."""

from dataclasses import dataclass, field

from accounting.importers.pools import PoolMap, ResolvePool, resolves_nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportOptions:
    """Common to all formats; each format adds its own.

    ``timezone`` is the IANA zone of times written without one. ``tier`` is that of records which
    name none. ``pools`` and ``resolve_pool`` are for formats that know no pools of ours.
    """

    timezone: str = "UTC"
    tier: str = "guaranteed"
    pools: PoolMap = field(default_factory=PoolMap)
    resolve_pool: ResolvePool = resolves_nothing

    def pool(self, *, cluster: str, partition: str, kind: str | None) -> str | None:
        """The pool by the explicit entries, else by the caller's resolver."""
        found = self.pools.find(cluster=cluster, partition=partition, kind=kind)
        return found or self.resolve_pool(cluster, partition, kind)
