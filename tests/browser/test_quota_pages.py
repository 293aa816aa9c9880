"""The pages of quota in a real browser, wide and narrow, light and dark."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page

from quota import wire
from quota.commands.admissions import AdmitBatch
from quota.commands.quotas import SetQuota
from tests.browser.inspection import assert_accessible, assert_no_sideways_scroll, screenshot
from tests.world import Tenant

LOOKS = {
    "wide-light": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "light"},
    "narrow-dark": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
}
PAGES = {
    "capacity": "/capacity",
    "capacity-pool": "/capacity/h100",
    "account-quota": "/accounts/nlp/quota",
    "account-quota-then": "/accounts/root/quota?as_of=2026-11-01T12:00",
    "allocations": "/allocations",
    "allocation": "/allocations/job-1",
    "pool-edit": "/capacity/h100/edit",
    "quota-edit": "/accounts/nlp/quota/h100",
}


@pytest.fixture
def busy(acme: Tenant, live_server) -> Tenant:
    """nlp uses its 40 units and borrows 10 of vision's."""
    now = datetime.now(UTC)
    for account, guaranteed in (("nlp", 40), ("vision", 30)):
        acme.run(
            SetQuota(
                account_id=acme.accounts[account],
                pool_id=acme.pools["h100"],
                guaranteed=guaranteed,
            ),
            reason="the plan",
            now=now - timedelta(days=1),
        )
    asks = tuple(
        wire.Ask(key=f"job-{n}", account="nlp", person="bob", pool="h100", units=units)
        for n, units in ((1, 40), (2, 10))
    )
    acme.run(AdmitBatch(requests=asks), now=now)
    return acme


@pytest.mark.parametrize("look", LOOKS)
def test_pages_of_quota_are_accessible(
    look: str, new_page: Callable[..., Page], sign_in: Callable, busy: Tenant
):
    page = new_page(**LOOKS[look])
    sign_in(page, busy, "otto")
    problems = []

    def judge(name: str) -> None:
        page.wait_for_load_state("networkidle")
        screenshot(page, f"{name}-{look}")
        try:
            assert_accessible(page)
            assert_no_sideways_scroll(page)
        except AssertionError as problem:
            problems.append(str(problem))

    for name, address in PAGES.items():
        answer = page.goto(address)
        assert answer is not None
        assert answer.status == 200, f"{address} answered {answer.status}"
        judge(name)
    page.get_by_label("Guaranteed, units").fill("50")
    page.get_by_label("Reason").fill("growth")
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("Not saved yet").wait_for()
    judge("quota-preview")
    assert not problems, "\n\n".join(problems)
