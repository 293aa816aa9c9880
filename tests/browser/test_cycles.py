"""A quota review in a real browser: decided by keys, asked, closed; every look of every page."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import pytest
from playwright.sync_api import Page, expect

from quota.commands.cycle_decisions import AnswerReview, AskLead
from quota.commands.cycles import OpenCycle
from quota.commands.quotas import SetQuota
from quota.ports import UtilizationFacts, restore_ports, use_ports
from tests.browser.inspection import LOOKS, Judge
from tests.quota.cycles.conftest import Use
from tests.world import Tenant


class Board:
    """acme under review by Rita; Alice leads nlp."""

    def __init__(self, place: Tenant, use: Use) -> None:
        self.place = place
        self.now = datetime.now(UTC) - timedelta(hours=2)
        for name in ("rita", "rolf"):
            place.person(name)
            place.role(name, "approver")
        place.role("bob", "lead", on="vision")
        for account, units in (("research", 20), ("nlp", 40), ("vision", 5), ("serving", 30)):
            command = SetQuota(**self.where(account), guaranteed=units)
            place.run(command, reason="the plan", now=self.now - timedelta(days=100))
        for account, recommended, cost in (("nlp", 9, "4812.50"), ("serving", 22, "961.00")):
            spot = (place.accounts[account], place.pools["h100"])
            use.facts[spot] = UtilizationFacts(
                mean=0.43,
                p50=4,
                p95=8,
                peak=12,
                guaranteed=40,
                idle_units=32,
                recommended=recommended,
                coverage=0.97,
            )
            use.costs[spot] = Decimal(cost)
        self.cycle_id = self.run(
            OpenCycle(
                account_id=place.root,
                name="Review Q4 2026",
                deadline=self.now + timedelta(days=14),
            )
        ).cycle_id

    def where(self, account: str) -> dict[str, UUID]:
        return {
            "account_id": self.place.accounts[account],
            "pool_id": self.place.pools["h100"],
        }

    def run(self, command, *, by: str = "rita"):
        return self.place.run(command, by=self.place.actor(by), now=self.now).result

    @property
    def address(self) -> str:
        return f"/reviews/cycles/{self.cycle_id}"

    def stored(self) -> dict[str, int]:
        from tests.quota.conftest import Quotas

        return Quotas(self.place).stored()


@pytest.fixture
def board(acme: Tenant, live_server) -> Iterator[Board]:
    use = Use()
    before = use_ports(utilization=use, price=use)
    yield Board(acme, use)
    restore_ports(before)


@pytest.mark.parametrize("look", ["wide-light", "narrow-dark", "least-light"])
def test_every_state_is_accessible(
    look: str, new_page: Callable[..., Page], sign_in: Callable, board: Board
):
    page = new_page(**LOOKS[look])
    sign_in(page, board.place, "rita")
    judge = Judge(page, look)
    board.run(AskLead(cycle_id=board.cycle_id, question="Do you need 5?", **board.where("vision")))
    board.run(AskLead(cycle_id=board.cycle_id, question="Do you need 40?", **board.where("nlp")))
    board.run(
        AnswerReview(cycle_id=board.cycle_id, text="20 do.", units=20, **board.where("nlp")),
        by="alice",
    )
    judge.visit("cycle-list", "/reviews/cycles")
    judge.visit("cycle-open", "/reviews/cycles/open")
    page.goto(f"{board.address}?show=all")
    page.locator(".tip").first.focus()
    expect(page.locator(".tip-text").first).to_be_visible()
    judge("cycle-grid")
    row = page.locator("[data-cycle] > li").filter(has_text="serving")
    row.get_by_role("spinbutton").fill("95")
    row.get_by_role("button", name="Set serving in h100").click()
    expect(row).to_contain_text("30 → 95")
    judge("cycle-decided")
    page.get_by_role("link", name="nlp in h100", exact=True).click()
    judge("cycle-entry")
    judge.visit("cycle-close", f"{board.address}/close")
    page.get_by_label("Quotas without a decision stay").check()
    page.get_by_role("button", name="Close and apply").click()
    expect(page.get_by_role("alert").first).to_contain_text("Nothing was applied")
    judge("cycle-refused")
    page.get_by_label("Quotas without a decision stay").check()
    page.get_by_label("Close without the decisions").check()
    page.get_by_role("button", name="Close and apply").click()
    expect(page.get_by_role("heading", level=2, name="What became of the quotas")).to_be_visible()
    judge("cycle-report")
    judge.assert_all_well()


def test_a_review_by_keys(page: Page, sign_in: Callable, board: Board):
    sign_in(page, board.place, "rita")
    page.goto(board.address)
    page.get_by_label("Reason kept with").fill("quarterly")
    page.locator("h1").click()
    page.keyboard.press("j")
    current = page.locator("[data-cycle] > li.current")
    expect(current).to_contain_text("nlp")
    page.keyboard.press("2")
    expect(page.locator("#progress")).to_contain_text("1 of 4")
    expect(current).to_contain_text("serving")
    page.keyboard.press("3")
    page.keyboard.type("25")
    page.keyboard.press("Enter")
    expect(page.locator("#progress")).to_contain_text("2 of 4")
    page.keyboard.press("1")
    page.keyboard.press("1")  # faster than the answer: it is for the next row
    expect(page.locator("#progress")).to_contain_text("4 of 4")
    expect(page.locator("#status")).to_contain_text("4 of 4 decided")
    expect(page.get_by_text("40 → 9")).to_be_visible()
    expect(page.get_by_text("by Rita: quarterly").first).to_be_visible()
    page.get_by_role("link", name="Close…").click()
    page.get_by_role("button", name="Close and apply").click()
    expect(page.get_by_text("2 quotas changed, 2 kept")).to_be_visible()
    assert board.stored() == {"research": 20, "nlp": 9, "vision": 5, "serving": 25}


def test_without_javascript(new_page: Callable[..., Page], sign_in: Callable, board: Board):
    page = new_page(java_script_enabled=False)
    sign_in(page, board.place, "rita")
    page.goto(f"{board.address}?show=all")
    page.get_by_role("button", name="Keep nlp in h100").click()
    expect(page.get_by_text("Noted for nlp in h100")).to_be_visible()
    assert page.url.split("#")[0].endswith("?show=all")
    page.get_by_role("link", name="Ask the lead of nlp about h100").click()
    page.get_by_label("Question").fill("Still needed?")
    page.get_by_role("button", name="Ask", exact=True).click()
    expect(page.get_by_text("Still needed?").first).to_be_visible()
