"""Who else has a say when the tree changes.

Layers above know what hangs on an account (guarantees, allocations); tenancy does not know them.
`config/wiring.py` registers their checks here. Each runs under the tree's lock, in the command's
transaction, before the change is recorded: it raises to refuse, and may record events of its own
that have to come before. It sees a whole change at once, so that an import is judged by what it
makes of the tree and not by its steps.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from ledger.errors import NotFound
from ledger.execution import Unit


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeChange:
    """What is about to happen to the tree.

    Attributes:
        parents: new parent of every account that is opened or moved; all others keep theirs.
        archived: accounts that will take nothing new.
    """

    parents: Mapping[UUID, UUID] = field(default_factory=dict)
    archived: frozenset[UUID] = frozenset()


TreeGuard = Callable[[Unit, TreeChange], None]

_guards: list[TreeGuard] = []


def register(guard: TreeGuard) -> None:
    """Add a check. Called by `config/wiring.py` only."""
    if guard not in _guards:
        _guards.append(guard)


def check(unit: Unit, change: TreeChange) -> None:
    """Ask everyone.

    Raises:
        Refused: whatever a guard says no with.
    """
    for guard in _guards:
        guard(unit, change)


PoolsKnown = Callable[[UUID, Collection[UUID]], Collection[UUID]]
"""Of an organization, which of the ids are pools of its own."""

_pools_known: list[PoolsKnown] = []


def use_pools(known: PoolsKnown) -> None:
    """Say who knows the pools that a token can be bound to. Called by `config/wiring.py` only."""
    _pools_known[:] = [known]


def check_pools(unit: Unit, pool_ids: Collection[UUID], *, field: str) -> None:
    """Refuse ids that are no pools of the organization.

    Raises:
        NotFound: naming them.
    """
    unknown = set(pool_ids)
    for known in _pools_known:
        unknown -= set(known(unit.organization_id, pool_ids))
    if unknown:
        raise NotFound(
            "pool_unknown",
            f"{len(unknown)} of the pools are not known here. See GET /api/v1/pools.",
            field=field,
            facts={"unknown": sorted(map(str, unknown))[:20]},
        )
