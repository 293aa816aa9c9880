"""The task of deadlines: one organization at a time, harmless twice."""

from datetime import UTC, datetime, timedelta

from config.celery import BEAT_TABLE, app
from quota import tasks


def test_the_beat_knows_the_task():
    entry = BEAT_TABLE["requests-deadlines"]
    assert entry["task"] == tasks.follow_up_requests.name
    app.loader.import_default_modules()
    assert tasks.follow_up_requests_of.name in app.tasks


def test_it_escalates_what_is_overdue_and_only_once(desk, globex):
    it = desk.ask("nlp", 60, now=datetime.now(UTC) - timedelta(days=4), days=3000)
    tasks.follow_up_requests_of(str(globex.id))
    assert desk.request(it).escalations == 0
    tasks.follow_up_requests_of(str(desk.place.id))
    tasks.follow_up_requests_of(str(desk.place.id))
    request = desk.request(it)
    assert request.escalations == 1
    assert request.due_at > datetime.now(UTC)
