"""Indexes for reading history, and the question which organizations have left a trace."""

from django.db import migrations

from ledger.rls import directory_policy

# For verification: an organization whose own row was removed must still be looked at. The walk
# over the primary key touches one event an organization.
TRACED = """
CREATE FUNCTION ledger_traced_organization_ids() RETURNS SETOF uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    WITH RECURSIVE seen AS (
        (SELECT organization_id FROM ledger_event ORDER BY organization_id LIMIT 1)
        UNION ALL
        SELECT (SELECT e.organization_id FROM ledger_event e
                WHERE e.organization_id > seen.organization_id
                ORDER BY e.organization_id LIMIT 1)
        FROM seen WHERE seen.organization_id IS NOT NULL
    )
    SELECT organization_id FROM seen WHERE organization_id IS NOT NULL
    UNION SELECT organization_id FROM ledger_lane
    UNION SELECT ledger_organization_ids()
$$;
"""

INDEXES = {
    "ledger_event_type": "(organization_id, type, position)",
    "ledger_event_actor": "(organization_id, actor_id, position) WHERE actor_id IS NOT NULL",
    "ledger_event_recorded": "(organization_id, recorded_at)",
}


class Migration(migrations.Migration):
    # The function asks tenancy's directory, too.
    dependencies = [("ledger", "0001_initial"), ("tenancy", "0001_initial")]

    operations = [
        directory_policy("ledger_event"),
        directory_policy("ledger_lane"),
        migrations.RunSQL(TRACED, "DROP FUNCTION ledger_traced_organization_ids()"),
        *(
            migrations.RunSQL(
                f"CREATE INDEX {name} ON ledger_event {columns}", f"DROP INDEX {name}"
            )
            for name, columns in INDEXES.items()
        ),
    ]
