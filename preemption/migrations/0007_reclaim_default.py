"""Use it or lose it: the organization's rule, for pools without one of their own."""

import django.contrib.postgres.fields
from django.db import migrations, models

from ledger.rls import tenant_wall


class Migration(migrations.Migration):
    dependencies = [
        ("preemption", "0006_elastic_requests"),
    ]

    operations = [
        migrations.CreateModel(
            name="ReclaimDefaultRow",
            fields=[
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
                ("organization_id", models.UUIDField(primary_key=True, serialize=False)),
            ],
            options={
                "db_table": "preemption_reclaimdefault",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("cooldown_seconds__gte", 0),
                            ("watch_seconds__gt", 0),
                            ("window_seconds__gt", 0),
                        ),
                        name="preemption_reclaimdefault_seconds",
                    )
                ],
            },
        ),
        tenant_wall("preemption_reclaimdefault"),
    ]
