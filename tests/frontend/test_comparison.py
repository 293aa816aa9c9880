"""Teams beside each other: a lead sees what the policy says, and nothing else of it."""

from datetime import timedelta
from decimal import Decimal

import pytest

from accounting.queries import comparison
from ledger import scope
from tests.accounting.statements.test_guarantees import promise
from tests.accounting.statements.test_rating import LATER, OCTOBER, START, publish
from tests.frontend.forms import save, text
from tests.world import NOW, record


@pytest.fixture
def place(acme):
    """In October nlp used 8 of its 10 for all the month, vision none of 5, serving spot."""
    publish(acme, "2", at=START - timedelta(days=1))
    for account, units in (("nlp", 10), ("vision", 5)):
        promise(acme, account, units, at=START)
    acme.use(
        record("known", units=1, hours=1500, start=START, account="serving", person="alice",
               tier="spot"),
        record("a", units=8, hours=31 * 24, start=START, productive_util=Decimal("0.5")),
        now=NOW,
    )  # fmt: skip
    for name in ("audio", "robots"):
        acme.account(name, under="research")
        acme.use(record(name, units=1, hours=5, start=START, account=name, tier="spot"), now=NOW)
    return acme


def test_the_figures_of_a_team(place):
    with scope.reading(place.id):
        teams = {
            one.name: one for one in comparison.teams(place.id, place.root, OCTOBER, now=LATER)
        }
    nlp, vision = teams["nlp"], teams["vision"]
    assert (vision.utilization, vision.idle_share, vision.productive_cost) == (0, 1, None)
    assert Decimal("0.79") < nlp.utilization < Decimal("0.81")
    assert nlp.idle_share == 1 - nlp.utilization
    assert Decimal("4.9") < nlp.productive_cost < Decimal("5.1")
    assert teams["serving"].utilization is None and teams["serving"].idle_share == 0


def page(place, browse, name, query="month=2026-10"):
    return browse(place, name).get(f"/showback/comparison?{query}")


def test_a_lead_sees_others_only_as_the_policy_says(place, browse):
    otto = browse(place, "otto")
    words = text(page(place, browse, "alice"))
    assert "nlp yours" in words and "vision" not in words and "Another team" not in words
    policy = {"reach": "department", "utilization": "on", "idle_share": "on"}
    assert save(otto, "/settings/comparison", **policy).status_code == 302
    words = text(page(place, browse, "alice"))
    assert "Another team, 1" in words and "vision" not in words and "serving" not in words
    assert "Cost per productive hour" not in words.split("A dash: not known.")[1]
    assert save(otto, "/settings/comparison", **policy, named="on").status_code == 302
    words = text(page(place, browse, "alice"))
    assert "vision" in words and "audio" in words and "serving" not in words
    policy["reach"] = "organization"
    save(otto, "/settings/comparison", **policy, named="on")
    assert "serving" in text(page(place, browse, "alice"))
    asked = page(place, browse, "alice", "month=2026-10&by=productive_cost")
    assert asked.status_code == 400


def test_who_reads_everything_compares_everything(place, browse):
    for name in ("otto", "uma"):
        words = text(page(place, browse, name))
        assert "vision" in words and "serving" in words and "every team is shown" in words
    assert page(place, browse, "bob").status_code == 403
    link = "/showback/comparison?month="
    assert link in browse(place, "alice").get("/showback").content.decode()
    assert link not in browse(place, "bob").get("/showback").content.decode()


def test_only_operators_set_the_policy(place, browse):
    for name in ("alice", "uma", "bob"):
        assert browse(place, name).get("/settings/comparison").status_code == 403
        assert save(browse(place, name), "/settings/comparison", reach="off").status_code == 403
    otto = browse(place, "otto")
    assert "nobody" in text(otto.get("/settings/comparison"))
    wrong = save(otto, "/settings/comparison", reach="department")
    assert wrong.status_code == 400 and "Choose a figure" in text(wrong)
    assert save(otto, "/settings/comparison", reach="x").status_code == 400
    save(otto, "/settings/comparison", reach="organization", utilization="on")
    again = otto.post("/settings/comparison", {"reach": "organization", "utilization": "on",
                      "reason": "x", "step": "save"}, follow=True)  # fmt: skip
    assert "is so already" in text(again)
