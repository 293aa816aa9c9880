"""Projection table of what running jobs told of their work. No behavior."""

from django.db import models
from django.db.models import Q


class AllocationWork(models.Model):
    """An allocation's work as last told; see `quota.domain.measuring.Measured`. Only of those that
    told something. `stretches` are [start, peak, busy] of each."""

    pk = models.CompositePrimaryKey("organization_id", "allocation_id")
    organization_id = models.UUIDField()
    allocation_id = models.UUIDField()
    pool_id = models.UUIDField()
    until = models.DateTimeField(null=True)
    compute_util = models.DecimalField(max_digits=7, decimal_places=6, null=True)
    memory_gb = models.DecimalField(max_digits=15, decimal_places=6, null=True)
    progress = models.BigIntegerField(null=True)
    progress_at = models.DateTimeField(null=True)
    stretches = models.JSONField()

    class Meta:
        db_table = "quota_allocationwork"
        constraints = [
            models.CheckConstraint(
                condition=Q(compute_util__gte=0, compute_util__lte=1)
                | Q(compute_util__isnull=True),
                name="quota_allocationwork_share",
            ),
        ]
