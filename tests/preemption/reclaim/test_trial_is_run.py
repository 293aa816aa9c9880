"""A dry run over past use says what runs that came every hour did: same stages, units, instants."""

import json
from datetime import datetime
from uuid import UUID

import pytest

from ledger import scope
from ledger.sql import server_cursor
from preemption import reclaim_loading as loading
from preemption import reclaim_queries as queries
from tests.preemption.reclaim.conftest import DAY, HOUR, Reclaim
from tests.preemption.reclaim.test_justified import justify
from tests.quota.allocations.conftest import Jobs
from tests.world import NOW

Told = list[tuple[str, datetime, int]]


@pytest.fixture
def past(reclaim: Reclaim) -> Reclaim:
    """Ten days, from a full hour on: nlp idle but for a peak, vision idle and justified twice,
    serving idle after a job of class P0, production about the threshold."""
    it = reclaim
    it.begin = NOW - 10 * DAY
    it.promise("nlp", 40)
    it.promise("vision", 20)
    it.promise("serving", 20)
    it.promise("production", 10)
    it.use("low", 4, days=5)
    it.use("peak", 30, days=0.5, after=5)
    it.use("after", 2, days=4.5, after=5.5)
    it.use("about", 2, days=4, account="production", person="otto")
    it.use("above", 3, days=4, after=4, account="production", person="otto")
    return it


def would_have(it: Reclaim) -> dict[str, Told]:
    with scope.reading(it.place.id):
        rule = loading.rule(it.place.id, it.place.pools["h100"])
        pools = {it.place.pools["h100"]: "h100"}
        found = queries.dry_run(it.place.id, pools, rule, start=it.begin - DAY, now=NOW)
    return {
        one.account: [
            ({"watch": "watched"}.get(stage.name, stage.name), stage.at, stage.units)
            for stage in one.stages
        ]
        for one in found
    }


def did(it: Reclaim) -> dict[str, Told]:
    """Run every hour of the past, and read what was recorded."""
    for hour in range(10 * 24 + 1):
        it.run(it.begin + hour * HOUR)
    names = {account: name for name, account in it.place.accounts.items()}
    told: dict[str, Told] = {}
    with scope.reading(it.place.id), server_cursor() as cursor:
        rows = cursor.execute(
            "SELECT substr(type, 9), occurred_at, payload::text FROM ledger_event "
            "WHERE type LIKE 'reclaim.%%' AND type <> 'reclaim.rule_set' ORDER BY position"
        ).fetchall()
    for name, at, payload in rows:
        data = json.loads(payload)
        told.setdefault(names[UUID(data["account_id"])], []).append(
            (name, at, data.get("units") or 0)
        )
    return told


def same(it: Reclaim) -> dict[str, Told]:
    """What both say."""
    said = would_have(it)
    done = did(it)
    assert said == {account: done.get(account, []) for account in said}
    return said


def test_hour_by_hour_it_is_the_same(past):
    past.rule(window_seconds=48 * 3600, watch_seconds=24 * 3600, cooldown_seconds=3 * 86_400)
    said = same(past)
    assert {name for name, *_ in said["nlp"]} >= {"watched", "demoted"}
    assert said["production"] and said["vision"]


def test_with_maintenance_it_is_the_same(past):
    windows = (
        (past.begin + 1 * DAY, past.begin + 1 * DAY + 5 * HOUR),
        (past.begin + 2 * DAY, past.begin + 4 * DAY),
    )
    past.rule(window_seconds=48 * 3600, watch_seconds=24 * 3600, maintenance=windows)
    said = same(past)
    assert any(name == "demoted" for name, *_ in said["nlp"])


def test_with_two_justifications_after_another_it_is_the_same(past):
    past.rule(window_seconds=24 * 3600, watch_seconds=12 * 3600)
    for hours, days in ((13, 2), (77, 3)):
        justify(past, now=past.begin + hours * HOUR, days=days)
    said = same(past)
    names = [name for name, *_ in said["nlp"]]
    assert names == ["watched", "justified", "watched", "justified", "watched", "demoted"]


def test_with_a_serving_job_of_long_ago_it_is_the_same(past):
    """A job of class P0 on the first day exempts while runs can see it, not for the whole trial."""
    past.rule(
        window_seconds=24 * 3600,
        watch_seconds=12 * 3600,
        unknown_seconds_max=3600,
    )
    jobs = Jobs(past.place)
    asked = jobs.ask("s", units=1, account="serving", person="alice", job_class="P0")
    assert jobs.admit(asked, now=past.begin + HOUR).results[0].status == "admitted"
    jobs.start("s", now=past.begin + HOUR)
    jobs.release("s", now=past.begin + 2 * HOUR)
    said = same(past)
    assert [name for name, *_ in said["serving"]] == ["watched", "demoted"]
