"""A real browser on a real server: Debian's chromium through Playwright, nothing downloaded.

Every test that takes `page` also checks that no script failed, that the content security policy
stopped nothing, and that nothing was asked of another host.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import connections
from django.test import Client
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from pytest_django.live_server_helper import LiveServer

from tests.browser.inspection import WIDE, Watch
from tests.world import Tenant

CHROMIUM = shutil.which("chromium")
ARGUMENTS = (
    "--no-sandbox",  # tests may run as root in a container
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--disable-background-networking",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is in this folder, and keep it on one worker: one browser for all of it."""
    for item in items:
        if item.path.parent.name == "browser":
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """One chromium for the folder. Not for the session: Playwright's event loop would stay with
    later tests of the same process.
    """
    if CHROMIUM is None:
        pytest.skip("chromium is not installed; `apt install chromium` to run browser tests")
    # Playwright's synchronous interface runs inside an event loop, which Django takes for
    # asynchronous code that must not use the ORM. It is the only user of its thread. Inside the
    # loop Django also keeps connections apart from those outside: each set is closed where it is
    # seen, or dropping the test database would kill one that a later test still holds.
    connections.close_all()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(os.environ, "DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        with sync_playwright() as playwright:
            chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS])
            yield chromium
            chromium.close()
            connections.close_all()


@pytest.fixture
def new_page(browser: Browser, live_server: LiveServer) -> Iterator[Callable[..., Page]]:
    """Open pages of their own profile: `new_page(viewport=NARROW, color_scheme="dark")`.

    Keyword arguments are those of `Browser.new_context`; `java_script_enabled=False` is one.
    """
    host = urlsplit(live_server.url).netloc
    opened: list[tuple[BrowserContext, Watch]] = []

    def open_page(**options) -> Page:
        options = {"viewport": WIDE, "locale": "en-US", "timezone_id": "UTC"} | options
        context = browser.new_context(base_url=live_server.url, **options)
        context.set_default_timeout(10_000)
        watch = Watch(host=host)
        watch.attach(context)
        opened.append((context, watch))
        return context.new_page()

    yield open_page
    for context, _watch in opened:
        context.close()
    for _context, watch in opened:
        assert not watch.faults, "\n".join(watch.faults)


@pytest.fixture
def page(new_page: Callable[..., Page]) -> Page:
    """A wide page in the light theme."""
    return new_page()


@pytest.fixture
def sign_in(live_server: LiveServer) -> Callable[[Page, Tenant, str], None]:
    """Give a page the session of somebody of the cast, without the form: `sign_in(page, acme,
    "alice")`. One journey signs in through the form.
    """

    def with_session(page: Page, tenant: Tenant, name: str) -> None:
        user = tenant.users.get(name) or tenant.login(name)
        client = Client()
        client.force_login(user, backend=settings.AUTHENTICATION_BACKENDS[0])
        cookie = client.cookies[settings.SESSION_COOKIE_NAME]
        page.context.add_cookies(
            [{"name": cookie.key, "value": cookie.value, "url": live_server.url}]
        )

    return with_session
