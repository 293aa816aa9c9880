"""Projection table of reservations; see `quota.domain.reservation`."""

from django.db import models
from django.db.models import Q

from quota.domain.values import TIERS


class Reservation(models.Model):
    """Units of a pool that are set aside for a job up to `until`; gone when they no longer are.
    `claims`: which allocations are to give units back, how many, and what they keep."""

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    pool_id = models.UUIDField()
    account_id = models.UUIDField()
    key = models.TextField()
    tier = models.TextField()
    slow = models.BooleanField()
    units = models.BigIntegerField()
    free_units = models.BigIntegerField()
    until = models.DateTimeField()
    claims = models.JSONField()

    class Meta:
        db_table = "quota_reservation"
        constraints = [
            models.CheckConstraint(
                condition=Q(units__gt=0, free_units__gte=0, tier__in=TIERS),
                name="quota_reservation_units",
            ),
        ]
        indexes = [
            models.Index("organization_id", "pool_id", "until", name="quota_reservation_pool"),
        ]
