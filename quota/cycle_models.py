"""Tables of review cycles; all are projections."""

from django.db import models
from django.db.models import Q

CYCLE_STATES = ("cancelled", "closed", "open")
ENTRY_STATES = ("answered", "asked", "decided", "undecided")


class ReviewCycle(models.Model):
    """A review cycle as it stands. `opened_by_id` NULL: it opened by itself."""

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    account_id = models.UUIDField()
    name = models.TextField()
    quarter = models.TextField(null=True)
    deadline = models.DateTimeField()
    window_days = models.SmallIntegerField()
    quota_count = models.IntegerField()
    state = models.TextField()
    reason = models.TextField()
    opened_by_id = models.UUIDField(null=True)
    opened_at = models.DateTimeField()
    ended_by_id = models.UUIDField(null=True)
    ended_at = models.DateTimeField(null=True)
    end_reason = models.TextField()
    changed = models.IntegerField()
    kept = models.IntegerField()
    undecided = models.IntegerField()
    impossible = models.IntegerField()

    class Meta:
        db_table = "quota_cycle"
        constraints = [
            models.CheckConstraint(condition=Q(state__in=CYCLE_STATES), name="quota_cycle_state"),
            models.UniqueConstraint(
                "organization_id",
                "account_id",
                condition=Q(state="open"),
                name="quota_cycle_open",
            ),
            models.UniqueConstraint(
                "organization_id",
                "account_id",
                "quarter",
                condition=Q(quarter__isnull=False),
                name="quota_cycle_quarter",
            ),
        ]


class CycleEntry(models.Model):
    """A quota in a cycle: what it was at the opening, the word on it, what the close made of it.

    `version` counts decisions, questions and answers.
    """

    pk = models.CompositePrimaryKey("organization_id", "cycle_id", "account_id", "pool_id")
    organization_id = models.UUIDField()
    cycle_id = models.UUIDField()
    account_id = models.UUIDField()
    pool_id = models.UUIDField()
    guaranteed = models.BigIntegerField()
    idle_units = models.BigIntegerField(null=True)
    idle_cost = models.DecimalField(max_digits=24, decimal_places=6, null=True)
    state = models.TextField()
    version = models.IntegerField()
    decision = models.TextField(null=True)
    units = models.BigIntegerField(null=True)
    seen_guaranteed = models.BigIntegerField(null=True)
    seen_base = models.BigIntegerField(null=True)
    reviewer_id = models.UUIDField(null=True)
    reason = models.TextField()
    moved_at = models.DateTimeField(null=True)
    figures = models.JSONField(null=True)
    question = models.TextField()
    answer = models.TextField()
    answer_units = models.BigIntegerField(null=True)
    answered_by_id = models.UUIDField(null=True)
    outcome = models.TextField(null=True)
    before = models.BigIntegerField(null=True)
    after = models.BigIntegerField(null=True)
    code = models.TextField(null=True)
    detail = models.TextField(null=True)

    class Meta:
        db_table = "quota_cycleentry"
        constraints = [
            models.CheckConstraint(condition=Q(state__in=ENTRY_STATES), name="quota_entry_state"),
        ]
        indexes = [
            models.Index("organization_id", "cycle_id", "state", name="quota_entry_progress"),
            models.Index(
                "organization_id",
                "account_id",
                condition=Q(state="asked"),
                name="quota_entry_asked",
            ),
        ]


class CyclePolicyRow(models.Model):
    """How an organization's cycles open. See `quota.domain.cycles.CyclePolicy`."""

    organization_id = models.UUIDField(primary_key=True)
    automatic = models.BooleanField()
    window_days = models.SmallIntegerField()
    decide_days = models.SmallIntegerField()
    set_at = models.DateTimeField()

    class Meta:
        db_table = "quota_cyclepolicy"
