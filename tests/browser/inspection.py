"""What is asked of every page in a browser: accessibility, no faults, a picture to look at."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, expect

from config import services

# WCAG 2.2 AA, and axe's own list of good practice: one h1, landmarks, order of headings.
RULES: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
# Chromium and htmx log each failed answer; whether a 4xx was meant is for the test to say.
_ANSWER_FAILED: Final = ("Failed to load resource", "Response Status Error Code")

WIDE: Final = {"width": 1280, "height": 900}
NARROW: Final = {"width": 390, "height": 844}
LEAST: Final = {"width": 320, "height": 700}
LOOKS: Final = {
    "wide-light": {"viewport": WIDE, "color_scheme": "light"},
    "wide-dark": {"viewport": WIDE, "color_scheme": "dark"},
    "narrow-light": {"viewport": NARROW, "color_scheme": "light"},
    "narrow-dark": {"viewport": NARROW, "color_scheme": "dark"},
    "least-light": {"viewport": LEAST, "color_scheme": "light"},
    "least-dark": {"viewport": LEAST, "color_scheme": "dark"},
}
"""Options of a page by name: how wide it is, and its theme."""
FOUR_LOOKS: Final = ("wide-light", "wide-dark", "narrow-light", "narrow-dark")


@dataclass
class Watch:
    """Collects what must not happen while pages are open.

    Scripts that fail, what the content security policy stops (both reach the console as errors),
    and requests to any host but ours.
    """

    host: str
    faults: list[str] = field(default_factory=list)

    def attach(self, context: BrowserContext) -> None:
        context.on("console", self._console)
        context.on("weberror", lambda error: self.faults.append(f"script: {error.error}"))
        context.on("request", self._request)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(_ANSWER_FAILED):
            self.faults.append(f"console: {message.text}")

    def _request(self, request: Request) -> None:
        where = urlsplit(request.url)
        if where.scheme in ("http", "https", "ws", "wss") and where.netloc != self.host:
            self.faults.append(f"request to another host: {request.url}")


def assert_accessible(page: Page, *, within: str | None = None) -> None:
    """Fail with each rule, the elements that break it, and what axe says about them.

    Args:
        page: a loaded page, in the state to judge (menus open or shut, an error shown).
        within: a CSS selector; the whole page without it.
    """
    options = {"runOnly": {"type": "tag", "values": list(RULES)}, "resultTypes": ["violations"]}
    violations = Axe().run(page, context=within, options=options).response["violations"]
    lines = []
    for violation in violations:
        lines.append(f"{violation['id']} ({violation['impact']}): {violation['help']}")
        for node in violation["nodes"]:
            summary = re.sub(r"\s+", " ", node["failureSummary"])
            lines.append(f"    {node['target']}: {node['html'][:160]}\n        {summary}")
    assert not violations, f"{page.url}\n" + "\n".join(lines)


def assert_no_sideways_scroll(page: Page) -> None:
    """Fail where the page itself, not a table's own frame, is wider than the window."""
    wider = page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    assert wider <= 0, f"{page.url} is {wider} px wider than its window"


def screenshot(page: Page, name: str) -> Path:
    """Keep a picture of the whole page under var/screenshots, replaced by the next run."""
    folder = services.var_directory() / "screenshots"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.png"
    page.screenshot(path=path, full_page=True)
    return path


def settle(page: Page) -> None:
    """Wait until charts are drawn and nothing is on its way."""
    page.wait_for_load_state("networkidle")
    for chart in page.locator("[data-chart]").all():
        expect(chart.locator(".main-svg").first).to_be_visible()


@dataclass
class Judge:
    """Judges what a page shows, state after state: `judge("quota-refused")`. What is wrong with one
    does not hide what is wrong with the next: `assert_all_well` tells of all."""

    page: Page
    look: str
    problems: list[str] = field(default_factory=list)

    def __call__(self, name: str) -> None:
        """Keep a picture of the page as it is now, and note what is wrong with it."""
        settle(self.page)
        self.page.evaluate("window.scrollTo(0, 0)")  # nothing under the bar at the top
        screenshot(self.page, f"{name}-{self.look}")
        for check in (assert_accessible, assert_no_sideways_scroll):
            try:
                check(self.page)
            except AssertionError as problem:
                self.problems.append(f"{name}: {problem}")

    def visit(self, name: str, address: str) -> None:
        """Ask for a page and judge it."""
        answer = self.page.goto(address)
        assert answer is not None
        assert answer.status == 200, f"{address} answered {answer.status}"
        self(name)

    def assert_all_well(self) -> None:
        """Fail with everything that was wrong."""
        assert not self.problems, "\n\n".join(self.problems)
