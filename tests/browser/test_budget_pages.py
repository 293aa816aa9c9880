"""Budgets in a browser: looked at wide and narrow, light and dark, tried before they are set."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from playwright.sync_api import Page, expect

from accounting import budget_rounds
from accounting.commands.budgets import SetBudget
from tests.accounting.statements.test_rating import publish
from tests.browser.inspection import FOUR_LOOKS, LOOKS, Judge, assert_accessible, screenshot
from tests.world import Tenant, record

DAYS = 100


@pytest.fixture
def budgeted(acme: Tenant, live_server) -> Tenant:
    """A hundred days of working weeks of nlp with two dear days, and three budgets."""
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    start = now.replace(hour=1) - timedelta(days=DAYS)
    publish(acme, "2.5", at=start)
    days = [start + timedelta(days=n) for n in range(DAYS)]
    rows = [
        record(f"day-{n}", start=day, hours=20, units=(3 if day.weekday() >= 5 else 12) + n % 3)
        for n, day in enumerate(days)
    ]
    rows += [
        record(f"burst-{n}", start=now - timedelta(days=n), hours=18, units=60, tier="spot")
        for n in (4, 9)
    ]
    acme.use(*rows, now=now)
    acme.person("fay")
    acme.role("fay", "finance")
    for account, period, amount in (
        ("nlp", "month", 15000),
        ("nlp", "quarter", 60000),
        ("research", "month", 90000),
    ):
        command = SetBudget(
            account_id=acme.accounts[account], period=period, amount=Decimal(amount)
        )
        acme.run(command, now=start, reason="agreed with the department")
    budget_rounds.look(acme.id, now=now)
    return acme


@pytest.mark.parametrize("look", FOUR_LOOKS)
def test_budgets_look_right(new_page, sign_in, budgeted, look):
    page: Page = new_page(**LOOKS[look])
    sign_in(page, budgeted, "fay")
    judge = Judge(page, look)
    for name, address in {"budgets": "/budgets", "budget-new": "/budgets/new?account=nlp"}.items():
        judge.visit(name, address)
    page.goto("/budgets?account=nlp")
    page.locator("#rows tbody th a").last.click()
    expect(page.locator(".chart svg").first).to_be_visible()
    judge("budget")
    judge.visit("showback-marked", "/showback?account=nlp")
    judge.assert_all_well()


def test_a_budget_is_tried_set_and_ended(page, sign_in, budgeted):
    sign_in(page, budgeted, "fay")
    page.goto("/budgets/new")
    page.get_by_label("Account", exact=True).fill("serving")
    page.get_by_label("Amount", exact=True).fill("0")
    page.get_by_role("button", name="Preview").click()
    expect(page.locator("#id_amount-errors")).to_contain_text("above 0")
    page.get_by_label("Account", exact=True).fill("research")
    page.get_by_label("Amount", exact=True).fill("12000")
    page.get_by_label("For", exact=True).select_option("quarter")
    expect(page.locator("#preview")).to_contain_text("50 % spent")
    screenshot(page, "budget-preview")
    assert_accessible(page)
    page.get_by_label("Reason").fill("A grant of the faculty")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("The budget is set.")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Each quarter of research")
    page.get_by_role("link", name="End it").click()
    assert_accessible(page)
    page.get_by_label("Reason").fill("Not needed")
    page.get_by_role("button", name="End it").click()
    expect(page.get_by_text("The budget ends.")).to_be_visible()
