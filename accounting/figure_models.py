"""Figures of months with many lines, for pages that must not read the lines: see
`accounting.month_figures`, which draws them. Rows of a drawing stay until the one after the next,
so that a page which has begun with it goes on with it."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from accounting.statement_models import MONEY, QUANTITY

FIGURE = {"max_digits": 36, "decimal_places": 6, "null": True}


class MonthFigures(models.Model):
    """As of when the figures of a month are, and whether of its closed statements. `large`: only
    then there are figures; pages of small months compute."""

    pk = models.CompositePrimaryKey("organization_id", "month")
    organization_id = models.UUIDField()
    month = models.DateField()
    drawn_at = models.DateTimeField()
    until = models.DateTimeField()
    closed = models.BooleanField()
    large = models.BooleanField()
    unrated = models.IntegerField()
    late_months = ArrayField(models.DateField())

    class Meta:
        db_table = "accounting_monthfigures"


class MonthAccount(models.Model):
    """An account's month in one row: its own lines, those with all that was below it, and, of a
    team, the figures that are compared. `above`: where it hung last."""

    pk = models.CompositePrimaryKey("organization_id", "month", "drawn_at", "account_id")
    organization_id = models.UUIDField()
    month = models.DateField()
    drawn_at = models.DateTimeField()
    account_id = models.UUIDField()
    above = ArrayField(models.UUIDField())
    is_team = models.BooleanField()
    lines = models.IntegerField()
    amount = models.DecimalField(**MONEY)
    whole_lines = models.IntegerField()
    utilization = models.DecimalField(**FIGURE)
    idle_share = models.DecimalField(**FIGURE)
    productive_cost = models.DecimalField(**FIGURE)
    expected_lines = models.IntegerField()
    expected = models.DecimalField(**MONEY)

    class Meta:
        db_table = "accounting_monthaccount"


class MonthSum(models.Model):
    """What lines of a kind, pool, flavor and tier add up to: of an account alone, with where it
    hung, or (`whole`) with all that was below it, told apart by what was right above it. Besides
    lines there are quantities, whose kind is one of `accounting.month_figures.QUANTITIES`."""

    pk = models.CompositePrimaryKey("organization_id", "month", "drawn_at", "account_id", "row_no")
    organization_id = models.UUIDField()
    month = models.DateField()
    drawn_at = models.DateTimeField()
    account_id = models.UUIDField()
    row_no = models.IntegerField()
    whole = models.BooleanField()
    parent_id = models.UUIDField(null=True)
    above = ArrayField(models.UUIDField(), null=True)
    kind = models.TextField()
    pool_id = models.UUIDField(null=True)
    flavor_id = models.UUIDField(null=True)
    tier = models.TextField(null=True)
    note = models.TextField(null=True)
    lines = models.IntegerField()
    unit_seconds = models.DecimalField(**QUANTITY)
    amount = models.DecimalField(**MONEY)
    list_amount = models.DecimalField(**MONEY)
    untagged = models.DecimalField(**MONEY)

    class Meta:
        db_table = "accounting_monthsum"
        indexes = [
            models.Index(
                "organization_id",
                "month",
                "drawn_at",
                "parent_id",
                name="accounting_monthsum_below",
                condition=Q(whole=True),
            ),
            models.Index(
                "organization_id",
                "month",
                "drawn_at",
                name="accounting_monthsum_own",
                condition=Q(whole=False),
            ),
        ]
