"""Journeys through the pages, each judged wide and narrow, light and dark."""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page, expect

from tests.browser.inspection import (
    FOUR_LOOKS,
    LOOKS,
    NARROW,
    Judge,
    assert_accessible,
    assert_no_sideways_scroll,
    screenshot,
    settle,
)
from tests.world import Tenant, record

# Of the least: WCAG's reflow criterion, 320 CSS pixels (a wide page at 400 %).
REFLOW = {"viewport": {"width": 320, "height": 640}}
PAGES = {
    "overview": "/",
    "fairshare": "/fairshare",
    "explanation": "/fairshare/nlp/bob",
    "usage": "/usage?account=nlp",
    "records": "/usage/records?account=nlp",
    "ledger": "/ledger?account=nlp",
    "search": "/search?q=b",
    "people": "/settings/people",
    "tokens": "/settings/tokens",
}


@pytest.fixture
def used(acme: Tenant, live_server) -> Tenant:
    """Acme with a week of use that ended lately, and one job that runs."""
    noon = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    records = [
        record(
            f"job-{day}-{pool}",
            pool=pool,
            units=8 + day,
            hours=3,
            start=noon - timedelta(days=day, hours=4),
            account=account,
            person=person,
        )
        for day in range(7)
        for pool, account, person in (("h100", "nlp", "bob"), ("a100", "nlp", "alice"))
    ]
    records.append(record("job-now", hours=None, start=noon - timedelta(hours=2), units=4))
    acme.use(*records, now=datetime.now(UTC))
    return acme


def test_somebody_signs_in_sees_their_accounts_and_signs_out(page: Page, used: Tenant):
    used.login("alice")
    page.goto("/fairshare")
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
    page.get_by_label("Email").fill("alice@example.org")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    assert_accessible(page)
    page.get_by_label("Email").fill("alice@example.org")
    page.get_by_label("Password").fill("secret-of-alice")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Fair-share")
    page.get_by_role("button", name=re.compile("^You:")).click()
    assert_accessible(page)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")


@pytest.mark.parametrize("look", FOUR_LOOKS)
def test_pages_are_accessible_in_every_look(
    look: str, new_page: Callable[..., Page], sign_in: Callable, used: Tenant
):
    page = new_page(**LOOKS[look])
    used.role("otto", "lead")
    sign_in(page, used, "otto")
    judge = Judge(page, look)
    for name, address in PAGES.items():
        judge.visit(name, address)
    judge.assert_all_well()


def assert_reflow(page: Page, addresses: Iterable[str]) -> None:
    """Ask for each page and look whether it fits."""
    for address in addresses:
        page.goto(address)
        settle(page)
        assert_no_sideways_scroll(page)


def test_pages_reflow_to_320_pixels(new_page: Callable[..., Page], sign_in: Callable, used: Tenant):
    page = new_page(**REFLOW)
    sign_in(page, used, "otto")
    assert_reflow(page, PAGES.values())


def test_pages_work_without_javascript(
    new_page: Callable[..., Page], sign_in: Callable, used: Tenant
):
    page = new_page(java_script_enabled=False, viewport=NARROW)
    sign_in(page, used, "alice")
    page.goto("/")
    page.get_by_role("link", name="Fair-share", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Fair-share")
    screenshot(page, "fairshare-no-javascript")
    page.get_by_role("link", name="Bob", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Bob")
    assert_no_sideways_scroll(page)
    page.goto("/usage?account=nlp")
    page.get_by_text("Show as a table").click()
    expect(page.get_by_role("table", name="Use by day")).to_be_visible()
    # The menus of the top bar open while they have focus.
    page.get_by_role("button", name=re.compile("^You:")).focus()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")


def test_the_keyboard_goes_to_pages_rows_search_and_help(
    page: Page, sign_in: Callable, used: Tenant
):
    sign_in(page, used, "alice")
    page.goto("/")
    page.keyboard.press("g")
    page.keyboard.press("f")
    expect(page.get_by_role("heading", level=1)).to_have_text("Fair-share")
    page.keyboard.press("j")
    expect(page.locator("[data-rows] tr.current")).to_have_count(1)
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    assert_accessible(page, within="dialog")
    for key, title in (("m", "Costs"), ("z", "Detections"), ("n", "Notices")):
        told = re.compile(rf"g\s+{key}\s*go to {title}")
        expect(page.get_by_role("dialog")).to_contain_text(told)
    expect(page.get_by_role("dialog")).not_to_contain_text("go to API tokens")
    page.get_by_label("Single keys are on").uncheck()
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("/")
    expect(page.locator("#search")).not_to_be_focused()
    page.reload()
    page.get_by_role("button", name=re.compile("^You:")).click()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    page.get_by_label("Single keys are on").check()
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()


def test_back_shows_the_filters_of_the_page_one_is_back_at(
    page: Page, sign_in: Callable, used: Tenant
):
    sign_in(page, used, "alice")
    page.goto("/usage?account=nlp")
    page.get_by_label("Pool", exact=True).select_option("h100")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**pool=h100**")
    page.go_back()
    expect(page.get_by_label("Pool", exact=True)).to_have_value("")


def test_enter_on_a_row_never_acts(page: Page, sign_in: Callable, acme: Tenant):
    # Rows of this page hold no link, only buttons that take a role away.
    sign_in(page, acme, "otto")
    page.goto("/settings/people")
    roles = page.get_by_role("button", name=re.compile("^Take away"))
    before = roles.count()
    assert before > 0
    page.keyboard.press("j")
    expect(page.locator("[data-rows] tr.current")).to_be_focused()
    page.keyboard.press("Enter")
    page.reload()
    expect(roles).to_have_count(before)


def test_the_theme_is_kept_and_outranks_the_systems(
    new_page: Callable[..., Page], sign_in: Callable, used: Tenant
):
    page = new_page(color_scheme="dark")
    sign_in(page, used, "alice")
    page.goto("/")
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "dark")
    page.get_by_role("button", name="Theme").click()
    page.get_by_role("button", name="Light").click()
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-bs-theme", "light")


def test_a_failure_behind_a_part_of_the_page_is_said_in_place(
    page: Page, sign_in: Callable, used: Tenant
):
    sign_in(page, used, "alice")
    page.goto("/")
    settle(page)
    page.route("**/?*days=7*", lambda route: route.fulfill(status=503, body="down"))
    page.get_by_role("link", name="7 days").click()
    expect(page.get_by_role("alert")).to_contain_text("That did not work")
    expect(page.locator("#status")).to_contain_text("503")
    page.unroute("**/?*days=7*")
    page.get_by_role("link", name="7 days").click()
    expect(page.locator("#use-panel")).to_have_attribute(
        "data-status", "Use of the last 7 days shown"
    )
    expect(page.get_by_role("alert")).to_have_count(0)
    assert "days=7" in page.url
    page.go_back()
    expect(page.locator("#use-panel")).to_have_attribute(
        "data-status", "Use of the last 30 days shown"
    )


def test_a_form_waits_for_its_answer_and_leads_to_what_is_wrong(
    page: Page, sign_in: Callable, acme: Tenant
):
    sign_in(page, acme, "otto")
    page.goto("/settings/tokens")
    button = page.get_by_role("button", name="Issue")
    # "No content" leaves the page as it is while the answer is awaited.
    page.route("**/settings/tokens/issue", lambda route: route.fulfill(status=204))
    button.click()
    expect(button).to_be_disabled()
    page.unroute("**/settings/tokens/issue")
    page.reload()
    button.click()
    summary = page.get_by_role("alert")
    expect(summary).to_be_focused()
    summary.get_by_role("link", name=re.compile("^Name")).click()
    expect(page).to_have_url(re.compile("#id_name$"))


def test_nothing_of_another_tenant_is_found(
    page: Page, sign_in: Callable, used: Tenant, globex: Tenant
):
    sign_in(page, globex, "charlie")
    for address in ("/search?q=alice", "/search?q=bob"):
        page.goto(address)
        expect(page.locator("main")).not_to_contain_text("@example.org")
        expect(page.locator("main")).not_to_contain_text("Acme")
    for address in ("/fairshare/research/alice", "/usage?account=research"):
        answer = page.goto(address)
        assert answer is not None
        assert answer.status == 404, address
        assert_accessible(page)
