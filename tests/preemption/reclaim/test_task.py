"""The task of use-it-or-lose-it: each organization apart, harmless twice."""

from datetime import UTC, datetime

from config.celery import BEAT_TABLE
from preemption import tasks


def test_it_is_in_the_beat_table():
    entry = BEAT_TABLE["reclaim"]
    assert (entry["task"], entry["schedule"]) == (tasks.run_reclaim.name, tasks.RECLAIM_SECONDS)


def test_it_goes_through_all_organizations(acme, globex, monkeypatch):
    asked = []
    monkeypatch.setattr(
        tasks.run_reclaim_of, "apply_async", lambda args, **options: asked.append(args[0])
    )
    tasks.run_reclaim()
    assert set(asked) == {str(acme.id), str(globex.id)}


def test_it_runs_the_rules_that_are_on(reclaim, globex):
    reclaim.promise("nlp", 40)
    reclaim.use("runs", 1, days=4_000, account="serving", person="alice")
    tasks.run_reclaim_of(str(reclaim.place.id))
    assert reclaim.state() is None
    reclaim.rule()
    tasks.run_reclaim_of(str(globex.id))
    tasks.run_reclaim_of(str(reclaim.place.id))
    tasks.run_reclaim_of(str(reclaim.place.id))
    assert reclaim.standing().at <= datetime.now(UTC)
