"""Who may compare which teams, by which figures, and under which names."""

from decimal import Decimal

import pytest

from accounting.domain.comparison import (
    EVERYTHING,
    FIGURES,
    ComparisonPolicy,
    Team,
    compared,
)
from ledger.errors import DomainError


def team(*above, **figures):
    none = dict.fromkeys(FIGURES)
    known = {name: Decimal(value) for name, value in figures.items()}
    return Team(account=above[-1], above=above, name=above[-1], **none | known)


TEAMS = [
    team("root", "research", "nlp", utilization="0.5", idle_share="0.4"),
    team("root", "research", "vision", utilization="0.9", productive_cost="3"),
    team("root", "research", "speech", utilization="0.7"),
    team("root", "research", "robots"),
    team("root", "production", "serving", utilization="0.2"),
]
LED = {"nlp": ("root", "research", "nlp")}


def names(policy, led=LED, by="utilization", teams=TEAMS):
    return [row.name for row in compared(teams, policy, led=led, by=by).rows]


def test_off_shows_the_own_teams_alone():
    assert names(ComparisonPolicy()) == ["nlp"]
    assert names(ComparisonPolicy(), {"research": ("root", "research")}) == [
        "vision", "speech", "nlp", "robots"]  # fmt: skip


def test_a_department_ends_at_its_border():
    found = names(ComparisonPolicy(reach="department", named=True))
    assert found == ["vision", "speech", "nlp", "robots"]
    assert "serving" in names(ComparisonPolicy(reach="organization", named=True))
    assert "serving" in names(ComparisonPolicy(reach="department", named=True), {"root": ("root",)})


def test_who_leads_a_team_without_use_sees_the_department_too():
    led = {"audio": ("root", "research", "audio")}
    assert len(names(ComparisonPolicy(reach="department", named=True), led)) == 4


def test_without_names_others_are_numbered_and_own_ones_are_not():
    found = names(ComparisonPolicy(reach="department"))
    assert found == ["Another team, 1", "Another team, 2", "nlp", "Another team, 3"]


def test_few_others_are_withheld_unless_they_are_named():
    few = [one for one in TEAMS if one.name in ("nlp", "vision", "speech")]
    found = compared(few, ComparisonPolicy(reach="department"), led=LED, by="utilization")
    assert found.withheld and [row.name for row in found.rows] == ["nlp"]
    named = compared(few, ComparisonPolicy(reach="department", named=True), led=LED,
                     by="utilization")  # fmt: skip
    assert not named.withheld and len(named.rows) == 3


def test_only_the_figures_of_the_policy_are_shown():
    policy = ComparisonPolicy(reach="organization", figures=("utilization",), named=True)
    found = compared(TEAMS, policy, led=LED, by="utilization")
    assert {row.team.idle_share for row in found.rows} == {None}
    assert {row.team.productive_cost for row in found.rows} == {None}
    assert found.medians == {"utilization": Decimal("0.6")}


def test_the_best_comes_first_and_the_unknown_last():
    assert names(EVERYTHING)[0] == "vision" and names(EVERYTHING)[-1] == "robots"
    assert names(EVERYTHING, by="idle_share")[0] == "nlp"


@pytest.mark.parametrize(
    "values",
    [{"reach": "all"}, {"reach": "department", "figures": ()}, {"figures": ("color",)},
     {"figures": ("utilization", "utilization")}],
    ids=str,
)  # fmt: skip
def test_what_no_policy_is(values):
    with pytest.raises(DomainError) as caught:
        ComparisonPolicy(**values)
    assert caught.value.code == "comparison_malformed"
