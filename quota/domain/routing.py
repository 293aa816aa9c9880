"""Who decides a request: nobody (automatic), the nearest approver, two people. Pure.

*Automatic* is what is given back, always; and what is small, short, cheap, fits, and comes from an
account that uses what it has and was not refused lately. All automatic grants of an account that
still run count together, or a large wish would pass in small slices.

*Nobody approves their own request*: not as one of its authors, not in the name of one, not through
another login of theirs. Of two approvals no human may stand behind both. A human is told by the
person's id and by e-mail addresses (`Human`).
"""

import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from ledger.errors import Denied, Invalid, Refused
from quota.domain.requests import Approval, Kind, Limits

COVERAGE_MIN = 0.5
"""Share of the window in which use must be known for a mean to be believed."""
HISTORY_DAYS = 28
"""Window over which use is looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How an organization routes requests.

    Attributes:
        automatic: False: everything but what is given back goes to people.
        automatic_units_max: rise, with the account's other automatic grants that still run.
        automatic_days_max: longest period; None: also without end.
        automatic_price_max: of the rise per month; None: any price. Unrated units pass.
        use_percent_min: mean use, over four weeks, of a guarantee it already has.
        unknown_use_passes: whether a guarantee whose use is unknown counts as used.
        rejection_days: no automatic grant for so long after a rejection.
        two_approvals_units: from this rise on two people approve.
        days_max: longest period of any request; None: open ones, too.
        decide_hours: until the next approvers up are asked; remind_hours: between reminders.
    """

    automatic: bool = True
    automatic_units_max: int = 32
    automatic_days_max: int | None = 56
    automatic_price_max: Decimal | None = None
    use_percent_min: int = 50
    unknown_use_passes: bool = False
    rejection_days: int = 30
    two_approvals_units: int = 100
    days_max: int | None = None
    justification_days_max: int = 90
    decide_hours: int = 72
    remind_hours: int = 24

    @property
    def limits(self) -> Limits:
        return Limits(days_max=self.days_max, justification_days_max=self.justification_days_max)


DEFAULT = Policy()
BOUNDS = {
    "automatic_units_max": (0, 10**9),
    "automatic_days_max": (1, 3_660),
    "automatic_price_max": (0, 10**12),
    "use_percent_min": (0, 100),
    "rejection_days": (0, 366),
    "two_approvals_units": (1, 10**9),
    "days_max": (1, 3_660),
    "justification_days_max": (1, 366),
    "decide_hours": (1, 24 * 90),
    "remind_hours": (1, 24 * 90),
}
"""Least and most of each number."""


def check_policy(policy: Policy) -> None:
    """Refuse what cannot be meant.

    Raises:
        Invalid: `out_of_range` with the field.
    """
    for field, (least, most) in BOUNDS.items():
        value = getattr(policy, field)
        if isinstance(value, Decimal) and not value.is_finite():
            raise _out_of_range(field, least, most)
        if value is not None and not least <= value <= most:
            raise _out_of_range(field, least, most)


def _out_of_range(field: str, least: int, most: int) -> Invalid:
    return Invalid(
        "out_of_range",
        f"{field} is from {least:,} to {most:,}.",
        field=field,
        facts={"minimum": least, "maximum": most},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a route is decided on; None: unknown.

    Attributes:
        rise: units by which the account's guarantee (or, of a ceiling, its borrowing) grows.
        held: its guarantee in the pool.
        fits: the promise rule holds over the whole period.
        days: length of the period; None: open.
        use_percent: mean use of what it holds.
        price: of the rise per month.
        rejections: of the account in the pool within the policy's window.
        automatic_units: granted automatically and still running, in this pool.
        extensions: automatic ones of the quota that runs.
        over_budget: the whole period costs more than the request itself says.
    """

    kind: str
    rise: int
    held: int = 0
    fits: bool = True
    days: int | None = None
    use_percent: int | None = None
    price: Decimal | None = None
    currency: str | None = None
    rejections: int = 0
    automatic_units: int = 0
    extensions: int = 0
    over_budget: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """How many approvals are needed, 0 for automatic, and why: one sentence for each obstacle, or
    one that says why nobody is asked."""

    approvals: int
    reasons: tuple[str, ...]


def judge(policy: Policy, facts: Facts) -> Judgement:
    """How a request goes under a policy."""
    if facts.kind == Kind.LOWER:
        return Judgement(approvals=0, reasons=("What is given back needs nobody's approval.",))
    obstacles = tuple(_obstacles(policy, facts))
    if not obstacles:
        used = ", and what is held is used" if facts.held > 0 else ""
        return Judgement(approvals=0, reasons=(f"It is small, short and fits{used}.",))
    if facts.rise >= policy.two_approvals_units:
        two = f"From {policy.two_approvals_units:,} units on two people approve."
        return Judgement(approvals=2, reasons=(two, *obstacles))
    return Judgement(approvals=1, reasons=obstacles)


def _obstacles(policy: Policy, facts: Facts) -> Iterable[str]:
    """Everything that keeps a request from being granted automatically."""
    if not policy.automatic:
        yield "Every request is reviewed here."
    if facts.kind in (Kind.TRANSFER, Kind.JUSTIFICATION):
        yield f"A {facts.kind} is always reviewed."
        return
    if not facts.fits:
        yield "The pool cannot promise it over the whole period."
    most = policy.automatic_units_max
    if facts.rise >= policy.two_approvals_units or facts.rise > most:
        yield f"Automatic up to {most:,} units, {facts.rise:,} are asked."
    elif facts.kind != Kind.EXTENSION and facts.rise + facts.automatic_units > most:
        yield (
            f"Automatic up to {most:,} units together; {facts.automatic_units:,} were granted so."
        )
    if policy.automatic_days_max is not None:
        if facts.days is None:
            yield f"Automatic up to {policy.automatic_days_max:,} days, this has no end."
        elif facts.days > policy.automatic_days_max:
            yield f"Automatic up to {policy.automatic_days_max:,} days, this takes {facts.days:,}."
    dearest = policy.automatic_price_max
    if dearest is not None and facts.price is not None and facts.price > dearest:
        yield f"Automatic up to {dearest:,} a month, this costs {facts.price:,}."
    if facts.over_budget:
        yield "It costs more than the budget that the request names."
    if facts.held > 0:
        if facts.use_percent is None:
            if not policy.unknown_use_passes:
                yield f"How the {facts.held:,} units that are held are used is unknown."
        elif facts.use_percent < policy.use_percent_min:
            yield (
                f"What is held is used to {facts.use_percent} %, below {policy.use_percent_min} %."
            )
    if facts.rejections:
        yield f"A request was rejected within {policy.rejection_days} days."
    if facts.kind == Kind.EXTENSION and facts.extensions:
        yield "It was extended automatically before."


@dataclass(frozen=True, slots=True, kw_only=True)
class Human:
    """Who a person is. Two persons who share an address are one human."""

    person_id: UUID
    addresses: frozenset[str] = frozenset()


def address(text: str) -> str:
    """An e-mail address as people are told apart by: case, a `+tag`, another way to write the same
    letters, invisible ones and the spelling of the domain make no other human."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    seen = "".join(char for char in plain if unicodedata.category(char)[0] not in "CZ")
    local, at, domain = unicodedata.normalize("NFKC", seen).rpartition("@")
    return f"{local.split('+')[0]}{at}{_domain(domain)}"


def _domain(text: str) -> str:
    """The domain in letters, whether it was written so or in the code of the name system."""
    plain = text.strip(".")
    try:
        return plain.encode("ascii").decode("idna")
    except UnicodeError:
        return plain


def joined_addresses(groups: Iterable[frozenset[str]]) -> dict[str, frozenset[str]]:
    """All addresses of the human behind each address; each group is one person's."""
    known: dict[str, frozenset[str]] = {}
    for group in groups:
        whole = group.union(*(known[one] for one in group if one in known))
        known.update(dict.fromkeys(whole, whole))
    return known


def same_human(one: Human, other: Human) -> bool:
    return one.person_id == other.person_id or bool(one.addresses & other.addresses)


@dataclass(frozen=True, slots=True, kw_only=True)
class Delegation:
    """While `person_id` is away, `delegate_id` reviews in their place."""

    person_id: UUID
    delegate_id: UUID
    starts_at: datetime
    ends_at: datetime

    def holds(self, now: datetime) -> bool:
        return self.starts_at <= now < self.ends_at


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """An account above the request's, or that itself, and who reviews on it."""

    account_id: UUID
    approver_ids: frozenset[UUID] = frozenset()
    operator_ids: frozenset[UUID] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """Everyone who may have a word in a request, as loaded.

    Attributes:
        levels: from the request's account up to the root.
        humans: of all persons named in levels, delegations and the request.
    """

    levels: tuple[Level, ...]
    humans: Mapping[UUID, Human]
    delegations: tuple[Delegation, ...] = ()

    def human(self, person_id: UUID) -> Human:
        return self.humans.get(person_id, Human(person_id=person_id))

    def is_one_of(self, person_id: UUID, others: Iterable[UUID]) -> bool:
        """Whether a person is the same human as any of others."""
        me = self.human(person_id)
        return any(same_human(me, self.human(other)) for other in others)

    def reviewers(self) -> frozenset[UUID]:
        """Everyone whose own role lets them decide: approvers and operators, here and above."""
        return frozenset().union(
            *(level.approver_ids | level.operator_ids for level in self.levels)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The accounts whose approvers are asked; `operators`: those, too."""

    level_ids: tuple[UUID, ...]
    operators: bool
    person_ids: tuple[UUID, ...] = ()


def ask(board: Board, *, authors: Collection[UUID], approvals: int, beyond: int = 0) -> Asked:
    """The nearest approvers that are enough, going up level by level.

    Args:
        authors: whose request it is; they and their other selves do not count.
        approvals: how many different humans are needed.
        beyond: ask so many more levels with somebody to ask: once for each missed deadline.
    """
    levels: list[UUID] = []
    people: list[UUID] = []
    for level in board.levels:
        free = _distinct(board, level.approver_ids, (*authors, *people))
        if not free:
            continue
        if len(people) >= approvals:
            if beyond <= 0:
                break
            beyond -= 1
        levels.append(level.account_id)
        people += free
    short = len(people) < approvals or beyond > 0
    if short:
        operators = frozenset().union(*(level.operator_ids for level in board.levels))
        people += _distinct(board, operators, (*authors, *people))
    return Asked(level_ids=tuple(levels), operators=short, person_ids=tuple(people))


def _distinct(board: Board, candidates: Collection[UUID], known: Iterable[UUID]) -> list[UUID]:
    """Candidates who are other humans than those known and than each other."""
    seen = list(known)
    found: list[UUID] = []
    for candidate in sorted(candidates):
        if not board.is_one_of(candidate, seen):
            found.append(candidate)
            seen.append(candidate)
    return found


def standing(
    board: Board,
    *,
    reviewer_id: UUID,
    authors: Collection[UUID],
    approvals: Sequence[Approval] = (),
    now: datetime,
) -> Approval:
    """In whose name a person may decide a request now: their own, or that of an absent approver.

    Args:
        approvals: given before; nobody may stand behind two.

    Raises:
        Refused: `own_request`, `own_request_by_delegate`, `already_approved`.
        Denied: `not_a_reviewer`.
    """
    if board.is_one_of(reviewer_id, authors):
        raise Refused(
            "own_request",
            "Nobody decides their own request, under whatever login. Somebody else has to.",
        )
    entitled = board.reviewers()
    given = [
        person
        for one in approvals
        for person in (one.reviewer_id, one.on_behalf_of_id)
        if person is not None
    ]
    chances: list[Approval] = []
    if reviewer_id in entitled:
        chances.append(Approval(reviewer_id=reviewer_id))
    chances += [
        Approval(reviewer_id=reviewer_id, on_behalf_of_id=one.person_id)
        for one in board.delegations
        if one.delegate_id == reviewer_id and one.person_id in entitled and one.holds(now)
    ]
    if not chances:
        raise Denied(
            "not_a_reviewer",
            "You review nothing on this account: it takes the role approver on it or above, or "
            "the delegation of somebody who has it.",
            facts={"roles": ["approver", "operator"]},
        )
    others = [
        one
        for one in chances
        if one.on_behalf_of_id is None or not board.is_one_of(one.on_behalf_of_id, authors)
    ]
    if not others:
        raise Refused(
            "own_request_by_delegate",
            "This is the request of the person you stand in for. Somebody else has to decide.",
        )
    for one in others:
        mine = [one.reviewer_id] + ([one.on_behalf_of_id] if one.on_behalf_of_id else [])
        if not any(board.is_one_of(person, given) for person in mine):
            return one
    raise Refused(
        "already_approved",
        "You, or the person you stand in for, approved this already. The second approval is "
        "another person's.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PastRequest:
    """A request as its route was decided: what a policy is tried on."""

    request_id: UUID
    facts: Facts
    approvals: int
    outcome: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Previewed:
    """How a past request went, and how it would have gone."""

    request_id: UUID
    approvals_before: int
    approvals_after: int
    reasons: tuple[str, ...]
    outcome: str

    @property
    def changed(self) -> bool:
        return self.approvals_before != self.approvals_after


def preview_policy(policy: Policy, past: Iterable[PastRequest]) -> list[Previewed]:
    """How each past request would have gone under another policy, on what was known then."""
    found = []
    for one in past:
        judged = judge(policy, one.facts)
        found.append(
            Previewed(
                request_id=one.request_id,
                approvals_before=one.approvals,
                approvals_after=judged.approvals,
                reasons=judged.reasons,
                outcome=one.outcome,
            )
        )
    return found
