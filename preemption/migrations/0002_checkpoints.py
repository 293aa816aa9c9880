"""When jobs last saved themselves."""

from django.db import migrations, models

from ledger.rls import tenant_wall


class Migration(migrations.Migration):
    dependencies = [
        ("preemption", "0001_plans"),
    ]

    operations = [
        migrations.CreateModel(
            name="Checkpoint",
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
                ("saved_at", models.DateTimeField()),
                ("reload_seconds", models.IntegerField()),
                ("warm_up_seconds", models.IntegerField()),
                ("seconds", models.IntegerField(null=True)),
            ],
            options={
                "db_table": "preemption_checkpoint",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("reload_seconds__gte", 0), ("warm_up_seconds__gte", 0)),
                        name="preemption_checkpoint_seconds",
                    )
                ],
            },
        ),
        tenant_wall("preemption_checkpoint"),
    ]
