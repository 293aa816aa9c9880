"""Projection tables of rates: versions, their prices, and the grades of accounts."""

from django.db import models
from django.db.models import F, Q


class RateVersion(models.Model):
    """Prices that hold together. `effective_until` NULL: until the next version begins."""

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    effective_from = models.DateTimeField()
    effective_until = models.DateTimeField(null=True)
    memory_flavor_id = models.UUIDField(null=True)
    published_at = models.DateTimeField()
    published_by = models.TextField()
    reason = models.TextField()

    class Meta:
        db_table = "accounting_rateversion"
        constraints = [
            models.UniqueConstraint(
                "organization_id", "effective_from", name="accounting_rateversion_start"
            ),
            models.CheckConstraint(
                condition=Q(effective_until__isnull=True)
                | Q(effective_until__gt=F("effective_from")),
                name="accounting_rateversion_forwards",
            ),
        ]


class RateLine(models.Model):
    """A price per unit-hour. NULL `tier` or `grade`: all without a line of their own."""

    pk = models.CompositePrimaryKey("organization_id", "version_id", "line_no")
    organization_id = models.UUIDField()
    version_id = models.UUIDField()
    line_no = models.IntegerField()
    flavor_id = models.UUIDField()
    tier = models.TextField(null=True)
    grade = models.TextField(null=True)
    list_price = models.DecimalField(max_digits=24, decimal_places=12)
    contracted_price = models.DecimalField(max_digits=24, decimal_places=12, null=True)

    class Meta:
        db_table = "accounting_rateline"
        constraints = [
            models.CheckConstraint(
                condition=Q(list_price__gte=0)
                & (Q(contracted_price__isnull=True) | Q(contracted_price__gte=0)),
                name="accounting_rateline_not_negative",
            ),
        ]


class RateGrade(models.Model):
    """The grade of an account from an instant on; NULL: that of the account above."""

    pk = models.CompositePrimaryKey("organization_id", "account_id", "effective_from")
    organization_id = models.UUIDField()
    account_id = models.UUIDField()
    effective_from = models.DateTimeField()
    grade = models.TextField(null=True)

    class Meta:
        db_table = "accounting_rategrade"
