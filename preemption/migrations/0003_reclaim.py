"""Use it or lose it: rules of pools, and where guarantees stand."""

import django.contrib.postgres.fields
from django.db import migrations, models

from ledger.rls import tenant_wall


class Migration(migrations.Migration):
    dependencies = [
        ("preemption", "0002_checkpoints"),
    ]

    operations = [
        migrations.CreateModel(
            name="ReclaimRuleRow",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "organization_id",
                        "pool_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("organization_id", models.UUIDField()),
                ("pool_id", models.UUIDField()),
                ("enabled", models.BooleanField()),
                ("threshold", models.DecimalField(decimal_places=4, max_digits=5)),
                ("window_seconds", models.IntegerField()),
                ("watch_seconds", models.IntegerField()),
                ("clear_margin", models.DecimalField(decimal_places=4, max_digits=5)),
                ("cooldown_seconds", models.IntegerField()),
                ("gap_seconds_max", models.IntegerField()),
                ("unknown_seconds_max", models.IntegerField()),
                (
                    "exempt_ids",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), size=None
                    ),
                ),
                ("maintenance", models.JSONField()),
                ("event_id", models.UUIDField()),
            ],
            options={
                "db_table": "preemption_reclaimrule",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("cooldown_seconds__gte", 0),
                            ("watch_seconds__gt", 0),
                            ("window_seconds__gt", 0),
                        ),
                        name="preemption_reclaimrule_seconds",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ReclaimState",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "organization_id",
                        "account_id",
                        "pool_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("organization_id", models.UUIDField()),
                ("account_id", models.UUIDField()),
                ("pool_id", models.UUIDField()),
                ("state", models.TextField()),
                ("at", models.DateTimeField()),
                ("guarantee", models.BigIntegerField()),
                ("units", models.BigIntegerField()),
                ("utilisation", models.DecimalField(decimal_places=6, max_digits=7, null=True)),
                ("p95", models.BigIntegerField(null=True)),
                ("in_use", models.BigIntegerField(null=True)),
                ("due_at", models.DateTimeField(null=True)),
                ("until", models.DateTimeField(null=True)),
                ("judged_from", models.DateTimeField(null=True)),
                ("demotions", models.IntegerField()),
                ("justifications", models.IntegerField()),
            ],
            options={
                "db_table": "preemption_reclaimstate",
                "indexes": [
                    models.Index(
                        models.F("organization_id"),
                        models.F("pool_id"),
                        name="preemption_reclaimstate_pool",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("guarantee__gte", 0),
                            (
                                "state__in",
                                (
                                    "watched",
                                    "cleared",
                                    "justified",
                                    "demoted",
                                    "restored",
                                    "returned",
                                ),
                            ),
                            ("units__gte", 0),
                        ),
                        name="preemption_reclaimstate_words",
                    )
                ],
            },
        ),
        tenant_wall("preemption_reclaimrule"),
        tenant_wall("preemption_reclaimstate"),
    ]
