"""Use by the hour: exact use averaged, up to whole units, and known only where somebody said so."""

from datetime import timedelta

from accounting.queries.use_by_hour import PoolUse, use_by_hour
from ledger import scope
from tests.world import NOW, Tenant, record

HOUR = timedelta(hours=1)
START = NOW - 6 * HOUR


def read(place: Tenant, *, start=START, end=NOW) -> PoolUse:
    with scope.reading(place.id):
        return use_by_hour(place.id, place.pools["h100"], start=start, end=end)


def hours(place: Tenant, account: str = "nlp") -> list[int]:
    return read(place).hours[place.accounts[account]].tolist()


def test_parts_of_an_hour_count_for_their_part_up_to_whole_units(acme):
    acme.use(
        record("a", units=4, start=START + 0.5 * HOUR, hours=1.5),
        record("b", units=2, start=START + 3 * HOUR, hours=1),
        record("c", units=1, start=START + 5 * HOUR, hours=0.01),
    )
    assert hours(acme) == [2, 4, 0, 2, 0, 1]


def test_what_began_before_and_what_runs_still_counts(acme):
    acme.use(
        record("long", units=3, start=START - 50 * HOUR, hours=52),
        record("runs", units=5, start=START + 4 * HOUR, hours=None),
    )
    assert hours(acme) == [3, 3, 0, 0, 5, 5]
    assert read(acme).now == {acme.accounts["nlp"]: 5}


def test_what_was_corrected_counts_as_corrected(acme):
    acme.use(record("a", units=9, start=START, hours=6))
    acme.use(record("right", units=2, start=START, hours=6, supersedes="a"))
    assert hours(acme) == [2] * 6


def test_a_day_of_which_nobody_said_anything_is_unknown(acme):
    acme.use(record("a", start=NOW - 60 * HOUR, hours=1))
    found = read(acme, start=NOW - 72 * HOUR)
    # Of three days, the one in Berlin on which there was some use is known.
    assert found.known.sum() == 24
    acme.use(record("runs", start=NOW - 10 * HOUR, hours=None))
    assert read(acme, start=NOW - 72 * HOUR).known.sum() == 34
    assert not read(acme, start=NOW - 600 * HOUR, end=NOW - 300 * HOUR).known.any()
