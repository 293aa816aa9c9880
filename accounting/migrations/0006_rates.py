"""Rates: versions, their prices, grades of accounts. A version has one price per flavor, tier and
grade, NULL (all others) being one of them."""

from django.db import migrations, models

from ledger.rls import tenant_wall

ONE_PRICE = """
CREATE UNIQUE INDEX accounting_rateline_price ON accounting_rateline
    (organization_id, version_id, flavor_id, tier, grade) NULLS NOT DISTINCT;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounting", "0005_partitions_at_once"),
    ]

    operations = [
        migrations.CreateModel(
            name="RateGrade",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "organization_id",
                        "account_id",
                        "effective_from",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("organization_id", models.UUIDField()),
                ("account_id", models.UUIDField()),
                ("effective_from", models.DateTimeField()),
                ("grade", models.TextField(null=True)),
            ],
            options={
                "db_table": "accounting_rategrade",
            },
        ),
        migrations.CreateModel(
            name="RateLine",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "organization_id",
                        "version_id",
                        "line_no",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("organization_id", models.UUIDField()),
                ("version_id", models.UUIDField()),
                ("line_no", models.IntegerField()),
                ("flavor_id", models.UUIDField()),
                ("tier", models.TextField(null=True)),
                ("grade", models.TextField(null=True)),
                ("list_price", models.DecimalField(decimal_places=12, max_digits=24)),
                (
                    "contracted_price",
                    models.DecimalField(decimal_places=12, max_digits=24, null=True),
                ),
            ],
            options={
                "db_table": "accounting_rateline",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("list_price__gte", 0),
                            models.Q(
                                ("contracted_price__isnull", True),
                                ("contracted_price__gte", 0),
                                _connector="OR",
                            ),
                        ),
                        name="accounting_rateline_not_negative",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="RateVersion",
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
                ("effective_from", models.DateTimeField()),
                ("effective_until", models.DateTimeField(null=True)),
                ("memory_flavor_id", models.UUIDField(null=True)),
                ("published_at", models.DateTimeField()),
                ("published_by", models.TextField()),
                ("reason", models.TextField()),
            ],
            options={
                "db_table": "accounting_rateversion",
                "constraints": [
                    models.UniqueConstraint(
                        models.F("organization_id"),
                        models.F("effective_from"),
                        name="accounting_rateversion_start",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("effective_until__isnull", True),
                            ("effective_until__gt", models.F("effective_from")),
                            _connector="OR",
                        ),
                        name="accounting_rateversion_forwards",
                    ),
                ],
            },
        ),
        migrations.RunSQL(ONE_PRICE, "DROP INDEX accounting_rateline_price"),
        tenant_wall("accounting_rateversion"),
        tenant_wall("accounting_rateline"),
        tenant_wall("accounting_rategrade"),
    ]
