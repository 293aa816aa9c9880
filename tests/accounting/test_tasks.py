"""Tasks of usage: harmless when run late, twice, or over organizations with nothing to do."""

from datetime import date, timedelta

import pytest

from accounting import partitions, tasks
from config.celery import BEAT_TABLE, QUEUES, app
from ledger import scope
from ledger.sql import server_cursor
from tests.ledger.sample import together
from tests.world import NOW, Tenant, record


def open_records(it: Tenant) -> int:
    with scope.reading(it.id), server_cursor() as cursor:
        return cursor.execute("SELECT count(*) FROM accounting_openusage").fetchone()[0]


def events(it: Tenant) -> int:
    with scope.reading(it.id), server_cursor() as cursor:
        return cursor.execute("SELECT count(*) FROM ledger_event").fetchone()[0]


def test_the_beat_table_names_our_tasks_and_queues() -> None:
    app.loader.import_default_modules()
    for name, entry in BEAT_TABLE.items():
        assert entry["task"] in app.tasks, name
        assert entry["options"].get("queue", "default") in QUEUES, name


def test_every_organization_is_settled_once(acme: Tenant, globex: Tenant) -> None:
    # Recorded an hour before they end; the wall clock has passed both.
    earlier = NOW - timedelta(days=2)
    acme.use(record("a", start=earlier, hours=1), now=earlier)
    globex.use(record("a", start=earlier, hours=1, person="charlie"), now=earlier)
    acme.use(record("runs", start=earlier, hours=None), now=earlier)
    assert (open_records(acme), open_records(globex)) == (2, 1)
    tasks.settle_usage()
    assert (open_records(acme), open_records(globex)) == (1, 0)
    before = events(acme)
    tasks.settle_usage()
    assert events(acme) == before


@pytest.mark.django_db
def test_partitions_are_there_before_they_are_needed() -> None:
    tasks.make_partitions()
    tasks.make_partitions()
    with server_cursor() as cursor:
        months = cursor.execute(
            "SELECT count(*) FROM generate_series(date_trunc('month', now()), "
            "  now() + interval '90 days', interval '1 month') AS m "
            "WHERE to_regclass('accounting_usagerecord_' || to_char(m, 'YYYYMM')) IS NULL"
        ).fetchone()[0]
    assert months == 0


@pytest.mark.django_db(transaction=True)
def test_many_may_need_the_same_partition_at_once() -> None:
    for year in range(2003, 2008):
        day = date(year, 7, 1)
        made = together([lambda day=day: partitions.ensure(day, day) for _ in range(6)])
        assert sorted(made) == [0, 0, 0, 0, 0, 1]
        partitions.forget()


@pytest.mark.django_db
def test_no_organizations_no_work() -> None:
    tasks.settle_usage()
