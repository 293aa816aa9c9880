"""A month with every kind of line, with names that could be formulas, and files to look into."""

from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.cache import cache

from accounting.commands.exports import RequestExport
from accounting.commands.statements import (
    AgreeCommitment,
    CloseMonth,
    GrantCredit,
    StartClose,
)
from accounting.exports import files, making
from accounting.queries import exports as queries
from ledger import scope
from tests.accounting.statements.test_guarantees import promise
from tests.accounting.statements.test_rating import DAY, END, LATER, OCTOBER, START, publish
from tests.world import Tenant, record

HOSTILE = '=cmd|"/C calc"!A0'


@pytest.fixture(autouse=True)
def own_files(settings, tmp_path):
    """Files of this test alone, and no progress of another."""
    storages = {**settings.STORAGES}
    storages["exports"] = {**storages["exports"], "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = storages
    cache.clear()
    return tmp_path


@pytest.fixture
def place(acme) -> Tenant:
    """September closed with something that came late; October with use of two tiers and accounts,
    an idle promise, lending, a discount, a credit, a commitment."""
    publish(acme, "2.0001", at=START - 60 * DAY, borrowed="1.3", spot="0.7")
    promise(acme, "nlp", 10, at=START - 10 * DAY)
    promise(acme, "vision", 6, at=START - 10 * DAY)
    for name in ("fay", "finn"):
        acme.person(name)
        acme.role(name, "finance")
    acme.use(record("s", units=3, hours=5, start=START - 9 * DAY), now=START - 8 * DAY)
    close(acme, OCTOBER.replace(month=9), now=START + 9 * DAY)
    hours = int((END - START).total_seconds()) // 3600 + 11 * 24
    acme.use(
        record("known", units=1, hours=hours, start=START - 10 * DAY, account="serving",
               person="alice", tier="spot"),
        record("late", units=1, hours=7, start=START - 7 * DAY),
        record("a", units=8, hours=100, start=START, labels={"project": HOSTILE, "model": "m"}),
        record("v", units=6, hours=700.7, start=START, account="vision",
               compute_util=Decimal("0.123456789012345678")),
        record("b", units=5, hours=33.3333, start=START + 3 * DAY, account="serving",
               person="alice", tier="borrowed"),
        now=START + 30 * DAY,
    )  # fmt: skip
    acme.use(record("wrong", units=4, hours=10, start=START + 5 * DAY), now=START + 30 * DAY)
    acme.use(record("right", units=2, hours=10, start=START + 5 * DAY, supersedes="wrong"),
             now=START + 30 * DAY)  # fmt: skip
    grant = GrantCredit(
        account_id=acme.accounts["nlp"],
        amount=Decimal("12.34"),
        month=OCTOBER,
        about=OCTOBER.replace(month=9),
    )
    acme.run(grant, now=LATER, reason=HOSTILE)
    agreed = AgreeCommitment(
        account_id=acme.accounts["production"], amount=Decimal(9_999), from_month=OCTOBER
    )
    acme.run(agreed, now=START + 9 * DAY, reason="contract")
    return acme


def close(place, month=OCTOBER, *, now=LATER):
    accept = ("telemetry_missing", "unrated_use", "records_rejected", "records_contradict")
    place.run(StartClose(month=month, accept=accept), now=now, reason="end")
    while not place.run(CloseMonth(month=month), now=now).result.closed:
        pass


def request(place, what="lines", suffix="csv", *, account="root", month=OCTOBER, now=LATER,
            by=None, **values):  # fmt: skip
    """Ask for an export; its id."""
    command = RequestExport(
        account_id=place.accounts[account], month=month, what=what, format=suffix, **values
    )
    actor = {} if by is None else {"by": place.actor(by)}
    return place.run(command, now=now, **actor).result.export_id


def row(place, export_id):
    with scope.reading(place.id):
        return queries.export(place.id, export_id)


def made(place, *args, now=LATER, **values):
    """The bytes of an export and its row."""
    export_id = request(place, *args, now=now, **values)
    assert making.make(place.id, export_id, now=now + timedelta(minutes=1))
    found = row(place, export_id)
    assert found.state == "ready", found.problem_detail
    with files.opened(files.name_of(place.id, found.id, found.digest)) as file:
        return file.read(), found
