"""Use by day, account, person, pool and tier: exact sums, pages that share and skip nothing."""

from datetime import date, timedelta
from decimal import Decimal

import pytest

from accounting.queries import usage
from accounting.queries.use_by_day import use_by_day
from ledger import scope
from ledger.errors import Invalid
from tests.world import NOW, record

DAY = date(2026, 11, 28)


@pytest.fixture
def used(acme):
    """Three days of Bob and Alice on two pools, and one record that runs."""
    start = NOW - timedelta(days=2)
    acme.use(
        record("a", start=start, hours=2, compute_util=Decimal("0.5")),
        record("b", start=start, hours=1, person="alice", pool="a100", units=4),
        record("c", start=start + timedelta(days=1), hours=3, account="vision", tier="spot"),
        record("d", start=start + timedelta(days=1), hours=1, account="serving", person="alice"),
        record("e", hours=None, units=16),
    )
    return acme


def chosen(tenant, account="root", **values):
    return usage.UsageFilter(
        account_id=tenant.accounts[account],
        **({"since": DAY - timedelta(days=7), "until": DAY + timedelta(days=1)} | values),
    )


def test_by_day_a_subtree_counts_what_is_below_and_nothing_beside(used):
    with scope.reading(used.id):
        rows = usage.usage_by_day(
            used.id,
            account_id=used.accounts["research"],
            since=DAY - timedelta(days=1),
            until=DAY,
        )
    assert [(row.day, row.pool, row.unit_seconds) for row in rows] == [
        (DAY - timedelta(days=1), "a100", 4 * 3600),
        (DAY - timedelta(days=1), "h100", 16 * 3600),
        (DAY, "h100", 24 * 3600),
    ]


def test_unlike_flavors_never_add_up_but_their_weighted_use_does(used):
    with scope.reading(used.id):
        total = usage.usage_total(used.id, chosen(used, "nlp"))
        one_pool = usage.usage_total(used.id, chosen(used, pool_id=used.pools["a100"]))
    assert total.unit_seconds is None
    assert total.weighted == (16 + 4 * Decimal("0.5")) * 3600
    assert one_pool.unit_seconds == 4 * 3600


def test_utilisation_is_of_the_measured_part_and_unknown_without_any(used):
    with scope.reading(used.id):
        page = usage.usage_rows(used.id, chosen(used), by=["pool"])
    a100, h100 = page.rows
    assert a100.compute.utilisation is None and h100.productive.utilisation is None
    assert h100.compute.utilisation == Decimal("0.5")
    assert h100.compute.known == 16 * 3600 < h100.all_seconds


@pytest.mark.parametrize("sort", usage.SORTS)
def test_pages_share_and_skip_nothing(used, sort):
    by = usage.DIMENSIONS
    with scope.reading(used.id):
        whole = usage.usage_rows(used.id, chosen(used), by=by, sort=sort).rows
        found, after = [], None
        while True:
            page = usage.usage_rows(used.id, chosen(used), by=by, sort=sort, after=after, limit=1)
            found += page.rows
            if (after := page.next_after) is None:
                break
    assert tuple(found) == whole and len(whole) == 4


def test_running_records_are_apart_from_ended_use(used):
    with scope.reading(used.id):
        running = usage.running_now(used.id, account_id=used.accounts["research"], now=NOW)
        cards = usage.use_of_accounts(
            used.id,
            [used.accounts["nlp"], used.accounts["vision"]],
            since=DAY - timedelta(days=7),
            until=DAY,
            now=NOW,
        )
    assert [(row.key, row.units, row.person) for row in running] == [("e", 16, "bob")]
    assert cards[used.accounts["nlp"]].running == (("h100", 16),)
    assert cards[used.accounts["vision"]] == usage.AccountUse(Decimal(24 * 3600), ())


def test_another_tenant_sees_nothing(used, globex):
    with scope.reading(globex.id):
        assert usage.usage_total(used.id, chosen(used)) is None
        assert usage.running_now(used.id, account_id=used.root, now=NOW) == []


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"by": []}, "grouping_unknown"),
        ({"by": ["day", "colour"]}, "grouping_unknown"),
        ({"by": ["day"], "sort": "luck"}, "sort_unknown"),
        ({"by": ["day"], "after": ("1", "2")}, "page_unknown"),
        ({"by": ["day"], "after": ("1; drop",)}, "page_unknown"),
    ],
)
def test_bad_questions_are_refused_by_name(acme, values, code):
    with scope.reading(acme.id), pytest.raises(Invalid) as refused:
        usage.usage_rows(acme.id, chosen(acme), **values)
    assert refused.value.code == code


@pytest.mark.parametrize(
    "values", [{"until": DAY - timedelta(days=8)}, {"since": DAY - timedelta(days=400)}]
)
def test_periods_are_bounded(acme, values):
    with pytest.raises(Invalid) as refused:
        chosen(acme, **values)
    assert refused.value.code == "period_out_of_range"


def test_running_use_counts_in_its_days_up_to_now(used):
    # Berlin is one hour ahead: NOW is 13:00 there, record e has run since 11:00.
    with scope.reading(used.id):
        rows = use_by_day(
            used.id,
            account_id=used.accounts["nlp"],
            since=DAY - timedelta(days=1),
            until=NOW.date(),
            now=NOW,
        )
    today = [(row.pool, row.unit_seconds) for row in rows if row.day == NOW.date()]
    assert today[-1] == ("h100", (16 * 2 + ended_on(used, NOW.date())) * 3600)


def test_use_that_ran_over_midnights_is_split_there_and_cut_at_now(acme):
    acme.use(record("long", hours=None, units=1, start=NOW - timedelta(hours=37)))
    with scope.reading(acme.id):
        rows = use_by_day(
            acme.id,
            account_id=acme.root,
            since=NOW.date() - timedelta(days=1),
            until=NOW.date(),
            now=NOW,
        )
    # Began on the 28th at 00:00 in Berlin: the whole of that day, and 13 hours of the next.
    assert [(row.day.day, row.unit_seconds / 3600) for row in rows] == [(28, 24), (29, 13)]


def ended_on(tenant, day) -> int:
    with scope.reading(tenant.id):
        rows = usage.usage_by_day(
            tenant.id, account_id=tenant.accounts["nlp"], since=day, until=day
        )
    return sum(row.unit_seconds / 3600 for row in rows)
