"""Exports in a browser: looked at wide and narrow, downloaded, watched, deleted."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from playwright.sync_api import Page, expect

from accounting.commands.exports import (
    FailExport,
    FinishExport,
    RequestExport,
    SetExportSchedule,
)
from accounting.domain import statements
from accounting.exports import making
from tests.browser.inspection import FOUR_LOOKS, LOOKS, Judge, assert_accessible, screenshot, settle
from tests.browser.test_money_pages import charged  # noqa: F401 (fixture)
from tests.world import Tenant


@pytest.fixture
def exported(charged: Tenant, settings, tmp_path) -> Tenant:  # noqa: F811
    """One file is ready, one is being made, one failed; a schedule."""
    storages = {**settings.STORAGES}
    storages["exports"] = {**storages["exports"], "OPTIONS": {"location": str(tmp_path)}}
    settings.STORAGES = storages
    now = datetime.now(UTC)
    month = statements.month_before(now.date().replace(day=1))
    fay = charged.actor("fay")

    def ask(what: str, suffix: str, minutes: int):
        wish = RequestExport(account_id=charged.root, month=month, what=what, format=suffix)
        at = now - timedelta(minutes=minutes)
        return charged.run(wish, by=fay, now=at).result.export_id

    failed = ask("records", "xlsx", 50)
    why = "1,200,000 rows do not fit: xlsx holds at most 1,048,575."
    charged.run(FailExport(export_id=failed, code="export_too_large", detail=why), now=now)
    ready = ask("focus", "parquet", 40)
    facts = {"digest": "3f" * 32, "state": "closed", "total": Decimal("12345.67")}
    finish = FinishExport(export_id=ready, rows=1240, size=812_345, **facts)
    charged.run(finish, now=now - timedelta(minutes=39))
    waiting = ask("records", "parquet", 1)
    making.cache.set(f"export:{waiting}", (4_200_000, 10_000_000), 600)
    schedule = SetExportSchedule(
        account_id=charged.root, files=(("focus", "parquet"), ("lines", "xlsx")), store=True
    )
    charged.run(schedule, by=fay, now=now)
    return charged


@pytest.mark.parametrize("look", FOUR_LOOKS)
@pytest.mark.parametrize("name", ["exports", "exports-schedule"])
def test_exports_look_right(new_page, sign_in, exported, name, look):
    page: Page = new_page(**LOOKS[look])
    sign_in(page, exported, "fay")
    judge = Judge(page, look)
    judge.visit(name, "/" + name.replace("-", "/"))
    judge.assert_all_well()


def test_a_month_is_exported_from_its_page_and_deleted(page, sign_in, exported):
    sign_in(page, exported, "fay")
    page.goto("/showback")
    settle(page)
    page.get_by_role("link", name="Export", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Exports")
    page.get_by_label("File", exact=True).select_option("lines:csv:")
    with page.expect_download() as download:
        page.get_by_role("button", name="Export").click()
    assert download.value.suggested_filename.endswith("-root-lines.csv")
    assert download.value.path().read_bytes().startswith(b"month,state,line,")
    page.goto("/exports")
    settle(page)
    expect(page.locator("#exports")).to_contain_text("4,200,000 of 10,000,000 rows")
    page.get_by_role("link", name="Stop").click()
    screenshot(page, "exports-delete")
    assert_accessible(page)
    page.get_by_role("button", name="Stop it").click()
    expect(page.locator("#exports")).not_to_contain_text("10,000,000")
