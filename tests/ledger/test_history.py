"""The history of a thing, paged and filtered, from indexes."""

import json
from datetime import timedelta

import pytest

from accounting.commands.fairshare import ResetFairshare
from ledger import queries, scope
from ledger.errors import NotFound
from ledger.ids import new_id
from ledger.sql import server_cursor
from tenancy.commands.accounts import MoveAccount, SetAccountShares
from tests import world
from tests.ledger.sample import Note, machine
from tests.world import NOW, Tenant


@pytest.fixture
def place(acme) -> Tenant:
    nlp = acme.accounts["nlp"]
    later = NOW + timedelta(days=1)
    acme.run(SetAccountShares(account_id=nlp, shares=50), now=later, by=acme.actor("otto"))
    acme.run(MoveAccount(account_id=nlp, to_parent_id=acme.accounts["production"]), now=later)
    return acme


def history(place: Tenant, **filters) -> list[str]:
    with scope.reading(place.id):
        return [row.type for row in queries.history(place.id, **filters).rows]


def test_an_account_shows_all_that_names_it_newest_first(place):
    assert history(place, subject_id=place.accounts["nlp"]) == [
        "account.moved",
        "account.shares_set",
        "membership.granted",
        "membership.granted",
        "association.set",
        "association.set",
        "account.opened",
    ]


def test_a_new_parent_shows_who_came(place):
    assert history(place, subject_id=place.accounts["production"])[0] == "account.moved"


@pytest.mark.parametrize(
    ("filters", "want"),
    [
        ({"types": ["account.moved"]}, ["account.moved"]),
        ({"types": ["account.moved", "pool.opened"]}, ["account.moved", *["pool.opened"] * 2]),
        ({"since": NOW + timedelta(hours=1)}, ["account.moved", "account.shares_set"]),
        ({"until": NOW}, []),
        (
            {"types": ["organization.created"], "until": NOW + timedelta(1)},
            ["organization.created"],
        ),
    ],
)
def test_filters(place, filters, want):
    assert history(place, **filters) == want


def test_by_actor_and_by_stream(place):
    assert history(place, actor_id=place.people["otto"]) == ["account.shares_set"]
    stream = f"account:{place.accounts['nlp']}"
    assert history(place, stream=stream) == [
        "account.moved",
        "account.shares_set",
        "account.opened",
    ]
    assert history(place, stream=stream, subject_id=place.accounts["research"]) == [
        "account.moved",
        "account.opened",
    ]


@pytest.mark.parametrize("by", ["subject", "stream", "type", "actor"])
def test_pages_meet_without_gap_or_overlap(place, by):
    note_id = new_id()
    for step in range(23):
        place.run(Note(note_id=note_id, lines=(str(step),)), by=machine(1))
    filters = {
        "subject": {"subject_id": note_id},
        "stream": {"stream": f"note:{note_id}"},
        "type": {"types": ["test.noted"]},
        "actor": {"actor_id": machine(1).id},
    }[by]
    seen: list[str] = []
    before = None
    with scope.reading(place.id):
        while True:
            page = queries.history(place.id, before_position=before, limit=5, **filters)
            seen += [row.payload["text"] for row in page.rows]
            before = page.next_before
            if before is None:
                break
    assert seen == [str(step) for step in reversed(range(23))]


def test_a_page_is_bounded(place):
    with scope.reading(place.id):
        assert len(queries.history(place.id, limit=10_000).rows) <= queries.PAGE_MAX
        assert len(queries.history(place.id, limit=0).rows) == 1


def test_an_event_has_everything(place):
    with scope.reading(place.id):
        row = queries.history(place.id, types=["account.shares_set"]).rows[0]
        assert queries.event(place.id, row.id) == row
        with pytest.raises(NotFound):
            queries.event(place.id, new_id())
    assert row.payload == {"account_id": str(place.accounts["nlp"]), "shares": 50}
    assert row.subjects == (place.accounts["nlp"],)
    assert (row.actor_label, row.actor_id) == ("otto", place.people["otto"])
    assert len(row.hash) == 64


def test_nothing_of_another_organization_shows(place, globex):
    with scope.reading(globex.id):
        assert queries.history(place.id).rows == ()
        assert queries.history(globex.id, subject_id=place.accounts["nlp"]).rows == ()


@pytest.mark.parametrize("analyzed", [False, True])
def test_every_kind_of_page_comes_from_an_index(owner, analyzed):
    """With 60,000 events, no filter reads more than a few hundred rows for a page."""
    place = world.acme()
    note_id, busy = new_id(), machine(2)
    nlp, otto = place.accounts["nlp"], place.actor("otto")
    place.run(SetAccountShares(account_id=nlp, shares=50), by=otto)
    for _ in range(6):
        place.run(Note(note_id=note_id, lines=("x",) * 10_000), by=busy)
    place.run(ResetFairshare(), now=NOW + timedelta(days=2))
    if analyzed:
        owner.execute("ANALYZE ledger_event, ledger_subject")
    with scope.reading(place.id), server_cursor() as cursor:
        for filters in (
            {},
            {"subject_id": note_id},
            {"subject_id": nlp},
            {"stream": f"note:{note_id}"},
            {"types": ["account.shares_set"]},
            {"types": ["test.noted"]},
            {"types": ["account.shares_set", "account.opened"]},
            {"actor_id": otto.id},
            {"actor_id": busy.id},
            {"since": NOW + timedelta(hours=30)},
            {"until": NOW},
        ):
            assert rows_read(cursor, place, filters) < 1_500, filters


def rows_read(cursor, place: Tenant, filters: dict) -> int:
    """Rows that all scans of the statement gave or threw away."""
    sql, values = queries.statement(place.id, limit=50, **filters)
    plan = cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}", values).fetchone()[0]
    plan = json.loads(plan) if isinstance(plan, str) else plan

    def total(node: dict) -> int:
        here = 0
        if "Scan" in node["Node Type"]:
            removed = node.get("Rows Removed by Filter", 0)
            here = (node["Actual Rows"] + removed) * node["Actual Loops"]
        return int(here) + sum(total(child) for child in node.get("Plans", ()))

    return total(plan[0]["Plan"])
