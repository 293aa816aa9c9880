"""From a rule that is tried to a guarantee that is demoted, justified or restored."""

from datetime import timedelta
from decimal import Decimal

from playwright.sync_api import expect

from accounting.commands.rates import PriceWish, PublishRateCard
from preemption.commands.reclaim import RunReclaim
from tests.browser.journeys import Journey, journey
from tests.world import record

__all__ = ("journey",)
DAY, HOUR = timedelta(days=1), timedelta(hours=1)


def idle(journey: Journey) -> None:
    """nlp has 40 units for a hundred days and uses 4; a unit-hour costs 2; vision uses the pool."""
    journey.now = journey.now.replace(minute=0, second=0)
    now = journey.now
    price = PriceWish(flavor="h100-80gb", list_price=Decimal(2))
    rates = PublishRateCard(lines=(price,), effective_from=now - 100 * DAY)
    journey.place.run(rates, now=now - 100 * DAY, reason="prices")
    journey.quota("nlp", 40)
    start = now - 10 * DAY
    journey.place.use(
        record("some", units=4, hours=24 * 20, start=start),
        record("known", units=1, hours=24 * 20, start=start, account="vision"),
        now=now + 10 * DAY,
    )


def runs(journey: Journey, after: timedelta) -> None:
    """Time passes; the task that runs the rules comes by, then the one that makes notices."""
    journey.now += after
    command = RunReclaim(pool_id=journey.place.pools["h100"])
    journey.place.run(command, now=journey.now, reason="use it or lose it")
    journey.tells()


def switches_on(journey: Journey) -> None:
    """Otto finds the rules, tries one, and saves it with a reason."""
    otto = journey.page("otto")
    otto.goto("/")
    journey.goes_to(otto, "Use it or lose it")
    expect(otto.get_by_text("No rule is on")).to_be_visible()
    journey.passes(otto, "reclaim-0-empty")
    otto.get_by_role("link", name="Try a rule on past use and switch it on").click()
    otto.get_by_role("link", name="h100", exact=True).click()
    otto.get_by_label("The rule is on").check()
    expect(otto.locator("#preview")).to_contain_text("Nothing is switched on or saved yet.")
    expect(otto.locator("#preview")).to_contain_text("36 of 40")
    journey.passes(otto, "reclaim-1-tried")
    otto.get_by_label("Reason").fill("Idle guarantees go back to work")
    otto.locator("#preview button[value=save]").click()
    expect(otto.get_by_text("The rule of h100 is on from the next run on.")).to_be_visible()
    expect(otto.locator("#history")).to_contain_text("Idle guarantees go back to work")
    journey.passes(otto, "reclaim-2-on")


def test_what_was_taken_is_restored_by_the_lead(journey: Journey):
    idle(journey)
    switches_on(journey)
    alice = journey.page("alice")
    runs(journey, HOUR)
    alice.goto("/")
    expect(alice.get_by_text("36 units would leave the guarantee")).to_be_visible()
    journey.passes(alice, "reclaim-3-overview")
    journey.opens_notice(alice, "nlp uses 10% of 40 units on h100")
    expect(alice.get_by_text("Demoted if still idle")).to_be_visible()
    journey.passes(alice, "reclaim-4-watched")
    runs(journey, 25 * HOUR)
    assert journey.stored()["nlp"] == 4
    journey.opens_notice(alice, "36 units of h100 left the guarantee of nlp")
    alice.get_by_role("link", name="Restore 36 units").click()
    expect(alice.get_by_text("nlp has 40 units guaranteed in h100 again.")).to_be_visible()
    journey.passes(alice, "reclaim-5-restore")
    alice.get_by_label("Reason").fill("The next run begins on Monday")
    alice.get_by_role("button", name="Restore").click()
    expect(alice.get_by_text("Restored: nlp has 40 units guaranteed")).to_be_visible()
    journey.passes(alice, "reclaim-6-restored")
    assert journey.stored()["nlp"] == 40
    # Within the cooldown nothing is taken again.
    runs(journey, 3 * DAY)
    assert journey.stored()["nlp"] == 40


def test_what_must_stay_is_justified_and_approved(journey: Journey):
    idle(journey)
    switches_on(journey)
    alice, petra = journey.page("alice"), journey.page("petra")
    runs(journey, HOUR)
    journey.opens_notice(alice, "nlp uses 10% of 40 units on h100")
    alice.get_by_role("link", name="Justify").click()
    expect(alice.locator("input[name=kind][value=justification]")).to_be_checked()
    expect(alice.get_by_label("In which pool")).to_have_value("h100")
    alice.get_by_label("What they are for").fill("The robots are calibrated until January.")
    expect(alice.locator("#preview .verdict")).to_be_visible()
    journey.passes(alice, "justified-1-form")
    request_id = journey.hands_in(alice)
    petra.goto(f"/requests/{request_id}/decide")
    petra.get_by_label("Reason").fill("Known and bounded.")
    petra.get_by_role("button", name="Decide", exact=True).click()
    expect(petra.get_by_role("status").or_(petra.get_by_role("alert")).first).to_be_visible()
    assert journey.state(request_id) == "provisioned"
    runs(journey, 25 * HOUR)
    assert journey.stored()["nlp"] == 40
    alice.goto("/reclaim?stage=justified")
    alice.get_by_role("link", name="nlp", exact=True).click()
    expect(alice.get_by_text("Idle with an approved reason; nothing is taken.")).to_be_visible()
    expect(alice.get_by_text("in force")).to_be_visible()
    journey.passes(alice, "justified-2-holds")
