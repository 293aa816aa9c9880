"""Quota's projection tables: flavors and pools. Quotas and allocations join them later."""

from django.db import models
from django.db.models import Q


class Flavor(models.Model):
    """A kind of resource. `weight` is its economic weight in fair-share, per unit."""

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    name = models.TextField()
    weight = models.DecimalField(max_digits=12, decimal_places=4)

    class Meta:
        db_table = "quota_flavor"
        constraints = [
            models.UniqueConstraint("organization_id", "name", name="quota_flavor_name"),
            models.CheckConstraint(condition=Q(weight__gte=0), name="quota_flavor_weight"),
        ]


class Pool(models.Model):
    """One flavor in one cluster, in whole units."""

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    name = models.TextField()
    flavor_id = models.UUIDField()
    cluster = models.TextField()
    capacity = models.BigIntegerField()
    unavailable = models.BigIntegerField(default=0)
    safety_margin = models.BigIntegerField(default=0)
    reclaim_target_seconds = models.IntegerField(default=300)
    opened_at = models.DateTimeField()

    class Meta:
        db_table = "quota_pool"
        constraints = [
            models.UniqueConstraint("organization_id", "name", name="quota_pool_name"),
            models.CheckConstraint(
                condition=Q(capacity__gte=0, unavailable__gte=0, safety_margin__gte=0),
                name="quota_pool_not_negative",
            ),
        ]
