"""The pages of quota in a real browser, wide and narrow, light and dark."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Page

from quota import wire
from quota.commands.admissions import AdmitBatch
from quota.commands.quotas import SetQuota
from tests.browser.inspection import LOOKS, Judge
from tests.world import Tenant

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


@pytest.mark.parametrize("look", ["wide-light", "narrow-dark"])
def test_pages_of_quota_are_accessible(
    look: str, new_page: Callable[..., Page], sign_in: Callable, busy: Tenant
):
    page = new_page(**LOOKS[look])
    sign_in(page, busy, "otto")
    judge = Judge(page, look)
    for name, address in PAGES.items():
        judge.visit(name, address)
    page.get_by_label("Guaranteed, units").fill("50")
    page.get_by_label("Reason").fill("growth")
    page.get_by_role("button", name="Preview").click()
    page.get_by_text("Not saved yet").wait_for()
    judge("quota-preview")
    judge.assert_all_well()
