"""A gang goes whole, so a plan may take more than it needs: nobody is promised the rest before it
is back, and nothing is promised twice."""

from datetime import timedelta

import pytest

from ledger import verification
from tests.preemption.conftest import Preemption, after

NOW = after(minutes=10)


@pytest.fixture
def gangs(preemption: Preemption) -> Preemption:
    """h100 is full of 20 spot gangs of 5 units; nothing hinders plans."""
    preemption.budgets(pool_share="1")
    for number in range(20):
        preemption.running(f"v{number:02}", 5, at=after(seconds=number))
    return preemption


def admitted(it: Preemption, key: str, units: int, **fields) -> bool:
    asked = it.jobs.ask(key, units=units, **({"job_class": "P1"} | fields))
    return it.jobs.admit(asked, now=NOW).results[0].status == "admitted"


def all_done(it: Preemption, plan) -> None:
    told = it.report(plan, *((one.key, "done") for one in plan.actions), now=NOW)
    assert told.plan.missing_units == 0


def test_what_comes_back_beyond_a_plan_is_no_other_plans_before_it_is_back(gangs):
    first = gangs.ask("three", 3, now=NOW).plan
    second = gangs.ask("seven", 7, now=NOW)
    assert (second.free_units, [one.units for one in second.plan.actions]) == (0, [5, 5])
    # The first one's scheduler is slow; the second one's is not, and its job gets in.
    all_done(gangs, second.plan)
    assert admitted(gangs, "seven", 7)
    all_done(gangs, first)
    assert admitted(gangs, "three", 3)
    # Two of the first and three of the second are left over, and are everybody's now.
    assert admitted(gangs, "rest", 5, account="vision", tier="spot", job_class="P3")
    assert verification.verify(gangs.place.id).findings == []


def test_what_is_left_over_counts_as_soon_as_it_is_back(gangs):
    all_done(gangs, gangs.ask("three", 3, now=NOW).plan)
    second = gangs.ask("seven", 7, now=NOW)
    assert (second.free_units, [one.units for one in second.plan.actions]) == (2, [5])
    all_done(gangs, second.plan)
    assert admitted(gangs, "seven", 7) and admitted(gangs, "three", 3)


def test_free_units_that_a_plan_does_not_need_are_everybodys_whatever_its_victims_answer(gangs):
    done = gangs.ask("three", 3, now=NOW).plan
    all_done(gangs, done)  # two units are free, three are kept
    other = gangs.ask("five", 5, now=NOW)
    assert (other.free_units, [one.units for one in other.plan.actions]) == (0, [5])
    assert admitted(gangs, "two", 2, account="vision", tier="spot", job_class="P3")
    told = gangs.report(other.plan, (other.plan.actions[0].key, "refused"), now=NOW)
    assert told.plan.missing_units == 5
    # The plan that is complete does not suffer from the one that is not.
    assert admitted(gangs, "three", 3)
    assert verification.verify(gangs.place.id).findings == []


def test_a_victim_of_an_open_plan_is_not_taken_again_when_its_job_has_got_in_already(gangs):
    plan = gangs.ask("three", 3, now=NOW).plan
    gangs.jobs.release("v00", now=NOW)
    assert admitted(gangs, "three", 3)
    (victim,) = plan.actions
    other = gangs.ask("next", 20, now=NOW + timedelta(seconds=1))
    assert victim.key not in {one.key for one in other.plan.actions}
    assert other.free_units + sum(one.units for one in other.plan.actions) >= 20
