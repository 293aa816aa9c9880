"""Projection tables of preemption: plans, their actions, the policy. No behavior."""

from django.db import models
from django.db.models import Q

from preemption.detection_models import Detection, DetectionPolicyRow
from preemption.reclaim_models import ReclaimDefaultRow, ReclaimRuleRow, ReclaimState
from quota.domain.values import CLASSES, TIERS

__all__ = (
    "Checkpoint",
    "Detection",
    "DetectionPolicyRow",
    "Plan",
    "PlanAction",
    "PreemptionPolicy",
    "ReclaimDefaultRow",
    "ReclaimRuleRow",
    "ReclaimState",
)

PLAN_STATES = ("open", "confirmed", "cancelled", "lapsed", "replaced")
ACTION_STATES = ("open", "done", "gone", "refused", "failed", "void")


class Plan(models.Model):
    """A plan of preemption; see `preemption.events.PlanMade`. `used_at`: its job was admitted."""

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    pool_id = models.UUIDField()
    account_id = models.UUIDField()
    key = models.TextField()
    units = models.BigIntegerField()
    priority_class = models.TextField()
    tier = models.TextField()
    deadline = models.DateTimeField(null=True)
    aged = models.BooleanField()
    reclaim_seconds = models.IntegerField()
    override = models.BooleanField()
    reason = models.TextField()
    made_by = models.TextField()
    made_at = models.DateTimeField()
    until = models.DateTimeField()
    ready_at = models.DateTimeField()
    meets_deadline = models.BooleanField(null=True)
    returns_guarantee = models.BooleanField()
    within_target = models.BooleanField(null=True)
    free_units = models.BigIntegerField()
    pool_used = models.BigIntegerField()
    pool_limit = models.BigIntegerField()
    price = models.DecimalField(max_digits=30, decimal_places=12)
    tax = models.DecimalField(max_digits=30, decimal_places=6)
    wanted = models.BigIntegerField(null=True)
    min_units = models.BigIntegerField(null=True)
    state = models.TextField()
    settled_at = models.DateTimeField(null=True)
    used_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "preemption_plan"
        constraints = [
            models.UniqueConstraint(
                "organization_id",
                "pool_id",
                "key",
                condition=Q(state="open"),
                name="preemption_plan_open",
            ),
            models.CheckConstraint(
                condition=Q(
                    state__in=PLAN_STATES, tier__in=TIERS, priority_class__in=CLASSES, units__gt=0
                ),
                name="preemption_plan_words",
            ),
            models.CheckConstraint(
                condition=Q(state="open", settled_at__isnull=True)
                | Q(~Q(state="open"), settled_at__isnull=False),
                name="preemption_plan_settled",
            ),
        ]
        indexes = [
            models.Index("organization_id", "pool_id", "id", name="preemption_plan_pool"),
            models.Index("organization_id", "account_id", "id", name="preemption_plan_account"),
            models.Index(
                "organization_id",
                "until",
                condition=Q(state="open"),
                name="preemption_plan_until",
            ),
        ]


class PlanAction(models.Model):
    """One allocation that a plan takes units from. `given` and `at` are as reported; `void`: the
    plan was over before anybody did it. `remains`: what the job goes on with. An allocation is in
    one open action at most."""

    pk = models.CompositePrimaryKey("organization_id", "plan_id", "allocation_id")
    organization_id = models.UUIDField()
    plan_id = models.UUIDField()
    allocation_id = models.UUIDField()
    ordinal = models.IntegerField()
    pool_id = models.UUIDField()
    account_id = models.UUIDField()
    key = models.TextField()
    attempt = models.IntegerField()
    step = models.TextField()
    mode = models.TextField()
    units = models.BigIntegerField()
    remains = models.BigIntegerField()
    grace_seconds = models.IntegerField()
    returns_at = models.DateTimeField()
    tax = models.DecimalField(max_digits=30, decimal_places=6)
    state = models.TextField()
    given = models.BigIntegerField(null=True)
    at = models.DateTimeField(null=True)
    late = models.BooleanField()
    tax_reported = models.DecimalField(max_digits=30, decimal_places=6, null=True)
    detail = models.TextField()

    class Meta:
        db_table = "preemption_action"
        constraints = [
            models.UniqueConstraint(
                "organization_id",
                "allocation_id",
                condition=Q(state="open"),
                name="preemption_action_open",
            ),
            models.CheckConstraint(
                condition=Q(state__in=ACTION_STATES, units__gt=0, remains__gte=0),
                name="preemption_action_words",
            ),
            models.CheckConstraint(
                condition=Q(state="done", given__isnull=False, at__isnull=False) | ~Q(state="done"),
                name="preemption_action_done",
            ),
        ]
        indexes = [
            models.Index(
                "organization_id", "at", condition=Q(state="done"), name="preemption_action_at"
            ),
            models.Index("organization_id", "account_id", "at", name="preemption_action_account"),
        ]


class PreemptionPolicy(models.Model):
    """An organization's budgets; without a row the defaults hold."""

    organization_id = models.UUIDField(primary_key=True)
    pool_share = models.DecimalField(max_digits=12, decimal_places=10)
    pool_window_seconds = models.IntegerField()
    job_window_seconds = models.IntegerField()
    aged_per_day = models.IntegerField()
    cooldown_seconds = models.IntegerField()
    min_run_seconds = models.IntegerField()
    plan_seconds = models.IntegerField()
    event_id = models.UUIDField()

    class Meta:
        db_table = "preemption_policy"


class Checkpoint(models.Model):
    """The last time an allocation's job saved itself; what is lost when it is stopped."""

    pk = models.CompositePrimaryKey("organization_id", "allocation_id")
    organization_id = models.UUIDField()
    allocation_id = models.UUIDField()
    pool_id = models.UUIDField()
    saved_at = models.DateTimeField()
    reload_seconds = models.IntegerField()
    warm_up_seconds = models.IntegerField()
    seconds = models.IntegerField(null=True)

    class Meta:
        db_table = "preemption_checkpoint"
        constraints = [
            models.CheckConstraint(
                condition=Q(reload_seconds__gte=0, warm_up_seconds__gte=0),
                name="preemption_checkpoint_seconds",
            ),
        ]
