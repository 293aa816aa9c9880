"""What is refused: a request, with its reason; a person's own; a file that is none."""

from datetime import timedelta

from playwright.sync_api import expect

from quota.commands.request_policy import SetDelegate
from quota.commands.requests import Submit
from quota.domain.requests import Terms
from tests.browser.journeys import PURPOSE, Journey, journey

__all__ = ("journey",)


def asked(journey: Journey, units: int = 60):
    """What Alice asks for, by the command behind the form."""
    terms = Terms(
        account_id=journey.place.accounts["nlp"],
        pool_id=journey.place.pools["h100"],
        kind="boost",
        units=units,
        ends_at=journey.now + timedelta(days=42),
        workload="training",
        purpose=PURPOSE,
    )
    return journey.run(Submit(terms=terms), by="alice").request_id


def test_a_no_reaches_the_requester_with_its_reason(journey: Journey):
    alice, petra = journey.page("alice"), journey.page("petra")
    request_id = asked(journey)
    petra.goto("/reviews")
    petra.keyboard.press("j")
    petra.keyboard.press("x")
    box = petra.locator("#decide-dialog")
    expect(box.get_by_label("Reason")).to_be_focused()
    petra.keyboard.press("Enter")
    expect(petra.get_by_text("Say why; the requester reads it.").first).to_be_visible()
    journey.passes(petra, "no-1-why")
    box.get_by_label("Reason").fill("The cluster moves in January.")
    box.get_by_label("Reason").press("Enter")
    expect(petra.get_by_text("Rejected. The requester reads the reason.")).to_be_visible()
    journey.passes(petra, "no-2-inbox")
    assert journey.state(request_id) == "rejected"
    journey.tells()
    journey.opens_notice(alice, "Rejected: 60 units more", picture="no-3-notices")
    expect(alice.get_by_text("The cluster moves in January.").first).to_be_visible()
    journey.passes(alice, "no-4-rejected")
    petra.goto("/reviews/decisions")
    expect(petra.get_by_text("The cluster moves in January.").first).to_be_visible()
    journey.passes(petra, "no-5-decisions")


def test_nobody_decides_their_own_request(journey: Journey):
    """Not as an approver, and not in the place of one who is away."""
    journey.place.role("alice", "approver", on="research")
    week = journey.now + timedelta(days=7)
    delegation = SetDelegate(
        delegate_id=journey.place.people["alice"], starts_at=journey.now, ends_at=week
    )
    journey.run(delegation, by="rita")
    request_id = asked(journey)
    alice = journey.page("alice")
    alice.goto("/reviews")
    expect(alice.get_by_text("60 units more of h100")).to_have_count(0)
    journey.passes(alice, "own-1-inbox")
    alice.goto(f"/requests/{request_id}")
    journey.passes(alice, "own-2-request")
    expect(alice.get_by_role("button", name="Decide", exact=True)).to_have_count(0)
    alice.goto(f"/requests/{request_id}/decide")
    expect(alice.get_by_text("You cannot decide this.")).to_be_visible()
    expect(alice.locator("#decide")).to_contain_text("own request")
    journey.passes(alice, "own-3-refused")
    assert journey.state(request_id) == "submitted"


def test_files_are_read_by_both_sides_and_told_by_their_bytes(journey: Journey):
    alice, petra = journey.page("alice"), journey.page("petra")
    request_id = asked(journey)
    alice.goto(f"/requests/{request_id}")
    programme = {"name": "plan.pdf", "mimeType": "application/pdf", "buffer": b"MZ\x90\x00\x03"}
    alice.get_by_label("Attach a file").set_input_files(programme)
    alice.get_by_role("button", name="Attach", exact=True).click()
    expect(alice.locator("#files, main").get_by_text("PDF, PNG, JPEG").first).to_be_visible()
    expect(alice.get_by_role("link", name="plan.pdf")).to_have_count(0)
    journey.passes(alice, "files-1-refused")
    plan = {"name": "plan.csv", "mimeType": "text/csv", "buffer": b"month,gpus\n2026-12,24\n"}
    alice.get_by_label("Attach a file").set_input_files(plan)
    alice.get_by_role("button", name="Attach", exact=True).click()
    expect(alice.get_by_role("link", name="plan.csv", exact=True)).to_be_visible()
    journey.passes(alice, "files-2-attached")
    petra.goto(f"/requests/{request_id}")
    with petra.expect_download() as download:
        petra.get_by_role("link", name="plan.csv", exact=True).click()
    assert download.value.path().read_bytes() == plan["buffer"]
    petra.get_by_label("Say something").fill("Why so many in December, @alice?")
    petra.get_by_role("button", name="Say it").click()
    expect(petra.locator("#discussion .said")).to_have_text("Why so many in December, @alice?")
    journey.passes(petra, "files-3-said")
    journey.tells()
    journey.opens_notice(alice, "Petra mentioned you", picture="files-4-notices")
    expect(alice.locator("#discussion .said")).to_be_visible()
