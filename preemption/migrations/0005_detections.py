"""What is found to be odd: idle and zombie allocations, use far above the usual."""

import django.contrib.postgres.fields
from django.db import migrations, models

from ledger.rls import tenant_wall


class Migration(migrations.Migration):
    dependencies = [
        ("preemption", "0004_reclaim_board"),
    ]

    operations = [
        migrations.CreateModel(
            name="DetectionPolicyRow",
            fields=[
                ("organization_id", models.UUIDField(primary_key=True, serialize=False)),
                (
                    "kinds",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), size=None
                    ),
                ),
                ("idle_below", models.DecimalField(decimal_places=4, max_digits=5)),
                ("idle_minutes", models.IntegerField()),
                ("zombie_below", models.DecimalField(decimal_places=4, max_digits=5)),
                ("progress_seconds_max", models.IntegerField()),
                ("baseline_factor", models.IntegerField()),
                ("baseline_spread", models.IntegerField()),
                ("baseline_days_min", models.IntegerField()),
                ("event_id", models.UUIDField()),
            ],
            options={
                "db_table": "preemption_detectionpolicy",
            },
        ),
        migrations.CreateModel(
            name="Detection",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "organization_id",
                        "id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("organization_id", models.UUIDField()),
                ("id", models.UUIDField()),
                ("kind", models.TextField()),
                ("state", models.TextField()),
                ("pool_id", models.UUIDField()),
                ("account_id", models.UUIDField()),
                ("allocation_id", models.UUIDField(null=True)),
                ("person_id", models.UUIDField(null=True)),
                ("job", models.TextField(null=True)),
                ("units", models.BigIntegerField()),
                ("worth_per_hour", models.DecimalField(decimal_places=6, max_digits=30, null=True)),
                ("since", models.DateTimeField()),
                ("found_at", models.DateTimeField()),
                ("work", models.JSONField(null=True)),
                ("use", models.JSONField(null=True)),
                ("by", models.TextField()),
                ("reason", models.TextField()),
                ("acknowledged_at", models.DateTimeField(null=True)),
                ("quiet_until", models.DateTimeField(null=True)),
                ("closed_at", models.DateTimeField(null=True)),
                ("why", models.TextField()),
            ],
            options={
                "db_table": "preemption_detection",
                "indexes": [
                    models.Index(
                        models.F("organization_id"),
                        models.F("account_id"),
                        models.F("id"),
                        name="preemption_detection_account",
                    ),
                    models.Index(
                        models.F("organization_id"),
                        models.F("pool_id"),
                        models.F("id"),
                        name="preemption_detection_pool",
                    ),
                    models.Index(
                        models.F("organization_id"),
                        models.F("id"),
                        condition=models.Q(("closed_at__isnull", True)),
                        name="preemption_detection_current",
                    ),
                    models.Index(
                        models.F("organization_id"),
                        models.F("pool_id"),
                        models.F("quiet_until"),
                        condition=models.Q(("quiet_until__isnull", False)),
                        name="preemption_detection_quiet",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("kind__in", ("idle", "zombie", "surge")),
                            ("state__in", ("open", "acknowledged", "acted", "cleared")),
                        ),
                        name="preemption_detection_words",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("closed_at__isnull", True), ("state__in", ("open", "acknowledged"))
                            ),
                            models.Q(
                                ("closed_at__isnull", False), ("state__in", ("acted", "cleared"))
                            ),
                            _connector="OR",
                        ),
                        name="preemption_detection_closed",
                    ),
                    models.UniqueConstraint(
                        models.F("organization_id"),
                        models.F("allocation_id"),
                        models.F("kind"),
                        condition=models.Q(
                            ("closed_at__isnull", True), ("allocation_id__isnull", False)
                        ),
                        name="preemption_detection_of_job",
                    ),
                    models.UniqueConstraint(
                        models.F("organization_id"),
                        models.F("account_id"),
                        models.F("pool_id"),
                        models.F("kind"),
                        condition=models.Q(
                            ("closed_at__isnull", True), ("allocation_id__isnull", True)
                        ),
                        name="preemption_detection_of_place",
                    ),
                ],
            },
        ),
        tenant_wall("preemption_detection"),
        tenant_wall("preemption_detectionpolicy"),
    ]
