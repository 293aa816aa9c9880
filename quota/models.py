"""Quota's projection tables: flavors, pools, quotas; allocations are in a module of their own."""

from django.db import models
from django.db.models import Q

from quota.allocation_models import AdmissionPolicy, Allocation, Holding
from quota.cycle_models import CycleEntry, CyclePolicyRow, ReviewCycle
from quota.measuring_models import AllocationWork
from quota.request_models import (
    AttachmentContent,
    Delegation,
    QuotaRequest,
    RequestAttachment,
    RequestComment,
    RequestDecision,
    RequestPolicyRow,
)
from quota.reservation_models import Reservation

__all__ = (
    "AdmissionPolicy",
    "Allocation",
    "AllocationWork",
    "AttachmentContent",
    "CycleEntry",
    "CyclePolicyRow",
    "Delegation",
    "Flavor",
    "Holding",
    "Pool",
    "PoolHistory",
    "Quota",
    "QuotaHistory",
    "QuotaRequest",
    "RequestAttachment",
    "RequestComment",
    "RequestDecision",
    "RequestPolicyRow",
    "Reservation",
    "ReviewCycle",
    "ScheduledQuota",
)


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


class PoolHistory(models.Model):
    """What a pool's size was, and when."""

    pk = models.CompositePrimaryKey("organization_id", "event_id")
    organization_id = models.UUIDField()
    event_id = models.UUIDField()
    pool_id = models.UUIDField()
    capacity = models.BigIntegerField()
    unavailable = models.BigIntegerField()
    safety_margin = models.BigIntegerField()
    reclaim_target_seconds = models.IntegerField()
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True)

    class Meta:
        db_table = "quota_poolhistory"
        constraints = [
            models.UniqueConstraint(
                "organization_id",
                "pool_id",
                condition=Q(valid_to__isnull=True),
                name="quota_poolhistory_open",
            ),
        ]
        indexes = [
            models.Index("organization_id", "pool_id", "valid_from", name="quota_poolhistory_at")
        ]


class QuotaColumns(models.Model):
    """What an account is promised in a pool, and what it returns to. NULL limits are no limits;
    `base_*`, `lender_id` and `end_exposes` mean something where `ends_at` is set."""

    organization_id = models.UUIDField()
    account_id = models.UUIDField()
    pool_id = models.UUIDField()
    guaranteed = models.BigIntegerField()
    borrowing_limit = models.BigIntegerField(null=True)
    lending_limit = models.BigIntegerField(null=True)
    ends_at = models.DateTimeField(null=True)
    base_guaranteed = models.BigIntegerField(null=True)
    base_borrowing_limit = models.BigIntegerField(null=True)
    base_lending_limit = models.BigIntegerField(null=True)
    lender_id = models.UUIDField(null=True)
    end_exposes = models.BooleanField(db_default=False)
    event_id = models.UUIDField()

    class Meta:
        abstract = True


class Quota(QuotaColumns):
    """The quota of an account in a pool, since the event it names."""

    pk = models.CompositePrimaryKey("organization_id", "account_id", "pool_id")
    since = models.DateTimeField()

    class Meta:
        db_table = "quota_quota"
        constraints = [
            models.CheckConstraint(
                condition=Q(guaranteed__gte=0)
                & (Q(borrowing_limit__isnull=True) | Q(borrowing_limit__gte=0))
                & (Q(lending_limit__isnull=True) | Q(lending_limit__gte=0)),
                name="quota_quota_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(ends_at__isnull=True, base_guaranteed__isnull=True)
                | Q(ends_at__isnull=False, base_guaranteed__gte=0),
                name="quota_quota_base",
            ),
        ]
        indexes = [
            models.Index("organization_id", "pool_id", name="quota_quota_pool"),
            models.Index(
                "organization_id",
                "ends_at",
                condition=Q(ends_at__isnull=False),
                name="quota_quota_ends",
            ),
        ]


class QuotaHistory(QuotaColumns):
    """Every quota there ever was, each from the instant it took effect to the next: `as_of`."""

    pk = models.CompositePrimaryKey("organization_id", "event_id")
    valid_from = models.DateTimeField()
    valid_to = models.DateTimeField(null=True)

    class Meta:
        db_table = "quota_quotahistory"
        constraints = [
            models.UniqueConstraint(
                "organization_id",
                "account_id",
                "pool_id",
                condition=Q(valid_to__isnull=True),
                name="quota_quotahistory_open",
            ),
        ]
        indexes = [
            models.Index(
                "organization_id", "account_id", "valid_from", name="quota_quotahistory_account"
            ),
            models.Index(
                "organization_id", "pool_id", "valid_from", name="quota_quotahistory_pool"
            ),
        ]


class ScheduledQuota(models.Model):
    """A change that has not fallen due, or whose task is late."""

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    account_id = models.UUIDField()
    pool_id = models.UUIDField()
    guaranteed = models.BigIntegerField()
    borrowing_limit = models.BigIntegerField(null=True)
    lending_limit = models.BigIntegerField(null=True)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True)
    lender_id = models.UUIDField(null=True)
    expose = models.BooleanField(default=False)
    event_id = models.UUIDField()

    class Meta:
        db_table = "quota_scheduled"
        indexes = [
            models.Index("organization_id", "starts_at", name="quota_scheduled_due"),
            models.Index("organization_id", "account_id", name="quota_scheduled_account"),
            models.Index("organization_id", "pool_id", "starts_at", name="quota_scheduled_pool"),
        ]
