"""How the demo's quotas came to be what they are, and what is to come. Pure.

INITIAL is the plan of the beginning; STEPS lead from it to `organization.QUOTAS`. Together they
tell what pages of quota have to tell: a department that lends, a team on a hard quota, a guarantee
that a team has for a while, one that a department carved from its own, a cut to come, and a pool
that lost devices under its promises.
"""

from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from demo import organization
from demo.organization import A100, ASCEND, H100
from demo.values import DemoQuota

OPERATOR: Final = "jholm"


@dataclass(frozen=True, slots=True, kw_only=True)
class Promised:
    """An account's quota in a pool from now on.

    Attributes:
        carve_from: the account above whose own guarantee pays.
        ends_in_days, starts_in_days: from the step on; None: it stays, it begins at once.
    """

    quota: DemoQuota
    carve_from: str | None = None
    ends_in_days: float | None = None
    starts_in_days: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """Units of a pool that are out of order, all together."""

    pool: str
    units: int


QuotaChange: TypeAlias = Promised | Failed


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaStep:
    """A change, when, by whom, why."""

    days_ago: float
    by: str
    reason: str
    change: QuotaChange


STARTED_WITH: Final = {ASCEND: 8}
"""Units that were out of order in the beginning, where not as many as now."""


def _final(account: str, pool: str) -> DemoQuota:
    return next(one for one in organization.QUOTAS if (one.account, one.pool) == (account, pool))


_BEFORE: Final = {
    ("foundation", H100): 40,
    ("post-training", H100): 48,
    ("climate", A100): 48,
}

INITIAL: Final = tuple(
    replace(one, guaranteed=_BEFORE.get((one.account, one.pool), one.guaranteed))
    for one in organization.QUOTAS
)

STEPS: Final = (
    QuotaStep(
        days_ago=33.2,
        by=OPERATOR,
        reason="Alignment of the spring release, out of the department's own units",
        change=Promised(quota=_final("post-training", H100), carve_from="foundation"),
    ),
    QuotaStep(
        days_ago=11.4,
        by=OPERATOR,
        reason="Ensembles for the winter assessment",
        change=Promised(quota=_final("climate", A100), ends_in_days=32),
    ),
    QuotaStep(
        days_ago=5.3,
        by=OPERATOR,
        reason="Four boards of rack S7 failed; the vendor comes next week",
        change=Failed(pool=ASCEND, units=16),
    ),
    QuotaStep(
        days_ago=1.2,
        by=OPERATOR,
        reason="Mean utilisation was 8 % this month; agreed with the team",
        change=Promised(quota=replace(_final("robotics", H100), guaranteed=32), starts_in_days=15),
    ),
)
