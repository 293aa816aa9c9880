"""Lists of allocations: every order runs over the whole list, and reads an index."""

from datetime import timedelta
from itertools import product

import pytest

from ledger import scope
from ledger.errors import Invalid
from ledger.sql import server_cursor
from quota.queries import allocations as queries
from quota.queries.allocation_order import ORDERS, Place, order_for
from tests.world import NOW

PAST = 40_000
"""Ended allocations to make. The same plans come with 1,000,000, the slowest within 50 ms."""
LIVE = PAST // 100

MAKE = """
INSERT INTO quota_allocation (organization_id, id, pool_id, key, attempt, account_id, person_id,
    units, min_units, wanted_units, priority_class, tier, reclaim_seconds, slow, lease_seconds,
    state, held_at, hold_until, started_at, heard_at, lease_until, lapses_at, ended_at, adopted,
    labels, steps)
SELECT %(organization)s, gen.id, (%(pools)s::uuid[])[1 + n %% 2], 'made-' || n, 1,
    (%(accounts)s::uuid[])[1 + n %% 3], (%(people)s::uuid[])[1 + n %% 2], units, units, units,
    'P3', 'borrowed', 60, false, 900,
    CASE WHEN n > %(past)s THEN (ARRAY['running', 'held'])[1 + n %% 2]
         ELSE (ARRAY['released', 'expired', 'released', 'released', 'preempted'])[1 + n %% 5] END,
    at, at, at, at, at, CASE WHEN n > %(past)s THEN at + interval '1 day' END,
    CASE WHEN n <= %(past)s THEN at + (n::bigint * 7919 %% 1000) * interval '1 minute' END,
    false, '{}', '[]'
FROM generate_series(1, %(past)s + %(live)s) n
CROSS JOIN LATERAL (SELECT %(now)s::timestamptz - (%(past)s + %(live)s - n) * interval '1 s' AS at,
    1 + n::bigint * 7919 %% 64 AS units, overlay(uuidv7()::text placing lpad(to_hex(n), 12, '0')
    from 25 for 12)::uuid AS id) gen
"""


@pytest.fixture
def many(acme, owner):
    """acme with many past allocations and some that live."""
    values = {
        "organization": acme.id,
        "pools": list(acme.pools.values()),
        "accounts": [acme.accounts[name] for name in ("nlp", "vision", "serving")],
        "people": [acme.people["alice"], acme.people["bob"]],
        "past": PAST,
        "live": LIVE,
        "now": NOW,
    }
    owner.execute(MAKE, values)
    owner.execute("ANALYZE quota_allocation")
    owner.execute("ANALYZE tenancy_account")
    return acme


def plan_of(place, *, state, sort, **filters) -> str:
    with scope.reading(place.id), server_cursor() as cursor:
        wanted = queries._wanted(
            place.id,
            **{
                "under": None,
                "pool_ids": None,
                "account": None,
                "person": None,
                "pool": None,
                **filters,
            },
        )
        sql, values = queries.statement(
            place.id,
            wanted,
            now=NOW,
            state=state,
            order=order_for(sort, state),
            after=None,
            limit=101,
        )
        rows = cursor.execute(f"EXPLAIN {sql}", values).fetchall()
    return "\n".join(row[0] for row in rows)


@pytest.mark.django_db(transaction=True)
def test_no_list_reads_the_whole_table(many):
    """All orders and states without a filter, and each filter in each order."""
    questions = [(sort, state, {}) for sort in ORDERS for state in ORDERS[sort].branches]
    filters = ({"account": "nlp"}, {"account": "research"}, {"person": "bob"}, {"pool": "h100"})
    questions += [(sort, None, one) for sort, one in product(ORDERS, filters)]
    for sort, state, narrowed in questions:
        plan = plan_of(many, state=state, sort=sort, **narrowed)
        assert "Seq Scan on quota_allocation" not in plan, (sort, state, narrowed, plan)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("sort", list(ORDERS))
def test_pages_follow_each_other_over_the_whole_list(acme, owner, sort, monkeypatch):
    values = {
        "organization": acme.id,
        "pools": list(acme.pools.values()),
        "accounts": [acme.accounts[name] for name in ("nlp", "vision", "serving")],
        "people": [acme.people["alice"], acme.people["bob"]],
        "past": 300,
        "live": 60,
        "now": NOW,
    }
    owner.execute(MAKE, values)
    with scope.reading(acme.id):
        whole = queries.allocations(acme.id, now=NOW, sort=sort, limit=1000)
        pages, after = [], None
        while page := queries.allocations(acme.id, now=NOW, sort=sort, after=after, limit=7):
            pages += page
            after = Place.of(queries.place_of(page[-1], sort).text(), sort)
        monkeypatch.setattr(queries, "FEW_ACCOUNTS", 0)
        below = queries.allocations(acme.id, now=NOW, sort=sort, account="research", limit=1000)
    assert [row.id for row in pages] == [row.id for row in whole]
    assert len(whole) == {"lease": 60, "ended": 300}.get(sort, 360)
    reverse = ORDERS[sort].direction == "DESC"
    order = [(getattr(row, ORDERS[sort].field), row.id) for row in whole]
    assert order == sorted(order, reverse=reverse)
    assert below == [row for row in whole if row.account in ("nlp", "vision")]


@pytest.mark.django_db(transaction=True)
def test_states_divide_the_list(acme, owner):
    values = {
        "organization": acme.id,
        "pools": list(acme.pools.values()),
        "accounts": [acme.accounts["nlp"]],
        "people": [acme.people["bob"]],
        "past": 50,
        "live": 10,
        "now": NOW,
    }
    owner.execute(
        MAKE.replace("1 + n %% 3]", "1]").replace("1 + n %% 2], units", "1], units"), values
    )
    later = NOW + timedelta(days=1, seconds=-5)
    with scope.reading(acme.id):

        def counted(state, now=NOW):
            return len(queries.allocations(acme.id, now=now, state=state, limit=1000))

        assert counted(None) == 60
        assert counted("live") == counted("held") + counted("running") == 10
        assert counted("released") + counted("preempted") + counted("expired") == 50
        assert counted("live", now=later) == 5, "judged at the instant of the question"
        assert counted("expired", now=later) == counted("expired") + 5


@pytest.mark.django_db
def test_names_that_nobody_has_find_nothing_and_bounds_hold(acme):
    with scope.reading(acme.id):
        for filters in ({"account": "x"}, {"person": "x"}, {"pool": "x"}, {"under": ()}):
            assert queries.allocations(acme.id, now=NOW, **filters) == []
        bound = {"pool": "h100", "pool_ids": (acme.pools["a100"],)}
        assert queries.allocations(acme.id, now=NOW, **bound) == []


@pytest.mark.parametrize(("sort", "state"), [("lease", "released"), ("ended", "live")])
def test_an_order_fits_its_states(sort, state):
    with pytest.raises(Invalid) as raised:
        order_for(sort, state)
    assert raised.value.code == "sort_unfit"


@pytest.mark.parametrize(
    ("text", "sort"),
    [
        ("", "newest"),
        ("x~y", "newest"),
        ("-5~0199a1f0-7d3c-7c11-9a52-3f0f4f1c2b9e", "units"),
        ("9" * 30 + "~0199a1f0-7d3c-7c11-9a52-3f0f4f1c2b9e", "units"),
        ("2026-11-29T12:00:00~0199a1f0-7d3c-7c11-9a52-3f0f4f1c2b9e", "lease"),
        ("8~0199a1f0-7d3c-7c11-9a52-3f0f4f1c2b9e", "ended"),
    ],
)
def test_a_page_of_another_question_is_refused(text, sort):
    with pytest.raises(Invalid) as raised:
        Place.of(text, sort)
    assert raised.value.code == "page_unknown"
