"""Statements: terms, credits, commitments, closes, and the lines of closed months, which nobody
can change: they are added once, by the close."""

import django.contrib.postgres.fields
from django.db import migrations, models

from ledger.rls import append_only, tenant_wall


class Migration(migrations.Migration):
    dependencies = [
        ("accounting", "0007_evidence"),
    ]

    operations = [
        migrations.CreateModel(
            name="StatementPart",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "organization_id",
                        "month",
                        "chunk",
                        "line_no",
                        "part_no",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("organization_id", models.UUIDField()),
                ("month", models.DateField()),
                ("chunk", models.IntegerField()),
                ("line_no", models.IntegerField()),
                ("part_no", models.IntegerField()),
                ("day", models.DateField()),
                ("person_id", models.UUIDField(null=True)),
                ("project", models.TextField(null=True)),
                ("model", models.TextField(null=True)),
                ("workload", models.TextField(null=True)),
                ("unit_seconds", models.DecimalField(decimal_places=12, max_digits=60)),
            ],
            options={
                "db_table": "accounting_statementpart",
            },
        ),
        migrations.CreateModel(
            name="StatementTerms",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "organization_id",
                        "from_month",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("organization_id", models.UUIDField()),
                ("from_month", models.DateField()),
                ("idle_share", models.DecimalField(decimal_places=6, max_digits=12)),
                ("lending_share", models.DecimalField(decimal_places=6, max_digits=12)),
                ("ladder", models.JSONField()),
                ("two_persons", models.BooleanField()),
            ],
            options={
                "db_table": "accounting_statementterms",
            },
        ),
        migrations.CreateModel(
            name="Commitment",
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
                ("amount", models.DecimalField(decimal_places=4, max_digits=30)),
                ("from_month", models.DateField()),
                ("until_month", models.DateField(null=True)),
            ],
            options={
                "db_table": "accounting_commitment",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("amount__gt", 0)), name="accounting_commitment_positive"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Credit",
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
                ("amount", models.DecimalField(decimal_places=4, max_digits=30)),
                ("about", models.DateField(null=True)),
                ("reason", models.TextField()),
            ],
            options={
                "db_table": "accounting_credit",
                "indexes": [
                    models.Index(
                        models.F("organization_id"),
                        models.F("month"),
                        name="accounting_credit_month",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("amount__gt", 0)), name="accounting_credit_positive"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="MonthClose",
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
                ("state", models.TextField()),
                ("started_at", models.DateTimeField()),
                ("started_by", models.TextField()),
                ("starter_id", models.UUIDField(null=True)),
                (
                    "accepted",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.TextField(), size=None
                    ),
                ),
                ("confirmed_by", models.TextField(null=True)),
                ("waits", models.BooleanField()),
                ("accounts", models.IntegerField()),
                ("drawn_accounts", models.IntegerField()),
                ("drawn_through", models.UUIDField(null=True)),
                ("chunks", models.IntegerField()),
                ("lines", models.IntegerField()),
                ("amount", models.DecimalField(decimal_places=4, max_digits=30)),
                ("list_amount", models.DecimalField(decimal_places=4, max_digits=30)),
                ("closed_at", models.DateTimeField(null=True)),
                ("digest", models.TextField(null=True)),
            ],
            options={
                "db_table": "accounting_monthclose",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ("closing", "closed"))),
                        name="accounting_monthclose_state",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="StatementLine",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "organization_id",
                        "month",
                        "chunk",
                        "line_no",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("organization_id", models.UUIDField()),
                ("month", models.DateField()),
                ("chunk", models.IntegerField()),
                ("line_no", models.IntegerField()),
                ("account_id", models.UUIDField()),
                (
                    "above",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.UUIDField(), size=None
                    ),
                ),
                ("kind", models.TextField()),
                ("of_kind", models.TextField()),
                ("pool_id", models.UUIDField(null=True)),
                ("flavor_id", models.UUIDField(null=True)),
                ("tier", models.TextField(null=True)),
                ("grade", models.TextField(null=True)),
                ("version_id", models.UUIDField(null=True)),
                ("ref_id", models.UUIDField(null=True)),
                ("about", models.DateField(null=True)),
                ("unit_seconds", models.DecimalField(decimal_places=12, max_digits=60)),
                ("price", models.DecimalField(decimal_places=12, max_digits=24, null=True)),
                ("list_price", models.DecimalField(decimal_places=12, max_digits=24, null=True)),
                ("amount", models.DecimalField(decimal_places=4, max_digits=30)),
                ("list_amount", models.DecimalField(decimal_places=4, max_digits=30)),
                ("facts", models.JSONField()),
            ],
            options={
                "db_table": "accounting_statementline",
                "indexes": [
                    models.Index(
                        models.F("organization_id"),
                        models.F("about"),
                        condition=models.Q(("about__isnull", False)),
                        name="accounting_statementline_about",
                    )
                ],
            },
        ),
        tenant_wall("accounting_statementterms"),
        tenant_wall("accounting_credit"),
        tenant_wall("accounting_commitment"),
        tenant_wall("accounting_monthclose"),
        tenant_wall("accounting_statementline"),
        tenant_wall("accounting_statementpart"),
        append_only("accounting_statementline"),
        append_only("accounting_statementpart"),
    ]
