"""Pools over time, over-promises with names, levels of the tree, pages of what lies below, and how
often the pages of quota ask the database."""

import contextlib
import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from unittest import mock
from zoneinfo import ZoneInfo

import psycopg
import pytest

from frontend.capacity import picture
from frontend.capacity_charts import instants, over_time
from ledger import scope
from ledger.sql import server_cursor
from quota import wire
from quota.commands.admissions import AdmitBatch
from quota.commands.allocations import HeartbeatAllocations, ReleaseAllocations, StartAllocations
from quota.commands.pools import DefineFlavor, OpenPool, SetUnavailable
from quota.commands.quotas import SetQuota
from quota.queries import capacity_over_time
from tests.world import NOW


def _set(acme, account, guaranteed, *, days=2, **more):
    command = SetQuota(
        account_id=acme.accounts[account], pool_id=acme.pools["b200"], guaranteed=guaranteed, **more
    )
    acme.run(command, reason="the plan", now=NOW - timedelta(days=days))


def _admit(acme, key, account, units, at, **more):
    ask = wire.Ask(key=key, account=account, person="bob", pool="b200", units=units, **more)
    acme.run(AdmitBatch(requests=(ask,)), now=at)


@pytest.fixture
def asked():
    """The statements that psycopg sends while `with asked() as statements` holds."""

    @contextlib.contextmanager
    def listen():
        found = []
        original = psycopg.Cursor.execute

        def execute(cursor, query, *args, **options):
            found.append(str(query))
            return original(cursor, query, *args, **options)

        with mock.patch.object(psycopg.Cursor, "execute", execute):
            yield found

    return listen


@pytest.fixture
def lived(acme):
    """A job of nlp that ran from five to three hours ago, one that is held now; vision lends."""
    opened = NOW - timedelta(days=2)
    define = DefineFlavor(name="b200-192gb")
    flavor = acme.run(define, now=opened, reason="test").result.flavor_id
    pool = OpenPool(name="b200", flavor_id=flavor, cluster="lab", capacity=100)
    acme.pools["b200"] = acme.run(pool, now=opened, reason="test").result.pool_id
    _set(acme, "nlp", 40, borrowing_limit=20)
    _set(acme, "vision", 30)
    start = NOW - timedelta(hours=5)
    _admit(acme, "old", "nlp", 50, start)
    message = (wire.Message(key="old"),)
    alive = (wire.HeartbeatMessage(key="old"),)
    acme.run(StartAllocations(messages=message), now=start)
    for minutes in range(10, 120, 10):
        acme.run(HeartbeatAllocations(messages=alive), now=start + timedelta(minutes=minutes))
    ended = (wire.ReleaseMessage(key="old"),)
    acme.run(ReleaseAllocations(messages=ended), now=start + timedelta(hours=2))
    _admit(acme, "new", "nlp", 45, NOW)
    return acme


def _words(answer):
    return re.sub(r"<[^>]*>", "", answer.content.decode())


def _moments(acme, at):
    with scope.reading(acme.id):
        return capacity_over_time.moments(acme.id, acme.pools["b200"], "b200", at)


def test_every_unit_stands_once_at_every_instant(lived):
    start = NOW - timedelta(hours=5)
    at = [start - timedelta(days=3), start, NOW - timedelta(hours=4), NOW - timedelta(hours=2), NOW]
    found = _moments(lived, at)
    # The pool was not open three days before; nothing is made up for then.
    said = {one.at: picture(one.pool, one.promise, one.held) for one in found}
    assert all(one.total == 100 for one in said.values())
    running = said[NOW - timedelta(hours=4)]
    assert (running.units("used") + running.units("lent")) == 50
    assert said[NOW - timedelta(hours=2)].units("idle") == 70
    assert said[NOW].units("free") == 30


def test_sizes_and_promises_are_those_of_then(lived):
    before = NOW - timedelta(hours=6)
    lived.run(
        SetUnavailable(pool_id=lived.pools["b200"], unavailable=35),
        reason="a rack",
        now=NOW - timedelta(hours=1),
    )
    then, now = _moments(lived, [before, NOW])
    assert (then.pool.unavailable, then.promise.over_promised_by) == (0, 0)
    assert (now.pool.unavailable, now.promise.over_promised_by) == (35, 5)


def test_steps_of_a_look_back_are_full_hours_and_now():
    found = instants("day", now=NOW + timedelta(minutes=7))
    assert len(found) == 26 and found[-1] == NOW + timedelta(minutes=7)
    assert all(one.minute == 0 for one in found[:-1])


def test_in_the_first_minute_of_an_hour_there_is_one_bar_for_it():
    found = instants("day", now=NOW + timedelta(seconds=12))
    assert [one.minute for one in found[-2:]] == [0, 0]
    assert found[-2] == NOW - timedelta(hours=1)


def test_the_hour_that_comes_twice_in_autumn_has_two_bars(lived):
    (one,) = _moments(lived, [NOW])
    midnight = datetime(2026, 10, 24, 22, tzinfo=UTC)
    night = [replace(one, at=midnight + timedelta(hours=hour)) for hour in range(5)]
    chart = over_time(night, zone=ZoneInfo("Europe/Zurich"))
    names = chart.figure["data"][0]["x"]
    assert len(set(names)) == 5
    assert [label for label, _ in chart.rows] == [
        "2026-10-25 03:00",
        "2026-10-25 02:00 CET",
        "2026-10-25 02:00 CEST",
        "2026-10-25 01:00",
        "2026-10-25 00:00",
    ]


def test_the_pool_page_has_the_chart_and_the_same_as_a_table(lived, browse):
    text = browse(lived, "otto").get("/capacity/b200?span=week").content.decode()
    figure = json.loads(re.search(r'id="pool-over-time"[^>]*>(.*?)</script>', text).group(1))
    assert {len(series["x"]) for series in figure["data"]} == {len(figure["data"][0]["x"])}
    for at in range(len(figure["data"][0]["x"])):
        assert sum(series["y"][at] for series in figure["data"]) == 100
    assert "Every unit over time, in units" in text and "Together" in text
    assert browse(lived, "otto").get("/capacity/b200?span=century").status_code == 400


def test_an_over_promise_says_how_much_and_to_whom(lived, browse):
    lived.run(SetUnavailable(pool_id=lived.pools["b200"], unavailable=35), reason="a rack", now=NOW)
    for address in ("/capacity", "/capacity/b200"):
        text = _words(browse(lived, "otto").get(address))
        assert "ver-promised by 5 units" in text and "nlp 40, vision 30" in text
        own = _words(browse(lived, "alice").get(address))
        assert "nlp 40, other accounts 30" in own and "vision" not in own


def test_the_quota_page_names_the_account_above_and_who_lends_beside(lived, browse):
    _set(lived, "research", 0, days=1, borrowing_limit=0)
    _set(lived, "production", 20, days=1)
    text = _words(browse(lived, "otto").get("/accounts/vision/quota"))
    assert "research above it may not borrow" in text and "lets 25 more through" in text
    assert "an operator can raise its guarantee" in text
    assert "left to others now: vision 30; used above guarantees: nlp 5" in text
    own = _words(browse(lived, "alice").get("/accounts/nlp/quota"))
    assert "left to others now: other accounts 30" in own


def test_what_lies_below_comes_in_pages_and_is_searched(acme, browse):
    for number in range(55):
        acme.account(f"team-{number:02}", under="research")
    client = browse(acme, "otto")
    first = client.get("/accounts/research/quota").content.decode()
    assert "team-00" in first and "team-50" not in first and "after=team-48" in first
    second = client.get("/accounts/research/quota?after=team-48").content.decode()
    assert "team-00" not in second and "team-54" in second and "First page" in second
    found = client.get("/accounts/research/quota?below=AM-5").content.decode()
    assert "team-54" in found and "team-40" not in found
    nothing = client.get("/accounts/research/quota?below=zzz").content.decode()
    assert "No account below has such a name" in nothing


@pytest.mark.parametrize(
    ("address", "bound"),
    [
        ("/capacity", 22),
        ("/capacity/b200", 33),
        ("/accounts/research/quota", 33),
        ("/allocations", 22),
        ("/allocations/new", 24),
    ],
)
def test_pages_ask_as_often_however_much_there_is(lived, browse, asked, address, bound):
    client = browse(lived, "otto")
    client.get(address)
    with asked() as few:
        client.get(address)
    for number in range(12):
        lived.account(f"team-{number:02}", under="research")
        _set(lived, f"team-{number:02}", 1)
        _admit(lived, f"more-{number}", f"team-{number:02}", 1, NOW)
    lived.pool("new")
    client.get(address)
    with asked() as many:
        assert client.get(address).status_code == 200
    assert len(many) == len(few) <= bound, "\n".join(many)


def test_the_live_and_the_past_of_a_pool_are_read_by_index(lived):
    place = (lived.id, lived.pools["b200"])
    values = (*place, NOW, *place, NOW, [NOW])
    with scope.reading(lived.id), server_cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        rows = cursor.execute(f"EXPLAIN {capacity_over_time.HELD}", values).fetchall()
    plan = "\n".join(row[0] for row in rows)
    assert "Seq Scan on quota_allocation" not in plan
    assert plan.count("using quota_allocation_") + plan.count("on quota_allocation_") >= 2
