"""A row in every table of statements."""

from datetime import date, timedelta
from decimal import Decimal
from unittest.mock import patch

from accounting import figure_rounds, month_figures
from accounting.commands.comparison import SetComparisonPolicy
from accounting.commands.exports import FinishExport, RequestExport, SetExportSchedule
from accounting.commands.statements import (
    AgreeCommitment,
    CloseMonth,
    GrantCredit,
    SetStatementTerms,
    StartClose,
)
from accounting.commands.taggings import TagUsage, UseChosen
from accounting.queries import month_figures as queries
from tests.accounting import sample_rates
from tests.world import NOW, Tenant, record

OCTOBER, NOVEMBER = date(2026, 10, 1), date(2026, 11, 1)


def tagging(tenant: Tenant) -> TagUsage:
    """Use of nlp on the first of October is of a project."""
    nlp = tenant.accounts["nlp"]
    chosen = UseChosen(account_id=nlp, since=OCTOBER, until=OCTOBER, job="october")
    return TagUsage(account_id=nlp, chosen=chosen, project="p")


def closed(tenant: Tenant) -> None:
    """October is closed with a line and its parts; terms, a credit, a commitment,
    a tagging and a comparison hold."""
    sample_rates.publish(tenant, effective_from=NOW - timedelta(days=60))
    tenant.use(record("october", start=NOW - timedelta(days=40)))
    terms = {"idle_share": Decimal(1), "lending_share": Decimal(0)}
    ladder = ((Decimal("0.8"), Decimal("0.05")),)
    nlp = {"account_id": tenant.accounts["nlp"], "amount": Decimal(5)}
    for command in (
        SetStatementTerms(from_month=NOVEMBER, ladder=ladder, **terms),
        GrantCredit(**nlp, about=OCTOBER),
        AgreeCommitment(**nlp, from_month=NOVEMBER),
        tagging(tenant),
        SetComparisonPolicy(reach="department", figures=("utilization",), named=False),
        StartClose(
            month=OCTOBER,
            accept=("telemetry_missing", "unrated_use", "records_rejected", "records_contradict"),
        ),
    ):
        tenant.run(command, reason="test")
    while not tenant.run(CloseMonth(month=OCTOBER)).result.closed:
        pass
    with patch.object(month_figures, "LARGE_LINES", 0):
        figure_rounds.draw(tenant.id, OCTOBER, now=NOW)
    exported(tenant)


def exported(tenant: Tenant) -> None:
    """Two exports were asked for, one was made; nlp has a schedule."""
    wish = {"account_id": tenant.accounts["nlp"], "month": OCTOBER, "format": "csv"}
    tenant.run(RequestExport(**wish, what="focus"))
    made = tenant.run(RequestExport(**wish, what="lines")).result
    facts = {"rows": 1, "size": 9, "digest": "0" * 64, "state": "closed", "total": Decimal("1.5")}
    tenant.run(FinishExport(export_id=made.export_id, **facts))
    schedule = SetExportSchedule(account_id=tenant.accounts["nlp"], files=(("lines", "csv"),))
    tenant.run(schedule)


def let_small_be_large(monkeypatch) -> None:
    """Every month is large, and every account wide."""
    monkeypatch.setattr(month_figures, "LARGE_LINES", 0)
    monkeypatch.setattr(queries, "LARGE_LINES", 0)
