"""Units of a pool can be set aside for a job."""

from django.db import migrations, models

from ledger.rls import tenant_wall


class Migration(migrations.Migration):
    dependencies = [
        ("quota", "0008_cycles"),
    ]

    operations = [
        migrations.CreateModel(
            name="Reservation",
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
                ("pool_id", models.UUIDField()),
                ("account_id", models.UUIDField()),
                ("key", models.TextField()),
                ("tier", models.TextField()),
                ("slow", models.BooleanField()),
                ("units", models.BigIntegerField()),
                ("free_units", models.BigIntegerField()),
                ("until", models.DateTimeField()),
                ("claims", models.JSONField()),
            ],
            options={
                "db_table": "quota_reservation",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("free_units__gte", 0),
                            ("tier__in", ("guaranteed", "borrowed", "spot")),
                            ("units__gt", 0),
                        ),
                        name="quota_reservation_units",
                    )
                ],
                "indexes": [
                    models.Index(
                        models.F("organization_id"),
                        models.F("pool_id"),
                        models.F("until"),
                        name="quota_reservation_pool",
                    )
                ],
            },
        ),
        tenant_wall("quota_reservation"),
    ]
