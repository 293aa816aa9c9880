"""Accounting's tables. `UsageRecord` is a truth of its own, append-only, covered by the digests in
the ledger; all others are projections."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from accounting.budget_models import Budget, BudgetAlert, BudgetVersion, CostDay, CostMonth
from accounting.comparison_models import ComparisonRule
from accounting.export_models import Export, ExportSchedule
from accounting.figure_models import MonthAccount, MonthFigures, MonthSum
from accounting.rate_models import RateGrade, RateLine, RateVersion
from accounting.statement_models import (
    Commitment,
    Credit,
    MonthClose,
    StatementLine,
    StatementPart,
    StatementTerms,
)
from accounting.tag_models import UsageTagging

__all__ = (
    "Budget",
    "BudgetAlert",
    "BudgetVersion",
    "Commitment",
    "ComparisonRule",
    "CostDay",
    "CostMonth",
    "Credit",
    "DecayedUsage",
    "Export",
    "ExportSchedule",
    "FairshareState",
    "MonthAccount",
    "MonthClose",
    "MonthFigures",
    "MonthSum",
    "OpenUsage",
    "RateGrade",
    "RateLine",
    "RateVersion",
    "StatementLine",
    "StatementPart",
    "StatementTerms",
    "UsageBatch",
    "UsageDay",
    "UsageKey",
    "UsageRecord",
    "UsageSource",
    "UsageTagging",
)


class UsageRecord(models.Model):
    """Measured use, partitioned by the month it started. Rows are never changed: a correction adds
    a reversal (`sign` -1, the old values) and the new values, so that every sum is a plain sum.

    The table is made by hand-written SQL in the first migration (partitions, wall, traps).
    """

    pk = models.CompositePrimaryKey("organization_id", "batch_id", "row_no", "started_at")
    organization_id = models.UUIDField()
    batch_id = models.UUIDField()
    row_no = models.IntegerField()
    sign = models.SmallIntegerField()
    source_id = models.UUIDField()
    key = models.TextField()
    account_id = models.UUIDField()
    person_id = models.UUIDField()
    pool_id = models.UUIDField()
    tier = models.SmallIntegerField()
    units = models.BigIntegerField()
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    compute_util = models.DecimalField(null=True, max_digits=20, decimal_places=18)
    productive_util = models.DecimalField(null=True, max_digits=20, decimal_places=18)
    memory_gb = models.DecimalField(null=True, max_digits=20, decimal_places=6)
    supersedes = models.TextField(null=True)
    labels = models.JSONField(null=True)
    content = models.UUIDField()

    class Meta:
        managed = False
        db_table = "accounting_usagerecord"


class UsageSource(models.Model):
    """Where records come from: the namespace of their keys."""

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    name = models.TextField()

    class Meta:
        db_table = "accounting_usagesource"
        constraints = [
            models.UniqueConstraint("organization_id", "name", name="accounting_usagesource_name")
        ]


class UsageBatch(models.Model):
    """One accepted batch: what the ledger says of it."""

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    event_id = models.UUIDField()
    source_ids = ArrayField(models.UUIDField())
    recorded_at = models.DateTimeField()
    rows = models.IntegerField()
    duplicates = models.IntegerField()
    conflicts = models.IntegerField()
    rejected = models.IntegerField()
    unit_seconds = models.DecimalField(max_digits=40, decimal_places=6)
    first_started_at = models.DateTimeField()
    last_started_at = models.DateTimeField()
    digest = models.TextField()

    class Meta:
        db_table = "accounting_usagebatch"
        indexes = [
            models.Index(
                "organization_id", "recorded_at", "id", name="accounting_usagebatch_recent"
            )
        ]


class UsageKey(models.Model):
    """The mark that a record was seen: counted once, however often it is sent."""

    pk = models.CompositePrimaryKey("organization_id", "source_id", "key")
    organization_id = models.UUIDField()
    source_id = models.UUIDField()
    key = models.TextField()
    batch_id = models.UUIDField()
    row_no = models.IntegerField()
    started_at = models.DateTimeField()
    content = models.UUIDField()
    superseded_by = models.TextField(null=True)

    class Meta:
        db_table = "accounting_usagekey"


class OpenUsage(models.Model):
    """Records that run on, or end after they were recorded: counted at the moment of asking."""

    pk = models.CompositePrimaryKey("organization_id", "source_id", "key")
    organization_id = models.UUIDField()
    source_id = models.UUIDField()
    key = models.TextField()
    account_id = models.UUIDField()
    person_id = models.UUIDField()
    pool_id = models.UUIDField()
    tier = models.SmallIntegerField()
    units = models.BigIntegerField()
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    compute_util = models.DecimalField(null=True, max_digits=20, decimal_places=18)
    productive_util = models.DecimalField(null=True, max_digits=20, decimal_places=18)

    class Meta:
        db_table = "accounting_openusage"


class UsageDay(models.Model):
    """Ended use by day of the organization's time zone. `*_known` are the unit-seconds for which
    the measurement exists, `*_busy` the measured part of them: unknown is never zero."""

    pk = models.CompositePrimaryKey(
        "organization_id", "account_id", "day", "person_id", "pool_id", "tier"
    )
    organization_id = models.UUIDField()
    day = models.DateField()
    account_id = models.UUIDField()
    person_id = models.UUIDField()
    pool_id = models.UUIDField()
    tier = models.SmallIntegerField()
    unit_seconds = models.DecimalField(max_digits=40, decimal_places=6)
    compute_known = models.DecimalField(max_digits=40, decimal_places=6)
    compute_busy = models.DecimalField(max_digits=60, decimal_places=24)
    productive_known = models.DecimalField(max_digits=40, decimal_places=6)
    productive_busy = models.DecimalField(max_digits=60, decimal_places=24)

    class Meta:
        db_table = "accounting_usageday"


class DecayedUsage(models.Model):
    """Forward-decayed sums of ended use (docs/design.md part 5): exact, never swept.

    `forward` is in unit-seconds at the landmark of its epoch; `changed_in` is the usage version in
    which the row last changed, so that a cache fetches only news. Its index is a BRIN one, which
    leaves updates of the row in place.
    """

    pk = models.CompositePrimaryKey(
        "organization_id", "account_id", "person_id", "pool_id", "epoch"
    )
    organization_id = models.UUIDField()
    account_id = models.UUIDField()
    person_id = models.UUIDField()
    pool_id = models.UUIDField()
    epoch = models.IntegerField()
    forward = models.DecimalField(max_digits=100, decimal_places=6)
    changed_in = models.BigIntegerField()

    class Meta:
        db_table = "accounting_decayedusage"


class FairshareState(models.Model):
    """Policy of an organization's fair-share, and the versions its caches compare.

    The row's lock lets one batch of usage in at a time, so `usage_version` grows in commit order.
    """

    organization_id = models.UUIDField(primary_key=True)
    algorithm = models.TextField()
    half_life_seconds = models.BigIntegerField()
    weights = models.JSONField()
    boosts = models.JSONField()
    reset_at = models.DateTimeField(null=True)
    tree_version = models.BigIntegerField()
    usage_version = models.BigIntegerField()

    class Meta:
        db_table = "accounting_fairsharestate"
