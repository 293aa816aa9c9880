"""Journeys of several people through the pages, each in a browser profile of their own.

Time is injected: pages and tasks are asked at `Journey.now`, which a journey moves on itself.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import UUID

import pytest
from playwright.sync_api import Page, expect

from frontend import pages
from ledger import scope
from notices import reading
from quota.commands.quotas import SetQuota, SettleQuotas
from quota.commands.reviews import FollowUpRequests
from quota.loading import requests as loading
from tests.browser.inspection import Judge
from tests.quota.conftest import Quotas
from tests.world import Tenant

LOOKS: Final = {
    "desktop": {"viewport": {"width": 1280, "height": 900}, "color_scheme": "light"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}
PURPOSE: Final = "Train the next model. Without it the release waits until spring."


class Journey:
    """acme: Alice leads nlp, Petra approves for research, Rita for everything, Otto operates.

    Attributes:
        now: the instant that pages and tasks see.
        problems: what was wrong with pages passed; told all together at the end.
    """

    def __init__(self, place: Tenant, look: str, open_as: Callable[[str], Page]) -> None:
        self.place = place
        self.look = look
        self.now = datetime.now(UTC).replace(microsecond=0)
        self.problems: list[str] = []
        self._open_as = open_as
        self._pages: dict[str, Page] = {}
        for name, account in (("petra", "research"), ("rita", "root")):
            place.person(name)
            place.role(name, "approver", on=account)

    def page(self, name: str) -> Page:
        """The page that somebody has open."""
        if name not in self._pages:
            self._pages[name] = self._open_as(name)
        return self._pages[name]

    def passes(self, page: Page, name: str) -> None:
        """Judge and picture a page as it stands now."""
        Judge(page, self.look, self.problems)(f"journey-{name}")

    def goes_to(self, page: Page, entry: str) -> None:
        """By the navigation, which a narrow screen keeps behind its menu button."""
        menu = page.get_by_role("button", name="Menu", exact=True)
        if menu.is_visible():
            menu.click()
        page.locator("#sidebar a").filter(has_text=entry).first.click()

    def opens_notice(self, page: Page, title: str, *, picture: str = "") -> None:
        """From the bell to the list to what the notice is about."""
        page.goto("/")
        page.get_by_role("link", name="Notices, ").click()
        notice = page.locator(".notice-list li").filter(has_text=title).first
        expect(notice).to_be_visible()
        if picture:
            self.passes(page, picture)
        notice.get_by_role("heading").get_by_role("link").click()

    def asks(self, page: Page, units: int, *, pool: str = "h100") -> None:
        """Fill the form up to the button."""
        page.goto("/requests/new")
        page.get_by_label("In which pool").select_option(pool)
        page.get_by_label("How many units").fill(str(units))
        page.get_by_label("What they are for").fill(PURPOSE)
        expect(page.locator("#preview .verdict")).to_be_visible()

    def hands_in(self, page: Page) -> UUID:
        """Press the button; the request that came of it."""
        page.locator("#preview button[value=save]").click()
        page.wait_for_url("**/requests/*-*")
        return UUID(page.url.split("?")[0].rsplit("/", 1)[1])

    def moves_to(self, now: datetime) -> None:
        """Time passes, and with it the tasks that time drives."""
        self.now = now
        for command in (SettleQuotas(), FollowUpRequests()):
            self.place.run(command, now=now, reason="fell due")
        self.tells()

    def tells(self) -> None:
        """The rounds of the tasks that make notices."""
        reading.read_events(self.place.id, now=self.now)
        reading.remind(self.place.id, now=self.now)

    def run(self, command: Any, *, by: str, reason: str = "test", now: datetime | None = None):
        actor = self.place.actor(by)
        return self.place.run(command, by=actor, now=now or self.now, reason=reason).result

    def quota(self, account: str, guaranteed: int) -> None:
        """What the operator promised long ago."""
        command = SetQuota(
            account_id=self.place.accounts[account],
            pool_id=self.place.pools["h100"],
            guaranteed=guaranteed,
        )
        self.run(command, by="otto", reason="the plan", now=self.now - timedelta(days=100))

    def state(self, request_id: UUID) -> str:
        with scope.reading(self.place.id):
            return loading.request(self.place.id, request_id).state

    def stored(self) -> dict[str, int]:
        """Guarantees by account, as stored."""
        return Quotas(self.place).stored()


@pytest.fixture(params=LOOKS)
def journey(
    request: pytest.FixtureRequest,
    acme: Tenant,
    new_page: Callable[..., Page],
    sign_in: Callable[[Page, Tenant, str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Journey]:
    """Once on a desktop, once on a phone."""

    def open_as(name: str) -> Page:
        page = new_page(**LOOKS[request.param])
        sign_in(page, acme, name)
        return page

    it = Journey(acme, request.param, open_as)
    monkeypatch.setattr(pages, "clock", lambda: it.now)
    yield it
    assert not it.problems, "\n\n".join(it.problems)
