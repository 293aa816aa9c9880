"""What has lapsed is found along its own index, whatever is known of the table; checks that every
admission pays for say the same in fewer words."""

import importlib

from django.db import migrations, models
from django.db.models import F, Q
from django.db.models.functions import Least
from django.db.models.lookups import GreaterThanOrEqual

BEFORE = importlib.import_module("quota.migrations.0012_standing").STANDING

ANY_ORDER = """
        EXISTS (SELECT FROM quota_allocation l WHERE l.organization_id = p_organization
            AND l.pool_id = ANY(v_pools) AND l.lapses_at <= p_now),
"""
# The first to lapse, pool by pool: only one index has them in this order. Without it, as long as the
# table had not been analyzed, every allocation there ever was could be read for each admission.
FIRST = """
        EXISTS (SELECT FROM unnest(v_pools) AS n(pool_id) CROSS JOIN LATERAL (
            SELECT FROM quota_allocation l WHERE l.organization_id = p_organization
                AND l.pool_id = n.pool_id AND l.lapses_at <= p_now
            ORDER BY l.lapses_at LIMIT 1) AS lapsed),
"""
STANDING = BEFORE.replace(ANY_ORDER, FIRST)


class Migration(migrations.Migration):
    dependencies = [("quota", "0012_standing")]

    operations = [
        migrations.RunSQL(STANDING, BEFORE),
        migrations.RemoveConstraint("allocation", "quota_allocation_units"),
        migrations.RemoveConstraint("allocation", "quota_allocation_words"),
        migrations.RemoveConstraint("allocation", "quota_allocation_ended"),
        migrations.RemoveConstraint("holding", "quota_holding_not_negative"),
        migrations.AddConstraint(
            "allocation",
            models.CheckConstraint(
                condition=GreaterThanOrEqual(
                    Least(
                        "min_units",
                        F("units") - F("min_units"),
                        F("wanted_units") - F("units"),
                    ),
                    0,
                ),
                name="quota_allocation_units",
            ),
        ),
        migrations.AddConstraint(
            "allocation",
            models.CheckConstraint(
                condition=Q(
                    priority_class__in=("P0", "P1", "P2", "P3"),
                    tier__in=("guaranteed", "borrowed", "spot"),
                )
                & (
                    Q(state__in=("held", "running"), ended_at__isnull=True, lapses_at__isnull=False)
                    | Q(
                        state__in=("released", "preempted", "expired"),
                        ended_at__isnull=False,
                        lapses_at__isnull=True,
                    )
                ),
                name="quota_allocation_words",
            ),
        ),
        migrations.AddConstraint(
            "holding",
            models.CheckConstraint(
                condition=GreaterThanOrEqual(
                    Least(
                        *("guaranteed", "slow_borrowed", "slow_spot"),
                        F("borrowed") - F("slow_borrowed"),
                        F("spot") - F("slow_spot"),
                    ),
                    0,
                ),
                name="quota_holding_not_negative",
            ),
        ),
    ]
