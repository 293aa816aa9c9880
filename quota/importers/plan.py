"""A plan of quotas as a file describes it: flavors, pools, a tree, who is promised what. Pure."""

from dataclasses import dataclass, field
from decimal import Decimal

from quota.domain.values import Quota
from tenancy.importers.tree import TreePlan, TreeProblem, TreeSkipped


@dataclass(frozen=True, slots=True, kw_only=True)
class FlavorEntry:
    """A flavor. `weight` None: as it is, 1 where it is new."""

    name: str
    weight: Decimal | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPool:
    """What a pool is opened with where it does not exist; its flavor is defined if need be."""

    flavor: str
    cluster: str
    capacity: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolEntry:
    """A pool. What is None stays as it is; `if_new` is for files that know pools only by name."""

    name: str
    flavor: str | None = None
    cluster: str | None = None
    capacity: int | None = None
    unavailable: int | None = None
    safety_margin: int | None = None
    reclaim_target_seconds: int | None = None
    if_new: NewPool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaEntry:
    """What an account is to be promised in a pool, as a whole: no limit where none is said."""

    account: str
    pool: str
    quota: Quota


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaPlan:
    """What an organization is to look like, as far as a file says.

    Attributes:
        tree: accounts with their parents. `shares_given` names those whose shares the file says;
            the others keep theirs.
    """

    flavors: tuple[FlavorEntry, ...] = ()
    pools: tuple[PoolEntry, ...] = ()
    tree: TreePlan = field(default_factory=TreePlan)
    shares_given: frozenset[str] = frozenset()
    quotas: tuple[QuotaEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReading:
    """What a file came to. `plan` is None as soon as there is one problem."""

    plan: QuotaPlan | None
    problems: tuple[TreeProblem, ...] = ()
    skipped: tuple[TreeSkipped, ...] = ()
