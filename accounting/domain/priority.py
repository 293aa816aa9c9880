"""Effective priority of waiting jobs: a weighted sum of factors, with aging against starvation.

    priority = sum of weight x factor,  each factor in [0, 1]        (docs/design.md part 5)

The factors are fair-share, age, class, size and account boost, as in Slurm's multifactor plugin
("Multifactor Priority Plugin"). All weights and caps are the organization's policy.

A job that waits long enough *rises* in class: after 30 minutes by one, after 2 hours to P1, the
highest class that can itself be preempted. P0 is never reached by aging, and P0 and P1 never
change. The risen class is the *effective* class: the class factor follows it.

Instants are seconds since 1970-01-01T00:00:00Z. No clock is read here.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ledger.errors import Invalid

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

CLASSES = ("P0", "P1", "P2", "P3")
"""Names by class index, the most urgent first."""

HIGHEST_PREEMPTIBLE = 1
TERMS = ("fair_share", "age", "class", "size", "boost")
WEIGHT_MAX = 1_000_000_000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorityPolicy:
    """An organization's weights and caps.

    Attributes:
        fair_share_weight, age_weight, class_weight, size_weight, boost_weight: priority points
            that the factor 1 is worth; 0 to 1e9, 0 switches the term off.
        age_cap_seconds: waiting time at which the age factor reaches 1 (default 7 days).
        class_factors: factor of P0, P1, P2, P3: strictly falling within [0, 1].
        size_cap_units: units at which the size factor reaches 1; None: the pool's capacity.
        small_first: turn the size factor around, so that small jobs gain.
        rise_one_seconds: waiting time after which a job rises by one class (default 30 min).
        rise_top_seconds: waiting time after which a job stands in P1 (default 2 h).

    Raises:
        Invalid: `priority_policy_out_of_bounds`, naming the field.
    """

    fair_share_weight: float = 1000.0
    age_weight: float = 200.0
    class_weight: float = 2000.0
    size_weight: float = 50.0
    boost_weight: float = 200.0
    age_cap_seconds: float = 7 * 86_400.0
    class_factors: tuple[float, float, float, float] = (1.0, 0.75, 0.5, 0.25)
    size_cap_units: int | None = None
    small_first: bool = False
    rise_one_seconds: float = 30 * 60.0
    rise_top_seconds: float = 2 * 3600.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name.endswith("_weight"):
                _check(field.name, value, math.isfinite(value) and 0 <= value <= WEIGHT_MAX)
            elif field.name.endswith("_seconds"):
                _check(field.name, value, math.isfinite(value) and value > 0)
        factors = self.class_factors
        _check(
            "class_factors",
            factors,
            len(factors) == len(CLASSES)
            and all(1 >= above > below >= 0 for above, below in pairwise(factors)),
        )
        cap = self.size_cap_units
        _check("size_cap_units", cap, cap is None or cap > 0)
        _check(
            "rise_top_seconds",
            self.rise_top_seconds,
            self.rise_top_seconds >= self.rise_one_seconds,
        )

    @property
    def weights(self) -> tuple[float, ...]:
        """In the order of TERMS."""
        return (
            self.fair_share_weight,
            self.age_weight,
            self.class_weight,
            self.size_weight,
            self.boost_weight,
        )


def _check(name: str, value: object, allowed: bool) -> None:
    if not allowed:
        raise Invalid(
            "priority_policy_out_of_bounds",
            f"{name} is out of bounds.",
            field=name,
            facts={"given": str(value)},
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Jobs:
    """Waiting jobs as columns, one row each.

    Attributes:
        keys: unique job keys; the last word between equals.
        fair_share: factor of the job's person (`Standing.fairshare`).
        submitted: instant of submission.
        class_index: 0 to 3 for P0 to P3.
        units: units asked for.
        capacity: capacity of the job's pool in units.
        boost: account boost, 0 to 1.
    """

    keys: Sequence[str]
    fair_share: Floats
    submitted: Floats
    class_index: Ints
    units: Floats
    capacity: Floats
    boost: Floats

    @classmethod
    def of(cls, keys: Sequence[str], **columns: Any) -> "Jobs":
        """From any sequences.

        Raises:
            Invalid: `jobs_shape` or `jobs_out_of_bounds`, naming the column.
        """
        whole = {"class_index"}
        jobs = cls(
            keys=keys,
            **{
                name: np.asarray(column, dtype=np.int64 if name in whole else np.float64)
                for name, column in columns.items()
            },
        )
        for name in columns:
            column = getattr(jobs, name)
            if column.shape != (len(keys),):
                raise Invalid("jobs_shape", f"{name} must have a value for each key.", field=name)
            low, high = _BOUNDS[name]
            bad = np.flatnonzero(~((column >= low) & (column <= high)))
            if len(bad):
                raise Invalid(
                    "jobs_out_of_bounds",
                    f"{name} must lie between {low} and {high}.",
                    field=name,
                    facts={"key": keys[int(bad[0])], "given": str(column[bad[0]])},
                )
        return jobs


_BOUNDS: dict[str, tuple[float, float]] = {
    "fair_share": (0, 1),
    "submitted": (-1e12, 1e12),
    "class_index": (0, len(CLASSES) - 1),
    "units": (0, 2.0**53),
    "capacity": (0, 2.0**53),
    "boost": (0, 1),
}


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Priorities:
    """The answer, one row a job, in the order of the question.

    Attributes:
        priority: the weighted sum.
        rank: 1 for the job to start first; no two alike.
        effective_class: class index after aging.
        factors: by name of TERMS, each in [0, 1].
    """

    policy: PriorityPolicy
    priority: Floats
    rank: Ints
    effective_class: Ints
    factors: dict[str, Floats]


def evaluate(jobs: Jobs, *, now: float, policy: PriorityPolicy) -> Priorities:
    """Priorities, ranks and factors of all jobs at `now`.

    Equal priorities are ordered by submission, then key, so the same question has the same
    answer. Each job's sum is taken in the order of TERMS: not a bit depends on the other jobs.
    """
    waited = np.maximum(now - jobs.submitted, 0.0)
    effective_class = aged_class(jobs.class_index, waited, policy=policy)
    factors = {
        "fair_share": jobs.fair_share,
        "age": np.minimum(waited / policy.age_cap_seconds, 1.0),
        "class": np.asarray(policy.class_factors)[effective_class],
        "size": size_factor(jobs.units, jobs.capacity, policy=policy),
        "boost": jobs.boost,
    }
    priority = np.zeros(len(jobs.keys))
    for term, weight in zip(TERMS, policy.weights, strict=True):
        priority += weight * factors[term]
    return Priorities(
        policy=policy,
        priority=priority,
        rank=ranks(priority, jobs.submitted, jobs.keys),
        effective_class=effective_class,
        factors=factors,
    )


def aged_class(class_index: Ints, waited: Floats, *, policy: PriorityPolicy) -> Ints:
    """Class after aging: one up after `rise_one_seconds`, P1 after `rise_top_seconds`.

    Source: docs/design.md part 5. Never above P1; P0 and P1 stay what they are.
    """
    risen = np.where(waited >= policy.rise_one_seconds, class_index - 1, class_index)
    risen = np.where(waited >= policy.rise_top_seconds, HIGHEST_PREEMPTIBLE, risen)
    ages = class_index > HIGHEST_PREEMPTIBLE
    return np.where(ages, np.maximum(risen, HIGHEST_PREEMPTIBLE), class_index)


def size_factor(units: Floats, capacity: Floats, *, policy: PriorityPolicy) -> Floats:
    """min(1, units / cap), or 1 minus it with `small_first`. Cap: the policy's, else the pool's.

    A pool without capacity makes every job that asks for something as large as can be.
    """
    cap = capacity if policy.size_cap_units is None else np.full(len(units), policy.size_cap_units)
    with np.errstate(divide="ignore", invalid="ignore"):
        size = np.where(units > 0, np.minimum(units / cap, 1.0), 0.0)
    return 1.0 - size if policy.small_first else size


def ranks(priority: Floats, submitted: Floats, keys: Sequence[str]) -> Ints:
    """1 for the highest priority; ties by earlier submission, then by key (code points)."""
    if len(keys) < 2:
        return np.ones(len(keys), dtype=np.int64)
    order = np.lexsort((submitted, -priority))
    same = np.zeros(len(order), dtype=np.bool_)
    after, before = order[1:], order[:-1]
    same[1:] = (priority[after] == priority[before]) & (submitted[after] == submitted[before])
    # Keys are compared only within ties: sorting 100,000 strings would cost more than the rest.
    for first, last in _tied(same):
        order[first:last] = sorted(order[first:last].tolist(), key=lambda job: keys[job])
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(1, len(order) + 1)
    return rank


def _tied(same: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """[first, last) of each stretch where every place but the first equals the one before."""
    edges = np.diff(np.concatenate([same.astype(np.int8), [0]]), prepend=0)
    return list(
        zip(
            (np.flatnonzero(edges == 1) - 1).tolist(),
            np.flatnonzero(edges == -1).tolist(),
            strict=True,
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One line of the explanation: weight x factor = contribution."""

    name: str
    weight: float
    factor: float
    contribution: float


def explain(result: Priorities, job: int) -> tuple[Term, ...]:
    """The terms whose contributions add up (in this order) to the priority of row `job`."""
    return tuple(
        Term(
            name=name,
            weight=weight,
            factor=float(result.factors[name][job]),
            contribution=weight * float(result.factors[name][job]),
        )
        for name, weight in zip(TERMS, result.policy.weights, strict=True)
    )
