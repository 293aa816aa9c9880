"""The board of use-it-or-lose-it: what was said last first."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("preemption", "0003_reclaim"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="reclaimstate",
            index=models.Index(
                models.F("organization_id"),
                models.OrderBy(models.F("at"), descending=True),
                models.F("account_id"),
                models.F("pool_id"),
                name="preemption_reclaimstate_board",
            ),
        ),
    ]
