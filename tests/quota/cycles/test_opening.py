"""How cycles open: by hand, by themselves once a quarter, over many quotas in bounded events."""

from datetime import UTC, datetime, timedelta

import pytest

from config.celery import BEAT_TABLE, app
from ledger import scope
from ledger.errors import Conflict, Denied, Invalid, Refused
from ledger.models import StoredEvent
from quota import cycle_events, tasks
from quota.commands.cycles import OpenCycle, OpenQuarterlyCycle, SetCyclePolicy
from quota.domain.cycles import CyclePolicy, quarter_of
from quota.models import CycleEntry, ReviewCycle
from tests.quota.cycles.conftest import DAY
from tests.world import NOW

NEW_YEAR = datetime(2026, 12, 31, 23, 30, tzinfo=UTC)
"""Half past midnight on 1 January 2027 in Berlin."""


def cycles(table) -> list[ReviewCycle]:
    with scope.reading(table.place.id):
        return list(ReviewCycle.objects.order_by("id"))


def quarterly(table, now: datetime):
    return table.place.run(OpenQuarterlyCycle(), now=now).result


def test_quarters():
    assert quarter_of(NEW_YEAR.date()).key == "2026-Q4"
    assert quarter_of((NEW_YEAR + DAY).date()).key == "2027-Q1"
    assert quarter_of(datetime(2027, 4, 1).date()).first_day.isoformat() == "2027-04-01"


def test_it_opens_with_the_quarter_where_the_organization_is(table):
    assert quarterly(table, NEW_YEAR - timedelta(hours=1)).because == "not_begun"
    made = quarterly(table, NEW_YEAR)
    (row,) = cycles(table)
    assert (row.id, row.name, row.quarter) == (made.cycle_id, "Review Q1 2027", "2027-Q1")
    assert (row.quota_count, row.opened_by_id) == (4, None)
    assert row.deadline == NEW_YEAR + 28 * DAY


def test_once_a_quarter_whatever_became_of_it(table):
    first = quarterly(table, NEW_YEAR)
    again = quarterly(table, NEW_YEAR + DAY)
    assert (again.cycle_id, again.because) == (first.cycle_id, "opened_before")
    table.close(first.cycle_id, by="rolf", undecided_keep=True)
    assert quarterly(table, NEW_YEAR + 2 * DAY).because == "opened_before"
    assert len(cycles(table)) == 1


def test_not_late_not_beside_another_not_when_off(table):
    assert quarterly(table, NEW_YEAR + 14 * DAY).because == "not_begun"
    by_hand = table.open()
    assert quarterly(table, NEW_YEAR).because == "another_open"
    table.close(by_hand, undecided_keep=True)
    table.place.run(SetCyclePolicy(policy=CyclePolicy(automatic=False)), reason="test")
    assert quarterly(table, NEW_YEAR).because == "off"


def test_only_the_system_and_only_with_quotas(acme, globex):
    with pytest.raises(Denied):
        acme.run(OpenQuarterlyCycle(), by=acme.actor("otto"))
    assert globex.run(OpenQuarterlyCycle(), now=NEW_YEAR + DAY).result.because == "no_quotas"


def test_the_task_is_in_the_beat_table_and_goes_through_all(acme, globex, monkeypatch):
    assert BEAT_TABLE["review-cycles"]["task"] == tasks.open_review_cycles.name
    app.loader.import_default_modules()
    assert tasks.open_review_cycle_of.name in app.tasks
    asked = []
    monkeypatch.setattr(
        tasks.open_review_cycle_of, "apply_async", lambda args, **options: asked.append(args[0])
    )
    tasks.open_review_cycles()
    assert set(asked) == {str(acme.id), str(globex.id)}
    tasks.open_review_cycle_of(str(acme.id))


def test_by_hand_over_a_subtree_with_the_list_fixed(table):
    it = table.open("research", by="petra")
    table.quotas.set("vision", 5)
    with scope.reading(table.place.id):
        found = CycleEntry.objects.filter(cycle_id=it).values_list("account_id", flat=True)
        names = {name for name, one in table.place.accounts.items() if one in set(found)}
    assert names == {"research", "nlp", "vision"}
    assert len(cycles(table)) == 1
    with pytest.raises(Conflict, match="is open"):
        table.open("research", by="petra")
    table.open("root")


def test_bad_input(table):
    for fields, code in (
        ({"name": " "}, "name_length"),
        ({"name": "x" * 81}, "name_length"),
        ({"deadline": NOW}, "deadline_out_of_range"),
        ({"deadline": NOW + 400 * DAY}, "deadline_out_of_range"),
        ({"window_days": 0}, "window_out_of_range"),
    ):
        with pytest.raises(Invalid) as told:
            table.open(**fields)
        assert told.value.code == code
    table.place.account("empty", under="production")
    with pytest.raises(Refused, match="No account there has a quota"):
        table.open("empty")
    with pytest.raises(Denied):
        table.open(by="alice", account="nlp")
    with pytest.raises(Denied):
        command = OpenCycle(account_id=table.place.root, name="x", deadline=NOW + DAY)
        table.place.run(command)


def test_many_quotas_come_in_bounded_events(table, monkeypatch):
    monkeypatch.setattr(cycle_events, "LISTED_MAX", 3)
    it = table.open()
    table.close(it, undecided_keep=True)
    with scope.reading(table.place.id):
        for kind in ("cycle.listed", "cycle.settled"):
            stored = StoredEvent.objects.filter(type=kind)
            assert sorted(len(one.payload["quotas"]) for one in stored) == [1, 3]
    assert table.use.asked == 1
