"""Plans for jobs that would do with fewer units: as many as can be had now."""

from dataclasses import replace
from fractions import Fraction

import pytest

from ledger.errors import Invalid
from preemption.domain.budgets import BudgetPolicy, Preempted
from preemption.domain.values import PlanRequest
from tests.preemption.domain.test_victims import FILL, ago, ask, job, state


def test_an_elastic_request_takes_as_much_as_its_share_allows() -> None:
    """nlp has 30 of its own; vision borrows 20: ten each is even, and 25 would be more."""
    at = state(
        job("nlp-own", "nlp", 30, "guaranteed P2"),
        job("vision-own", "vision", 30, "guaranteed P2"),
        *(job(f"v{n:02}", "vision", 1, "borrowed P2") for n in range(20)),
        job("ops-own", "ops", 10, "guaranteed P2"),
    )
    assert ask(at, units=25).outcome == "refused"
    found = ask(at, units=25, min_units=4)
    assert (found.outcome, found.for_units, found.units) == ("plan", 10, 10)
    assert ask(at, units=25, min_units=11).outcome == "refused"


def test_an_elastic_request_takes_what_the_budget_leaves_now() -> None:
    tenth = BudgetPolicy(pool_share=Fraction(1, 10))
    jobs = [job(f"v{n:02}", "vision", 1, "spot P3") for n in range(90)]
    at = state(*jobs, policy=tenth)
    assert ask(at, units=20).outcome == "wait"
    found = ask(at, units=20, min_units=1)
    assert (found.outcome, found.for_units, found.units) == ("plan", 9, 9)
    lately = replace(at, history=(Preempted(at=ago(1), job="x", units=9),))
    waits = ask(lately, units=20, min_units=5)
    assert (waits.outcome, waits.for_units) == ("wait", 5)


def test_what_is_free_already_is_enough_for_the_fewest() -> None:
    at = state(job("serve", "vision", 30, "guaranteed P0"), FILL, capacity=98)
    found = ask(at, units=30, min_units=2, priority_class="P3")
    assert (found.outcome, found.actions) == ("plan", ())
    assert found.for_units == found.free_units > 2


@pytest.mark.parametrize("fewest", [-1, 11])
def test_fewest_units_lie_within_those_asked_for(fewest: int) -> None:
    with pytest.raises(Invalid, match="min_units"):
        PlanRequest(account="nlp", units=10, min_units=fewest, priority_class="P2")
