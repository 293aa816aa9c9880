"""Records that name a scheduler's job are found by it, to tell whether an allocation was reported.

Only records with the label are in the index, so that others cost nothing when they come in.
"""

from django.db import migrations

INDEX = """
CREATE INDEX accounting_usagerecord_job ON accounting_usagerecord
    (organization_id, (labels->>'job_id')) WHERE labels ? 'job_id';
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounting", "0003_token_and_versions"),
    ]

    operations = [
        migrations.RunSQL(INDEX, "DROP INDEX accounting_usagerecord_job"),
    ]
