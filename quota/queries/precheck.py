"""What would happen if a request were handed in now. Read only; runs inside `scope.reading`.

The same functions decide in `quota.commands.requests.submit`, on the same book, so the form and
the command cannot disagree. Only a change in between can: the command then refuses and says so.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from ledger.errors import DomainError, NotFound
from quota.domain import routing
from quota.domain.provisioning import SHORTAGES, Nearest, Trial, attempt, nearest
from quota.domain.requests import Terms, problems
from quota.loading import quotas as quota_loading
from quota.loading import requests as loading
from quota.ports import Price, UtilizationFacts
from quota.queries.quotas import books_at, pools_at
from quota.requesting import evidence, route

NO_OTHER = Nearest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Precheck:
    """What would happen.

    Attributes:
        problems: what is wrong with the fields, or with the request as such; with any, nothing
            below is known but what does not depend on them.
        trial: fit, shortfall, the pool over the period (`series`, `series_with`), who pays.
        nearest: what would pass where it does not fit.
        automatic: it would be granted at once.
        approvals: how many people would have to approve.
        asked_ids: who would be asked; reasons: why.
        use: of what the account holds in the pool, over four weeks. Unknown is None.
        price: of the rise, per month; None: unrated.
        price_total: over the whole period; None: open, or unrated.
    """

    problems: tuple[DomainError, ...]
    trial: Trial | None = None
    nearest: Nearest = NO_OTHER
    automatic: bool = False
    approvals: int | None = None
    asked_ids: tuple[UUID, ...] = ()
    reasons: tuple[str, ...] = ()
    facts: routing.Facts | None = None
    use: UtilizationFacts | None = None
    price: Price | None = None
    price_total: Price | None = None

    @property
    def can_submit(self) -> bool:
        return not self.problems

    @property
    def fits(self) -> bool | None:
        return self.trial.fits if self.trial else None


def precheck(
    organization_id: UUID,
    terms: Terms,
    *,
    author_id: UUID,
    now: datetime,
    other_author_ids: Collection[UUID] = (),
) -> Precheck:
    """Try a request as somebody would hand it in.

    Args:
        other_author_ids: of a request that is handed in again.

    Raises:
        NotFound: no such account.
    """
    policy = loading.policy(organization_id)
    pools = pools_at(organization_id, (terms.pool_id,), now=now)
    pool = pools.get(terms.pool_id)
    found = problems(terms, now=now, limits=policy.limits, pool=pool)
    if pool is None:
        found.append(NotFound("pool_unknown", "There is no such pool.", field="pool"))
    if found:
        return Precheck(problems=tuple(found))
    book = books_at(organization_id, pools, now=now)[terms.pool_id]
    pending = [
        change
        for change in quota_loading.scheduled(organization_id, pools).get(terms.pool_id, [])
        if change.starts_at > now
    ]
    book.path.load({change.wish.account for change in pending})
    try:
        trial = attempt(terms, book, pending, now=now)
    except DomainError as error:
        return Precheck(problems=(error,))
    if trial.problem is not None and trial.problem.code not in SHORTAGES:
        return Precheck(problems=(trial.problem,), trial=trial)
    known = evidence(organization_id, terms, book, trial, policy=policy, now=now)
    authors = {author_id, *other_author_ids}
    answer = Precheck(
        problems=(),
        trial=trial,
        nearest=nearest(terms, book, pending, trial, now=now),
        facts=known.facts,
        use=known.use,
        price=known.price,
        price_total=known.price_total,
    )
    board = loading.board(organization_id, terms.account_id, authors, now=now)
    try:
        decided, asked = route(board, known.facts, authors=authors, policy=policy, now=now)
    except DomainError as error:
        return replace(answer, problems=(error,))
    return replace(
        answer,
        automatic=decided.approvals == 0,
        approvals=decided.approvals,
        asked_ids=asked,
        reasons=decided.reasons,
    )
