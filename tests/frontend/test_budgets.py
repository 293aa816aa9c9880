"""Budgets on pages: read by those who may, set with a look at the past, marked beside the costs."""

import pytest

from accounting.queries import budgets as queries
from ledger import scope
from tests.accounting.budgets.sample_budgets import budget, look, spend
from tests.frontend.forms import save, text
from tests.world import NOW, record

NEW = {
    "account": "nlp",
    "name": "",
    "amount": "12000",
    "period": "month",
    "starts_on": "",
    "last_day": "",
    "spent": "50, 80, 100",
    "forecast": "100",
    "burn": "3/1/3; 7/1/1.5",
}


@pytest.fixture
def place(acme):
    """nlp spends 384 a day since October; Fay finances, Ada leads research."""
    spend(acme)
    for name, role, on in (("fay", "finance", "root"), ("ada", "lead", "research")):
        acme.person(name)
        acme.role(name, role, on=on)
    look(acme)
    return acme


@pytest.fixture
def fay(place, browse):
    return browse(place, "fay")


def stored(place):
    with scope.reading(place.id):
        return queries.budget_rows(place.id, today=NOW.date(), ended=True)


def test_before_there_is_any_the_way_to_one_is_shown(place, fay, browse):
    assert "No budget yet" in text(fay.get("/budgets"))
    assert b"/budgets/new" in fay.get("/budgets").content
    words = text(browse(place, "bob").get("/budgets"))
    assert "Finance sets them" in words
    assert browse(place, "uma").get("/budgets/new").status_code == 403


def test_a_budget_is_tried_on_the_past_and_set(place, fay):
    tried = text(fay.post("/budgets/new", NEW | {"step": "preview"}))
    assert "2026-11 10,752.00 EUR, 89.6 % of it" in tried
    assert "2026-11-16: 50 % spent (51.2 %)" in tried
    assert "2026-10 11,920.00" in tried
    assert stored(place) == []
    assert save(fay, "/budgets/new", **NEW | {"reason": ""}).status_code == 400
    done = save(fay, "/budgets/new", **NEW)
    assert done.status_code == 302
    (row,) = stored(place)
    words = text(fay.get(f"/budgets/{row.id}"))
    assert "Each month of nlp" in words
    assert "Spent 10,752.00" in words
    assert "Forecast 11,312.00" in words
    assert "growth" in words


def test_the_list_says_state_in_words_and_finds(place, fay):
    budget(place, amount="12000")
    budget(place, amount="10000", period="quarter")
    budget(place, "vision", amount="5")
    look(place)
    words = text(fay.get("/budgets"))
    assert "nlp Each month 2026-11 On track 12,000.00 10,752.00" in words
    assert "nlp Each quarter 2026 Q4 Overspent 10,000.00" in words
    assert "vision" not in text(fay.get("/budgets?account=nlp")).split("Budgets, newest first")[1]
    assert "Each month" not in text(fay.get("/budgets?period=quarter")).split("newest first")[1]
    alerted = text(fay.get("/budgets?show=alerted")).split("newest first")[1]
    assert "nlp" in alerted and "vision" not in alerted
    assert "No such budget" in text(fay.get("/budgets?period=year"))
    assert fay.get("/budgets?period=week").status_code == 400


def test_the_list_goes_on_page_by_page(place, fay, monkeypatch):
    from frontend.views import budgets as views

    monkeypatch.setattr(views, "PAGE_ROWS", 2)
    for account in ("nlp", "vision", "serving"):
        budget(place, account)
    first = fay.get("/budgets?period=month")
    address = first.context["next"]
    assert [row.one.row.account for row in first.context["rows"]] == ["serving", "vision"]
    second = fay.get(address)
    assert [row.one.row.account for row in second.context["rows"]] == ["nlp"]
    assert second.context["next"] is None


def test_more_budgets_take_no_more_questions(place, fay, statements):
    budget(place)
    fay.get("/budgets")
    statements.clear()
    fay.get("/budgets")
    before = len(statements)
    for account in ("vision", "serving", "research", "production"):
        budget(place, account)
    statements.clear()
    fay.get("/budgets")
    assert len(statements) == before


@pytest.mark.parametrize(
    ("values", "field", "words"),
    [
        ({"account": "nobody"}, "account", "no such account"),
        ({"amount": "0"}, "amount", "above 0, in EUR"),
        ({"amount": "x"}, "amount", "number"),
        ({"starts_on": "2026-11-02"}, "starts_on", "first day of one, such as 2026-11-01"),
        ({"starts_on": "soon"}, "starts_on", "Give a day like"),
        ({"period": "range"}, "last_day", "first day and an end"),
        ({"spent": "half"}, "spent", "whole percents"),
        ({"spent": "0"}, "spent", "1 to 1000"),
        ({"burn": "7/1"}, "burn", "Give rules like"),
        ({"burn": "1/7/2"}, "burn", "long window"),
    ],
)
def test_errors_stand_at_their_fields(place, fay, values, field, words):
    page = save(fay, "/budgets/new", **NEW | values)
    assert page.status_code == 400
    assert words in " ".join(page.context["form"].errors[field])
    assert f'id="id_{field}-errors"' in page.content.decode()


def test_a_lead_divides_and_is_told_what_is_left(place, browse):
    ada = browse(place, "ada")
    budget(place, "research", "1000")
    page = save(ada, "/budgets/new", **NEW | {"amount": "1001"})
    assert "1,000.00 are left" in " ".join(page.context["form"].errors["amount"])
    assert save(ada, "/budgets/new", **NEW | {"amount": "900"}).status_code == 302
    assert save(ada, "/budgets/new", **NEW | {"account": "research"}).status_code == 403


def test_finance_is_warned_and_may_go_on(place, fay):
    budget(place, "research", "1000")
    tried = text(fay.post("/budgets/new", NEW | {"step": "preview"}))
    assert "1,000.00 are left" in tried and "You may save it all the same" in tried
    done = fay.post("/budgets/new", NEW | {"step": "save", "reason": "growth"}, follow=True)
    assert "1,000.00 are left" in text(done)


def test_a_budget_is_changed_from_a_period_on_and_ended(place, fay):
    made = budget(place)
    address = f"/budgets/{made.budget_id}"
    values = {"amount": "13000", "effective_from": "2026-12-01", "spent": "90", "forecast": "",
              "burn": ""}  # fmt: skip
    assert save(fay, f"{address}/change", **values).status_code == 302
    words = text(fay.get(address))
    assert "2026-12-01 13,000.00" in words and "2026-11-01 10,000.00" in words
    past = save(fay, f"{address}/change", **values | {"effective_from": "2026-10-01"})
    assert "give 2026-11-01 or later" in " ".join(past.context["form"].errors["effective_from"])
    early = save(fay, f"{address}/end", ended_on="2026-11-01")
    assert "today or later" in " ".join(early.context["form"].errors["ended_on"])
    assert save(fay, f"{address}/end", ended_on="2026-11-29").status_code == 302
    assert "ended on 2026-11-29" in text(fay.get(address))
    assert f"{address}/change" not in fay.get(address).content.decode()


def test_only_those_with_a_role_see_a_budget(place, browse):
    made = budget(place, "production")
    address = f"/budgets/{made.budget_id}"
    assert browse(place, "alice").get(address).status_code == 404
    assert browse(place, "uma").get(address).status_code == 200
    assert "production" not in text(browse(place, "ada").get("/budgets")).split("newest")[1]
    assert browse(place, "uma").get(f"{address}/change").status_code == 403
    assert browse(place, "uma").get("/budgets/nothing").status_code == 404


def test_past_periods_can_be_looked_at(place, fay):
    made = budget(place, now=NOW.replace(month=10))
    page = fay.get(f"/budgets/{made.budget_id}?from=2026-10-01")
    assert "Spent 11,920.00" in text(page) and "Overspent" in text(page)
    assert fay.get(f"/budgets/{made.budget_id}?from=2026-09-01").status_code == 404


def test_unusual_days_are_marked_on_both_charts(place, fay):
    made = budget(place)
    place.use(record("burst", start=NOW.replace(day=20, hour=1), hours=10, units=60, tier="spot"))
    look(place, now=NOW.replace(hour=13))
    words = text(fay.get(f"/budgets/{made.budget_id}"))
    assert "2026-11-20 dear 1,584.00 384.00" in words
    costs = text(fay.get("/showback?account=nlp"))
    assert "Unusual: 2026-11-20 (unusually dear)" in costs
    assert "Its budgets" in costs and "Each month 2026-11" in costs
    assert "Its budgets" not in text(fay.get("/showback?account=vision"))


def test_before_costs_are_drawn_the_page_says_so(acme, browse):
    made = budget(acme)
    words = text(browse(acme, "otto").get(f"/budgets/{made.budget_id}"))
    assert "Costs are drawn within the hour" in words and "No costs yet" in words


def test_a_request_for_quota_tells_what_it_makes_of_the_budget(place, fay, browse):
    from tests.frontend.asking import ASK, filled

    budget(place, "research", "50000")
    budget(place, amount="20000")
    look(place, now=NOW.replace(hour=13))
    seen = text(browse(place, "alice").post(ASK, filled(units="4", step="check")))
    # 4 units x 2 x 730 hours are 5,840 more than the forecast.
    assert "Budget of nlp 11,296.00 of 20,000.00 EUR a month are forecast" in seen
    assert "with this for a whole month 17,136.00, within it" in seen
    more = text(browse(place, "alice").post(ASK, filled(units="24", step="check")))
    assert "beyond it" in more
