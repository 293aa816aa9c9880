"""Notices in a real browser: wide, narrow, as narrow as it gets; light and dark; by keyboard."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from ledger import scope
from notices import preferences, reading
from notices.preferences import Link
from notices.queries import notices
from quota.commands.quotas import SetQuota
from tests.browser.inspection import LOOKS, Judge
from tests.world import Tenant


@pytest.fixture
def told(acme: Tenant, live_server) -> Tenant:
    """Alice has four notices, the newest about a quota that ends in two days."""
    now = datetime.now(UTC)
    for units, days in ((20, 5), (40, 4), (60, 3)):
        acme.run(
            SetQuota(
                account_id=acme.accounts["nlp"],
                pool_id=acme.pools["h100"],
                guaranteed=units,
                ends_at=now + timedelta(days=2) if units == 60 else None,
            ),
            by=acme.actor("otto"),
            reason="the language model needs them for its last run before the deadline",
            now=now - timedelta(days=days),
        )
    reading.read_events(acme.id, now=now)
    reading.remind(acme.id, now=now)
    return acme


@pytest.mark.parametrize("look", LOOKS)
def test_pages_of_notices_are_accessible(
    look: str, new_page: Callable[..., Page], sign_in: Callable, told: Tenant
):
    page = new_page(**LOOKS[look])
    sign_in(page, told, "alice")
    link = Link(organization_id=told.id, person_id=told.people["alice"], kind="quota.ending")
    judge = Judge(page, look)
    for name, address in {
        "notices": "/notices",
        "notices-empty": "/notices?kind=quota.lapsed",
        "notices-settings": "/notices/settings",
        "notices-mute": f"/notices/mute/{preferences.sign(link)}",
    }.items():
        judge.visit(name, address)
    judge.assert_all_well()


def test_notices_are_read_by_keyboard(page: Page, sign_in: Callable, told: Tenant):
    sign_in(page, told, "alice")
    page.goto("/")
    bell = page.get_by_role("link", name="Notices, 4 unread")
    expect(bell).to_be_visible()
    bell.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Notices", level=1)).to_be_visible()
    ending = page.get_by_role("link", name="The temporary quota of nlp on h100 ends in 2 days")
    ending.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/requests/new?*kind=extension*")
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")  # keys are for the page, not for a field
    expect(page.get_by_role("link", name="Notices, 3 unread")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("n")
    page.wait_for_url("**/notices")
    page.get_by_role("button", name="Mark all read").press("Enter")
    expect(page.get_by_text("3 notices marked read.")).to_be_visible()
    expect(page.get_by_role("link", name="Notices, none unread")).to_be_visible()


def test_mails_are_stopped_by_one_click_of_somebody_signed_out(page: Page, told: Tenant):
    link = Link(organization_id=told.id, person_id=told.people["alice"], kind="quota.ending")
    page.goto(f"/notices/mute/{preferences.sign(link)}")
    page.get_by_role("button", name="Stop these mails").click()
    expect(page.get_by_role("status")).to_contain_text("no more mails of the kind")
    page.get_by_role("button", name="Send them again").click()
    expect(page.get_by_role("status")).to_contain_text("One click stops them")


def test_filters_and_marks_work_without_scripts(
    new_page: Callable[..., Page], sign_in: Callable, told: Tenant
):
    page = new_page(java_script_enabled=False)
    sign_in(page, told, "alice")
    page.goto("/notices")
    page.get_by_role("button", name=re.compile("^Mark read.*temporary quota")).click()
    page.get_by_label("only unread").check()
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("button", name=re.compile("^Mark read"))).to_have_count(3)
    with scope.reading(told.id):
        unread = notices(told.id, told.people["alice"], only_unread=True).rows
    assert len(unread) == 3
