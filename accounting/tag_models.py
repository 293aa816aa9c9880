"""The table of tags for past use: a projection."""

from django.db import models
from django.db.models import Q


class UsageTagging(models.Model):
    """A tagging: see `accounting.domain.tagging.Tagging`. Ids ascend with time. `undone_at`: when
    it was taken back."""

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    account_id = models.UUIDField()
    since = models.DateField()
    until = models.DateField()
    person_id = models.UUIDField(null=True)
    pool_id = models.UUIDField(null=True)
    job = models.TextField(null=True)
    batch_id = models.UUIDField(null=True)
    only_untagged = models.BooleanField()
    project = models.TextField(null=True)
    model = models.TextField(null=True)
    workload = models.TextField(null=True)
    to_account_id = models.UUIDField(null=True)
    tagged_at = models.DateTimeField()
    tagged_by = models.TextField()
    reason = models.TextField()
    undone_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "accounting_usagetagging"
        indexes = [
            models.Index(
                "organization_id",
                "until",
                name="accounting_usagetagging_holds",
                condition=Q(undone_at__isnull=True),
            )
        ]
