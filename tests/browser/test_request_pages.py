"""Asking for quota in a real browser: live pre-check, drafts, keys, no JavaScript, narrow."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from playwright.sync_api import Page, expect

from quota.commands.quotas import SetQuota
from quota.commands.requests import Attach, Comment, SaveDraft, Submit
from quota.commands.reviews import ApproveLess, AskChanges, Reject
from quota.domain.requests import Terms
from tests.browser.inspection import (
    LOOKS,
    Judge,
    assert_accessible,
    assert_no_sideways_scroll,
    screenshot,
)
from tests.world import Tenant


class Team:
    """acme with Petra, who approves for research, and Alice, who leads nlp."""

    def __init__(self, place: Tenant) -> None:
        self.place = place
        self.now = datetime.now(UTC) - timedelta(hours=2)
        place.person("petra")
        place.role("petra", "approver", on="research")

    def quota(self, account: str, guaranteed: int, **more) -> None:
        command = SetQuota(
            account_id=self.place.accounts[account],
            pool_id=self.place.pools["h100"],
            guaranteed=guaranteed,
            **more,
        )
        self.place.run(command, reason="the plan", now=self.now - timedelta(days=1))

    def terms(self, units: int = 60, *, pool: str = "h100", **more) -> Terms:
        return Terms(
            **{
                "account_id": self.place.accounts["nlp"],
                "pool_id": self.place.pools[pool],
                "kind": "new",
                "units": units,
                "ends_at": self.now + timedelta(days=42),
                "workload": "training",
                "purpose": "Train the next model. Without it the release waits until spring.",
            }
            | more
        )

    def run(self, command, *, by: str = "alice", reason: str = "test"):
        actor = self.place.actor(by)
        return self.place.run(command, by=actor, now=self.now, reason=reason).result

    def ask(self, units: int = 60, **more) -> UUID:
        return self.run(Submit(terms=self.terms(units, **more))).request_id


@pytest.fixture
def team(acme: Tenant, live_server) -> Team:
    return Team(acme)


@pytest.mark.parametrize("look", ["wide-light", "wide-dark", "narrow-dark", "least-light"])
def test_every_state_is_accessible(
    look: str, new_page: Callable[..., Page], sign_in: Callable, team: Team
):
    page = new_page(**LOOKS[look])
    sign_in(page, team.place, "alice")
    judge = Judge(page, look)
    judge.visit("requests-empty", "/requests")
    judge.visit("request-new", "/requests/new?pool=h100")
    page.get_by_label("How many units").fill("24")
    page.locator(".verdict").get_by_text("you get it at once").wait_for()
    judge("request-new-fits")
    team.quota("production", 60)
    team.quota("serving", 30, ends_at=team.now + timedelta(days=10))
    page.get_by_label("How many units").fill("40")
    page.get_by_role("button", name="10 units, same time").wait_for()
    judge("request-new-short")
    page.locator("summary", has_text="Something else").click()
    page.get_by_label("Pass units on").check()
    page.get_by_role("button", name="Hand it in").click()
    page.locator("#id_to_account-errors").wait_for()
    judge("request-new-errors")
    countered = team.ask(60, pool="a100")
    team.run(
        Comment(
            request_id=countered,
            text="Why so many, @alice?",
            mentioned_ids=(team.place.people["alice"],),
        ),
        by="petra",
    )
    judge.visit("request-waiting", f"/requests/{countered}")
    team.run(ApproveLess(request_id=countered, units=40), by="petra", reason="Half is free.")
    judge.visit("request-countered", f"/requests/{countered}")
    asked = team.ask(50, pool="a100")
    team.run(AskChanges(request_id=asked), by="petra", reason="Until when, really?")
    judge.visit("request-again", f"/requests/{asked}/edit")
    rejected = team.ask(45, pool="a100")
    team.run(Reject(request_id=rejected), by="petra", reason="Not this quarter.")
    team.run(SaveDraft(terms=team.terms(3, purpose="")))
    granted = team.ask(8)
    judge.visit("request-granted", f"/requests/{granted}")
    judge.visit("requests", "/requests")
    waiting = team.ask(44, pool="a100")
    page.context.clear_cookies()
    sign_in(page, team.place, "petra")
    judge.visit("request-to-review", f"/requests/{waiting}")
    judge.assert_all_well()


def test_a_lead_gets_units_by_keyboard_alone(page: Page, sign_in: Callable, team: Team):
    sign_in(page, team.place, "alice")
    page.goto("/")
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.wait_for_url("**/requests")
    page.get_by_role("link", name="Ask for quota").first.press("Enter")
    page.get_by_label("How many units").focus()
    page.keyboard.type("24")
    expect(page.locator("#status")).to_have_text("It fits, and you get it at once.")
    page.get_by_label("What they are for").focus()
    page.keyboard.type("Train the next model.")
    # What is typed is kept as a draft, and handed in it is the same request.
    expect(page.locator("#draft")).to_contain_text("Draft kept", timeout=10_000)
    page.reload()
    expect(page.get_by_label("What they are for")).to_have_value("Train the next model.")
    page.get_by_role("button", name="Get it").press("Enter")
    page.wait_for_url(re.compile(r"/requests/[0-9a-f-]{36}$"))
    expect(page.get_by_text("Granted at once")).to_be_visible()
    page.goto("/requests")
    expect(page.locator("table tbody tr")).to_have_count(1)
    expect(page.get_by_text("Your drafts")).to_have_count(0)


def test_the_form_shows_what_the_kind_needs(page: Page, sign_in: Callable, team: Team):
    team.quota("nlp", 20)
    sign_in(page, team.place, "alice")
    page.goto("/requests/new")
    expect(page.get_by_label("More for a while")).to_be_checked()
    page.get_by_label("Give back").check()
    expect(page.get_by_label("Until", exact=True)).to_be_hidden()
    expect(page.get_by_label("Who receives them")).to_be_hidden()
    page.locator("summary", has_text="Something else").click()
    page.get_by_label("Pass units on").check()
    expect(page.get_by_label("Who receives them")).to_be_visible()
    page.get_by_label("Keep what is idle").check()
    expect(page.get_by_label("How many units")).to_be_hidden()
    expect(page.get_by_label("Until", exact=True)).to_be_visible()
    page.get_by_label("More for good").check()
    page.get_by_label("For good", exact=True).check()
    expect(page.get_by_label("Until", exact=True)).to_be_hidden()


def test_it_works_without_javascript(new_page: Callable[..., Page], sign_in: Callable, team: Team):
    team.quota("production", 90)
    page = new_page(java_script_enabled=False)
    sign_in(page, team.place, "alice")
    page.goto("/requests/new?pool=h100")
    page.get_by_label("How many units").fill("24")
    page.get_by_label("How many units").press("Enter")
    expect(page.locator(".verdict")).to_contain_text("14 units short")
    page.get_by_role("button", name="10 units, same time").click()
    expect(page.get_by_label("How many units")).to_have_value("10")
    page.get_by_label("What they are for").fill("Train the next model.")
    page.get_by_role("button", name="Get it").click()
    expect(page.get_by_text("Granted at once")).to_be_visible()


def test_who_is_mentioned_is_found_by_keyboard(page: Page, sign_in: Callable, team: Team):
    asked = team.run(Submit(terms=team.terms())).request_id
    sign_in(page, team.place, "alice")
    page.goto(f"/requests/{asked}")
    field = page.get_by_label("Say something")
    field.press_sequentially("Is that enough, @Pe")
    people = page.get_by_role("listbox", name="People to notify")
    expect(people.get_by_role("option")).to_have_text(["@petra Petra"])
    assert_accessible(page)
    assert_no_sideways_scroll(page)
    screenshot(page, "request-mentions")
    field.press("Enter")
    expect(field).to_have_value("Is that enough, @petra ")
    expect(people).not_to_be_visible()
    field.press_sequentially("or @")
    expect(people).to_be_visible()
    field.press("Escape")
    expect(people).not_to_be_visible()
    expect(field).to_be_focused()
    field.press("Enter")
    expect(field).to_have_value("Is that enough, @petra or @\n")
    field.fill("Mail me at a@pe")
    page.wait_for_timeout(300)
    expect(people).not_to_be_visible()


def test_one_long_word_makes_no_page_wider(
    new_page: Callable[..., Page], sign_in: Callable, team: Team
):
    word = "W" * 400
    it = team.run(Submit(terms=team.terms(purpose=word))).request_id
    team.run(Comment(request_id=it, text=f"{word} @petra", mentioned_ids=()))
    team.run(Attach(request_id=it, name=f"{'n' * 110}.txt", content=b"plan"))
    page = new_page(viewport={"width": 390, "height": 844})
    sign_in(page, team.place, "petra")
    for address in (f"/requests/{it}", f"/requests/{it}/decide", "/reviews", "/notices"):
        page.goto(address)
        assert_no_sideways_scroll(page)


def test_words_and_files(page: Page, sign_in: Callable, team: Team):
    it = team.ask(60)
    sign_in(page, team.place, "petra")
    page.goto(f"/requests/{it}")
    expect(page.get_by_role("heading", name="Your decision")).to_be_visible()
    page.get_by_label("Say something").fill("Why so many, @alice?")
    page.get_by_role("button", name="Say it").click()
    expect(page.locator("#discussion .said")).to_have_text("Why so many, @alice?")
    page.get_by_label("Attach a file").set_input_files(
        {"name": "plan.csv", "mimeType": "text/csv", "buffer": b"month,gpus\n"}
    )
    page.get_by_role("button", name="Attach", exact=True).click()
    with page.expect_download() as download:
        page.get_by_role("link", name="plan.csv", exact=True).click()
    assert download.value.suggested_filename == "plan.csv"
