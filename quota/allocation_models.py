"""Projection tables of allocations: each one, and what accounts hold of pools together."""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Least
from django.db.models.lookups import GreaterThanOrEqual

from quota.domain.values import CLASSES, TIERS

LIVE = ("held", "running")
OVER = ("released", "preempted", "expired")
STATES = (*LIVE, *OVER)


def _none_negative(*amounts, name: str) -> models.CheckConstraint:
    return models.CheckConstraint(condition=GreaterThanOrEqual(Least(*amounts), 0), name=name)


class Allocation(models.Model):
    """Units of one pool for one attempt of one job; see `quota.domain.lifecycle.Allocation`.

    `lapses_at` is when it expires unless something is heard, and NULL once it has ended; so it
    tells what still holds capacity. `slow`: its units come back later than the pool's reclaim
    target. `steps` are [instant, units, tier] of every change while it ran. `leads`: it is the
    first one of its admission; a job's attempt has one at most, in whichever pools it asks.
    """

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    pool_id = models.UUIDField()
    key = models.TextField()
    attempt = models.IntegerField()
    account_id = models.UUIDField()
    person_id = models.UUIDField(null=True)
    units = models.BigIntegerField()
    min_units = models.BigIntegerField()
    wanted_units = models.BigIntegerField()
    priority_class = models.TextField()
    tier = models.TextField()
    tier_wish = models.TextField(null=True)
    reclaim_seconds = models.IntegerField()
    slow = models.BooleanField()
    lease_seconds = models.IntegerField()
    duration_seconds = models.IntegerField(null=True)
    state = models.TextField()
    held_at = models.DateTimeField()
    hold_until = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    heard_at = models.DateTimeField(null=True)
    lease_until = models.DateTimeField(null=True)
    lapses_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    adopted = models.BooleanField()
    leads = models.BooleanField(db_default=False)
    labels = models.JSONField()
    steps = models.JSONField()

    class Meta:
        db_table = "quota_allocation"
        constraints = [
            models.UniqueConstraint(
                "organization_id", "key", "attempt", "pool_id", name="quota_allocation_job"
            ),
            models.UniqueConstraint(
                "organization_id",
                "key",
                "attempt",
                condition=Q(leads=True),
                name="quota_allocation_claim",
            ),
            # Every admission pays for reading these: few words say all.
            _none_negative(
                "min_units",
                F("units") - F("min_units"),
                F("wanted_units") - F("units"),
                name="quota_allocation_units",
            ),
            models.CheckConstraint(
                condition=Q(tier__in=TIERS, priority_class__in=CLASSES)
                & (
                    Q(state__in=LIVE, ended_at__isnull=True, lapses_at__isnull=False)
                    | Q(state__in=OVER, ended_at__isnull=False, lapses_at__isnull=True)
                ),
                name="quota_allocation_words",
            ),
        ]
        indexes = [
            models.Index(
                "organization_id",
                "pool_id",
                "lapses_at",
                condition=Q(lapses_at__isnull=False),
                name="quota_allocation_live",
            ),
            models.Index("organization_id", "account_id", "id", name="quota_allocation_account"),
            models.Index("organization_id", "pool_id", "id", name="quota_allocation_pool"),
            models.Index("organization_id", "person_id", "id", name="quota_allocation_person"),
            # Written when an allocation ends and not before: admissions do not pay for them.
            *(
                models.Index(
                    "organization_id",
                    column,
                    "id",
                    condition=Q(ended_at__isnull=False),
                    name=f"quota_allocation_past_{name}",
                )
                for name, column in (("state", "state"), ("units", "units"), ("end", "ended_at"))
            ),
        ]


class Holding(models.Model):
    """What an account holds of a pool, held and running, in units by tier. `slow_*` are those of
    a tier that come back later than the pool's reclaim target."""

    pk = models.CompositePrimaryKey("organization_id", "pool_id", "account_id")
    organization_id = models.UUIDField()
    pool_id = models.UUIDField()
    account_id = models.UUIDField()
    guaranteed = models.BigIntegerField()
    borrowed = models.BigIntegerField()
    spot = models.BigIntegerField()
    slow_borrowed = models.BigIntegerField()
    slow_spot = models.BigIntegerField()

    class Meta:
        db_table = "quota_holding"
        constraints = [
            _none_negative(
                *("guaranteed", "slow_borrowed", "slow_spot"),
                F("borrowed") - F("slow_borrowed"),
                F("spot") - F("slow_spot"),
                name="quota_holding_not_negative",
            ),
        ]


class AdmissionPolicy(models.Model):
    """An organization's times of admission, in seconds; see `quota.domain.batch.AdmissionPolicy`.
    Without a row the defaults hold."""

    organization_id = models.UUIDField(primary_key=True)
    hold_seconds = models.IntegerField()
    lease_seconds = models.IntegerField()
    heartbeat_seconds = models.IntegerField()
    interactive_seconds_max = models.IntegerField()
    event_id = models.UUIDField()

    class Meta:
        db_table = "quota_admissionpolicy"
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    hold_seconds__gt=0,
                    lease_seconds__gt=0,
                    heartbeat_seconds__gt=0,
                    interactive_seconds_max__gt=0,
                ),
                name="quota_admissionpolicy_positive",
            )
        ]
