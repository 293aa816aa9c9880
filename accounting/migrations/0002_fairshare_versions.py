"""The one read that every priority answer begins with."""

from django.db import migrations

VERSIONS = """
CREATE FUNCTION accounting_fairshare_versions(organization uuid)
RETURNS TABLE (tree_version bigint, usage_version bigint)
LANGUAGE plpgsql AS $$
BEGIN
    -- Local to the caller's transaction; without one, to this statement.
    PERFORM set_config('apportion.organization', organization::text, true);
    RETURN QUERY SELECT s.tree_version, s.usage_version
        FROM accounting_fairsharestate s WHERE s.organization_id = organization;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [("accounting", "0001_initial")]

    operations = [
        migrations.RunSQL(VERSIONS, "DROP FUNCTION accounting_fairshare_versions(uuid)"),
    ]
