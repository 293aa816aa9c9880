"""A month of the whole organization: sums, movers, recovery, bounded however many accounts."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounting.queries import organization_month, showback
from ledger import scope
from tests.accounting.statements.test_close import NOVEMBER
from tests.accounting.statements.test_guarantees import promise
from tests.accounting.statements.test_rating import OCTOBER, START, publish
from tests.frontend.forms import text
from tests.world import NOW, record

NOVEMBER_START = NOW.replace(day=1, hour=0)


@pytest.fixture
def place(acme):
    """h100 costs 2; nlp used 1,600 in October, 400 in November; serving 100 of it on spot."""
    publish(acme, "2", at=START)
    promise(acme, "nlp", 10, at=START)
    acme.use(
        record("a", units=8, hours=100, start=START),
        record("b", units=8, hours=25, start=NOVEMBER_START + timedelta(days=1),
               labels={"project": "lima"}),
        record("c", units=1, hours=50, start=NOVEMBER_START + timedelta(days=1),
               account="serving", person="alice", tier="spot"),
        record("d", units=1, hours=1, start=NOVEMBER_START, account="vision", pool="a100"),
        now=NOW,
    )  # fmt: skip
    acme.person("fay")
    acme.role("fay", "finance")
    return acme


def test_finance_sees_every_department_with_its_change(place, browse):
    words = text(browse(place, "fay").get("/showback/organization?month=2026-11"))
    assert "2026-11 of Acme" in words
    assert "production 0 100.00 +100.00" in words.replace("0.00 100.00", "0 100.00")
    assert "Use without a price 1" in words and "a100 vision guaranteed 1.0" in words
    assert "Use without a project 100.00" in words
    assert "2026-10 is next" in words and "Close months" in words
    assert "serving 0 100.00 +100.00" in words.replace("0.00 100.00", "0 100.00")


def test_what_the_capacity_is_worth_and_how_much_of_it_is_charged(place):
    """The pools are there since NOW: 100 units, for ten hours, at 2."""
    later = NOW + timedelta(hours=10)
    with scope.reading(place.id):
        found = showback.showback(place.id, place.root, NOVEMBER, now=later, details=("project",))
        before = showback.showback(place.id, place.root, OCTOBER, now=later)
        month = organization_month.organization_month(found, before)
    pools = {one.pool: one for one in month.pools}
    h100, a100 = pools[place.pools["h100"]], pools[place.pools["a100"]]
    assert (h100.capacity, h100.worth) == (100 * 10 * 3600, 2000)
    assert h100.recovered == h100.charged / 2000 and h100.used == (8 * 25 + 50) * 3600
    assert (a100.worth, a100.recovered, a100.charged) == (None, None, 0)
    assert sum(one.amount for one in month.departments) == found.total.amount
    assert sum(one.before for one in month.departments) == before.total.amount


def test_only_who_reads_the_whole_organization_sees_it(place, browse):
    for name, status in (("fay", 200), ("uma", 200), ("otto", 200), ("alice", 403), ("bob", 403)):
        page = browse(place, name).get("/showback/organization?month=2026-11")
        assert page.status_code == status, name
    uma = text(browse(place, "uma").get("/showback/organization?month=2026-11"))
    assert "Close months" not in uma
    assert browse(place, "fay").get("/showback/organization?month=x").status_code == 400
    linked = browse(place, "fay").get("/showback?account=root").content.decode()
    assert "/showback/organization?month=" in linked


def questions(place, browse) -> int:
    fay = browse(place, "fay")
    with CaptureQueriesContext(connection) as seen:
        assert fay.get("/showback/organization?month=2026-11").status_code == 200
    return len(seen)


def test_many_accounts_ask_no_more_of_the_database(place, browse):
    before = questions(place, browse)
    records = []
    for n in range(40):
        place.account(f"team-{n:02}", under="research")
        records.append(
            record(f"t{n}", hours=1, account=f"team-{n:02}", start=NOW - timedelta(days=2))
        )
    place.use(*records, now=NOW)
    assert questions(place, browse) <= before
    page = text(browse(place, "fay").get("/showback/organization?month=2026-11"))
    assert page.count("team-") >= 8
