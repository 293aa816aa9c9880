"""What is asked of every page in a browser: accessibility, no faults, a picture to look at."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request

from config import services

# WCAG 2.2 AA, and axe's own list of good practice: one h1, landmarks, order of headings.
RULES: Final = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")
# Chromium and htmx log each failed answer; whether a 4xx was meant is for the test to say.
_ANSWER_FAILED: Final = ("Failed to load resource", "Response Status Error Code")


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
