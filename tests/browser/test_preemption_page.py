"""The board of preemption in a real browser: accessible in every look, no sideways scroll."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from playwright.sync_api import Page

from preemption import loading
from preemption.commands.checkpoints import RecordCheckpoints
from preemption.wire import Checkpoint, PreemptionReport
from tests.browser.inspection import LOOKS, Judge
from tests.preemption.conftest import Preemption
from tests.world import Tenant


@pytest.fixture
def place(acme: Tenant, live_server, monkeypatch) -> Tenant:
    """One plan of nlp is done, one is open, one passed the budgets."""
    monkeypatch.setattr(loading, "unit_price", lambda *_, **__: Decimal(2))
    now = datetime.now(UTC)
    it = Preemption(acme)
    it.promise(nlp=60)
    it.budgets(pool_share="0.2", now=now - timedelta(minutes=20))
    for number in range(20):
        it.running(f"spot-{number:02}", 5, at=now - timedelta(minutes=14))
    saved = Checkpoint(key="spot-07", at=now - timedelta(minutes=4), seconds=30)
    command = RecordCheckpoints(pool="h100", checkpoints=(saved,))
    acme.run(command, now=now - timedelta(minutes=3))
    first = it.ask("trainer", 5, now=now - timedelta(minutes=2)).plan
    report = PreemptionReport(key=first.actions[0].key, outcome="done", lost_seconds=2700)
    it.report(first, report, now=now - timedelta(minutes=2))
    it.confirm(first, now=now - timedelta(minutes=2))
    waiting = it.ask("waiting", 10, now=now - timedelta(minutes=1)).plan
    it.report(waiting, (waiting.actions[0].key, "done"), now=now - timedelta(minutes=1))
    it.ask("older", 5, now=now - timedelta(seconds=50), aged=True)
    it.ask("urgent", 20, now=now, override="the demo on Friday", by="otto")
    return acme


@pytest.mark.parametrize("look", ["wide-light", "narrow-dark", "least-light"])
def test_the_board_is_accessible(
    look: str, new_page: Callable[..., Page], sign_in: Callable, place: Tenant
):
    page = new_page(**LOOKS[look])
    sign_in(page, place, "otto")
    judge = Judge(page, look)
    for name, address in (
        ("board", "/preemption"),
        ("taken", "/preemption/taken?account=research"),
        ("taken-nothing", "/preemption/taken?account=serving"),
        ("set-aside", "/capacity/h100"),
        ("set-aside-quota", "/accounts/nlp/quota"),
        ("override", "/preemption/override"),
    ):
        judge.visit(f"preemption-{name}", address)
    judge.assert_all_well()
