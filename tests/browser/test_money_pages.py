"""Costs, rates and closes in a browser: looked at wide and narrow, light and dark."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from playwright.sync_api import Page, expect

from accounting import budget_rounds
from accounting.commands.rates import PriceWish, PublishRateCard
from accounting.domain import statements
from quota.commands.quotas import SetQuota
from tests.accounting.sample_statements import let_small_be_large
from tests.browser.inspection import FOUR_LOOKS, LOOKS, Judge, assert_accessible, screenshot, settle
from tests.world import Tenant, record


@pytest.fixture
def charged(acme: Tenant, live_server) -> Tenant:
    """Acme with prices, promises, and use of this month and the last."""
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    first = statements.month_before(now.date().replace(day=1))
    start = datetime(first.year, first.month, 2, tzinfo=UTC)
    prices = (("h100-80gb", None, "2.5"), ("h100-80gb", "spot", "0.7"), ("a100-80gb", None, "1.2"))
    wishes = tuple(
        PriceWish(flavor=flavor, tier=tier, list_price=Decimal(price))
        for flavor, tier, price in prices
    )
    acme.run(PublishRateCard(lines=wishes, effective_from=start), now=start, reason="contract")
    for account, units in (("nlp", 24), ("vision", 10)):
        quota = {"account_id": acme.accounts[account], "pool_id": acme.pools["h100"]}
        acme.run(SetQuota(**quota, guaranteed=units), now=start, reason="plan")
    length = (now - start) // timedelta(days=1)
    records = [
        record(
            f"{account}-{day}",
            account=account,
            person=person,
            pool=pool,
            tier=tier,
            units=4 + (day * 7) % 20,
            hours=20,
            start=start + timedelta(days=day),
            labels={"project": f"project-{day % 3}"} if day % 4 else None,
        )
        for day in range(length)
        for account, person, pool, tier in (
            ("nlp", "bob", "h100", "guaranteed"),
            ("vision", "bob", "a100", "guaranteed"),
            ("serving", "alice", "h100", "spot"),
        )
    ]
    acme.use(*records, now=now)
    acme.person("fay")
    acme.role("fay", "finance")
    acme.role("fay", "operator")
    return acme


PAGES = {
    "showback": "/showback",
    "showback-print": "/showback?view=print",
    "rates": "/rates",
    "rates-publish": "/rates/publish",
    "closes": "/showback/closes",
    "charging": "/showback/charging",
    "tags": "/showback/tags?account=nlp",
    "organization-month": "/showback/organization",
    "comparison": "/showback/comparison",
    "comparison-policy": "/settings/comparison",
}


@pytest.mark.parametrize("look", FOUR_LOOKS)
@pytest.mark.parametrize("name", PAGES)
def test_money_looks_right(new_page, sign_in, charged, name, look):
    page: Page = new_page(**LOOKS[look])
    sign_in(page, charged, "fay")
    judge = Judge(page, look)
    judge.visit(name, PAGES[name])
    judge.assert_all_well()


def test_an_amount_leads_to_its_records(page, sign_in, charged):
    sign_in(page, charged, "fay")
    page.goto("/showback?account=nlp")
    settle(page)
    page.locator("#lines-title").locator("xpath=../..").get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Why")
    screenshot(page, "showback-line")
    assert_accessible(page)


def test_a_drill_down_changes_in_place_and_prices_are_tried(page, sign_in, charged):
    sign_in(page, charged, "fay")
    page.goto("/showback")
    settle(page)
    page.get_by_label("By", exact=True).select_option("project")
    expect(page.locator("#drill-title")).to_have_text("By project and pool")
    assert "by=project" in page.url
    assert_accessible(page)
    page.goto("/rates/publish")
    page.get_by_label("Prices").fill("h100-80gb, *, *, 5")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview")).to_contain_text("instead of")
    screenshot(page, "rates-preview")
    assert_accessible(page)


def test_untagged_use_is_tried_and_tagged(page, sign_in, charged):
    sign_in(page, charged, "fay")
    page.goto("/showback?account=nlp&by=project")
    settle(page)
    page.get_by_role("link", name="untagged").first.click()
    page.get_by_label("Project").fill("found-again")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#preview")).to_contain_text("Records that fit")
    screenshot(page, "tags-preview")
    assert_accessible(page)
    page.get_by_label("Reason", exact=True).fill("forgotten by the launcher")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#taggings-title").locator("xpath=../..")).to_contain_text("found-again")
    screenshot(page, "tags-saved")
    assert_accessible(page)


LARGE = {
    "large-showback": "/showback?account=root",
    "large-organization": "/showback/organization",
    "large-comparison": "/showback/comparison?month={month}",
}


@pytest.mark.parametrize("look", FOUR_LOOKS)
@pytest.mark.parametrize("name", LARGE)
def test_large_months_look_right(new_page, sign_in, charged, monkeypatch, name, look):
    now = datetime.now(UTC)
    let_small_be_large(monkeypatch)
    budget_rounds.look(charged.id, now=now - timedelta(minutes=20))
    page: Page = new_page(**LOOKS[look])
    sign_in(page, charged, "fay")
    judge = Judge(page, look)
    judge.visit(name, LARGE[name].format(month=f"{now:%Y-%m}"))
    expect(page.locator("#main .notice").first).to_contain_text("s of ")
    judge.assert_all_well()
