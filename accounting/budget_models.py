"""Tables of budgets, projected, and of costs by day, which are drawn anew from what they follow
from."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from accounting.statement_models import MONEY


class Budget(models.Model):
    """A budget of an account and all below it. `ends_on`, exclusive, is a range's; from `ended_on`
    on it counts for nothing."""

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    account_id = models.UUIDField()
    name = models.TextField()
    period = models.TextField()
    starts_on = models.DateField()
    ends_on = models.DateField(null=True)
    ended_on = models.DateField(null=True)

    class Meta:
        db_table = "accounting_budget"
        indexes = [models.Index("organization_id", "account_id", name="accounting_budget_account")]
        constraints = [
            models.CheckConstraint(
                condition=Q(period__in=("month", "quarter", "year", "range")),
                name="accounting_budget_period",
            )
        ]


class BudgetVersion(models.Model):
    """Amount and alerts of the periods that begin on `effective_from` or later."""

    pk = models.CompositePrimaryKey("organization_id", "budget_id", "effective_from")
    organization_id = models.UUIDField()
    budget_id = models.UUIDField()
    effective_from = models.DateField()
    amount = models.DecimalField(**MONEY)
    spent = ArrayField(models.IntegerField())
    forecast = ArrayField(models.IntegerField())
    burn = models.JSONField()
    set_at = models.DateTimeField()
    set_by = models.TextField()
    reason = models.TextField()

    class Meta:
        db_table = "accounting_budgetversion"
        constraints = [
            models.CheckConstraint(
                condition=Q(amount__gt=0), name="accounting_budgetversion_positive"
            )
        ]


class BudgetAlert(models.Model):
    """An alert that fired; `over_at` NULL: its figure is still up. One at a time per threshold."""

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    budget_id = models.UUIDField()
    period_start = models.DateField()
    kind = models.TextField()
    rule = models.TextField()
    figure = models.DecimalField(max_digits=30, decimal_places=6)
    amount = models.DecimalField(**MONEY)
    spent = models.DecimalField(**MONEY)
    forecast = models.DecimalField(null=True, **MONEY)
    fired_at = models.DateTimeField()
    over_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "accounting_budgetalert"
        indexes = [
            models.Index(
                "organization_id", "budget_id", "period_start", name="accounting_budgetalert_of"
            )
        ]
        constraints = [
            models.UniqueConstraint(
                "organization_id",
                "budget_id",
                "period_start",
                "kind",
                "rule",
                name="accounting_budgetalert_once",
                condition=Q(over_at__isnull=True),
            )
        ]


class CostDay(models.Model):
    """What a day cost an account with all that was below it: use; idle guarantees less what lending
    gave back; and what is of the whole month, on its last day. Adds up to the statements."""

    pk = models.CompositePrimaryKey("organization_id", "account_id", "day")
    organization_id = models.UUIDField()
    account_id = models.UUIDField()
    day = models.DateField()
    usage = models.DecimalField(**MONEY)
    idle = models.DecimalField(**MONEY)
    other = models.DecimalField(**MONEY)

    class Meta:
        db_table = "accounting_costday"
        indexes = [models.Index("organization_id", "day", name="accounting_costday_day")]


class CostMonth(models.Model):
    """Up to when the costs of a month are drawn, and whether from its closed statements."""

    pk = models.CompositePrimaryKey("organization_id", "month")
    organization_id = models.UUIDField()
    month = models.DateField()
    drawn_at = models.DateTimeField()
    until = models.DateTimeField()
    closed = models.BooleanField()

    class Meta:
        db_table = "accounting_costmonth"
