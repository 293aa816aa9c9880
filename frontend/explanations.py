"""A fair-share number in words: each step with its numbers put into its formula. Pure.

The formulas are those of docs/user/fair-share.md; every number is the one the answer used.
"""

import math
from dataclasses import dataclass

from accounting.domain.fairshare import Step
from accounting.domain.priority import PriorityPolicy
from accounting.queries.fairshare import PersonExplanation
from frontend.numbers import NONE, amount, factor, level, percent, unit_hours

ALGORITHM_NAMES = {"fair_tree": "Fair Tree", "classic": "Classic", "ratio": "Ratio"}


@dataclass(frozen=True, slots=True)
class Told:
    """One step as a page tells it. `sentences` are whole; `formula` has the numbers put in."""

    name: str
    is_person: bool
    step: Step
    verdict: str
    sentences: tuple[str, ...]
    formula: str


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a job's priority: what factor 1 is worth, and what is known of it here."""

    name: str
    weight: float
    about: str
    points: float | None = None


def steps(found: PersonExplanation, *, at: str = "") -> list[Told]:
    """The path from the root to the person, told."""
    told = []
    above: tuple[str, Step] | None = None
    for name, step in found.steps:
        told.append(_told(found, name, step, above))
        if above is None or step.shares is not None:
            above = (name, step)  # below a transparent account the sharing is that of the one above
    return told


def priority_terms(policy: PriorityPolicy, fairshare: float) -> list[Term]:
    """What the person's factor is worth in the priority of a job, beside the other terms."""
    aged = f"waiting time, full after {policy.age_cap_seconds / 86_400:g} days"
    classes = ", ".join(f"P{index} {value:g}" for index, value in enumerate(policy.class_factors))
    cap = f"{policy.size_cap_units:,} units" if policy.size_cap_units else "the pool's capacity"
    size = f"units of the job, full at {cap}{', small first' if policy.small_first else ''}"
    terms = (
        Term(
            "fair-share",
            policy.fair_share_weight,
            f"the factor {factor(fairshare)}",
            policy.fair_share_weight * fairshare,
        ),
        Term("age", policy.age_weight, aged),
        Term("class", policy.class_weight, classes),
        Term("size", policy.size_weight, size),
        Term("boost", policy.boost_weight, "of the account"),
    )
    return [term for term in terms if term.weight]


def _told(found: PersonExplanation, name: str, step: Step, above: tuple[str, Step] | None) -> Told:
    if above is None:
        sentence = (
            f"Everything below {name} used {unit_hours(step.usage)} weighted unit-h, decayed."
        )
        return Told(name, step.account is None, step, "", (sentence,), "")
    parent_name, parent = above
    if step.shares is None:
        who = "The account" if step.account is not None else name
        text = f"{who} has the share `parent` and takes no part in the sharing in {parent_name}."
        if step.account is None:
            text += " It comes first in the account."
        return Told(name, step.account is None, step, "", (text,), "")
    promised = percent(step.shares / step.level_shares) if step.level_shares else NONE
    used = percent(step.usage / parent.usage) if parent.usage else "nothing was used here"
    sentences = (
        f"Promised: {step.shares:,} of {step.level_shares:,} shares in {parent_name}, {promised}.",
        f"Used: {unit_hours(step.usage)} of {unit_hours(parent.usage)} weighted unit-h, {used}.",
    )
    return Told(
        name=name,
        is_person=step.account is None,
        step=step,
        verdict=_verdict(step.level_fs),
        sentences=sentences,
        formula=_formula(found, step),
    )


def _verdict(value: float) -> str:
    if math.isnan(value):
        return ""
    if math.isinf(value):
        return "has used nothing"
    if value == 0:
        return "has no share"
    if value > 1.005:
        return "has had less than its share"
    return "has had more than its share" if value < 0.995 else "has had just its share"


def _formula(found: PersonExplanation, step: Step) -> str:
    share, used = amount(step.norm_shares), amount(step.effective_usage)
    if found.algorithm == "fair_tree":
        text = f"level = S / U = {share} / {used} = {level(step.level_fs)}"
        if step.account is None:
            text += (
                "; factor = people from here on back / all people = "
                f"{step.rank:,} / {found.people:,} = {factor(step.fairshare)}"
            )
        return text
    if found.algorithm == "classic":
        return f"factor = 2^-(U / S) = 2^-({used} / {share}) = {factor(step.fairshare)}"
    return f"factor = base × S / (U + eps), S = {share}, U = {used}: {factor(step.fairshare)}"
