"""The rules of requests without a database, tried on whatever Hypothesis thinks of."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.errors import DomainError, Refused
from quota import request_events as ev
from quota.domain.changes import Lapsed, QuotaBook, Scheduled, Wish
from quota.domain.provisioning import attempt, nearest
from quota.domain.request_state import STEPLESS, fold, terms_values
from quota.domain.requests import Kind, Limits, State, Terms, problems
from quota.domain.routing import (
    DEFAULT,
    Approval,
    Board,
    Delegation,
    Facts,
    Human,
    Level,
    PastRequest,
    Policy,
    address,
    ask,
    judge,
    preview_policy,
    same_human,
    standing,
)
from quota.domain.values import Pool, Quota
from tests.world import NOW

DAY = timedelta(days=1)
POOL_ID = UUID(int=999)


def uid(number: int) -> UUID:
    return UUID(int=number)


# -- who decides -----------------------------------------------------------------------------

PEOPLE = [uid(number) for number in range(1, 9)]
ADDRESSES = ["a@x.org", "b@x.org", "c@x.org"]
humans = st.fixed_dictionaries(
    {
        person: st.frozensets(st.sampled_from(ADDRESSES), max_size=2).map(
            lambda found, person=person: Human(person_id=person, addresses=found)
        )
        for person in PEOPLE
    }
)
someone = st.sampled_from(PEOPLE)
levels = st.lists(
    st.builds(
        Level,
        account_id=st.integers(100, 10_000).map(uid),
        approver_ids=st.frozensets(someone, max_size=4),
        operator_ids=st.frozensets(someone, max_size=2),
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda level: level.account_id,
).map(tuple)
delegations = st.lists(
    st.builds(
        Delegation,
        person_id=someone,
        delegate_id=someone,
        starts_at=st.sampled_from([NOW - DAY, NOW + DAY]),
        ends_at=st.sampled_from([NOW + DAY, NOW + 2 * DAY]),
    ),
    max_size=6,
).map(tuple)
boards = st.builds(Board, levels=levels, humans=humans, delegations=delegations)


def behind(one: Approval) -> list[UUID]:
    return [person for person in (one.reviewer_id, one.on_behalf_of_id) if person]


@given(board=boards, authors=st.sets(someone, min_size=1, max_size=3), order=st.lists(someone))
def test_whoever_approves_in_whatever_order_no_human_stands_behind_two_things(
    board, authors, order
):
    """Everybody tries to approve, again and again; what is let through never overlaps."""
    given_: list[Approval] = []
    for person in order:
        try:
            word = standing(board, reviewer_id=person, authors=authors, approvals=given_, now=NOW)
        except DomainError:
            continue
        entitled = word.on_behalf_of_id or word.reviewer_id
        assert entitled in board.reviewers()
        if word.on_behalf_of_id:
            assert any(
                one.delegate_id == person and one.person_id == entitled and one.holds(NOW)
                for one in board.delegations
            )
        given_.append(word)
    sides = [list(authors), *map(behind, given_)]
    for index, one in enumerate(sides):
        for other in sides[index + 1 :]:
            assert not any(same_human(board.human(a), board.human(b)) for a in one for b in other)


@given(
    board=boards,
    authors=st.sets(someone, min_size=1, max_size=2),
    approvals=st.integers(1, 2),
    beyond=st.integers(0, 4),
)
def test_those_asked_are_different_humans_who_may_decide(board, authors, approvals, beyond):
    asked = ask(board, authors=authors, approvals=approvals, beyond=beyond)
    for person in asked.person_ids:
        assert standing(board, reviewer_id=person, authors=authors, now=NOW)
    for index, person in enumerate(asked.person_ids):
        assert not board.is_one_of(person, asked.person_ids[index + 1 :])
    further = ask(board, authors=authors, approvals=approvals, beyond=beyond + 1)
    assert set(asked.level_ids) <= set(further.level_ids), "an escalation asks nobody less"
    assert set(asked.person_ids) <= set(further.person_ids)
    order = [level.account_id for level in board.levels]
    assert list(asked.level_ids) == [one for one in order if one in asked.level_ids]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Ana@Example.org", " ana@example.ORG"),
        ("ana+gpu@example.org", "ana@example.org"),
        ("STRASSE@x.org", "straße@x.org"),
    ],
)
def test_addresses_of_one_human(one, other):
    assert address(one) == address(other)


def test_addresses_of_two_humans():
    assert len({address(text) for text in ("a@x.org", "b@x.org", "a@y.org", "x.org")}) == 4


# -- the policy ------------------------------------------------------------------------------

facts = st.builds(
    Facts,
    kind=st.sampled_from([str(kind) for kind in Kind]),
    rise=st.integers(0, 300),
    held=st.integers(0, 50),
    fits=st.booleans(),
    days=st.none() | st.integers(1, 400),
    use_percent=st.none() | st.integers(0, 120),
    price=st.none() | st.decimals(0, 10_000, places=2),
    rejections=st.integers(0, 2),
    automatic_units=st.integers(0, 60),
    extensions=st.integers(0, 1),
)
policies = st.builds(
    Policy,
    automatic=st.booleans(),
    automatic_units_max=st.integers(0, 200),
    automatic_days_max=st.none() | st.integers(1, 366),
    automatic_price_max=st.none() | st.decimals(0, 5_000, places=2),
    use_percent_min=st.integers(0, 100),
    unknown_use_passes=st.booleans(),
    two_approvals_units=st.integers(1, 200),
)


@given(policy=policies, known=facts, more=st.integers(1, 100))
def test_a_larger_wish_never_needs_fewer_approvals(policy, known, more):
    larger = replace(known, rise=known.rise + more)
    assert judge(policy, larger).approvals >= judge(policy, known).approvals


@given(policy=policies, known=facts)
def test_whatever_is_decided_has_a_reason(policy, known):
    judged = judge(policy, known)
    assert judged.approvals in (0, 1, 2)
    assert judged.reasons
    if known.kind == Kind.LOWER:
        assert judged.approvals == 0
    elif not known.fits or not policy.automatic or known.kind in ("transfer", "justification"):
        assert judged.approvals >= 1


@given(policy=policies, past=st.lists(facts, max_size=5))
def test_a_preview_says_what_the_policy_would_decide(policy, past):
    asked = [
        PastRequest(request_id=uid(number), facts=one, approvals=1, outcome="approved")
        for number, one in enumerate(past)
    ]
    seen = preview_policy(policy, asked)
    assert [one.approvals_after for one in seen] == [judge(policy, one).approvals for one in past]


def test_the_default_grants_24_units_for_six_weeks_and_a_hundred_takes_two():
    small = Facts(kind="boost", rise=24, days=42)
    assert judge(DEFAULT, small).approvals == 0
    assert judge(DEFAULT, replace(small, rise=33)).approvals == 1
    assert judge(DEFAULT, replace(small, rise=99)).approvals == 1
    assert judge(DEFAULT, replace(small, rise=100)).approvals == 2
    dear = replace(DEFAULT, automatic_price_max=Decimal(10))
    assert judge(dear, replace(small, price=Decimal("10.01"))).approvals == 1
    assert judge(dear, small).approvals == 0, "unrated units have no price to be above"


# -- what becomes of a pool ------------------------------------------------------------------

ROOT, DEPARTMENT, TEAM, OTHER = uid(11), uid(12), uid(13), uid(14)
ABOVE = {ROOT: (), DEPARTMENT: (ROOT,), TEAM: (ROOT, DEPARTMENT), OTHER: (ROOT, DEPARTMENT)}
POOL = Pool(name="h100", capacity=100)
instants = st.integers(0, 40).map(lambda days: NOW + days * DAY)


@st.composite
def books(draw):
    """A pool whose quotas came about by grants that were allowed, and changes to come."""
    book = QuotaBook(pool=POOL, cells={}, path=ABOVE.__getitem__)
    for _ in range(draw(st.integers(0, 5))):
        account = draw(st.sampled_from([ROOT, DEPARTMENT, OTHER, TEAM]))
        quota = Quota(guaranteed=draw(st.integers(0, 70)))
        ends_at = draw(st.none() | instants.filter(lambda at: at > NOW))
        try:
            book.set(Wish(account=account, quota=quota, ends_at=ends_at), at=NOW)
        except DomainError:
            continue
    pending = [
        Scheduled(
            id=number,
            starts_at=draw(instants.filter(lambda at: at > NOW)),
            wish=Wish(
                account=draw(st.sampled_from([DEPARTMENT, OTHER])),
                quota=Quota(guaranteed=draw(st.integers(0, 70))),
            ),
        )
        for number in range(draw(st.integers(0, 3)))
    ]
    return book, pending


@st.composite
def wishes(draw):
    kind = draw(st.sampled_from([Kind.NEW, Kind.RAISE, Kind.BOOST, Kind.LOWER, Kind.CEILING]))
    start = None if kind == Kind.LOWER else draw(st.none() | instants)
    end = None
    if kind == Kind.BOOST or (kind != Kind.LOWER and draw(st.booleans())):
        end = (start or NOW) + draw(st.integers(1, 30)) * DAY
    return Terms(
        account_id=TEAM,
        pool_id=POOL_ID,
        kind=kind,
        units=draw(st.integers(1, 90)),
        starts_at=start,
        ends_at=end,
        purpose="p",
    )


def lapsed(changes) -> set:
    return {(one.account, one.scheduled) for one in changes if isinstance(one, Lapsed)}


def copy(book: QuotaBook) -> QuotaBook:
    return replace(book, cells=dict(book.cells))


@given(made=books(), terms=wishes())
def test_what_fits_can_be_granted_and_displaces_nothing_to_come(made, terms):
    book, pending = made
    cells = dict(book.cells)
    try:
        trial = attempt(terms, book, pending, now=NOW)
    except Refused:
        return
    assert book.cells == cells, "a trial changes nothing"
    if not trial.fits:
        return
    horizon = NOW + 365 * DAY
    without = lapsed(copy(book).settle(pending, now=horizon))
    mine = [Scheduled(id="mine", starts_at=trial.starts_at, wish=wish) for wish in trial.wishes]
    real = copy(book)
    changes = real.settle([one for one in pending if one.starts_at <= NOW], now=NOW)
    changes += real.settle([*pending, *mine], now=horizon)
    assert lapsed(changes) <= without
    assert all(one.free >= 0 for one in trial.series_with)


@given(made=books(), terms=wishes())
def test_what_is_offered_instead_passes(made, terms):
    book, pending = made
    try:
        trial = attempt(terms, book, pending, now=NOW)
    except Refused:
        return
    other = nearest(terms, book, pending, trial, now=NOW)
    if trial.fits:
        assert (other.units, other.starts_at) == (None, None)
        return
    if other.units is not None:
        assert 0 < other.units < terms.units
        assert attempt(replace(terms, units=other.units), book, pending, now=NOW).fits
    if other.starts_at is not None:
        moved = replace(terms, starts_at=other.starts_at, ends_at=other.ends_at)
        assert moved.starts_at > trial.starts_at
        assert attempt(moved, book, pending, now=NOW).fits


# -- the fields ------------------------------------------------------------------------------

any_units = st.none() | st.integers(-5, 2 * 10**9)
any_instant = st.none() | st.integers(-400, 1_200).map(lambda days: NOW + days * DAY)


@given(
    kind=st.sampled_from([*map(str, Kind), "gift"]),
    units=any_units,
    starts_at=any_instant,
    ends_at=any_instant,
    purpose=st.text(max_size=5),
)
def test_whatever_is_typed_is_answered_at_a_field(kind, units, starts_at, ends_at, purpose):
    terms = Terms(
        account_id=TEAM,
        pool_id=POOL_ID,
        kind=kind,
        units=units,
        starts_at=starts_at,
        ends_at=ends_at,
        purpose=purpose,
    )
    found = problems(terms, now=NOW, limits=Limits(), pool=POOL)
    assert all(one.field and one.code for one in found)
    if not found and kind not in ("ceiling", "extension", "justification"):
        assert 1 <= units <= POOL.capacity
        assert ends_at is None or ends_at > max(NOW, starts_at or NOW)


# -- the states ------------------------------------------------------------------------------


def test_a_history_by_hand_makes_the_request():
    ref = {"request_id": uid(1), "account_id": TEAM, "pool_id": POOL_ID}
    terms = terms_values(
        Terms(account_id=TEAM, pool_id=POOL_ID, kind="boost", units=9, purpose="p")
    )
    route = ev.RequestRoute(
        approvals=2, level_ids=(ROOT,), operators=False, due_at=NOW + DAY, reasons=("large",)
    )
    known = ev.RequestFacts(
        rise=9,
        held=0,
        fits=True,
        days=None,
        use_percent=None,
        price=None,
        currency=None,
        rejections=0,
        automatic_units=0,
        extensions=0,
    )
    word = {"reviewer_id": uid(3), "on_behalf_of_id": None}
    said = [
        ev.RequestDrafted(**ref, author_id=uid(2), terms=terms),
        ev.RequestSubmitted(**ref, author_id=uid(2), terms=terms, route=route, facts=known),
        ev.RequestReminded(**ref, due_at=NOW + DAY),
        ev.RequestEndorsed(**ref, **word),
        ev.RequestCountered(
            **ref, reviewer_id=uid(4), on_behalf_of_id=uid(5), units=6, ends_at=None
        ),
        ev.RequestCounterAccepted(**ref, author_id=uid(2), units=6, ends_at=None, complete=True),
        ev.RequestProvisioned(**ref, units=6, ends_at=None),
    ]
    states = []
    for number in range(1, len(said) + 1):
        request = fold((one, NOW) for one in said[:number])
        states.append(str(request.state))
    assert states == [
        "draft",
        "submitted",
        "submitted",
        "submitted",
        "countered",
        "approved",
        "provisioned",
    ]
    assert request.version == len([one for one in said if not isinstance(one, STEPLESS)])
    assert request.terms.units == 6
    assert [one.reviewer_id for one in request.approvals] == [uid(3), uid(4)]
    assert request.state == State.PROVISIONED
    assert request.drafted_at == request.submitted_at == NOW


@pytest.mark.parametrize(
    ("start", "end", "days"),
    [
        ((2026, 9, 7), (2026, 11, 2), 56),  # over the hour put back in autumn
        ((2026, 3, 2), (2026, 4, 27), 56),  # over the hour put forward in spring
        ((2026, 10, 25), (2026, 10, 26), 1),  # the day of 25 hours itself
        ((2026, 3, 29), (2026, 3, 30), 1),  # the day of 23 hours itself
        ((2026, 1, 1), (2026, 1, 1, 0, 30), 1),
        ((2026, 1, 1), (2026, 1, 3, 12), 3),
        ((2026, 1, 2), (2026, 1, 1), -1),
    ],
)
def test_days_of_a_period_are_those_of_the_calendar(start, end, days):
    zone = ZoneInfo("Europe/Berlin")
    starts_at, ends_at = (datetime(*one, tzinfo=zone).astimezone(UTC) for one in (start, end))
    asked = Terms(
        account_id=uid(1),
        pool_id=uid(2),
        kind="boost",
        units=8,
        starts_at=starts_at,
        ends_at=ends_at,
        purpose="train",
    )
    assert asked.days(starts_at) == days
    if days > 0:
        assert not problems(asked, now=starts_at, limits=Limits(days_max=days))
