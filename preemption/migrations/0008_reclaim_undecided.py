"""Use it or lose it: what left a guarantee and is not decided yet, over several demotions."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("preemption", "0007_reclaim_default"),
    ]

    operations = [
        migrations.AddField(
            model_name="reclaimstate",
            name="undecided",
            field=models.BigIntegerField(default=0),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="reclaimstate",
            name="whole",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="reclaimstate",
            name="left_at",
            field=models.DateTimeField(null=True),
        ),
    ]
