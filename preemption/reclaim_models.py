"""Projection tables of use-it-or-lose-it: rules, and where each guarantee stands. No behavior."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

RECLAIM_STATES = ("watched", "cleared", "justified", "demoted", "restored", "returned")


class _Rule(models.Model):
    """What a rule says; see `preemption.reclaim_events.ReclaimRuleSet`. `maintenance`: [start, end]
    of each window."""

    enabled = models.BooleanField()
    threshold = models.DecimalField(max_digits=5, decimal_places=4)
    window_seconds = models.IntegerField()
    watch_seconds = models.IntegerField()
    clear_margin = models.DecimalField(max_digits=5, decimal_places=4)
    cooldown_seconds = models.IntegerField()
    gap_seconds_max = models.IntegerField()
    unknown_seconds_max = models.IntegerField()
    exempt_ids = ArrayField(models.UUIDField())
    maintenance = models.JSONField()
    event_id = models.UUIDField()

    class Meta:
        abstract = True


class ReclaimRuleRow(_Rule):
    """A pool's own rule."""

    pk = models.CompositePrimaryKey("organization_id", "pool_id")
    organization_id = models.UUIDField()
    pool_id = models.UUIDField()

    class Meta:
        db_table = "preemption_reclaimrule"
        constraints = [
            models.CheckConstraint(
                condition=Q(window_seconds__gt=0, watch_seconds__gt=0, cooldown_seconds__gte=0),
                name="preemption_reclaimrule_seconds",
            ),
        ]


class ReclaimDefaultRow(_Rule):
    """The organization's rule, for pools without one of their own."""

    organization_id = models.UUIDField(primary_key=True)

    class Meta:
        db_table = "preemption_reclaimdefault"
        constraints = [
            models.CheckConstraint(
                condition=Q(window_seconds__gt=0, watch_seconds__gt=0, cooldown_seconds__gte=0),
                name="preemption_reclaimdefault_seconds",
            ),
        ]


class ReclaimState(models.Model):
    """What was last said about an account's guarantee in a pool, and since when.

    `units` left it by the last demotion. `until`: end of that one's cooldown, or of the
    justification. `due_at`: earliest demotion of what is watched. Use before `judged_from` says
    nothing any more. `demotions`, `justifications`: how often. `undecided`: units that left by
    demotions of which nobody has decided, the last one `left_at`; `whole`: the guarantee before.
    """

    pk = models.CompositePrimaryKey("organization_id", "account_id", "pool_id")
    organization_id = models.UUIDField()
    account_id = models.UUIDField()
    pool_id = models.UUIDField()
    state = models.TextField()
    at = models.DateTimeField()
    guarantee = models.BigIntegerField()
    units = models.BigIntegerField()
    utilisation = models.DecimalField(max_digits=7, decimal_places=6, null=True)
    p95 = models.BigIntegerField(null=True)
    in_use = models.BigIntegerField(null=True)
    due_at = models.DateTimeField(null=True)
    until = models.DateTimeField(null=True)
    judged_from = models.DateTimeField(null=True)
    demotions = models.IntegerField()
    justifications = models.IntegerField()
    undecided = models.BigIntegerField()
    whole = models.BigIntegerField(null=True)
    left_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "preemption_reclaimstate"
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=RECLAIM_STATES, units__gte=0, guarantee__gte=0),
                name="preemption_reclaimstate_words",
            ),
        ]
        indexes = [
            models.Index("organization_id", "pool_id", name="preemption_reclaimstate_pool"),
            models.Index(
                "organization_id",
                models.F("at").desc(),
                "account_id",
                "pool_id",
                name="preemption_reclaimstate_board",
            ),
        ]
