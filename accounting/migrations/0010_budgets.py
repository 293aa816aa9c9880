"""Budgets with their versions and alerts, and costs by day."""

import django.contrib.postgres.fields
from django.db import migrations, models

from ledger.rls import tenant_wall


class Migration(migrations.Migration):
    dependencies = [
        ("accounting", "0009_commitment_ending_charge"),
    ]

    operations = [
        migrations.CreateModel(
            name="CostMonth",
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
            ],
            options={
                "db_table": "accounting_costmonth",
            },
        ),
        migrations.CreateModel(
            name="Budget",
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
                ("name", models.TextField()),
                ("period", models.TextField()),
                ("starts_on", models.DateField()),
                ("ends_on", models.DateField(null=True)),
                ("ended_on", models.DateField(null=True)),
            ],
            options={
                "db_table": "accounting_budget",
                "indexes": [
                    models.Index(
                        models.F("organization_id"),
                        models.F("account_id"),
                        name="accounting_budget_account",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("period__in", ("month", "quarter", "year", "range"))),
                        name="accounting_budget_period",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="BudgetAlert",
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
                ("budget_id", models.UUIDField()),
                ("period_start", models.DateField()),
                ("kind", models.TextField()),
                ("rule", models.TextField()),
                ("figure", models.DecimalField(decimal_places=6, max_digits=30)),
                ("amount", models.DecimalField(decimal_places=4, max_digits=30)),
                ("spent", models.DecimalField(decimal_places=4, max_digits=30)),
                ("forecast", models.DecimalField(decimal_places=4, max_digits=30, null=True)),
                ("fired_at", models.DateTimeField()),
                ("over_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "accounting_budgetalert",
                "indexes": [
                    models.Index(
                        models.F("organization_id"),
                        models.F("budget_id"),
                        models.F("period_start"),
                        name="accounting_budgetalert_of",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("organization_id"),
                        models.F("budget_id"),
                        models.F("period_start"),
                        models.F("kind"),
                        models.F("rule"),
                        condition=models.Q(("over_at__isnull", True)),
                        name="accounting_budgetalert_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="BudgetVersion",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "organization_id",
                        "budget_id",
                        "effective_from",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("organization_id", models.UUIDField()),
                ("budget_id", models.UUIDField()),
                ("effective_from", models.DateField()),
                ("amount", models.DecimalField(decimal_places=4, max_digits=30)),
                (
                    "spent",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), size=None
                    ),
                ),
                (
                    "forecast",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.IntegerField(), size=None
                    ),
                ),
                ("burn", models.JSONField()),
                ("set_at", models.DateTimeField()),
                ("set_by", models.TextField()),
                ("reason", models.TextField()),
            ],
            options={
                "db_table": "accounting_budgetversion",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("amount__gt", 0)),
                        name="accounting_budgetversion_positive",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="CostDay",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "organization_id",
                        "account_id",
                        "day",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("organization_id", models.UUIDField()),
                ("account_id", models.UUIDField()),
                ("day", models.DateField()),
                ("usage", models.DecimalField(decimal_places=4, max_digits=30)),
                ("idle", models.DecimalField(decimal_places=4, max_digits=30)),
                ("other", models.DecimalField(decimal_places=4, max_digits=30)),
            ],
            options={
                "db_table": "accounting_costday",
                "indexes": [
                    models.Index(
                        models.F("organization_id"), models.F("day"), name="accounting_costday_day"
                    )
                ],
            },
        ),
        tenant_wall("accounting_budget"),
        tenant_wall("accounting_budgetversion"),
        tenant_wall("accounting_budgetalert"),
        tenant_wall("accounting_costday"),
        tenant_wall("accounting_costmonth"),
    ]
