"""Pages of use-it-or-lose-it in a real browser: accessible in every look, a chart that is drawn."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from playwright.sync_api import Page, expect

from accounting.commands.rates import PriceWish, PublishRateCard
from preemption.commands.reclaim import RestoreQuota, RunReclaim
from preemption.commands.reclaim_rules import SetReclaimRule
from quota.commands.pools import SetUnavailable
from quota.commands.quotas import SetQuota
from quota.commands.requests import Submit
from quota.commands.reviews import Approve
from quota.domain.requests import Terms
from tests.browser.inspection import FOUR_LOOKS, LOOKS, NARROW, Judge, assert_accessible, screenshot
from tests.browser.test_pages import REFLOW, assert_reflow
from tests.world import Tenant, record

PAGES = {
    "board": "/reclaim",
    "board-stage": "/reclaim?stage=demoted&account=research",
    "board-nothing": "/reclaim?stage=returned",
    "watched": "/reclaim/serving/h100",
    "demoted": "/reclaim/nlp/h100?days=7",
    "justified": "/reclaim/robots/h100",
    "restored": "/reclaim/vision/h100",
    "restore": "/reclaim/nlp/h100/restore",
    "return": "/reclaim/nlp/h100/return",
    "rules": "/reclaim/rules",
    "rule": "/reclaim/rules/h100/edit",
    "rule-followed": "/reclaim/rules/a100/edit",
    "rule-default": "/reclaim/default-rule",
    "quota-hint": "/accounts/nlp/quota",
    "overview-hint": "/",
}
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def place(acme: Tenant, live_server) -> Tenant:
    """h100 with a guarantee in each stage, two days without known use, and a price."""
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    begin = now - 12 * DAY
    pool_id = acme.pools["h100"]
    price = PriceWish(flavor="h100-80gb", list_price=Decimal("2.64"))
    rates = PublishRateCard(lines=(price,), effective_from=now - 90 * DAY)
    acme.run(rates, now=now - 90 * DAY, reason="prices")
    acme.account("robots", under="research")
    for account, units in (("nlp", 32), ("vision", 16), ("serving", 20), ("robots", 12)):
        command = SetQuota(account_id=acme.accounts[account], pool_id=pool_id, guaranteed=units)
        at = begin if account != "serving" else now - 4 * DAY
        acme.run(command, now=at, reason="the plan")
    used = [
        record(f"known-{n}", units=3 + n % 3, hours=24, start=begin + n * DAY, account="nlp")
        for n in range(12)
        if n not in (3, 4, 5)
    ]
    acme.use(*used, record("now", units=2, hours=None, start=now - DAY, account="serving"), now=now)
    rule = SetReclaimRule(
        pool_id=pool_id,
        maintenance=((now + 20 * DAY, now + 22 * DAY),),
        exempt_ids=(acme.accounts["production"],),
    )
    acme.run(rule, by=acme.actor("otto"), now=now - 70 * HOUR, reason="use it or lose it")
    acme.run(RunReclaim(pool_id=pool_id), now=now - 60 * HOUR)
    ask(acme, "robots", now=now - 50 * HOUR)
    acme.run(RunReclaim(pool_id=pool_id), now=now - 30 * HOUR)
    back = RestoreQuota(account_id=acme.accounts["vision"], pool_id=pool_id)
    acme.run(back, by=acme.actor("otto"), now=now - 20 * HOUR, reason="the run starts on Monday")
    default = SetReclaimRule(pool_id=None, enabled=False, threshold=Decimal("0.1"))
    acme.run(default, now=begin, reason="not yet, except where it was agreed")
    gentler = SetReclaimRule(pool_id=pool_id, threshold=Decimal("0.15"))
    acme.run(gentler, by=acme.actor("otto"), now=now - 10 * HOUR, reason="only what lies idle")
    acme.run(RunReclaim(pool_id=pool_id), now=now)
    acme.role("otto", "lead")
    return acme


def ask(acme: Tenant, account: str, *, now: datetime) -> None:
    """An approved reason to keep an idle guarantee."""
    acme.person("petra")
    acme.role("petra", "approver", on="research")
    terms = Terms(
        account_id=acme.accounts[account],
        pool_id=acme.pools["h100"],
        kind="justification",
        ends_at=now + 30 * DAY,
        purpose="The robots come back from calibration next week.",
    )
    asked = acme.run(Submit(terms=terms), by=acme.actor("otto"), now=now).result
    approve = Approve(request_id=asked.request_id)
    acme.run(approve, by=acme.actor("petra"), now=now, reason="known and bounded")


@pytest.mark.parametrize("look", FOUR_LOOKS)
def test_pages_are_accessible_in_every_look(
    look: str, new_page: Callable[..., Page], sign_in: Callable, place: Tenant
):
    page = new_page(**LOOKS[look])
    sign_in(page, place, "otto")
    judge = Judge(page, look)
    for name, address in PAGES.items():
        judge.visit(f"reclaim-{name}", address)
    judge.assert_all_well()


def test_pages_reflow_to_320_pixels(
    new_page: Callable[..., Page], sign_in: Callable, place: Tenant
):
    page = new_page(**REFLOW)
    sign_in(page, place, "otto")
    assert_reflow(page, PAGES.values())


@pytest.mark.parametrize("look", ["wide-light", "narrow-dark"])
def test_a_rule_is_tried_as_it_is_typed(
    look: str, new_page: Callable[..., Page], sign_in: Callable, place: Tenant
):
    page = new_page(**LOOKS[look])
    sign_in(page, place, "otto")
    judge = Judge(page, look)
    page.goto("/reclaim/rules/h100/edit")
    page.get_by_label("Threshold, %").fill("30")
    page.get_by_label("Threshold, %").blur()
    expect(page.locator("#preview")).to_contain_text("Nothing is switched on or saved yet.")
    judge("reclaim-rule-tried")
    page.get_by_label("Window").fill("soon")
    page.get_by_label("Window").blur()
    expect(page.locator("#preview")).to_contain_text("Give a length like 72 h")
    page.get_by_role("button", name="Preview").click()
    expect(page.get_by_role("alert")).to_contain_text("Window: Give a length like 72 h")
    judge("reclaim-rule-wrong")
    judge.assert_all_well()


def test_a_restore_that_is_refused_says_why(page: Page, sign_in: Callable, place: Tenant):
    broken = SetUnavailable(pool_id=place.pools["h100"], unavailable=60)
    place.run(broken, now=datetime.now(UTC), reason="a rack failed")
    sign_in(page, place, "alice")
    page.goto("/reclaim/nlp/h100")
    page.get_by_role("link", name="Restore").click()
    expect(page.get_by_role("alert")).to_contain_text("Not possible now.")
    expect(page.get_by_role("link", name="Ask for the 27 units")).to_be_visible()
    screenshot(page, "reclaim-refused")
    assert_accessible(page)


def test_numbers_are_there_without_javascript(
    new_page: Callable[..., Page], sign_in: Callable, place: Tenant
):
    page = new_page(java_script_enabled=False, viewport=NARROW)
    sign_in(page, place, "otto")
    page.goto("/reclaim/nlp/h100")
    page.get_by_text("Show as a table").click()
    expect(page.get_by_role("table", name="Use against guarantee")).to_contain_text("unknown")
