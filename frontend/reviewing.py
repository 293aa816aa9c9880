"""What a reviewer sees of a request: may they decide, in whose name, and on what evidence.

The page of a request (`/requests/<id>`) shows it in two parts, both made from one value:

    with scope.reading(here.id):
        review = review_of(here, detail.row)      # a RequestRow; None: nobody here reviews it
    context = {"review": review, ...}

    {% if review %}{% include "reviews/_decide.html" %}{% endif %}
    {% if review %}{% include "reviews/_evidence.html" %}{% endif %}

The partials read only `review`, `page` and `csrf_token`, and use h2 and h3. The form of the panel
goes to the URL `review_decide` (`/requests/<id>/decide`), which answers what goes well with a
redirect and shows what does not on a page of its own, with what was typed. `review` is None for
whoever is no reviewer there, so evidence about others stays with those who review.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction
from typing import Any, Final
from uuid import UUID

from accounting.queries.evidence import (
    Evidence,
    evidence,
    evidence_with_cost,
    hoarding_scores,
    month_prices,
)
from frontend import request_words
from frontend.charts import Chart
from frontend.forms.reviews import ASK, EVERY_WAY, REJECT, DecideForm
from frontend.full_names import called_by_name
from frontend.pages import Page
from frontend.review_charts import pool_over_period
from ledger.errors import DomainError
from ledger.ids import new_id
from quota.domain.provisioning import Trial, attempt
from quota.domain.requests import Kind, State
from quota.domain.routing import HISTORY_DAYS
from quota.loading import quotas as quota_loading
from quota.ports import Price
from quota.queries import pools_with_weights
from quota.queries.inbox import board_of, may_decide, still_approved
from quota.queries.preview import Preview, preview_request
from quota.queries.quotas import books_at, pools_at
from quota.queries.request_decisions import DecisionRow, decisions_of
from quota.queries.requests import RequestRow, requests
from tenancy import queries as tenancy
from tenancy.domain.roles import REQUEST_REVIEW

EARLIER_SHOWN: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A request as it would go now.

    Attributes:
        trial: None where it cannot be granted whatever room there is; `problem` says why.
        use: of what the account holds in the pool, over four weeks; None: no such pool.
        idle_cost: of what it left idle; None: unknown or unrated.
        price: of the rise per month; None: unrated, or nothing has to be paid.
        costs: something would have to be paid for, whether or not its price is known.
    """

    trial: Trial | None
    problem: DomainError | None
    use: Evidence | None
    idle_cost: Price | None
    price: Price | None
    costs: bool

    @property
    def mean(self) -> float | None:
        """Units in use on average, for eyes; None: unknown."""
        return float(self.use.mean) if self.use and self.use.mean is not None else None

    @property
    def fits(self) -> bool:
        """The promise rule holds over the whole period."""
        return self.problem is None

    @property
    def short_by(self) -> int | None:
        """Units short; None where it fits or no amount would help."""
        return self.problem.facts.get("short_by") if self.problem else None


@dataclass(slots=True, kw_only=True)
class Review:
    """Everything that the two partials show.

    Attributes:
        refusal: why the viewer may not decide; empty: they may.
        remark: why only some decisions are open to them.
        on_behalf_of: the absent person in whose name they would decide; empty: their own.
        hoarding: the account's score over all pools; None: unknown.
        preview: effect on everybody; None: none, or it cannot be granted.
        earlier: other requests of the account, newest first.
        decisions: about this request so far.
        notice: what went wrong with the decision that was just sent; `short_by`: units missing.
    """

    row: RequestRow
    title: str
    refusal: str
    remark: str
    on_behalf_of: str
    judged: Judged
    hoarding: Fraction | None
    preview: Preview | None
    chart: Chart | None
    earlier: Sequence[tuple[RequestRow, str, str]]
    decisions: Sequence[DecisionRow]
    form: DecideForm
    form_key: Any
    back: str = ""
    notice: str = ""
    short_by: int | None = None

    @property
    def may_decide(self) -> bool:
        return not self.refusal

    @property
    def second_word(self) -> bool:
        """Somebody approved already; the next approval is the last one."""
        return bool(self.row.request.approvals) and self.row.request.approvals_missing == 1

    @property
    def first_of_two(self) -> bool:
        return self.row.request.approvals_missing > 1


def review_of(
    here: Page, row: RequestRow, *, data: Any = None, what: str = "", back: str = ""
) -> Review | None:
    """The review of a request for whoever looks at it; None: they are no reviewer of it. Inside
    `scope.reading`.

    Args:
        data: of the form, where what was sent went wrong.
        what: the decision that is chosen at first.
        back: where the form leads when it is done.
    """
    request = row.request
    if request.state in (State.DRAFT, State.DISCARDED) or here.actor.id is None:
        return None
    chance = chance_of(here, row)
    if chance.stopped and not _reviews(here, row):
        return None
    # What the next approval comes to depends on those before it that still count.
    still = still_approved(here.id, request, now=here.now)
    row = replace(row, request=replace(request, approvals=still))
    names = tenancy.names_of(here.id, people=[chance.absent]) if chance.absent else {}
    judged = judge(here, [row])[request.id]
    earlier = requests(
        here.id,
        now=here.now,
        account_ids=(request.account_id,),
        exclude_id=request.id,
        limit=EARLIER_SHOWN,
    )
    ways = chance.ways or EVERY_WAY
    return Review(
        row=row,
        title=request_words.what(row),
        refusal="" if chance.ways else chance.detail,
        remark=chance.detail if chance.ways else "",
        on_behalf_of=names.get(chance.absent, "") if chance.absent else "",
        judged=judged,
        hoarding=_hoarding(here, request.account_id),
        preview=_preview(here, row) if judged.fits and request.is_open else None,
        chart=pool_over_period(judged.trial, row, zone=here.zone) if judged.trial else None,
        earlier=[(one, request_words.what(one), state_of(one)) for one in earlier.rows],
        decisions=called_by_name(here.id, decisions_of(here.id, request.id))[0],
        form=DecideForm(data, row=row, zone=here.zone, what=what, ways=ways),
        form_key=new_id(),
        back=back,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Chance:
    """What somebody may do about a request now.

    Attributes:
        ways: of `frontend.forms.reviews`; empty: nothing, and `detail` says why.
        absent: in whose name.
        stopped: it is the person, not the state of the request, that stands against it.
    """

    ways: frozenset[str]
    detail: str = ""
    absent: UUID | None = None
    stopped: bool = False


def chance_of(here: Page, row: RequestRow) -> Chance:
    """Which decisions the viewer may take. Inside `scope.reading`."""
    request = row.request
    verdict = may_decide(here.id, request, here.actor.id, now=here.now)
    ways, detail = EVERY_WAY, ""
    if isinstance(verdict, DomainError) and verdict.code == "already_approved":
        # Who approved first may change their mind.
        ways, detail = frozenset({ASK, REJECT}), verdict.detail
        verdict = may_decide(here.id, replace(request, approvals=()), here.actor.id, now=here.now)
    if isinstance(verdict, DomainError):
        return Chance(ways=frozenset(), detail=verdict.detail, stopped=True)
    if not request.is_open:
        return Chance(ways=frozenset(), detail="Nothing is to be decided any more.")
    if request.state != State.SUBMITTED:
        ways = frozenset({REJECT})
        detail = f"It is {row.requester}'s turn to answer; until then it can only be rejected."
    return Chance(ways=ways, detail=detail, absent=verdict.on_behalf_of_id)


def state_of(row: RequestRow) -> str:
    """Where a request stands, in words."""
    return request_words.STATES.get(State(row.state), row.state)


def _reviews(here: Page, row: RequestRow) -> bool:
    """Whether somebody would review this if it were not for what stops them: by a role, or in the
    place of somebody absent."""
    if here.may(REQUEST_REVIEW, row.request.account_id):
        return True
    board = board_of(here.id, row.request, (here.actor.id,), now=here.now)
    return any(
        one.delegate_id == here.actor.id and one.person_id in board.reviewers()
        for one in board.delegations
    )


def _hoarding(here: Page, account_id: UUID) -> Fraction | None:
    """Of the account over all pools; None: nothing is promised to it, or nothing known."""
    places = [(account_id, pool.id) for pool in pools_with_weights(here.id)]
    start = here.now - timedelta(days=HISTORY_DAYS)
    found = evidence(here.id, places, start=start, end=here.now)
    return hoarding_scores(found).get(account_id)


def _preview(here: Page, row: RequestRow) -> Preview | None:
    try:
        return preview_request(here.id, row.request.terms, now=here.now)
    except DomainError:
        # What stops it is told by the trial already.
        return None


def judge(here: Page, rows: Sequence[RequestRow]) -> dict[UUID, Judged]:
    """How requests would go now, and what is known of who asks; in a constant number of questions.
    Inside `scope.reading`."""
    if not rows:
        return {}
    now = here.now
    wanted = {row.request.pool_id for row in rows}
    pools = pools_at(here.id, wanted, now=now)
    books = books_at(here.id, pools, now=now)
    pending = {
        pool_id: [one for one in coming if one.starts_at > now]
        for pool_id, coming in quota_loading.scheduled(here.id, pools).items()
    }
    named = {change.wish.account for coming in pending.values() for change in coming}
    for row in rows:
        named |= {row.request.account_id, row.request.terms.to_account_id} - {None}
    for book in books.values():
        book.path.load(named)
    places = {(row.request.account_id, row.request.pool_id) for row in rows}
    used = evidence_with_cost(
        here.id, sorted(places), start=now - timedelta(days=HISTORY_DAYS), end=now
    )
    tried: dict[UUID, tuple[Trial | None, DomainError | None]] = {}
    for row in rows:
        request = row.request
        try:
            trial = attempt(
                request.terms, books[request.pool_id], pending.get(request.pool_id, ()), now=now
            )
            tried[request.id] = (trial, trial.problem)
        except DomainError as error:
            tried[request.id] = (None, error)
    months = {row.request.id: _month(row, tried[row.request.id][0]) for row in rows}
    prices = month_prices(here.id, [one for one in months.values() if one], at=now)
    found = {}
    for row in rows:
        request = row.request
        trial, problem = tried[request.id]
        use, idle_cost = used.get((request.account_id, request.pool_id), (None, None))
        found[request.id] = Judged(
            trial=trial,
            problem=problem,
            use=use,
            idle_cost=idle_cost,
            price=prices.get(months[request.id]),
            costs=months[request.id] is not None,
        )
    return found


def _month(row: RequestRow, trial: Trial | None) -> tuple[UUID, int, str] | None:
    """What has to be paid for, if anything rises."""
    terms = row.request.terms
    units = trial.rise if trial else terms.units or 0
    if units <= 0 or terms.kind in (Kind.CEILING, Kind.LOWER, Kind.JUSTIFICATION, Kind.TRANSFER):
        return None
    return (terms.pool_id, units, terms.tier)
