"""From the wish to the quota: granted at once, by two people, for less than was asked."""

from playwright.sync_api import expect

from tests.browser.journeys import Journey, journey

__all__ = ("journey",)


def test_what_is_small_and_fits_is_there_at_once(journey: Journey):
    page = journey.page("alice")
    page.goto("/")
    expect(page.get_by_role("link", name="Ask for quota")).to_be_visible()
    journey.passes(page, "grant-0-overview")
    journey.goes_to(page, "Requests")
    journey.passes(page, "grant-1-requests")
    page.get_by_role("link", name="Ask for quota").first.click()
    page.get_by_label("In which pool").select_option("h100")
    page.get_by_label("How many units").fill("24")
    expect(page.locator("#preview")).to_contain_text("you get it at once")
    page.get_by_label("What they are for").fill("Train the next model.")
    journey.passes(page, "grant-2-form")
    request_id = journey.hands_in(page)
    expect(page.get_by_text("Granted at once")).to_be_visible()
    journey.passes(page, "grant-3-granted")
    assert journey.state(request_id) == "provisioned"
    page.get_by_role("link", name="nlp", exact=True).first.click()
    page.wait_for_url("**/accounts/nlp/quota*")
    expect(page.get_by_text("24 units").first).to_be_visible()
    journey.passes(page, "grant-4-quota")


def test_what_is_large_needs_two_different_people(journey: Journey):
    alice, petra, rita = (journey.page(name) for name in ("alice", "petra", "rita"))
    journey.asks(alice, 100)
    expect(alice.locator("#preview")).to_contain_text("two")
    journey.passes(alice, "two-1-form")
    request_id = journey.hands_in(alice)
    expect(alice.get_by_text("Waits for approval").first).to_be_visible()
    journey.tells()
    journey.opens_notice(petra, "Alice asks for ", picture="two-2-notices")
    expect(petra.get_by_text("Yours is the first word")).to_be_visible()
    journey.passes(petra, "two-3-first-word")
    petra.get_by_label("Reason").fill("The roadmap has it.")
    petra.get_by_role("button", name="Decide", exact=True).click()
    expect(petra.get_by_role("status").or_(petra.get_by_role("alert")).first).to_be_visible()
    assert journey.state(request_id) == "submitted"
    # The same person is not two people.
    petra.goto(f"/requests/{request_id}/decide")
    expect(petra.get_by_text("The second approval is another person's.")).to_be_visible()
    expect(petra.get_by_text("Yours is the second word")).to_have_count(0)
    expect(petra.get_by_label("Approve as asked")).to_have_count(0)
    journey.passes(petra, "two-4-not-twice")
    journey.tells()
    journey.opens_notice(rita, "Alice asks for ")
    expect(rita.get_by_text("Yours is the second word")).to_be_visible()
    journey.passes(rita, "two-5-second-word")
    rita.get_by_label("Reason").fill("Agreed.")
    rita.get_by_role("button", name="Decide", exact=True).click()
    expect(rita.get_by_text("Granted").first).to_be_visible()
    assert journey.state(request_id) == "provisioned"
    assert journey.stored()["nlp"] == 100
    journey.tells()
    journey.opens_notice(alice, "Granted: ", picture="two-6-told")
    for name in ("Petra", "Rita"):
        expect(alice.get_by_text(name).first).to_be_visible()
    journey.passes(alice, "two-7-granted")


def test_an_offer_of_less_waits_for_the_requester(journey: Journey):
    alice, petra = journey.page("alice"), journey.page("petra")
    journey.asks(alice, 60)
    request_id = journey.hands_in(alice)
    petra.goto("/")
    journey.goes_to(petra, "Reviews")
    journey.passes(petra, "offer-1-inbox")
    petra.get_by_role("link", name="Less than 60 units").click()
    box = petra.locator("#decide-dialog")
    box.get_by_label("Units offered").fill("40")
    box.get_by_label("Reason").fill("Forty are free until spring.")
    journey.passes(petra, "offer-2-less")
    box.get_by_role("button", name="Decide").click()
    expect(petra.get_by_text("Offered. It waits")).to_be_visible()
    assert journey.state(request_id) == "countered"
    journey.tells()
    journey.opens_notice(alice, "Petra offers ", picture="offer-3-notices")
    expect(alice.get_by_text("Forty are free until spring.").first).to_be_visible()
    journey.passes(alice, "offer-4-countered")
    alice.get_by_role("button", name="Accept the offer").click()
    expect(alice.get_by_text("You accepted the offer.")).to_be_visible()
    journey.passes(alice, "offer-5-accepted")
    assert journey.state(request_id) == "provisioned"
    assert journey.stored()["nlp"] == 40
