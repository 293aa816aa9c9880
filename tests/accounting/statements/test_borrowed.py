"""Borrowed use by the day: the rollup of whole days and the records of their parts agree."""

from collections import Counter
from datetime import date, timedelta
from decimal import Decimal
from random import Random

import pytest

from accounting import statement_rating
from accounting.commands.usage import SettleUsage
from accounting.domain import splitting
from accounting.importers.record import UNITS_MAX
from accounting.statement_rating import borrowed_by_segment
from accounting.usage_sums import SMALL_UNITS
from ledger import scope
from quota.commands.admissions import AdmitBatch
from quota.commands.allocations import StartAllocations
from quota.wire import Ask, Message
from tests.accounting.statements.test_guarantees import promise
from tests.accounting.statements.test_rating import BERLIN, DAY, END, LATER, OCTOBER, START, publish
from tests.world import Tenant, record

MICROSECOND = timedelta(microseconds=1)


def rolled(seed: int) -> list[dict]:
    """Records that ended, before, in and beyond the month, some of months, some that run on."""
    dice = Random(seed)
    return [
        record(
            str(number),
            start=START + timedelta(microseconds=dice.randrange(-4 * 10**12, 25 * 10**11)),
            hours=dice.choice((0.001, 1, 7.7, 30, 900, 1500, None)),
            tier=dice.choice(("borrowed", "borrowed", "spot")),
            units=dice.randrange(1, 500),
            pool=dice.choice(("h100", "a100")),
        )
        for number in range(60)
    ]


def by_hand(place: Tenant, rows: list[dict], segments, until) -> dict:
    """Units x microseconds of each record in each segment."""
    found: Counter = Counter()
    for row in rows:
        if row["tier"] != "borrowed":
            continue
        for n, segment in enumerate(segments):
            start = max(row["start"], segment.start)
            end = min(row["end"] or until, segment.end)
            if start < end:
                length = splitting.microseconds(start, end)
                found[place.pools[row["pool"]], n] += row["units"] * length
    return dict(found)


def borrowed(place: Tenant, *, now=LATER, first: date = OCTOBER):
    with scope.reading(place.id):
        here = statement_rating.ground(place.id, first, now=now)
        segments = here.segments(days=True)
        found = borrowed_by_segment(here, segments)
    return segments, {key: amount for key, amount in found.items() if amount}


@pytest.mark.parametrize("prices", [(), (12.5,), (12.5, 20.25)])
@pytest.mark.parametrize("until", [END, START + 17 * DAY + 5 * MICROSECOND])
def test_every_day_and_part_of_a_day_has_what_ran_in_it(acme, prices, until):
    """A month with a day of 25 hours, cut at noon by prices, or by now."""
    publish(acme, "1", at=START - 200 * DAY)
    for days in prices:
        publish(acme, "2", at=START + timedelta(days=days))
    rows = rolled(len(prices))
    acme.use(*rows, now=LATER)
    segments, found = borrowed(acme, now=until if until < END else LATER)
    assert found == by_hand(acme, rows, segments, until)


@pytest.mark.parametrize("asked", [timedelta(0), timedelta(hours=7)])
def test_today_has_what_ran_until_now(acme, asked):
    """Also when more was settled meanwhile than had ended by the instant that is asked about."""
    publish(acme, "1", at=START - 200 * DAY)
    until = START + 17 * DAY + timedelta(hours=9)
    rows = [row for row in rolled(5) if row["start"] < until]
    rows.append(
        record("short", start=until - timedelta(hours=3), hours=2, tier="borrowed", units=11)
    )
    acme.use(*rows, now=until)
    acme.run(SettleUsage(until=until + DAY), now=until + DAY)
    ask = until + DAY - asked
    segments, found = borrowed(acme, now=ask)
    assert found == by_hand(acme, rows, segments, ask)


def test_a_corrected_record_counts_as_it_was_corrected(acme):
    publish(acme, "1", at=START - DAY)
    first = record("a", units=5, hours=30, start=START + DAY, tier="borrowed")
    acme.use(first)
    acme.use({**first, "key": "b", "units": 7, "supersedes": "a"})
    _, found = borrowed(acme)
    assert sum(found.values()) == 7 * 30 * 3600 * 10**6


def test_what_is_handed_out_and_reported_by_nobody_counts(acme):
    publish(acme, "1", at=START - DAY)
    promise(acme, "serving", 10)
    ask = Ask(key="b", account="vision", person="bob", pool="h100", units=2, tier="borrowed")
    told = acme.run(AdmitBatch(requests=(ask,)), now=END - 2 * DAY).result
    assert told.admitted == 1
    acme.run(StartAllocations(messages=(Message(key="b"),)), now=END - 2 * DAY)
    segments, found = borrowed(acme, now=END - 2 * DAY + timedelta(seconds=30))
    assert sum(found.values()) == 2 * 30 * 10**6
    assert segments[-1].end == END - 2 * DAY + timedelta(seconds=30)


def test_the_largest_record_of_the_longest_month_is_exact(acme):
    """Its product with the length of a month would not fit 63 bits."""
    publish(acme, "1", at=START - DAY)
    row = record("huge", units=UNITS_MAX, hours=None, start=START - DAY, tier="borrowed")
    edge = record("edge", units=SMALL_UNITS, hours=None, start=START - DAY, tier="borrowed")
    acme.use(row, edge)
    month = splitting.microseconds(START, END)
    assert UNITS_MAX * month > 2**63 > SMALL_UNITS * month
    _, found = borrowed(acme)
    assert sum(found.values()) == (UNITS_MAX + SMALL_UNITS) * month
    with scope.reading(acme.id):
        here = statement_rating.ground(acme.id, OCTOBER, now=LATER)
        (line,) = statement_rating.month_use(here).lines
    assert line.unit_seconds == Decimal((UNITS_MAX + SMALL_UNITS) * month).scaleb(-6)
    assert (here.month.end - here.month.start) > 31 * DAY and BERLIN.key == "Europe/Berlin"
