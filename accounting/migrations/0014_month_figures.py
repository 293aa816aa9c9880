"""Figures of months with many lines."""

import django.contrib.postgres.fields
from django.db import migrations, models

from ledger.rls import tenant_wall

# The lines with the largest amounts, without reading the others.
LARGEST = """
CREATE INDEX accounting_statementline_largest
    ON accounting_statementline (organization_id, month, abs(amount) DESC)
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounting", "0013_comparison"),
    ]

    operations = [
        migrations.CreateModel(
            name="MonthAccount",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "organization_id",
                        "month",
                        "drawn_at",
                        "account_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("organization_id", models.UUIDField()),
                ("month", models.DateField()),
                ("drawn_at", models.DateTimeField()),
                ("account_id", models.UUIDField()),
                (
                    "above",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), size=None
                    ),
                ),
                ("is_team", models.BooleanField()),
                ("lines", models.IntegerField()),
                ("amount", models.DecimalField(decimal_places=4, max_digits=30)),
                ("whole_lines", models.IntegerField()),
                ("utilization", models.DecimalField(decimal_places=6, max_digits=36, null=True)),
                ("idle_share", models.DecimalField(decimal_places=6, max_digits=36, null=True)),
                (
                    "productive_cost",
                    models.DecimalField(decimal_places=6, max_digits=36, null=True),
                ),
                ("expected_lines", models.IntegerField()),
                ("expected", models.DecimalField(decimal_places=4, max_digits=30)),
            ],
            options={
                "db_table": "accounting_monthaccount",
            },
        ),
        migrations.CreateModel(
            name="MonthFigures",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "organization_id",
                        "month",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("organization_id", models.UUIDField()),
                ("month", models.DateField()),
                ("drawn_at", models.DateTimeField()),
                ("until", models.DateTimeField()),
                ("closed", models.BooleanField()),
                ("large", models.BooleanField()),
                ("unrated", models.IntegerField()),
                (
                    "late_months",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.DateField(), size=None
                    ),
                ),
            ],
            options={
                "db_table": "accounting_monthfigures",
            },
        ),
        migrations.CreateModel(
            name="MonthSum",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "organization_id",
                        "month",
                        "drawn_at",
                        "account_id",
                        "row_no",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("organization_id", models.UUIDField()),
                ("month", models.DateField()),
                ("drawn_at", models.DateTimeField()),
                ("account_id", models.UUIDField()),
                ("row_no", models.IntegerField()),
                ("whole", models.BooleanField()),
                ("parent_id", models.UUIDField(null=True)),
                (
                    "above",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), null=True, size=None
                    ),
                ),
                ("kind", models.TextField()),
                ("pool_id", models.UUIDField(null=True)),
                ("flavor_id", models.UUIDField(null=True)),
                ("tier", models.TextField(null=True)),
                ("note", models.TextField(null=True)),
                ("lines", models.IntegerField()),
                ("unit_seconds", models.DecimalField(decimal_places=12, max_digits=60)),
                ("amount", models.DecimalField(decimal_places=4, max_digits=30)),
                ("list_amount", models.DecimalField(decimal_places=4, max_digits=30)),
                ("untagged", models.DecimalField(decimal_places=4, max_digits=30)),
            ],
            options={
                "db_table": "accounting_monthsum",
                "indexes": [
                    models.Index(
                        models.F("organization_id"),
                        models.F("month"),
                        models.F("drawn_at"),
                        models.F("parent_id"),
                        condition=models.Q(("whole", True)),
                        name="accounting_monthsum_below",
                    ),
                    models.Index(
                        models.F("organization_id"),
                        models.F("month"),
                        models.F("drawn_at"),
                        condition=models.Q(("whole", False)),
                        name="accounting_monthsum_own",
                    ),
                ],
            },
        ),
        migrations.RunSQL(LARGEST, "DROP INDEX accounting_statementline_largest"),
        tenant_wall("accounting_monthfigures"),
        tenant_wall("accounting_monthaccount"),
        tenant_wall("accounting_monthsum"),
    ]
