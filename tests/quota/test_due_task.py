"""The task that records what is due: every minute, one organization at a time, harmless twice."""

from datetime import UTC, datetime, timedelta

import pytest

from config.celery import BEAT_TABLE, app
from ledger.errors import Denied
from quota import tasks
from quota.commands.quotas import SettleQuotas
from tests import world


def test_it_is_in_the_beat_table():
    entry = BEAT_TABLE["quotas-due"]
    assert (entry["task"], entry["schedule"]) == (tasks.settle_quotas.name, 60)
    app.loader.import_default_modules()
    assert {tasks.settle_quotas.name, tasks.settle_quotas_of.name} <= app.tasks.keys()


def test_it_goes_through_all_organizations(quotas, acme, globex, monkeypatch):
    asked = []
    monkeypatch.setattr(
        tasks.settle_quotas_of, "apply_async", lambda args, **options: asked.append((args, options))
    )
    tasks.settle_quotas()
    assert {args[0] for args, _ in asked} == {str(acme.id), str(globex.id)}
    assert all(options == {"queue": "deadlines", "expires": 60} for _, options in asked)


def test_it_ends_what_has_an_end_and_twice_is_once(quotas, acme, globex):
    now = datetime.now(UTC)
    quotas.set("nlp", 7, now=now - timedelta(hours=2), ends_at=now - timedelta(hours=1))
    tasks.settle_quotas_of(str(globex.id))
    assert quotas.stored() == {"nlp": 7}
    tasks.settle_quotas_of(str(acme.id))
    assert quotas.stored() == {"nlp": 0}
    tasks.settle_quotas_of(str(acme.id))
    assert acme.run(SettleQuotas(), now=now).events == ()


def test_only_the_system_settles(acme):
    with pytest.raises(Denied):
        acme.run(SettleQuotas(), by=acme.actor("otto"), now=world.NOW)
