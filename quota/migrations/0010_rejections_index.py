"""Rejections of an account in a pool are counted with every request, however many others there are."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("quota", "0009_reservations")]

    operations = [
        migrations.AddIndex(
            model_name="requestdecision",
            index=models.Index(
                models.F("organization_id"),
                models.F("account_id"),
                models.F("pool_id"),
                models.F("decided_at"),
                condition=models.Q(("decision", "rejected")),
                name="quota_decision_rejections",
            ),
        )
    ]
