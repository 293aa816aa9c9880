"""Money over REST: rates, terms, months, statements down to the records; who may, who may not."""

import json
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from accounting.commands.statements import CloseMonth
from accounting.domain import statements
from tests.accounting.statements.test_guarantees import promise
from tests.accounting.statements.test_rating import publish
from tests.api.conftest import fresh_token, is_problem, signed_in, speaking
from tests.world import record

pytestmark = pytest.mark.django_db(transaction=True)
GUIDE = (Path(__file__).parents[2] / "docs" / "api" / "money.md").read_text()
BERLIN = ZoneInfo("Europe/Berlin")
WHY = {"reason": "as agreed"}


@pytest.fixture
def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def last(now) -> statements.Month:
    """The month that is over."""
    first = now.astimezone(BERLIN).date().replace(day=1)
    return statements.month_of(statements.month_before(first), BERLIN)


@pytest.fixture
def place(acme, now, last):
    """nlp is promised 10 h100 at 2 and used 8 for 100 hours of the last month."""
    publish(acme, "2", at=last.start - timedelta(days=1))
    promise(acme, "nlp", 10, at=last.start - timedelta(days=1))
    hours = (now - last.start).total_seconds() / 3600
    acme.use(
        record("known", units=1, hours=hours, start=last.start, account="serving",
               person="alice", tier="spot"),
        record("a", units=8, hours=100, start=last.start, labels={"project": "lima"}),
        now=now,
    )  # fmt: skip
    for name in ("fay", "finn"):
        acme.person(name)
        acme.role(name, "finance")
    return acme


@pytest.fixture
def fay(place):
    return signed_in(place, "fay")


@pytest.fixture
def alice(place):
    return signed_in(place, "alice")


def drawn(place, month, now):
    while not place.run(CloseMonth(month=month.first), now=now).result.closed:
        pass


def test_a_statement_is_read_down_to_its_records(place, alice, last):
    address = f"months/{last.name}/statements"
    (own,) = alice.get(address, {"account": "nlp"}).json()["statements"]
    assert (own["account"], own["lines"]) == ("nlp", 2)
    one = alice.get(f"{address}/nlp").json()
    assert one["state"] == "open" and one["amount"] == own["with_below"] == own["amount"]
    assert one["kinds"]["usage"] == "1600.00"
    assert sum(Decimal(line["amount"]) for line in one["lines"]) == Decimal(one["amount"])
    first = alice.get(f"{address}/nlp", {"limit": 1}).json()
    assert len(first["lines"]) == 1 and first["next"]
    second = alice.get(first["next"].removeprefix("/api/v1/")).json()
    assert [*first["lines"], *second["lines"]] == one["lines"] and second["next"] is None
    usage = next(line for line in one["lines"] if line["kind"] == "usage")
    why = alice.get(f"{address}/nlp/lines/{usage['id']}").json()
    assert why["formula"].startswith("unit-seconds × price") and why["path"][-1] == "nlp"
    assert sum(Decimal(day["amount"]) for day in why["days"]) == 1600
    (found,) = alice.get(why["records"].removeprefix("/api/v1/")).json()["records"]
    assert (found["key"], found["unit_seconds"]) == ("a", "2880000.000000")
    day = alice.get(why["records"].removeprefix("/api/v1/"), {"day": f"{last.name}-20"}).json()
    assert day["records"] == []
    idle = next(line for line in one["lines"] if line["kind"] == "idle")
    assert alice.get(f"{address}/nlp/lines/{idle['id']}").json()["days"] == []
    is_problem(alice.get(f"{address}/nlp/lines/{idle['id']}/records"), 404, "line_unknown")
    is_problem(alice.get(f"{address}/nlp/lines/0"), 404, "line_unknown")


def test_a_closed_month_says_the_same(place, fay, last, now):
    address = f"months/{last.name}/statements"
    before = fay.get(address).json()
    assert {row["account"] for row in before["statements"]} == {
        "root", "research", "nlp", "production", "serving"}  # fmt: skip
    open_one = fay.get(f"{address}/research").json()
    checked = fay.get(f"months/{last.name}").json()
    assert (checked["state"], checked["over"]) == ("open", True)
    assert fay.get("months").json()["turn"] == last.name
    codes = [one["code"] for one in checked["findings"]]
    begun = fay.post(f"months/{last.name}/close", WHY | {"accept": codes})
    assert begun.status_code == 202 and begun.json()["state"] == "closing", begun.content
    drawn(place, last, now)
    assert fay.get(f"months/{last.name}").json()["progress"] == 1.0
    closed = fay.get(f"{address}/research").json()
    assert closed["digest"] == fay.get("months").json()["months"][0]["digest"]
    in_order = {"lines": sorted(closed["lines"], key=lambda line: line["id"])}
    assert closed | in_order | {"state": "open", "digest": None} == open_one | {
        "lines": sorted(open_one["lines"], key=lambda line: line["id"])
    }
    after = fay.get(address).json()
    assert after["statements"] == before["statements"]
    first = fay.get(f"{address}/research", {"limit": 1}).json()
    second = fay.get(first["next"].removeprefix("/api/v1/")).json()
    assert first["lines"] + second["lines"] == closed["lines"] and second["next"] is None
    assert first["kinds"] == second["kinds"] == open_one["kinds"]
    page = fay.get(address, {"limit": 3}).json()
    rest = fay.get(page["next"].removeprefix("/api/v1/")).json()
    assert page["statements"] + rest["statements"] == after["statements"]
    refused = fay.post(f"months/{last.name}/close", WHY)
    is_problem(refused, 409, "month_closed_already")


def test_a_second_person_confirms(place, fay, last, now):
    terms = {"from_month": f"{now.astimezone(BERLIN):%Y-%m}", "idle_share": "1",
             "lending_share": "0", "two_persons": True}  # fmt: skip
    assert fay.send("PUT", "statement-terms", terms | WHY).status_code == 200
    assert fay.get("statement-terms").json()["two_persons"] is True
    assert fay.get("statement-terms", {"month": last.name}).json()["two_persons"] is False
    is_problem(fay.post(f"months/{last.name}/confirm", WHY), 404, "close_unknown")


def test_rates_are_tried_published_and_withdrawn(place, fay, last, now):
    price = {"flavor": "h100-80gb", "list_price": "4"}
    tried = fay.post("rates/try", {"prices": [price]}).json()
    assert (tried["month"], Decimal(tried["would_be"])) == (last.name, 2 * Decimal(tried["was"]))
    wanted = {"prices": [price], "effective_from": (now + timedelta(days=9)).isoformat()} | WHY
    assert fay.post("rates", wanted | {"dry_run": True}).status_code == 201
    assert len(fay.get("rates").json()["versions"]) == 1
    made = fay.post("rates", wanted, Idempotency_Key="one").json()
    assert fay.post("rates", wanted, Idempotency_Key="one").json() == made
    newest, oldest = fay.get("rates").json()["versions"]
    assert newest["id"] == made["id"] and oldest["holds_until"] == newest["effective_from"]
    page = fay.get("rates", {"limit": 1}).json()
    (rest,) = fay.get(page["next"].removeprefix("/api/v1/")).json()["versions"]
    assert rest == oldest
    assert fay.get(f"rates/{made['id']}").json()["prices"][0]["list_price"] == "4"
    is_problem(fay.post("rates", wanted), 409, "rates_overlap")
    for wrong, status, code in (
        ({"prices": [price | {"list_price": "-1"}]}, 400, "out_of_range"),
        ({"prices": [price | {"flavor": "gold"}]}, 404, "flavor_unknown"),
        ({"currency": "USD"}, 422, "currency_fixed"),
        ({"effective_from": last.start.isoformat()}, 422, "rates_in_the_past"),
        ({"prices": []}, 400, "lines_missing"),
    ):
        is_problem(fay.post("rates", wanted | wrong), status, code)
    assert fay.post(f"rates/{made['id']}/withdraw", WHY).status_code == 200
    assert fay.get("rates").json()["versions"] == [oldest | {"holds_until": None}]
    is_problem(fay.post(f"rates/{oldest['id']}/withdraw", WHY), 422, "rates_in_the_past")
    graded = fay.send("PUT", "accounts/nlp/rate-grade", {"grade": "academic"} | WHY)
    assert graded.json()["grade"] == "academic"


def test_only_finance_changes_money_and_only_readers_read_it(place, fay, alice, globex, last):
    machine = speaking(fresh_token(place, "usage:write", "priority:read"))
    exporter = speaking(fresh_token(place, "export:read"))
    for path, body in (
        ("rates/try", {"prices": []}),
        ("rates", {"prices": []} | WHY),
        ("credits", {"account": "nlp", "amount": "1"} | WHY),
        ("commitments", {"account": "nlp", "amount": "1", "from_month": "2026-12"} | WHY),
        (f"months/{last.name}/close", WHY),
        (f"months/{last.name}/confirm", WHY),
    ):
        is_problem(alice.post(path, body), 403, "role_missing")
        is_problem(exporter.post(path, body), 403, "people_only")
    statement = f"months/{last.name}/statements"
    for path in ("rates", f"{statement}/nlp", "months", "credits"):
        assert exporter.get(path).status_code == 200
        is_problem(machine.get(path), 403, "scope_missing")
    is_problem(alice.get("months"), 403, "role_missing")
    is_problem(alice.get(f"{statement}/serving"), 403, "role_missing")
    is_problem(alice.get(statement), 403, "role_missing")
    charlie = signed_in(globex, "charlie")
    assert charlie.get(f"{statement}/nlp").json()["lines"] == []
    is_problem(charlie.get(f"{statement}/vision"), 404, "account_unknown")
    for wrong in ("2026-13", "x", "2026-1"):
        is_problem(fay.get(f"months/{wrong}"), 400, "month_malformed")


def test_use_without_a_price_is_listed_and_in_no_sum(place, fay, last, now):
    place.use(record("free", pool="a100", units=3, hours=2, start=last.start), now=now)
    one = fay.get(f"months/{last.name}/statements/nlp").json()
    (unrated,) = one["unrated"]
    assert (unrated["pool"], unrated["gap"]) == ("a100", "no_price")
    assert Decimal(unrated["unit_seconds"]) == 3 * 7200
    assert "a100" not in {line["pool"] for line in one["lines"]}


def block(name: str, now: datetime) -> dict:
    """An example of the guide, moved from November of 2026 to now."""
    (found,) = re.findall(rf"```json {name}\n(.*?)```", GUIDE, re.DOTALL)
    today = now.astimezone(BERLIN)
    ahead = 12 * (today.year - 2026) + today.month - 11

    def moved(at: re.Match) -> str:
        months = 12 * int(at[1]) + int(at[2]) - 1 + ahead
        return f"{months // 12}-{months % 12 + 1:02}"

    return json.loads(re.sub(r"\b(20\d\d)-(\d\d)\b", moved, found))


def test_the_examples_of_the_guide_are_taken(place, fay, now, last):
    assert fay.post("rates/try", block("try", now)).status_code == 200
    assert fay.post("rates", block("publish", now)).status_code == 201
    assert fay.send("PUT", "statement-terms", block("terms", now)).status_code == 200
    assert fay.post("credits", block("credit", now)).status_code == 201
    (credit,) = fay.get("credits").json()["credits"]
    assert (credit["account"], credit["amount"]) == ("nlp", "1250.00")
    made = fay.post("commitments", block("commitment", now)).json()
    ended = fay.post(f"commitments/{made['id']}/end", block("end", now))
    assert ended.status_code == 200, ended.content
    (one,) = fay.get("commitments").json()["commitments"]
    assert one["until_month"] == block("end", now)["last_month"]
    assert Decimal(one["ending_charge"]) == 4500
    codes = [one["code"] for one in fay.get(f"months/{last.name}").json()["findings"]]
    begun = fay.post(f"months/{last.name}/close", block("close", now) | {"accept": codes})
    assert begun.status_code == 202


def test_past_use_is_tagged_and_assigned(place, fay, alice, last, now, globex):
    days = {"since": f"{last.name}-01", "until": f"{last.name}-28"}
    body = {"account": "nlp", "model": "m", **days} | WHY
    tried = alice.post("usage/taggings", body | {"dry_run": True}).json()
    assert (tried["id"], tried["records"], tried["amount"]) == (None, 1, "1600.00")
    assert alice.get("usage/taggings", {"account": "nlp"}).json()["taggings"] == []
    made = alice.post("usage/taggings", body).json()
    (one,) = alice.get("usage/taggings", {"account": "nlp"}).json()["taggings"]
    assert (one["id"], one["model"], one["undone_at"]) == (made["id"], "m", None)
    is_problem(alice.get("usage/taggings"), 403, "role_missing")
    charlie = signed_in(globex, "charlie")
    undo = f"usage/taggings/{made['id']}/undo"
    is_problem(charlie.post(undo, WHY), 404, "tagging_unknown")
    assert alice.post(undo, WHY).status_code == 200
    is_problem(alice.post(undo, WHY), 409, "tagging_undone")
    moved = body | {"to_account": "vision"}
    is_problem(alice.post("usage/taggings", moved), 403, "role_missing")
    made = fay.post("usage/taggings", moved).json()
    statement = fay.get(f"months/{last.name}/statements/vision").json()
    assert statement["kinds"]["usage"] == "1600.00"
    is_problem(alice.post(f"usage/taggings/{made['id']}/undo", WHY), 403, "role_missing")
    assert fay.post(f"usage/taggings/{made['id']}/undo", WHY).status_code == 200
    is_problem(fay.post("usage/taggings", body | {"model": ""}), 400, "tag_missing")
    assert alice.post("usage/taggings", block("tag", now)).status_code == 201


def test_a_month_at_a_glance_says_what_the_page_does(place, alice, fay, last, now):
    place.use(
        record("s", units=2, hours=10, start=last.start + timedelta(days=3), tier="spot",
               productive_util=Decimal("0.5"), compute_util=Decimal("0.8")),
        now=now,
    )  # fmt: skip
    one = alice.get("showback", {"account": "nlp", "month": last.name, "by": "project,tier"}).json()
    assert sum(Decimal(cell["amount"]) for cell in one["groups"]) == Decimal(one["amount"])
    groups = {tuple(cell["values"]): cell["amount"] for cell in one["groups"]}
    assert groups["lima", "guaranteed"] == "1600.00" and groups[None, "spot"] == "40.00"
    assert one["idle_cost"] == one["kinds"]["idle"] and one["discount"] == "0"
    assert one["spot"] == [{"pool": "h100", "price": "2", "per_productive_hour": "4"}]
    pool, together = one["utilization"]
    assert (pool["pool"], pool["compute"], pool["productive"]) == ("h100", 0.8, 0.5)
    assert together == pool | {"pool": None}
    assert one["preemption_tax"] == {"actions": 0, "units": 0, "amount": "0"}
    (used,) = [change for change in one["changes"] if change["tier"] == "spot"]
    assert (used["before"], used["now"]) == ("0", "40.00")
    assert fay.get("showback").json()["month"] == f"{now.astimezone(BERLIN):%Y-%m}"
    is_problem(fay.get("showback", {"by": "color"}), 400, "grouping_unknown")
    is_problem(alice.get("showback", {"account": "serving"}), 403, "role_missing")


def test_teams_are_compared_as_the_policy_says(place, alice, fay, last, now):
    otto = signed_in(place, "otto")
    assert alice.get("comparison-policy").json()["reach"] == "off"
    month = {"month": last.name}
    assert [row["team"] for row in alice.get("comparison", month).json()["teams"]] == ["nlp"]
    everything = fay.get("comparison", month).json()
    assert [row["team"] for row in everything["teams"]] == ["nlp", "serving"]
    machine = speaking(fresh_token(place, "export:read"))
    assert machine.get("comparison", month).json()["teams"] == [
        row | {"own": False} for row in everything["teams"]
    ]
    body = block("comparison", now)
    is_problem(alice.send("PUT", "comparison-policy", body), 403, "role_missing")
    put = otto.send("PUT", "comparison-policy", body).json()
    assert put["changed"] is True
    assert otto.send("PUT", "comparison-policy", body).json()["changed"] is False
    is_problem(alice.get("comparison", month | {"by": "productive_cost"}), 400, "parameter_invalid")
    seen = alice.get("comparison", month).json()
    assert seen["teams"][0]["productive_cost"] is None and "idle_share" in seen["medians"]
    wide = {"reach": "organization", "figures": ["utilization"], "named": True} | WHY
    otto.send("PUT", "comparison-policy", wide)
    assert len(alice.get("comparison", month).json()["teams"]) == 2
    is_problem(otto.send("PUT", "comparison-policy", wide | {"figures": []}), 400,
               "comparison_malformed")  # fmt: skip
    is_problem(signed_in(place, "bob").get("comparison"), 403, "role_missing")


def test_finance_reads_the_month_of_the_organization(place, fay, alice, last):
    one = fay.get("showback/organization", {"month": last.name}).json()
    total = fay.get(f"months/{last.name}/statements/root").json()["amount"]
    assert one["amount"] == total and one["turn"] == last.name
    assert sum(Decimal(row["amount"]) for row in one["departments"]) == Decimal(total)
    assert {row["account"] for row in one["movers"]} == {"nlp", "serving"}
    is_problem(alice.get("showback/organization"), 403, "role_missing")
