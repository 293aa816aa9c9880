"""Plans of preemption, their actions, and the budgets they keep to."""

from django.db import migrations, models

from ledger.rls import tenant_wall


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("ledger", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="PreemptionPolicy",
            fields=[
                ("organization_id", models.UUIDField(primary_key=True, serialize=False)),
                ("pool_share", models.DecimalField(decimal_places=10, max_digits=12)),
                ("pool_window_seconds", models.IntegerField()),
                ("job_window_seconds", models.IntegerField()),
                ("aged_per_day", models.IntegerField()),
                ("cooldown_seconds", models.IntegerField()),
                ("min_run_seconds", models.IntegerField()),
                ("plan_seconds", models.IntegerField()),
                ("event_id", models.UUIDField()),
            ],
            options={
                "db_table": "preemption_policy",
            },
        ),
        migrations.CreateModel(
            name="Plan",
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
                ("units", models.BigIntegerField()),
                ("priority_class", models.TextField()),
                ("tier", models.TextField()),
                ("deadline", models.DateTimeField(null=True)),
                ("aged", models.BooleanField()),
                ("reclaim_seconds", models.IntegerField()),
                ("override", models.BooleanField()),
                ("reason", models.TextField()),
                ("made_by", models.TextField()),
                ("made_at", models.DateTimeField()),
                ("until", models.DateTimeField()),
                ("ready_at", models.DateTimeField()),
                ("meets_deadline", models.BooleanField(null=True)),
                ("returns_guarantee", models.BooleanField()),
                ("within_target", models.BooleanField(null=True)),
                ("free_units", models.BigIntegerField()),
                ("pool_used", models.BigIntegerField()),
                ("pool_limit", models.BigIntegerField()),
                ("price", models.DecimalField(decimal_places=12, max_digits=30)),
                ("tax", models.DecimalField(decimal_places=6, max_digits=30)),
                ("state", models.TextField()),
                ("settled_at", models.DateTimeField(null=True)),
                ("used_at", models.DateTimeField(null=True)),
            ],
            options={
                "db_table": "preemption_plan",
                "indexes": [
                    models.Index(
                        models.F("organization_id"),
                        models.F("pool_id"),
                        models.F("id"),
                        name="preemption_plan_pool",
                    ),
                    models.Index(
                        models.F("organization_id"),
                        models.F("account_id"),
                        models.F("id"),
                        name="preemption_plan_account",
                    ),
                    models.Index(
                        models.F("organization_id"),
                        models.F("until"),
                        condition=models.Q(("state", "open")),
                        name="preemption_plan_until",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("organization_id"),
                        models.F("pool_id"),
                        models.F("key"),
                        condition=models.Q(("state", "open")),
                        name="preemption_plan_open",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("priority_class__in", ("P0", "P1", "P2", "P3")),
                            ("state__in", ("open", "confirmed", "cancelled", "lapsed", "replaced")),
                            ("tier__in", ("guaranteed", "borrowed", "spot")),
                            ("units__gt", 0),
                        ),
                        name="preemption_plan_words",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("settled_at__isnull", True), ("state", "open")),
                            models.Q(
                                models.Q(("state", "open"), _negated=True),
                                ("settled_at__isnull", False),
                            ),
                            _connector="OR",
                        ),
                        name="preemption_plan_settled",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PlanAction",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "organization_id",
                        "plan_id",
                        "allocation_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("organization_id", models.UUIDField()),
                ("plan_id", models.UUIDField()),
                ("allocation_id", models.UUIDField()),
                ("ordinal", models.IntegerField()),
                ("pool_id", models.UUIDField()),
                ("account_id", models.UUIDField()),
                ("key", models.TextField()),
                ("attempt", models.IntegerField()),
                ("step", models.TextField()),
                ("mode", models.TextField()),
                ("units", models.BigIntegerField()),
                ("remains", models.BigIntegerField()),
                ("grace_seconds", models.IntegerField()),
                ("returns_at", models.DateTimeField()),
                ("tax", models.DecimalField(decimal_places=6, max_digits=30)),
                ("state", models.TextField()),
                ("given", models.BigIntegerField(null=True)),
                ("at", models.DateTimeField(null=True)),
                ("late", models.BooleanField()),
                ("tax_reported", models.DecimalField(decimal_places=6, max_digits=30, null=True)),
                ("detail", models.TextField()),
            ],
            options={
                "db_table": "preemption_action",
                "indexes": [
                    models.Index(
                        models.F("organization_id"),
                        models.F("at"),
                        condition=models.Q(("state", "done")),
                        name="preemption_action_at",
                    ),
                    models.Index(
                        models.F("organization_id"),
                        models.F("account_id"),
                        models.F("at"),
                        name="preemption_action_account",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        models.F("organization_id"),
                        models.F("allocation_id"),
                        condition=models.Q(("state", "open")),
                        name="preemption_action_open",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("remains__gte", 0),
                            ("state__in", ("open", "done", "gone", "refused", "failed", "void")),
                            ("units__gt", 0),
                        ),
                        name="preemption_action_words",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("at__isnull", False), ("given__isnull", False), ("state", "done")
                            ),
                            models.Q(("state", "done"), _negated=True),
                            _connector="OR",
                        ),
                        name="preemption_action_done",
                    ),
                ],
            },
        ),
        tenant_wall("preemption_plan"),
        tenant_wall("preemption_action"),
        tenant_wall("preemption_policy"),
    ]
