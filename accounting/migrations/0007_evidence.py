"""Use in a window is found without reading all use there ever was.

What lasts longer than a month is looked up by its end, so that everything else need only be sought
from a month before the window; and the first and last day of use in a pool are each one look.
"""

from django.db import migrations

INDEXES = """
CREATE INDEX accounting_usagerecord_long ON accounting_usagerecord (organization_id, ended_at)
    WHERE ended_at - started_at > interval '31 days';
CREATE INDEX accounting_usageday_pool ON accounting_usageday (organization_id, pool_id, day);
"""
REVERSE = """
DROP INDEX accounting_usagerecord_long;
DROP INDEX accounting_usageday_pool;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounting", "0006_rates"),
    ]

    operations = [
        migrations.RunSQL(INDEXES, REVERSE),
    ]
