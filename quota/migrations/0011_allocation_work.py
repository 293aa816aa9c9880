"""What running jobs tell of their work, beside their allocations."""

from django.db import migrations, models

from ledger.rls import tenant_wall


class Migration(migrations.Migration):
    dependencies = [
        ("quota", "0010_rejections_index"),
    ]

    operations = [
        migrations.CreateModel(
            name="AllocationWork",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "organization_id",
                        "allocation_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("organization_id", models.UUIDField()),
                ("allocation_id", models.UUIDField()),
                ("pool_id", models.UUIDField()),
                ("until", models.DateTimeField(null=True)),
                ("compute_util", models.DecimalField(decimal_places=6, max_digits=7, null=True)),
                ("memory_gb", models.DecimalField(decimal_places=6, max_digits=15, null=True)),
                ("progress", models.BigIntegerField(null=True)),
                ("progress_at", models.DateTimeField(null=True)),
                ("stretches", models.JSONField()),
            ],
            options={
                "db_table": "quota_allocationwork",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("compute_util__gte", 0), ("compute_util__lte", 1)),
                            ("compute_util__isnull", True),
                            _connector="OR",
                        ),
                        name="quota_allocationwork_share",
                    )
                ],
            },
        ),
        tenant_wall("quota_allocationwork"),
    ]
