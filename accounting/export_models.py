"""Tables of exports: projections of their events."""

from django.db import models
from django.db.models import Q

STATES = ("requested", "ready", "failed", "removed", "expired")


class Export(models.Model):
    """A file that somebody wanted. See `accounting.export_events` for its columns."""

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    account_id = models.UUIDField()
    month = models.DateField()
    what = models.TextField()
    format = models.TextField()
    focus_version = models.TextField()
    scheduled = models.BooleanField()
    state = models.TextField()
    requested_at = models.DateTimeField()
    requested_by = models.TextField()
    requester_id = models.UUIDField(null=True)
    finished_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    month_state = models.TextField(null=True)
    rows = models.BigIntegerField(null=True)
    size = models.BigIntegerField(null=True)
    digest = models.TextField(null=True)
    total = models.DecimalField(max_digits=30, decimal_places=4, null=True)
    problem = models.TextField(null=True)
    problem_detail = models.TextField(null=True)

    class Meta:
        db_table = "accounting_export"
        indexes = [
            models.Index("organization_id", "requested_at", "id", name="accounting_export_recent"),
            models.Index(
                "organization_id",
                "expires_at",
                name="accounting_export_kept",
                condition=Q(state__in=("requested", "ready")),
            ),
        ]
        constraints = [
            models.CheckConstraint(condition=Q(state__in=STATES), name="accounting_export_state")
        ]


class ExportSchedule(models.Model):
    """What is exported of an account when a month is closed. `files`: [what, format]."""

    pk = models.CompositePrimaryKey("organization_id", "account_id")
    organization_id = models.UUIDField()
    account_id = models.UUIDField()
    files = models.JSONField()
    store = models.BooleanField()
    notify = models.BooleanField()
    set_at = models.DateTimeField()
    set_by = models.TextField()

    class Meta:
        db_table = "accounting_exportschedule"
