"""Fair-share: the standing of every person and account of a tree, from shares and decayed usage.

`FairshareTree` (shape and shares, built once), `Usage` (exact decayed usage of every node, kept
up to date), `evaluate` (levels, factors, ranks). Formulas for people: docs/user/fair-share.md.
"""

from accounting.domain.fairshare.evaluation import (
    ALGORITHMS,
    Algorithm,
    Fairshare,
    Standing,
    evaluate,
)
from accounting.domain.fairshare.explain import Step, path_of_person
from accounting.domain.fairshare.ratio_policy import RatioPolicy
from accounting.domain.fairshare.tree import DEPTH_MAX, NO_PARENT, SHARES_MAX, FairshareTree
from accounting.domain.fairshare.usage import Usage

__all__ = [
    "ALGORITHMS",
    "DEPTH_MAX",
    "NO_PARENT",
    "SHARES_MAX",
    "Algorithm",
    "Fairshare",
    "FairshareTree",
    "RatioPolicy",
    "Standing",
    "Step",
    "Usage",
    "evaluate",
    "path_of_person",
]
