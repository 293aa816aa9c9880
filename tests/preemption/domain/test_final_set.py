"""What is left of a set when superfluous victims are given back: as little as will do, legal."""

from preemption.domain.values import PlanState, Running
from quota.domain.values import Quota
from tests.preemption.domain.test_victims import ago, ask, codes, job, state, took


def lent(*running: Running) -> PlanState:
    """Everything is promised to ops, so nlp and vision only borrow."""
    return state(*running, quotas={"ops": Quota(guaranteed=sum(each.units for each in running))})


def test_the_last_taken_is_given_back_first() -> None:
    """The youngest go first; with the last one, one of both before it is enough: the first."""
    three = state(
        job("first", "vision", 2, "spot P3", saved_at=ago(1)),
        job("second", "vision", 3, "spot P3", saved_at=ago(2)),
        job("third", "vision", 4, "spot P3", saved_at=ago(3)),
    )
    assert took(ask(three, units=6)) == [("first", "checkpoint", 2), ("third", "checkpoint", 4)]


def test_an_elastic_one_that_was_to_stop_goes_on_when_a_later_one_gives_enough() -> None:
    mixed = state(
        job("elastic", "vision", 10, "spot P3", min_units=2, saved_at=ago(1)),
        job("gang", "vision", 9, "spot P3", saved_at=ago(2)),
    )
    assert took(ask(mixed, units=12)) == [("elastic", "shrink", 3), ("gang", "checkpoint", 9)]


def test_a_set_that_is_not_legal_without_its_superfluous_ones_is_no_plan() -> None:
    """nlp borrows 2 and asks for 4 more. Its own lower job given up, vision may give a gang of 4:
    both have 4 then. But that gang alone is enough, and with nlp's own job kept it is 6 to 4."""
    own = job("own", "nlp", 2, "borrowed P3", saved_at=ago(1))
    gangs = [job(f"v{n}", "vision", 4, "borrowed P3", saved_at=ago(n)) for n in (2, 3, 4)]
    found = ask(lent(own, *gangs[:2]), units=4)
    assert (found.outcome, found.actions) == ("refused", ())
    assert codes(found) >= {"share"}
    # From one that borrows more the gang alone is legal.
    assert [one[0] for one in took(ask(lent(own, *gangs), units=4))] == ["v2"]


def test_a_team_within_its_guarantee_keeps_what_is_called_borrowed_still() -> None:
    """vision is above its guarantee by what 3d borrows. cv's was raised just now, and its job is
    not promoted yet: its step comes first, but somebody beside it is who borrows."""
    raised = state(
        job("raised", "cv", 10, "borrowed P3"),
        job("lent", "3d", 20, "borrowed P1"),
        quotas={"nlp": Quota(guaranteed=20), "cv": Quota(guaranteed=10)},
    )
    assert [one[0] for one in took(ask(raised, units=10))] == ["lent"]


def test_p1_gives_way_to_no_borrower_even_to_one_with_the_better_share() -> None:
    """vision borrows 30 and ops would borrow 5."""

    def borrowed(priority_class: str) -> PlanState:
        gangs = [job(f"v{n}", "vision", 5, f"borrowed {priority_class}") for n in range(6)]
        mine = job("own", "ops", 30, "guaranteed P2")
        given = {"nlp": Quota(guaranteed=30), "ops": Quota(guaranteed=30)}
        return state(*gangs, mine, quotas=given)

    assert ask(borrowed("P2"), account="ops", units=5).units == 5
    found = ask(borrowed("P1"), account="ops", units=5)
    assert (found.outcome, "class" in codes(found)) == ("refused", True)


def test_p0_takes_nobodys_guarantee_while_its_own_side_is_above_its_own() -> None:
    """cv claims what it is promised: from 3d beside it, which borrows and may be taken from in four
    minutes, and not from ops, which keeps within its guarantee."""
    at = state(
        job("fresh", "3d", 20, "borrowed P3", since=ago(1), saved_at=None),
        job("within", "ops", 30, "guaranteed P3"),
        quotas={"cv": Quota(guaranteed=20), "ops": Quota(guaranteed=30)},
    )
    found = ask(at, account="cv", units=10, priority_class="P0")
    assert (found.outcome, [one[0] for one in took(found)]) == ("wait", ["fresh"])
