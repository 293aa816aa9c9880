"""Who hears of units that were taken, and of plans that are over."""

from datetime import timedelta
from decimal import Decimal

import pytest

from ledger import scope
from notices.queries import notices
from preemption import loading
from preemption.commands.settling import LapsePlans
from preemption.wire import PreemptionReport
from tests.notices.test_reading import read
from tests.preemption.conftest import Preemption, after
from tests.world import Tenant

pytestmark = pytest.mark.django_db
NOW = after(minutes=10)


@pytest.fixture
def place(acme: Tenant, monkeypatch) -> Preemption:
    """h100 is full of Bob's spot jobs in vision, which Vera leads. A unit-hour is worth 2."""
    monkeypatch.setattr(loading, "unit_price", lambda *_, **__: Decimal(2))
    acme.person("vera")
    acme.role("vera", "lead", on="vision")
    it = Preemption(acme)
    it.promise(nlp=60)
    it.budgets(pool_share="1")
    for number in range(20):
        it.running(f"v{number:02}", 5, at=after())
    return it


def told(it: Preemption, name: str, kind: str):
    with scope.reading(it.place.id):
        page = notices(it.place.id, it.place.people[name], kinds=(f"preemption.{kind}",))
    return list(reversed(page.rows))


def test_whose_job_it_was_hears_of_each_and_the_leads_once_a_plan(place):
    plan = place.ask("trainer", 15, now=NOW).plan
    first, *others = plan.actions
    place.report(plan, PreemptionReport(key=first.key, outcome="done", lost_seconds=2700), now=NOW)
    place.report(plan, *((one.key, "done") for one in others), now=NOW)
    read(place.place, now=NOW)
    mine = told(place, "bob", "job_taken")
    assert [one.title for one in mine] == [
        f"Job {one.key} gave 5 units of h100 back" for one in plan.actions
    ]
    assert "Work worth 7.50 EUR was lost, as its scheduler measured" in mine[0].body
    assert "Work worth 1.67 EUR is lost, as reckoned" in mine[1].body
    assert mine[0].link == "/preemption/taken?account=vision&month=2026-11"
    assert not any("nlp" in one.body + one.title for one in mine)
    (lead,) = told(place, "vera", "account_taken")
    assert lead.title == "vision gave 15 units of h100 back"
    assert "3 jobs so far" in lead.body and "10.83 EUR" in lead.body
    assert told(place, "bob", "account_taken") == []
    assert read(place.place, now=NOW) == 0


def test_what_is_planned_refused_or_ended_by_itself_is_not_told(place):
    plan = place.ask("trainer", 10, now=NOW).plan
    read(place.place, now=NOW)
    kept, gone = plan.actions
    place.report(plan, (kept.key, "refused"), now=NOW)
    place.jobs.release(gone.key, now=NOW)
    place.report(plan, (gone.key, "done"), now=NOW)
    read(place.place, now=NOW)
    assert told(place, "bob", "job_taken") == [] and told(place, "vera", "account_taken") == []


def test_a_shrunk_job_goes_on(place):
    place.jobs.release("v00", now=after(minutes=1))
    place.running("elastic", 5, min_units=1, at=after(minutes=1))
    plan = place.ask("trainer", 4, now=NOW).plan
    place.report(plan, *((one.key, "done") for one in plan.actions), now=NOW)
    read(place.place, now=NOW)
    (one,) = told(place, "bob", "job_taken")
    assert "It goes on with 1 unit." in one.body


def test_who_asked_hears_when_the_plan_is_complete(place):
    plan = place.ask("trainer", 10, now=NOW, override="demo", by="otto").plan
    place.report(plan, *((one.key, "done") for one in plan.actions), now=NOW)
    place.confirm(plan, now=NOW)
    read(place.place, now=NOW)
    (one,) = told(place, "otto", "plan_over")
    assert one.title == "The 10 units of h100 for job trainer are there"
    assert (
        "10 units were given back and 0 units were free. They wait for its admission." in one.body
    )
    assert told(place, "alice", "plan_over") == []


def test_leads_hear_of_what_their_scheduler_asked_for_and_lapsed(place):
    place.ask("trainer", 10, now=NOW)
    late = NOW + timedelta(hours=1)
    place.place.run(LapsePlans(pool_id=place.place.pools["h100"]), now=late)
    read(place.place, now=late)
    (one,) = told(place, "alice", "plan_over")
    assert one.title == "The plan of 10 units of h100 for job trainer lapsed"
    assert "0 units had been given back" in one.body


def test_a_cancelled_plan_is_not_news(place):
    plan = place.ask("trainer", 10, now=NOW).plan
    place.cancel(plan, now=NOW)
    read(place.place, now=NOW)
    assert told(place, "alice", "plan_over") == []
