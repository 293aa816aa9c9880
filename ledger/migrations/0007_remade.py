from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("ledger", "0006_one_event")]

    operations = [
        migrations.AddField("lane", "remade", models.IntegerField(db_default=0)),
    ]
