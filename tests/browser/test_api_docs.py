"""The API's documentation: read and tried within the strict content security policy."""

from playwright.sync_api import Page, expect

from tests.api.conftest import fresh_token


def test_operations_are_listed_and_can_be_tried(acme, live_server, page: Page):
    page.goto("/api/docs")
    page.locator("#operations-tag-usage").click()
    expect(page.get_by_text("Report use, exactly once")).to_be_visible()
    page.get_by_role("button", name="Authorize").first.click()
    page.get_by_label("auth-bearer-value").fill(fresh_token(acme))
    page.locator(".auth-container", has=page.get_by_label("auth-bearer-value")).get_by_role(
        "button", name="Apply credentials"
    ).click()
    page.locator(".modal-ux button.btn-done").first.click()
    page.locator("#operations-tag-me").click()
    me = page.locator("#operations-me-readMe")
    me.locator(".opblock-summary-control").click()
    me.get_by_role("button", name="Try it out").click()
    me.get_by_role("button", name="Execute").click()
    expect(me.locator(".live-responses-table")).to_contain_text('"slug": "acme"')


def test_it_says_what_to_read_without_scripts(acme, live_server, new_page):
    page = new_page(java_script_enabled=False)
    page.goto("/api/docs")
    expect(page.get_by_role("link", name="the OpenAPI document")).to_be_visible()
