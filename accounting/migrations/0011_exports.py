"""Exports and schedules of exports; and records that still run are found without reading all."""

from django.db import migrations, models

from ledger.rls import tenant_wall

OPEN = """
CREATE INDEX accounting_usagerecord_open ON accounting_usagerecord (organization_id, started_at)
    WHERE ended_at IS NULL;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounting", "0010_budgets"),
    ]

    operations = [
        migrations.CreateModel(
            name="ExportSchedule",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "organization_id",
                        "account_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("organization_id", models.UUIDField()),
                ("account_id", models.UUIDField()),
                ("files", models.JSONField()),
                ("store", models.BooleanField()),
                ("notify", models.BooleanField()),
                ("set_at", models.DateTimeField()),
                ("set_by", models.TextField()),
            ],
            options={
                "db_table": "accounting_exportschedule",
            },
        ),
        migrations.CreateModel(
            name="Export",
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
                ("account_id", models.UUIDField()),
                ("month", models.DateField()),
                ("what", models.TextField()),
                ("format", models.TextField()),
                ("focus_version", models.TextField()),
                ("scheduled", models.BooleanField()),
                ("state", models.TextField()),
                ("requested_at", models.DateTimeField()),
                ("requested_by", models.TextField()),
                ("requester_id", models.UUIDField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("expires_at", models.DateTimeField(null=True)),
                ("month_state", models.TextField(null=True)),
                ("rows", models.BigIntegerField(null=True)),
                ("size", models.BigIntegerField(null=True)),
                ("digest", models.TextField(null=True)),
                ("total", models.DecimalField(decimal_places=4, max_digits=30, null=True)),
                ("problem", models.TextField(null=True)),
                ("problem_detail", models.TextField(null=True)),
            ],
            options={
                "db_table": "accounting_export",
                "indexes": [
                    models.Index(
                        models.F("organization_id"),
                        models.F("requested_at"),
                        models.F("id"),
                        name="accounting_export_recent",
                    ),
                    models.Index(
                        models.F("organization_id"),
                        models.F("expires_at"),
                        condition=models.Q(("state__in", ("requested", "ready"))),
                        name="accounting_export_kept",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ("requested", "ready", "failed", "removed", "expired"))
                        ),
                        name="accounting_export_state",
                    )
                ],
            },
        ),
        tenant_wall("accounting_export"),
        tenant_wall("accounting_exportschedule"),
        migrations.RunSQL(OPEN, "DROP INDEX accounting_usagerecord_open"),
    ]
