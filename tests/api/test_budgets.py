"""Budgets over REST, as the guide prints it; who may, who may not."""

import json
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

from accounting import budget_rounds
from accounting.domain import splitting
from tests.accounting.statements.test_rating import BERLIN, publish
from tests.api.conftest import Api, fresh_token, is_problem, signed_in
from tests.world import record

pytestmark = pytest.mark.django_db(transaction=True)
GUIDE = (Path(__file__).parents[2] / "docs" / "api" / "budgets.md").read_text()
ANY = "01900000-0000-7000-8000-000000000000"
WHY = {"reason": "as planned"}


def block(name: str) -> dict:
    """An example of the guide."""
    return json.loads(re.search(rf"```json {name}\n(.+?)```", GUIDE, re.DOTALL)[1])


@pytest.fixture
def place(acme):
    """nlp has spent 16 an hour all day for the last 40 days."""
    now = datetime.now(UTC)
    today = splitting.day_of(now, BERLIN)
    start = splitting.start_of_day(today - timedelta(days=40), BERLIN)
    publish(acme, "2", at=start)
    hours = (now - start) / timedelta(hours=1)
    acme.use(record("a", start=start, hours=hours), now=now)
    for name, role, on in (("fay", "finance", "root"), ("ada", "lead", "research")):
        acme.person(name)
        acme.role(name, role, on=on)
    budget_rounds.look(acme.id, now=now)
    return acme


@pytest.fixture
def fay(place):
    return signed_in(place, "fay")


def test_the_examples_of_the_guide(fay, place):
    made = fay.post("budgets", block("set"))
    assert made.status_code == 201
    ref = made.json()
    assert ref["warning"] == "" and ref["effective_from"].endswith("-01")
    address = f"budgets/{ref['id']}"
    assert fay.post(f"{address}/change", block("change")).json()["id"] == ref["id"]
    one = fay.get(address).json()
    (version,) = one["versions"]
    assert (version["amount"], version["forecast"]) == ("15000.00", [90, 100])
    assert version["burn"] == [{"long_days": 7, "short_days": 1, "factor": "1.5"}]
    assert fay.post(f"{address}/end", block("end")).status_code == 200
    is_problem(fay.post(f"{address}/change", block("change")), 409, "budget_ended")
    assert fay.get("budgets").json()["budgets"] == []
    (ended,) = fay.get("budgets", {"ended": "1"}).json()["budgets"]
    assert ended["ended_on"] is not None


def test_the_days_of_a_budget_add_up_to_what_is_spent(fay, place):
    today = splitting.day_of(datetime.now(UTC), BERLIN)
    days = {
        "period": "range",
        "starts_on": str(today - timedelta(days=40)),
        "ends_on": str(today + timedelta(days=20)),
    }
    ref = fay.post("budgets", block("set") | {"amount": "100"} | days).json()
    budget_rounds.look(place.id, now=datetime.now(UTC) + timedelta(seconds=1))
    one = fay.get(f"budgets/{ref['id']}").json()
    parts = [Decimal(day[name]) for day in one["days"] for name in ("use", "idle", "other")]
    facts = one["budget"]
    assert sum(parts) == Decimal(facts["spent"]) > 15_000
    assert facts["state"] == "over" and facts["remaining"] == "0.00"
    assert Decimal(facts["forecast_low"]) <= Decimal(facts["forecast"])
    assert {alert["rule"] for alert in one["alerts"] if alert["kind"] == "spent"} == {
        "50", "80", "100",
    }  # fmt: skip
    assert [row["id"] for row in fay.get("budgets", {"alerted": "1"}).json()["budgets"]] == [
        ref["id"]
    ]


def test_a_dry_run_stores_nothing(fay):
    tried = fay.post("budgets", block("set") | {"dry_run": True}).json()
    assert tried["id"] is None
    assert fay.get("budgets").json()["budgets"] == []


def test_the_same_key_sets_one_budget(fay):
    first = fay.post("budgets", block("set"), idempotency_key="k")
    again = fay.post("budgets", block("set"), idempotency_key="k")
    assert first.json() == again.json()
    assert len(fay.get("budgets").json()["budgets"]) == 1


def test_pages_and_filters(fay):
    for account in ("nlp", "vision", "serving"):
        fay.post("budgets", block("set") | {"account": account})
    first = fay.get("budgets", {"limit": 2}).json()
    assert [one["account"] for one in first["budgets"]] == ["serving", "vision"]
    second = fay.get(first["next"].removeprefix("/api/v1/")).json()
    assert [one["account"] for one in second["budgets"]] == ["nlp"] and second["next"] is None
    under = fay.get("budgets", {"account": "research"}).json()["budgets"]
    assert [one["account"] for one in under] == ["vision", "nlp"]
    assert fay.get("budgets", {"period": "year"}).json()["budgets"] == []


def test_who_may(place, fay, api):
    bob, ada = signed_in(place, "bob"), signed_in(place, "ada")
    made = fay.post("budgets", block("set") | {"account": "research"}).json()
    is_problem(api.get("budgets"), 403, "scope_missing")
    machine = Api(fresh_token(place, "export:read"), api.client)
    assert len(machine.get("budgets").json()["budgets"]) == 1
    assert machine.get(f"budgets/{made['id']}").status_code == 200
    is_problem(machine.post("budgets", block("set")), 403, "people_only")
    assert bob.get("budgets").json()["budgets"] == []
    is_problem(bob.get(f"budgets/{made['id']}"), 404, "budget_unknown")
    is_problem(bob.post("budgets", block("set")), 403, "role_missing")
    is_problem(ada.post(f"budgets/{made['id']}/change", {"amount": "1"} | WHY), 403, "role_missing")
    is_problem(ada.post("budgets", block("set") | {"amount": "12001"}), 422, "budget_over_parent")
    assert ada.post("budgets", block("set")).status_code == 201
    assert (
        "0.00 are left"
        in fay.post("budgets", block("set") | {"account": "vision", "amount": "1"}).json()[
            "warning"
        ]
    )


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("budgets", {"amount": "0"}, 400, "amount_out_of_range"),
        ("budgets", {"account": "nobody"}, 404, "account_unknown"),
        ("budgets", {"starts_on": "2099-01-02"}, 400, "period_start"),
        ("budgets", {"starts_on": "2020-01-01"}, 422, "budget_in_the_past"),
        ("budgets", {"period": "range"}, 400, "range_malformed"),
        ("budgets", {"spent": [0]}, 400, "threshold_out_of_range"),
        ("budgets", {"burn": [{"long_days": 1, "short_days": 7, "factor": "1"}]}, 400,
         "burn_rule_out_of_range"),
        (f"budgets/{ANY}/end", None, 404, "budget_unknown"),
    ],
)  # fmt: skip
def test_what_is_refused(fay, path, body, status, code):
    sent = WHY if body is None else block("set") | body
    is_problem(fay.post(path, sent), status, code)


def test_a_period_that_it_never_had(fay):
    made = fay.post("budgets", block("set")).json()
    is_problem(fay.get(f"budgets/{made['id']}", {"day": "2020-01-01"}), 404, "budget_unknown")
    is_problem(fay.get(f"budgets/{made['id']}", {"day": "soon"}), 400, "parameter_invalid")


def test_a_precheck_of_a_request_tells_what_it_makes_of_the_budget(fay, place):
    fay.post("budgets", block("set") | {"period": "month", "amount": "5000"})
    trial = {"account": "nlp", "pool": "h100", "kind": "boost", "units": 4, "workload": "training",
             "purpose": "p", "ends_at": str(datetime.now(UTC) + timedelta(days=9))}  # fmt: skip
    found = signed_in(place, "alice").post("requests/precheck", trial).json()
    effect = found["budget"]
    # 4 units x 2 x 730 hours.
    assert found["price_per_month"]["amount"] == "5840.00"
    assert Decimal(effect["together"]) - Decimal(effect["expected"]) == 5840
    assert effect["beyond"] and (effect["account"], effect["amount"]) == ("nlp", "5000.00")
