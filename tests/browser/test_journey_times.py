"""What time brings: a temporary quota's notices, its end, its later end; a quarter's review."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from playwright.sync_api import expect

from quota.ports import UtilizationFacts, restore_ports, use_ports
from tests.browser.journeys import Journey, journey
from tests.quota.cycles.conftest import Use

__all__ = ("journey",)


def test_a_temporary_quota_says_when_it_ends_and_ends(journey: Journey):
    alice = journey.page("alice")
    journey.asks(alice, 24)
    request_id = journey.hands_in(alice)
    assert journey.stored()["nlp"] == 24
    ends_at = journey.now + timedelta(days=42)
    journey.moves_to(ends_at - timedelta(days=20))
    alice.goto("/notices")
    expect(alice.get_by_text("No notices")).to_be_visible()
    for days in (14, 3, 1):
        # The form's end is a midnight within the 42nd day.
        journey.moves_to(ends_at - timedelta(days=days))
        alice.goto("/notices")
        expect(alice.locator(".notice-list li").first).to_contain_text("temporary quota of nlp")
        journey.passes(alice, f"ends-{days}-days-before")
    expect(alice.locator(".notice-list li")).to_have_count(3)
    journey.moves_to(ends_at + timedelta(days=1))
    assert journey.state(request_id) == "expired"
    assert journey.stored().get("nlp", 0) == 0
    alice.goto(f"/requests/{request_id}")
    expect(alice.get_by_text("Ended").first).to_be_visible()
    journey.passes(alice, "ends-request-ended")
    alice.get_by_role("link", name="Ask again").click()
    expect(alice.get_by_label("How many units")).to_have_value("24")
    alice.goto("/accounts/nlp/quota")
    journey.passes(alice, "ends-quota-gone")


def test_a_later_end_by_one_click(journey: Journey):
    alice = journey.page("alice")
    journey.asks(alice, 24)
    first = journey.hands_in(alice)
    ends_at = journey.now + timedelta(days=42)
    journey.moves_to(ends_at - timedelta(days=3))
    journey.opens_notice(alice, "temporary quota of nlp", picture="later-1-notices")
    journey.passes(alice, "later-2-from-the-notice")
    alice.goto(f"/requests/{first}")
    alice.get_by_role("button", name="Extend to").click()
    alice.wait_for_url(lambda url: str(first) not in url)
    expect(alice.get_by_text("Waits for approval").first).to_be_visible()
    journey.passes(alice, "later-3-asked")
    journey.tells()
    petra = journey.page("petra")
    journey.opens_notice(petra, "Alice asks for")
    petra.get_by_role("button", name="Decide", exact=True).click()
    expect(petra.get_by_text("Granted").first).to_be_visible()
    journey.passes(petra, "later-4-granted")
    journey.moves_to(ends_at + timedelta(days=1))
    assert journey.stored()["nlp"] == 24


@pytest.fixture
def used() -> Iterator[Use]:
    """Accounting that the journey decides on."""
    use = Use()
    before = use_ports(utilization=use, price=use)
    yield use
    restore_ports(before)


def test_a_quarter_is_reviewed_by_keys(journey: Journey, used: Use):
    for account, units in (("nlp", 40), ("vision", 5), ("serving", 30)):
        journey.quota(account, units)
    spot = (journey.place.accounts["nlp"], journey.place.pools["h100"])
    used.facts[spot] = UtilizationFacts(
        mean=0.2,
        p50=4,
        p95=8,
        peak=12,
        guaranteed=40,
        idle_units=32,
        recommended=9,
        coverage=0.97,
    )
    rita = journey.page("rita")
    rita.goto("/reviews/cycles")
    journey.passes(rita, "cycle-1-list")
    rita.get_by_role("link", name="Open a review").first.click()
    rita.get_by_label("Name").fill("Review Q4")
    journey.passes(rita, "cycle-2-open")
    rita.get_by_role("button", name="Open").click()
    rita.wait_for_url("**/reviews/cycles/*-*")
    journey.passes(rita, "cycle-3-grid")
    address = rita.url.split("?")[0]
    rita.locator("h1").click()
    rita.keyboard.press("j")
    rita.keyboard.press("2")
    expect(rita.locator("#progress")).to_contain_text("1 of 3")
    rita.keyboard.press("1")
    expect(rita.locator("#progress")).to_contain_text("2 of 3")
    # It goes on where it was left.
    rita.goto(address)
    rita.locator("h1").click()
    rita.keyboard.press("j")
    rita.keyboard.press("1")
    expect(rita.locator("#progress")).to_contain_text("3 of 3")
    expect(rita.locator("#progress")).to_contain_text("Decided by Rita 3")
    journey.passes(rita, "cycle-4-decided")
    rita.get_by_role("link", name="Close…").click()
    journey.passes(rita, "cycle-5-close")
    rita.get_by_role("button", name="Close and apply").click()
    expect(rita.get_by_text("1 quota changed, 2 kept")).to_be_visible()
    journey.passes(rita, "cycle-6-report")
    assert journey.stored() == {"nlp": 9, "vision": 5, "serving": 30}
    with rita.expect_download() as report:
        rita.get_by_role("link", name="CSV").first.click()
    assert "nlp" in report.value.path().read_text()
