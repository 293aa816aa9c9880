"""What was held becomes usage once, whichever way the scheduler tells of it and in which order."""

from datetime import datetime, timedelta

import pytest

from accounting.allocated_usage import meter
from ledger import scope, verification
from ledger.sql import server_cursor
from quota.commands.admissions import AdmitBatch
from quota.commands.allocations import ReleaseAllocations, ResizeAllocations, StartAllocations
from quota.commands.quotas import SetQuota
from quota.wire import Ask, Message, ReleaseMessage, ResizeMessage
from tests.world import NOW, Tenant, record

pytestmark = pytest.mark.django_db(transaction=True)
HOUR = timedelta(hours=1)
END = NOW + HOUR / 6


@pytest.fixture
def place(acme) -> Tenant:
    """nlp has 10 units of h100 guaranteed, research 60 more that are idle."""
    for account, units in (("nlp", 10), ("vision", 60)):
        command = SetQuota(
            account_id=acme.accounts[account], pool_id=acme.pools["h100"], guaranteed=units
        )
        acme.run(command, reason="test")
    return acme


def run_job(place: Tenant, key: str = "48300", *, end: datetime = END, **values) -> None:
    """Job of 6 units from NOW to `end`."""
    asked = {"account": "nlp", "person": "bob", "pool": "h100", "units": 6} | values
    place.run(AdmitBatch(requests=(Ask(key=key, **asked),)))
    place.run(StartAllocations(messages=(Message(key=key),)))
    place.run(ReleaseAllocations(messages=(ReleaseMessage(key=key),)), now=end)


def reported(**values) -> dict:
    """The scheduler's own record of job 48300, a little longer than ours."""
    return (
        record(
            "lab/48300/1796040000/0",
            source="sacct",
            units=6,
            start=NOW - timedelta(seconds=5),
            hours=0.25,
            labels={"job_id": "48300"},
        )
        | values
    )


def unit_seconds(place: Tenant) -> int:
    with scope.reading(place.id), server_cursor() as cursor:
        sql = "SELECT coalesce(sum(unit_seconds), 0) FROM accounting_usageday"
        return int(cursor.execute(sql).fetchone()[0])


def test_an_ended_allocation_is_metered_once(place):
    run_job(place, labels={"project": "x"})
    assert meter(place.id, now=END) > 0
    assert meter(place.id, now=END) >= 0
    meter(place.id, now=END + HOUR)
    assert unit_seconds(place) == 6 * 600
    with scope.reading(place.id), server_cursor() as cursor:
        rows = cursor.execute("SELECT key, labels::text FROM accounting_usagerecord").fetchall()
    assert rows == [("48300/1/h100", '{"project": "x"}')]
    assert verification.verify(place.id).findings == []


def test_a_crash_between_record_and_cursor_counts_nothing_twice(place, owner):
    run_job(place)
    meter(place.id, now=END)
    owner.execute("DELETE FROM ledger_reader")
    meter(place.id, now=END)
    assert unit_seconds(place) == 6 * 600


def test_sizes_and_tiers_are_counted_as_they_were(place):
    place.run(
        AdmitBatch(
            requests=(Ask(key="e", account="nlp", person="bob", pool="h100", units=8, min_units=2),)
        )
    )
    place.run(StartAllocations(messages=(Message(key="e"),)))
    resize = ResizeAllocations(messages=(ResizeMessage(key="e", units=2),))
    place.run(resize, now=NOW + timedelta(minutes=5))
    place.run(ReleaseAllocations(messages=(ReleaseMessage(key="e"),)), now=END)
    meter(place.id, now=END)
    assert unit_seconds(place) == 8 * 300 + 2 * 300


def test_a_hold_that_never_started_and_a_lapsed_lease(place):
    asks = tuple(
        Ask(key=key, account="nlp", person="bob", pool="h100", units=1) for key in ("a", "b")
    )
    place.run(AdmitBatch(requests=asks))
    place.run(StartAllocations(messages=(Message(key="b"),)))
    # Found out by the next admission: the hold at 5 minutes, the lease at 15.
    place.run(AdmitBatch(requests=(asks[0],)), now=NOW + HOUR)
    meter(place.id, now=NOW + HOUR)
    assert unit_seconds(place) == 900


THEIRS = 6 * 900


@pytest.mark.parametrize("by_key", [False, True], ids=["by label", "by key"])
@pytest.mark.parametrize("first", ["allocation", "scheduler", "scheduler, open"])
def test_the_schedulers_own_record_counts_in_either_order(place, first, by_key):
    theirs = reported(key="48300", labels=None) if by_key else reported()
    if first == "allocation":
        run_job(place)
        meter(place.id, now=END)
        assert unit_seconds(place) == 6 * 600
        place.use(theirs, now=NOW + HOUR)
    elif first == "scheduler":
        run_job(place)
        place.use(theirs, now=NOW + HOUR)
    else:
        place.use(theirs | {"end": None})
        run_job(place)
        meter(place.id, now=END)
        assert unit_seconds(place) == 0
        closed = theirs | {"key": "closed", "supersedes": theirs["key"]}
        place.use(closed, now=NOW + HOUR)
    meter(place.id, now=NOW + HOUR)
    meter(place.id, now=NOW + HOUR)
    assert unit_seconds(place) == THEIRS
    assert verification.verify(place.id).findings == []


@pytest.mark.parametrize(
    "other",
    [
        {"pool": "a100"},
        {"labels": {"job_id": "48301"}},
        {"start": NOW - 9 * HOUR, "end": NOW - 8 * HOUR},
    ],
    ids=["another pool", "another job", "an earlier job of the same number"],
)
def test_records_of_something_else_leave_it_alone(place, other):
    run_job(place)
    place.use(reported() | other, now=NOW + HOUR)
    meter(place.id, now=NOW + HOUR)
    with scope.reading(place.id), server_cursor() as cursor:
        sql = (
            "SELECT sum(extract(epoch FROM ended_at - started_at) * units * sign) "
            "FROM accounting_usagerecord r JOIN accounting_usagesource s ON s.id = r.source_id "
            "WHERE s.name = 'allocations'"
        )
        assert cursor.execute(sql).fetchone()[0] == 6 * 600
