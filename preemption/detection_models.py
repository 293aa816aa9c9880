"""Projection tables of detections. No behavior."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

KINDS = ("idle", "zombie", "surge")
STATES = ("open", "acknowledged", "acted", "cleared")
_CURRENT = Q(closed_at__isnull=True)


class DetectionPolicyRow(models.Model):
    """An organization's policy; see `preemption.detection_events.DetectionPolicySet`."""

    organization_id = models.UUIDField(primary_key=True)
    kinds = ArrayField(models.TextField())
    idle_below = models.DecimalField(max_digits=5, decimal_places=4)
    idle_minutes = models.IntegerField()
    zombie_below = models.DecimalField(max_digits=5, decimal_places=4)
    progress_seconds_max = models.IntegerField()
    baseline_factor = models.IntegerField()
    baseline_spread = models.IntegerField()
    baseline_days_min = models.IntegerField()
    event_id = models.UUIDField()

    class Meta:
        db_table = "preemption_detectionpolicy"


class Detection(models.Model):
    """Something that was found; see `preemption.detection_events.DetectionFound`. One subject (an
    allocation, or an account in a pool) has one of a kind at a time that is not closed.

    `work`, `use`: the evidence. `why`: what ended it. `quiet_until`: until when the same is not
    told again.
    """

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    kind = models.TextField()
    state = models.TextField()
    pool_id = models.UUIDField()
    account_id = models.UUIDField()
    allocation_id = models.UUIDField(null=True)
    person_id = models.UUIDField(null=True)
    job = models.TextField(null=True)
    units = models.BigIntegerField()
    worth_per_hour = models.DecimalField(max_digits=30, decimal_places=6, null=True)
    since = models.DateTimeField()
    found_at = models.DateTimeField()
    work = models.JSONField(null=True)
    use = models.JSONField(null=True)
    by = models.TextField()
    reason = models.TextField()
    acknowledged_at = models.DateTimeField(null=True)
    quiet_until = models.DateTimeField(null=True)
    closed_at = models.DateTimeField(null=True)
    why = models.TextField()

    class Meta:
        db_table = "preemption_detection"
        constraints = [
            models.CheckConstraint(
                condition=Q(kind__in=KINDS, state__in=STATES), name="preemption_detection_words"
            ),
            models.CheckConstraint(
                condition=Q(state__in=("open", "acknowledged"), closed_at__isnull=True)
                | Q(state__in=("acted", "cleared"), closed_at__isnull=False),
                name="preemption_detection_closed",
            ),
            models.UniqueConstraint(
                "organization_id",
                "allocation_id",
                "kind",
                condition=_CURRENT & Q(allocation_id__isnull=False),
                name="preemption_detection_of_job",
            ),
            models.UniqueConstraint(
                "organization_id",
                "account_id",
                "pool_id",
                "kind",
                condition=_CURRENT & Q(allocation_id__isnull=True),
                name="preemption_detection_of_place",
            ),
        ]
        indexes = [
            models.Index(
                "organization_id", "account_id", "id", name="preemption_detection_account"
            ),
            models.Index("organization_id", "pool_id", "id", name="preemption_detection_pool"),
            models.Index(
                "organization_id", "id", condition=_CURRENT, name="preemption_detection_current"
            ),
            models.Index(
                "organization_id",
                "pool_id",
                "quiet_until",
                condition=Q(quiet_until__isnull=False),
                name="preemption_detection_quiet",
            ),
        ]
