"""Pages of detections in a real browser: accessible in every look, charts that are drawn, a job
that is released after somebody confirmed it."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Page, expect

from preemption.commands.detections import AcknowledgeDetection
from tests.browser.inspection import FOUR_LOOKS, LOOKS, WIDE, Judge, settle
from tests.preemption.detections.conftest import Detections, prepared
from tests.world import Tenant, record


@pytest.fixture
def found(acme: Tenant, live_server) -> Detections:
    """An idle job, a zombie, a job whose quiet is known, and a day of four times the usual."""
    now = datetime.now(UTC)
    it = prepared(acme)
    start = now - timedelta(hours=2)
    for key, units in (("notebook-17", 4), ("train-llm-48300", 16), ("sweep-9", 8)):
        it.running(key, units, at=start)
    shares = (0.62, 0.31, 0.08, 0.07, 0.05, 0.06, 0.04, 0.03, 0.04, 0.02, 0.03, 0.04)
    for number, share in enumerate((*shares, *shares[2:]), start=1):
        at = start + timedelta(minutes=5 * number)
        told = {"compute_util": share, "memory_gb": 61.5, "progress": number}
        it.jobs.beat("notebook-17", "sweep-9", now=at, **told)
        dead = {"compute_util": min(share, 0.02), "memory_gb": 1210, "progress": 7}
        it.jobs.beat("train-llm-48300", now=at, **dead)
    usual = (310, 280, 333, 298, 305, 150, 140, 320, 301, 288, 315, 296, 160, 155, 1240)
    today = now.astimezone(ZoneInfo("Europe/Berlin"))
    for number, hours in enumerate(reversed(usual), start=1):
        day = (today - timedelta(days=number)).replace(hour=6, minute=0, second=0, microsecond=0)
        acme.use(record(f"d{number}", hours=10, units=hours // 10, start=day), now=now)
    it.look(now)
    it.look(now, consumption=True)
    rows = it.rows("id, account_id, job")
    (id_,) = [row[0] for row in rows if row[2] == "sweep-9"]
    known = AcknowledgeDetection(
        detection_id=id_, account_id=acme.accounts["nlp"], until=now + timedelta(days=1)
    )
    acme.run(known, by=acme.actor("alice"), now=now, reason="waits for the data to be staged")
    return it


def pages(found: Detections) -> dict[str, str]:
    ids = {job or "use": id_ for job, id_ in found.rows("job, id")}
    return {
        "list": "/detections",
        "nothing": "/detections?state=cleared",
        "idle": f"/detections/{ids['notebook-17']}",
        "zombie": f"/detections/{ids['train-llm-48300']}",
        "surge": f"/detections/{ids['use']}",
        "acknowledge": f"/detections/{ids['notebook-17']}/acknowledge",
        "release": f"/detections/{ids['notebook-17']}/release",
        "policy": "/detections/policy",
        "job": "/allocations/notebook-17",
        "quota": "/accounts/nlp/quota",
    }


@pytest.mark.parametrize("look", FOUR_LOOKS)
def test_every_page_is_accessible(
    look: str, new_page: Callable[..., Page], sign_in: Callable, found: Detections
):
    page = new_page(**LOOKS[look])
    sign_in(page, found.place, "otto")
    judge = Judge(page, look)
    for name, address in pages(found).items():
        judge.visit(f"detections-{name}", address)
    judge.assert_all_well()


def test_charts_are_drawn(new_page: Callable[..., Page], sign_in: Callable, found: Detections):
    page = new_page(viewport=WIDE)
    sign_in(page, found.place, "otto")
    for name in ("idle", "surge"):
        page.goto(pages(found)[name])
        settle(page)
        expect(page.locator(".chart svg.main-svg").first).to_be_visible()
        page.get_by_text("Show as a table").click()
        expect(page.locator("details table")).to_be_visible()


def test_a_lead_releases_a_job_from_the_list(
    new_page: Callable[..., Page], sign_in: Callable, found: Detections
):
    page = new_page(viewport=WIDE)
    sign_in(page, found.place, "alice")
    page.goto("/detections")
    page.get_by_role("link", name="Release notebook-17").click()
    expect(page.get_by_role("main")).to_contain_text("4 units of h100 are free at once")
    page.get_by_label("Reason").fill("forgotten over the weekend")
    page.get_by_role("button", name="Release 4 units").click()
    expect(page.get_by_role("main")).to_contain_text("Released")
    assert found.jobs.state("notebook-17") == "released"
    page.goto("/detections")
    expect(page.get_by_role("link", name="Release notebook-17")).to_have_count(0)
