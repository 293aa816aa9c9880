"""An operator's pages of quota in a real browser: live preview, keys, no JavaScript, narrow."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from quota import wire
from quota.commands.admissions import AdmitBatch
from quota.commands.quotas import SetQuota
from tests.browser.inspection import LOOKS, Judge
from tests.world import Tenant

NLP = "/accounts/nlp/quota/h100"


@pytest.fixture
def busy(acme: Tenant, live_server) -> Tenant:
    """nlp uses 40 and borrows 10; vision has some for a while; a change of nlp is to come."""
    now = datetime.now(UTC)

    def quota(account: str, guaranteed: int, **more) -> None:
        acme.run(
            SetQuota(
                account_id=acme.accounts[account],
                pool_id=acme.pools["h100"],
                guaranteed=guaranteed,
                **more,
            ),
            reason="the plan",
            now=now - timedelta(days=1),
        )

    research = acme.accounts["research"]
    quota("research", 20)
    quota("nlp", 40, borrowing_limit=20)
    quota("vision", 25)
    quota("vision", 30, ends_at=now + timedelta(days=9), carve_from_id=research)
    quota("nlp", 45, effective_at=now + timedelta(days=3))
    asks = tuple(
        wire.Ask(key=f"job-{n}", account="nlp", person="bob", pool="h100", units=units)
        for n, units in ((1, 40), (2, 10))
    )
    acme.run(AdmitBatch(requests=asks), now=now)
    return acme


@pytest.mark.parametrize("look", ["wide-light", "narrow-dark", "least-light"])
def test_every_state_of_the_forms_is_accessible(
    look: str, new_page: Callable[..., Page], sign_in: Callable, busy: Tenant
):
    page = new_page(**LOOKS[look])
    sign_in(page, busy, "otto")
    judge = Judge(page, look)
    page.goto(NLP)
    page.get_by_label("Guaranteed, units").fill("20")
    page.get_by_label("Expose what runs").check()
    page.get_by_text("Jobs that would lose").wait_for()
    judge("quota-edit-exposed")
    page.get_by_label("Guaranteed, units").fill("900")
    page.get_by_text("would be refused").first.wait_for()
    judge("quota-edit-refused")
    for name, address in {
        "quota-edit-temporary": "/accounts/vision/quota/h100",
        "quota-end": "/accounts/vision/quota/h100/end",
        "pool-open": "/pools/open",
        "flavor-define": "/pools/flavors/new",
    }.items():
        judge.visit(name, address)
    page.goto(NLP)
    page.get_by_role("link", name="Cancel").click()
    judge("quota-cancel")
    page.goto("/capacity/h100/edit")
    page.get_by_label("New value").fill("60")
    page.get_by_text("Who was promised what").wait_for()
    judge("pool-edit-refused")
    judge.assert_all_well()


def test_by_keys_alone_it_is_tried_as_one_types_and_saved(
    page: Page, sign_in: Callable, busy: Tenant
):
    sign_in(page, busy, "otto")
    page.goto(NLP)
    page.get_by_label("Guaranteed, units").focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("45")
    page.get_by_text("Not saved yet").wait_for()
    expect(page.locator("#status")).to_have_text("Promised 85 of 100, 2 accounts affected")
    # What is typed in is not touched by the preview that comes.
    expect(page.get_by_label("Guaranteed, units")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_load_state("networkidle")
    assert page.url.endswith(NLP), "Enter tries, it does not save"
    expect(page.get_by_label("Guaranteed, units")).to_have_value("45")
    page.get_by_label("Reason").focus()
    page.keyboard.type("growth")
    stops = []  # through the preview: its table, its jobs, the buttons
    while "Save" not in stops and len(stops) < 8:
        page.keyboard.press("Tab")
        stops.append(page.evaluate("document.activeElement.textContent").strip())
    assert stops[-2:] == ["Preview", "Save"], stops
    page.keyboard.press("Enter")
    page.get_by_text("The quota of nlp in h100 is set: 45 guaranteed.").wait_for()


def test_a_time_is_asked_for_only_with_its_choice(page: Page, sign_in: Callable, busy: Tenant):
    sign_in(page, busy, "otto")
    page.goto(NLP)
    expect(page.get_by_label("Until", exact=True)).to_be_hidden()
    page.get_by_label("Until a time").check()
    page.get_by_label("Until", exact=True).fill("2036-12-24T18:00")
    page.get_by_text("until 2036-12-24 18:00:00 CET").wait_for()


def test_without_javascript_it_is_tried_then_saved(
    new_page: Callable[..., Page], sign_in: Callable, busy: Tenant
):
    page = new_page(java_script_enabled=False)
    sign_in(page, busy, "otto")
    page.goto(NLP)
    page.get_by_label("Guaranteed, units").fill("45")
    assert not page.get_by_role("button", name="Save").count()
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("Not saved yet").wait_for()
    page.get_by_label("Reason").fill("growth")
    page.get_by_role("button", name="Save").click()
    page.get_by_text("The quota of nlp in h100 is set: 45 guaranteed.").wait_for()
