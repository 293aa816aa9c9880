from django.db import migrations

# What an organization's tree looked like at a past instant is today's tree with the few changes
# since then undone. The index holds those events alone: no other write pays for it.
INDEX = """
CREATE INDEX ledger_event_of_tree ON ledger_event (organization_id, type, occurred_at)
WHERE type IN ('account.moved', 'account.renamed');
"""


class Migration(migrations.Migration):
    dependencies = [("tenancy", "0002_people_of_email"), ("ledger", "0001_initial")]

    operations = [migrations.RunSQL(INDEX, "DROP INDEX ledger_event_of_tree")]
