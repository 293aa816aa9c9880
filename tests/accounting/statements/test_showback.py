"""What people are shown of a month adds up to it, open or closed, however it is drilled into."""

from datetime import date
from decimal import Decimal
from itertools import combinations

import pytest

from accounting.queries import showback as queries
from ledger import scope
from ledger.errors import DomainError
from tests.accounting.statements.test_close import NOVEMBER, close
from tests.accounting.statements.test_rating import LATER, OCTOBER, START
from tests.world import NOW, record

PAIRS = [*combinations(queries.DIMENSIONS, 2), *((name,) for name in queries.DIMENSIONS)]


def shown(place, account="root", first=OCTOBER, *, now=LATER):
    with scope.reading(place.id):
        return queries.showback(
            place.id, place.accounts[account], first, now=now, details=queries.DETAILS
        )


def cells(place, found, *dimensions):
    with scope.reading(place.id):
        names = queries.names_of(place.id)
    return {one.values: one.amount for one in queries.drill(found, dimensions, names)}


def test_every_drill_down_adds_up_open_and_closed(place):
    for number, units in enumerate((1, 2, 3, 7)):
        labels = {"project": f"p{number % 2}"} if number else None
        place.use(record(f"m{number}", units=units, hours=0.123, start=START, labels=labels,
                         account="vision" if number % 2 else "nlp"), now=LATER)  # fmt: skip
    before = shown(place)
    close(place)
    after = shown(place)
    assert (before.state, after.state) == ("open", "closed") and after.digest
    assert before.total == after.total
    for dimensions in PAIRS:
        was, is_ = cells(place, before, *dimensions), cells(place, after, *dimensions)
        assert was == is_
        assert sum(is_.values()) == after.total.amount
    research = shown(place, "research")
    assert research.total.amount == cells(place, after, "team")["research",]
    assert cells(place, research, "project")["p",] == 1600
    assert queries.by_day(before) == queries.by_day(after)


def test_what_changed_against_last_month_is_by_use_or_by_price(place):
    place.use(record("n", units=8, hours=150, start=START.replace(month=11, day=2)), now=NOW)
    october, november = shown(place, "nlp"), shown(place, "nlp", NOVEMBER, now=NOW)
    found = {(one.kind, one.tier): one for one in queries.changes(november, october)}
    usage = found["usage", "guaranteed"]
    assert (usage.before, usage.now, usage.by_use, usage.by_price) == (1600, 2400, 800, 0)


def test_a_month_is_not_drilled_into_by_what_it_does_not_have(place):
    for wrong in ((), ("pool", "tier", "kind"), ("color",)):
        with pytest.raises(DomainError) as caught:
            queries.drill(shown(place), wrong, {})
        assert caught.value.code == "grouping_unknown"


def test_a_month_without_anything_is_empty(place):
    found = shown(place, "vision", date(2026, 8, 1))
    assert (found.lines, found.total.amount) == ((), Decimal(0))


def test_a_line_keeps_its_name(place):
    names = [queries.line_id(line) for line in shown(place).lines]
    assert len(set(names)) == len(names)
    assert names == [queries.line_id(line) for line in shown(place).lines]
