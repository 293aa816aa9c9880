"""What answers about priorities and fair-share look like on the wire; see accounting.wire."""

import math
from datetime import datetime
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from accounting.domain.priority import Term
from accounting.fairshare_state import Versions
from accounting.priorities import JobError
from accounting.queries.fairshare import HeavyRecord, NodeRow, PersonExplanation

LevelFs = float | Literal["inf"] | None
"""Shares over use among siblings. JSON has no infinity: `inf`; null where there is no level."""


class Factors(msgspec.Struct, gc=False):
    """Each from 0 to 1; the priority is their sum, weighted by the organization's policy."""

    fair_share: float
    age: float
    job_class: float = msgspec.field(name="class")
    size: float
    boost: float


class PathStep(msgspec.Struct):
    """A node on the way from the root to a person, with what it has among its siblings."""

    name: str
    shares: int | Literal["parent"]
    level_shares: int
    norm_shares: float
    usage: float
    norm_usage: float
    effective_usage: float
    level_fs: LevelFs
    fairshare: float
    rank: int


class Explanation(msgspec.Struct):
    """Why: the terms add up to the priority; the path and the heaviest records to fair-share."""

    terms: list[Term]
    people: int
    path: list[PathStep]
    records: list[HeavyRecord]


class JobPriority(msgspec.Struct, gc=False):
    """One job's answer. `rank` 1 starts first; `effective_class` is the class after aging."""

    key: str
    priority: float
    rank: int
    effective_class: Literal["P0", "P1", "P2", "P3"]
    factors: Factors
    explanation: Explanation | UnsetType = UNSET


class Priorities(msgspec.Struct, kw_only=True):
    """`results` in the order of the question, less the jobs that `errors` lists."""

    at: datetime
    algorithm: Literal["fair_tree", "classic", "ratio"]
    half_life_days: float
    versions: Versions
    results: list[JobPriority]
    errors: list[JobError]


class FairshareNode(msgspec.Struct, kw_only=True):
    """An account, or a person under it. Usage in decayed unit-seconds."""

    depth: int
    account: str
    person: str | None
    shares: int | Literal["parent"]
    norm_shares: float
    usage: float
    norm_usage: float
    effective_usage: float
    level_fs: LevelFs
    fairshare: float
    rank: int


class FairsharePage(msgspec.Struct, kw_only=True):
    """Nodes depth first. `next` is the address of the following page."""

    at: datetime
    algorithm: Literal["fair_tree", "classic", "ratio"]
    half_life_days: float
    versions: Versions
    nodes: list[FairshareNode]
    next: str | None


def node(row: NodeRow) -> FairshareNode:
    """A line of the tree for JSON."""
    return FairshareNode(
        depth=row.depth,
        account=row.account,
        person=row.person or None,
        shares="parent" if row.shares is None else row.shares,
        norm_shares=row.norm_shares,
        usage=row.usage,
        norm_usage=row.norm_usage,
        effective_usage=row.effective_usage,
        level_fs=_level(row.level_fs),
        fairshare=row.fairshare,
        rank=row.rank,
    )


def explanation(terms: tuple[Term, ...], found: PersonExplanation) -> Explanation:
    """The path from the root to a person and the records that weigh most, for JSON."""
    path = [
        PathStep(
            name=name,
            shares="parent" if step.shares is None else step.shares,
            level_shares=step.level_shares,
            norm_shares=step.norm_shares,
            usage=step.usage,
            norm_usage=step.norm_usage,
            effective_usage=step.effective_usage,
            level_fs=_level(step.level_fs),
            fairshare=step.fairshare,
            rank=step.rank,
        )
        for name, step in found.steps
    ]
    return Explanation(list(terms), found.people, path, list(found.records))


def _level(level_fs: float) -> float | str | None:
    if math.isnan(level_fs):
        return None
    return "inf" if math.isinf(level_fs) else level_fs
