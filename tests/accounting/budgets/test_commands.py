"""Who sets which budget, from when, and how parts fit into their whole."""

from datetime import date, timedelta
from decimal import Decimal

import pytest

from accounting.commands.budgets import ChangeBudget, EndBudget, SetBudget
from accounting.domain.budgets import BurnRule
from accounting.queries import budgets as queries
from ledger import scope
from ledger.errors import Conflict, Denied, Invalid, NotFound, Refused
from tests.accounting.budgets.sample_budgets import budget
from tests.world import NOW, Tenant

NOVEMBER, DECEMBER = date(2026, 11, 1), date(2026, 12, 1)


@pytest.fixture
def place(acme) -> Tenant:
    """Fay finances everything, Ada leads research."""
    for name, role, on in (("fay", "finance", "root"), ("ada", "lead", "research")):
        acme.person(name)
        acme.role(name, role, on=on)
    return acme


def amounts(place: Tenant, made) -> list[tuple[date, Decimal]]:
    with scope.reading(place.id):
        rows = queries.versions(place.id, [made.budget_id], places=2)[made.budget_id]
    return [(row.effective_from, row.amount) for row in rows]


def change(place: Tenant, made, *, by=None, now=NOW, **values):
    command = ChangeBudget(budget_id=made.budget_id, **values)
    actor = {} if by is None else {"by": place.actor(by)}
    return place.run(command, reason="new plan", now=now, **actor).result


@pytest.mark.parametrize("name", ["fay", "otto"])
def test_finance_and_operators_set_budgets(place, name):
    made = budget(place, by=place.actor(name))
    assert made.effective_from == NOVEMBER
    assert amounts(place, made) == [(NOVEMBER, Decimal("10000.00"))]


@pytest.mark.parametrize(("name", "account"), [("bob", "nlp"), ("alice", "nlp"), ("uma", "nlp")])
def test_others_do_not(place, name, account):
    with pytest.raises(Denied) as refused:
        budget(place, account, by=place.actor(name))
    assert refused.value.facts["roles"] == ["finance", "operator"]


def test_a_change_holds_from_a_period_on_and_never_before(place):
    made = budget(place)
    change(place, made, amount=Decimal(12000), effective_from=DECEMBER)
    assert amounts(place, made) == [
        (NOVEMBER, Decimal("10000.00")),
        (DECEMBER, Decimal("12000.00")),
    ]
    change(place, made, amount=Decimal(11000))
    assert amounts(place, made)[0] == (NOVEMBER, Decimal("11000.00"))
    with pytest.raises(Refused, match="never changes what was") as refused:
        change(place, made, amount=Decimal(1), now=NOW + timedelta(days=10),
               effective_from=NOVEMBER)  # fmt: skip
    assert refused.value.facts["earliest"] == "2026-12-01"


def test_what_a_change_does_not_name_stays(place):
    rule = BurnRule(long_days=14, short_days=2, factor=Decimal(2))
    made = budget(place, spent=(90,), burn=(rule,))
    change(place, made, amount=Decimal(5), forecast=())
    with scope.reading(place.id):
        (row,) = queries.versions(place.id, [made.budget_id], places=2)[made.budget_id]
    assert (row.alerts.spent, row.alerts.forecast, row.alerts.burn) == ((90,), (), (rule,))
    assert row.reason == "new plan"


def test_an_ended_budget_counts_no_more_and_is_not_changed(place):
    made = budget(place)
    place.run(EndBudget(budget_id=made.budget_id, ended_on=date(2026, 11, 30)), reason="over")
    later = NOW + timedelta(days=1)
    with pytest.raises(Conflict, match="ended on 2026-11-30"):
        change(place, made, amount=Decimal(1), now=later)
    with scope.reading(place.id):
        assert queries.budget_rows(place.id, today=date(2026, 11, 30)) == []
        assert len(queries.budget_rows(place.id, today=date(2026, 11, 30), ended=True)) == 1
    budget(place, now=later)  # its place is free again


def test_a_budget_does_not_end_in_the_past(place):
    made = budget(place)
    with pytest.raises(Refused, match="today or later"):
        place.run(EndBudget(budget_id=made.budget_id, ended_on=date(2026, 11, 28)), reason="test")


def test_one_budget_of_a_kind_for_an_account(place):
    made = budget(place)
    with pytest.raises(Conflict, match="change that one") as refused:
        budget(place)
    assert refused.value.facts["budget"] == str(made.budget_id)
    budget(place, period="year")
    days = {"period": "range", "starts_on": NOVEMBER, "ends_on": DECEMBER}
    budget(place, **days)
    with pytest.raises(Conflict):
        budget(place, **days)
    budget(place, **days | {"ends_on": date(2026, 12, 2)})


@pytest.mark.parametrize(
    ("values", "error", "code", "field"),
    [
        ({"period": "week"}, Invalid, "period_unknown", "period"),
        ({"starts_on": date(2026, 11, 2)}, Invalid, "period_start", "starts_on"),
        ({"period": "quarter", "starts_on": NOVEMBER}, Invalid, "period_start", "starts_on"),
        ({"starts_on": date(2026, 10, 1)}, Refused, "budget_in_the_past", "starts_on"),
        ({"ends_on": DECEMBER}, Invalid, "range_malformed", "ends_on"),
        ({"period": "range"}, Invalid, "range_malformed", "ends_on"),
        ({"period": "range", "starts_on": NOVEMBER, "ends_on": NOVEMBER}, Invalid,
         "range_malformed", "ends_on"),
        ({"period": "range", "starts_on": NOVEMBER, "ends_on": date(2026, 11, 29)}, Refused,
         "budget_in_the_past", "starts_on"),
        ({"amount": "0"}, Invalid, "amount_out_of_range", "amount"),
        ({"amount": "0.001"}, Invalid, "amount_out_of_range", "amount"),
        ({"spent": (0,)}, Invalid, "threshold_out_of_range", "spent"),
        ({"name": "x" * 101}, Invalid, "name_too_long", "name"),
    ],
)  # fmt: skip
def test_budgets_that_cannot_be(place, values, error, code, field):
    with pytest.raises(error) as refused:
        budget(place, **values)
    assert (refused.value.code, refused.value.field) == (code, field)


def test_a_reason_is_needed(place):
    command = SetBudget(account_id=place.accounts["nlp"], period="month", amount=Decimal(1))
    with pytest.raises(Invalid, match="Say why"):
        place.run(command)


def test_of_an_unknown_account_or_budget(place):
    with pytest.raises(NotFound):
        place.run(EndBudget(budget_id=place.root), reason="test")
    with pytest.raises(NotFound):
        place.run(SetBudget(account_id=place.id, period="month", amount=Decimal(1)), reason="test")


def test_a_lead_divides_the_budget_of_an_account(place):
    ada = place.actor("ada")
    budget(place, "research", "1000")
    budget(place, "nlp", "600", by=ada)
    with pytest.raises(Refused) as refused:
        budget(place, "vision", "401", by=ada)
    assert refused.value.code == "budget_over_parent"
    assert refused.value.facts["left"] == "400.00"
    made = budget(place, "vision", "400", by=ada)
    change(place, made, by="ada", amount=Decimal(300))
    with pytest.raises(Refused, match="are left"):
        change(place, made, by="ada", amount=Decimal("400.01"))


def test_a_lead_has_no_say_on_the_own_budget_or_beside_it(place):
    budget(place, "research", "1000")
    for account in ("research", "serving", "root"):
        with pytest.raises(Denied):
            budget(place, account, "1", by=place.actor("ada"))


def test_a_lead_needs_a_budget_of_an_own_account_to_divide(place):
    budget(place, "root", "1000")
    budget(place, "research", "1000", period="year")
    with pytest.raises(Refused) as refused:
        budget(place, "nlp", "1", by=place.actor("ada"))
    assert refused.value.code == "budget_needs_parent"


def test_finance_may_plan_beyond_and_is_told(place):
    budget(place, "research", "1000")
    assert budget(place, "nlp", "1000").warning == ""
    assert "0.00 are left" in budget(place, "vision", "1").warning
    with scope.reading(place.id):
        (row,) = queries.budgets_of(place.id, [place.accounts["research"]], today=NOVEMBER)
    told = place.run(ChangeBudget(budget_id=row.id, amount=Decimal(900)), reason="less").result
    assert told.warning == "The budgets below it come to 1,001.00 EUR, more than it is."


def test_a_budget_in_between_takes_the_ones_below_it_along(place):
    """root 1000 = nlp 600 + vision 300; a budget of research between them is their whole."""
    budget(place, "root", "1000")
    budget(place, "nlp", "600")
    budget(place, "vision", "300")
    assert budget(place, "research", "1000").warning == ""
    assert "0.00 are left" in budget(place, "production", "1").warning
