"""A job's attempt is claimed once, whichever pools it asks; a temporary quota may expose at its
end."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("quota", "0004_admission_policy_and_orders"),
    ]

    operations = [
        migrations.AddField(
            model_name="allocation",
            name="leads",
            field=models.BooleanField(db_default=False),
        ),
        migrations.AddField(
            model_name="quota",
            name="end_exposes",
            field=models.BooleanField(db_default=False),
        ),
        migrations.AddField(
            model_name="quotahistory",
            name="end_exposes",
            field=models.BooleanField(db_default=False),
        ),
        migrations.AddConstraint(
            model_name="allocation",
            constraint=models.UniqueConstraint(
                models.F("organization_id"),
                models.F("key"),
                models.F("attempt"),
                condition=models.Q(("leads", True)),
                name="quota_allocation_claim",
            ),
        ),
    ]
