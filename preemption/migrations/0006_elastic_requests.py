"""A plan says how many units an elastic job wanted, and how few would do."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("preemption", "0005_detections"),
    ]

    operations = [
        migrations.AddField(
            model_name="plan",
            name="wanted",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="plan",
            name="min_units",
            field=models.BigIntegerField(null=True),
        ),
    ]
