"""Reviewing in a real browser: by keyboard, narrow, dark, without scripts; judged by axe."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from playwright.sync_api import Page, expect

from ledger import scope
from quota.commands.quotas import SetQuota
from quota.commands.request_policy import SetDelegate, SetRequestPolicy
from quota.commands.requests import Submit
from quota.commands.reviews import Reject
from quota.domain.requests import Terms
from quota.domain.routing import Policy
from quota.loading import requests as loading
from tests.browser.inspection import LOOKS, Judge, assert_accessible, screenshot
from tests.world import Tenant, record


class Office:
    """acme with Petra, who approves for research and stands in for Rita of the root."""

    def __init__(self, place: Tenant) -> None:
        self.place = place
        self.now = datetime.now(UTC) - timedelta(hours=2)
        for name, account in (("petra", "research"), ("rita", "root")):
            place.person(name)
            place.role(name, "approver", on=account)
        self.run(SetRequestPolicy(policy=Policy(automatic=False)), by="otto")
        week = timedelta(days=7)
        self.run(
            SetDelegate(
                delegate_id=place.people["petra"], starts_at=self.now, ends_at=self.now + week
            ),
            by="rita",
        )

    def run(self, command, *, by: str = "alice", reason: str = "test", now=None):
        actor = self.place.actor(by)
        return self.place.run(command, by=actor, now=now or self.now, reason=reason).result

    def quota(self, account: str, guaranteed: int) -> None:
        command = SetQuota(
            account_id=self.place.accounts[account],
            pool_id=self.place.pools["h100"],
            guaranteed=guaranteed,
        )
        self.run(command, by="otto", now=self.now - timedelta(days=20))

    def used(self) -> None:
        """Telemetry of nlp: 8 units around the clock for two weeks."""
        self.place.use(
            *(
                record(f"k{day}", hours=23, start=self.now - timedelta(days=day), account="nlp")
                for day in range(2, 16)
            ),
            now=self.now,
        )

    def ask(self, units: int, *, account: str = "nlp", by: str = "alice", **more) -> UUID:
        terms = Terms(
            **{
                "account_id": self.place.accounts[account],
                "pool_id": self.place.pools["h100"],
                "kind": "boost",
                "units": units,
                "ends_at": self.now + timedelta(days=42),
                "workload": "training",
                "purpose": "Train the next model. Without it the release waits until spring.",
            }
            | more
        )
        return self.run(Submit(terms=terms), by=by).request_id

    def state(self, request_id: UUID) -> str:
        with scope.reading(self.place.id):
            found = loading.requests(self.place.id, [request_id])
        return next(iter(found.values())).state


@pytest.fixture
def office(acme: Tenant, live_server) -> Office:
    return Office(acme)


@pytest.mark.parametrize("look", LOOKS)
def test_pages_of_reviewers_are_accessible(
    look: str, new_page: Callable[..., Page], sign_in: Callable, office: Office
):
    page = new_page(**LOOKS[look])
    sign_in(page, office.place, "petra")
    judge = Judge(page, look)
    judge.visit("reviews-empty", "/reviews")
    office.quota("nlp", 16)
    office.quota("serving", 40)
    office.used()
    rejected = office.ask(4)
    office.run(Reject(request_id=rejected), by="otto", reason="not before the new cluster")
    first = office.ask(12)
    office.ask(60, account="vision", by="otto")
    office.ask(2, account="serving", by="otto")
    judge.visit("reviews", "/reviews")
    page.get_by_role("link", name="Less than 12 units").click()
    expect(page.locator("#decide-dialog")).to_be_visible()
    judge("reviews-dialog")
    judge.visit("review-decide", f"/requests/{first}/decide?what=reject")
    page.get_by_role("button", name="Decide").click()
    expect(page.get_by_text("Say why; the requester reads it.").first).to_be_visible()
    judge("review-decide-refused")
    judge.visit("review-request", f"/requests/{first}")
    page.goto("/reviews")
    for box in page.get_by_role("checkbox", name=re.compile("^Select")).all():
        box.check()
    page.get_by_role("button", name="Approve selected").click()
    judge("reviews-confirm")
    page.get_by_role("button", name=re.compile("Approve 3 requests")).click()
    judge("reviews-results")
    judge.visit("review-absence", "/reviews/absence")
    judge.visit("review-decisions", "/reviews/decisions")
    sign_in(page, office.place, "otto")
    page.goto("/settings/requests")
    page.get_by_label("Two approvals from, units").fill("10")
    expect(page.locator("#preview")).to_contain_text("would have gone otherwise")
    judge("request-policy")
    judge.assert_all_well()


def test_what_is_missing_is_said_in_the_panel(page: Page, sign_in: Callable, office: Office):
    it = office.ask(5)
    sign_in(page, office.place, "petra")
    page.goto("/reviews")
    box = page.locator("#decide-dialog")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(box.get_by_label("Reason")).to_be_focused()
    page.keyboard.press("Enter")
    expect(box.get_by_text("Say why; the requester reads it.").first).to_be_visible()
    assert page.url.endswith("/reviews"), "no page of its own"
    expect(box.get_by_label("Reason")).to_be_focused()
    expect(box.get_by_role("radio", name="Reject")).to_be_checked()
    assert_accessible(page)
    screenshot(page, "reviews-dialog-refused")
    page.keyboard.type("no room before spring")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Rejected. The requester reads the reason.")).to_be_visible()
    assert office.state(it) == "rejected"


def test_who_comes_too_late_reads_so_in_the_panel(page: Page, sign_in: Callable, office: Office):
    it = office.ask(5)
    sign_in(page, office.place, "petra")
    page.goto("/reviews")
    box = page.locator("#decide-dialog")
    page.keyboard.press("j")
    page.keyboard.press("a")
    expect(box.get_by_role("button", name="Decide")).to_be_focused()
    office.run(Reject(request_id=it), by="otto", reason="not before the new cluster")
    page.keyboard.press("Enter")
    expect(box.get_by_text("This request is rejected by now")).to_be_visible()
    expect(box).to_contain_text("Last: rejected by Otto")
    assert office.state(it) == "rejected"


def test_the_inbox_is_cleared_by_keyboard(page: Page, sign_in: Callable, office: Office):
    ids = [office.ask(units) for units in (3, 4, 5, 6)]
    sign_in(page, office.place, "petra")
    page.goto("/")
    page.keyboard.press("g")
    page.keyboard.press("v")
    page.wait_for_url("**/reviews")
    box = page.locator("#decide-dialog")
    # Reject the second with a reason, ask about the third.
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("x")
    expect(box.get_by_label("Reason")).to_be_focused()
    page.keyboard.type("no room before spring")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Rejected. The requester reads the reason.")).to_be_visible()
    assert office.state(ids[1]) == "rejected"
    # The next one is where the last one was.
    here = page.locator("li.current")
    expect(here).to_contain_text("5 units more")
    page.keyboard.press("q")
    expect(box).to_contain_text("Ask for changes")
    page.keyboard.type("which model is it?")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Asked. It comes back when")).to_be_visible()
    assert office.state(ids[2]) == "changes_requested"
    # Offer less for the last, leave the dialog once.
    expect(here).to_contain_text("6 units more")
    page.keyboard.press("l")
    expect(box.get_by_label("Units offered")).to_be_focused()
    page.keyboard.press("Escape")
    expect(box).not_to_be_visible()
    page.keyboard.press("l")
    box.get_by_label("Units offered").fill("2")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Offered. It waits")).to_be_visible()
    assert office.state(ids[3]) == "countered"
    expect(here).to_contain_text("3 units more")
    page.keyboard.press("a")
    expect(box.get_by_role("button", name="Decide")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Granted; the quota stands.")).to_be_visible()
    assert office.state(ids[0]) == "provisioned"
    expect(page.get_by_text("Inbox clear")).to_be_visible()


def test_several_are_selected_by_keyboard(page: Page, sign_in: Callable, office: Office):
    ids = [
        office.ask(units, account=account, by="otto")
        for units, account in ((3, "nlp"), (4, "vision"))
    ]
    sign_in(page, office.place, "petra")
    page.goto("/reviews")
    for key in ("j", " ", "j", " "):
        page.keyboard.press(key)
    expect(page.get_by_role("checkbox", name=re.compile("^Select"), checked=True)).to_have_count(2)
    page.get_by_role("button", name="Approve selected").press("Enter")
    expect(page.get_by_role("heading", name="Approve 2 requests?")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="2 decided")).to_be_visible()
    assert [office.state(one) for one in ids] == ["provisioned", "provisioned"]


def test_everything_works_without_scripts(
    new_page: Callable[..., Page], sign_in: Callable, office: Office
):
    it = office.ask(8)
    page = new_page(java_script_enabled=False)
    sign_in(page, office.place, "petra")
    page.goto("/reviews")
    page.get_by_role("link", name="Approve 8 units").click()
    page.get_by_label("Reject", exact=True).check()
    page.get_by_label("Reason").fill("no room")
    page.get_by_role("button", name="Decide").click()
    expect(page.get_by_text("Inbox clear")).to_be_visible()
    assert office.state(it) == "rejected"
