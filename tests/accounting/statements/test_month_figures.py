"""Figures of large months say what the lines say, and their pages read no line."""

import random
from datetime import timedelta
from decimal import Decimal

import psycopg
import pytest

from accounting import figure_rounds
from accounting.commands.statements import CloseMonth, GrantCredit, StartClose
from accounting.domain.comparison import EVERYTHING
from accounting.queries import comparison, glance, month_figures, organization_month, wide_months
from accounting.queries import showback as live
from ledger import scope
from tests.accounting.budgets.sample_budgets import SINCE, look
from tests.accounting.sample_statements import let_small_be_large
from tests.accounting.statements.test_close import NOVEMBER
from tests.accounting.statements.test_guarantees import promise
from tests.accounting.statements.test_rating import OCTOBER, publish
from tests.world import NOW, Tenant, record

DAY = timedelta(days=1)
LATER = NOW + timedelta(hours=1)
TIERS = ("guaranteed", "borrowed", "spot")


@pytest.fixture
def small_is_large(monkeypatch):
    let_small_be_large(monkeypatch)


@pytest.fixture(params=(1, 2))
def place(acme, request) -> Tenant:
    """Two months of random use, promises, credits and a commitment; prices change within."""
    rng = random.Random(request.param)
    publish(acme, "2.37", at=SINCE - 10 * DAY)
    publish(acme, "1.113", at=SINCE + rng.randint(3, 50) * DAY)
    for n in range(4):
        acme.account(f"team-{n}", under=rng.choice(("research", "production")))
    accounts = [f"team-{n}" for n in range(4)] + ["nlp", "vision"]
    for account in accounts[:4]:
        promise(acme, account, rng.randint(1, 4), at=SINCE)
    rows = []
    for n in range(60):
        project = rng.choice((None, None, "lima", "oslo"))
        more = {"labels": {"project": project}} if project else {}
        if rng.random() < 0.5:
            more["productive_util"] = Decimal(rng.randint(1, 100)) / 100
        start = SINCE + timedelta(minutes=rng.randint(0, 58 * 1440))
        rows.append(
            record(f"r{n}", start=start, hours=rng.randint(1, 60), units=rng.randint(1, 8),
                   account=rng.choice(accounts), tier=rng.choice(TIERS),
                   pool=rng.choice(("h100", "h100", "a100")), **more)
        )  # fmt: skip
    acme.use(*rows, now=NOW)
    vision = acme.accounts["vision"]
    acme.run(GrantCredit(account_id=vision, amount=Decimal("3.21")), reason="test")
    return acme


def close(place: Tenant, *, now=NOW) -> None:
    accept = ("telemetry_missing", "unrated_use")
    place.run(StartClose(month=OCTOBER, accept=accept), reason="t", now=now)
    while not place.run(CloseMonth(month=OCTOBER), now=now).result.closed:
        pass


def both(place: Tenant, month, *, account=None, details=()):
    """An account's month from its figures and from its lines."""
    account = place.root if account is None else account
    drawn = month_figures.figures(place.id, account, month, now=LATER)
    assert drawn is not None
    now = LATER if drawn.state == "closed" else drawn.as_of
    return drawn, live.showback(place.id, account, month, now=now, details=details)


def unrated(found) -> set[tuple]:
    return {(one.group.account[0], one.group.pool, one.unit_seconds) for one in found}


def drawn_months(place: Tenant):
    """October closed, November open, both drawn."""
    close(place)
    look(place, now=NOW + timedelta(minutes=1))
    return OCTOBER, NOVEMBER


def test_sums_are_those_of_the_lines(place, small_is_large):
    months = drawn_months(place)
    with scope.reading(place.id):
        names = live.names_of(place.id)
        for month in months:
            for account in place.accounts.values():
                drawn, found = both(place, month, account=account)
                assert drawn.total == found.total
                assert live.by_kind(drawn) == live.by_kind(found)
                assert unrated(month_figures.unrated(drawn)) == unrated(found.unrated)
                for by in (("team", "pool"), ("account",), ("kind", "tier"), ("team", "account")):
                    cells, count = month_figures.cells(drawn, by, names, limit=1_000)
                    assert (cells, count) == ((old := live.drill(found, by, names)), len(old))


def test_changes_and_the_glance_are_those_of_the_lines(place, small_is_large):
    months = drawn_months(place)
    with scope.reading(place.id):
        names = live.names_of(place.id)
        pairs = [both(place, month) for month in months]
        assert live.changes(pairs[1][0], pairs[0][0]) == live.changes(pairs[1][1], pairs[0][1])
        drawn, found = pairs[1]
        now = drawn.as_of
        assert glance.glance(place.id, drawn, names, now=now) == glance.glance(
            place.id, found, names, now=now
        )


def test_the_organization_page_is_the_same(place, small_is_large):
    months = drawn_months(place)
    with scope.reading(place.id):
        old, new = (both(place, month, details=("project",)) for month in months)
        drawn = organization_month.organization_month(new[0], old[0])
        found = organization_month.organization_month(new[1], old[1])
        mixed = organization_month.organization_month(new[0], old[1])
        closed = organization_month.organization_month(old[0], new[0])
        assert drawn == found == mixed
        assert closed == organization_month.organization_month(old[1], new[1])
        assert drawn.untagged > 0 and len(drawn.movers) > 2


def test_the_comparison_is_the_same(place, small_is_large):
    months = drawn_months(place)
    with scope.reading(place.id):
        names = live.names_of(place.id)
        for month in months:
            drawn, _ = both(place, month)
            computed = comparison.teams(place.id, place.root, month, now=drawn.as_of)
            stored = comparison.drawn_teams(drawn, names)
            order = {one.account: one for one in computed}
            assert {one.account: one for one in stored} == order
            assert any(one.productive_cost for one in stored)


def test_use_by_day_adds_up_to_the_use(place, small_is_large):
    for month in drawn_months(place):
        with scope.reading(place.id):
            drawn, _ = both(place, month)
            days = month_figures.use_by_day(drawn)
            assert sum(days.values()) == live.by_kind(drawn)["usage"]


def test_a_page_goes_on_with_the_drawing_that_it_began_with(place, small_is_large):
    drawn_months(place)
    with scope.reading(place.id):
        begun, _ = both(place, NOVEMBER)
        before = month_figures.below(begun)
    place.use(record("more", start=NOW - DAY, hours=2), now=NOW + timedelta(minutes=2))
    look(place, now=LATER)
    with scope.reading(place.id):
        assert month_figures.below(begun) == before
        fresh = month_figures.figures(place.id, place.root, NOVEMBER, now=LATER)
        assert fresh.as_of == LATER and fresh.total.amount > begun.total.amount
        assert month_figures.use_by_day(begun) == {}
    look(place, now=LATER + timedelta(hours=1))
    with scope.reading(place.id):
        assert month_figures.below(begun) == []


def test_expected_adjustments_of_a_large_month_are_drawn(place, small_is_large):
    drawn_months(place)
    late = NOW + timedelta(hours=3)
    place.use(record("late", start=SINCE + DAY, hours=5, account="vision"), now=late)
    look(place, now=late + timedelta(minutes=1))
    with scope.reading(place.id):
        now = late + timedelta(minutes=2)
        found = live.showback(place.id, place.root, NOVEMBER, now=now)
        computed = wide_months.expected_adjustments(place.id, found, now=now)
        drawn = wide_months.expected(place.id, found, now=now)
        assert (drawn.amount, drawn.count, drawn.months) == (
            computed.amount, computed.count, (OCTOBER,))  # fmt: skip
        assert drawn.count and drawn.as_of == late + timedelta(minutes=1)


def test_a_closed_month_is_not_told_from_figures_of_the_open_one(place, small_is_large):
    look(place)
    close(place)
    with scope.reading(place.id):
        assert month_figures.figures(place.id, place.root, OCTOBER, now=LATER) is None
    look(place, now=LATER)
    with scope.reading(place.id):
        found = month_figures.figures(place.id, place.root, OCTOBER, now=LATER)
        assert found.state == "closed" and found.digest


def test_small_months_have_no_figures(place):
    drawn_months(place)
    with scope.reading(place.id):
        for month in (OCTOBER, NOVEMBER):
            assert month_figures.figures(place.id, place.root, month, now=LATER) is None


def test_what_somebody_does_makes_figures_old(place, small_is_large):
    def stale() -> list:
        with scope.reading(place.id):
            return figure_rounds.stale_months(place.id)

    look(place)
    assert stale() == []
    credit = GrantCredit(account_id=place.accounts["nlp"], amount=Decimal(5))
    place.run(credit, reason="t", now=NOW + timedelta(minutes=5))
    assert stale() == [OCTOBER, NOVEMBER]
    assert figure_rounds.refresh(place.id, now=NOW + timedelta(minutes=6)) == 2
    assert stale() == []
    close(place, now=NOW + timedelta(minutes=7))
    assert stale() == [OCTOBER]
    figure_rounds.refresh(place.id, now=NOW + timedelta(minutes=8))
    assert stale() == []
    # Of two at once, the later to get its turn finds it done.
    figure_rounds.draw(place.id, NOVEMBER, now=NOW + timedelta(minutes=5))
    with scope.reading(place.id):
        found = month_figures.figures(place.id, place.root, NOVEMBER, now=LATER)
        assert found.as_of == NOW + timedelta(minutes=6)


def questions(place: Tenant, monkeypatch) -> int:
    """How many statements the pages send: by the driver, since most go past Django."""
    seen = []
    plain = psycopg.Cursor.execute

    def counted(cursor, *arguments, **options):
        seen.append(arguments)
        return plain(cursor, *arguments, **options)

    with scope.reading(place.id), monkeypatch.context() as patched:
        patched.setattr(psycopg.Cursor, "execute", counted)
        names = live.names_of(place.id)
        new, old = (month_figures.figures(place.id, place.root, month, now=LATER)
                    for month in (NOVEMBER, OCTOBER))  # fmt: skip
        organization_month.organization_month(new, old)
        month_figures.cells(new, ("team", "pool"), names, limit=100)
        comparison.comparison(place.id, place.root, OCTOBER, allowed=EVERYTHING, accounts=(),
                              by="utilization", now=LATER)  # fmt: skip
    return len(seen)


def test_more_accounts_ask_no_more_of_the_database(place, small_is_large, monkeypatch):
    drawn_months(place)
    few = questions(place, monkeypatch)
    for n in range(25):
        place.account(f"more-{n}", under="research")
        row = record(f"m{n}", start=NOW - DAY, hours=1, account=f"more-{n}")
        place.use(row, now=NOW + timedelta(minutes=2))
    look(place, now=LATER)
    assert questions(place, monkeypatch) == few > 5
