"""A token and the versions of its organization in one round trip: a priority needs no other."""

from django.db import migrations

FUNCTION = """
CREATE FUNCTION accounting_authenticate_token(token uuid)
RETURNS TABLE (organization_id uuid, name text, secret_hash text, previous_hash text,
               previous_until timestamptz, scopes text[], pool_ids uuid[],
               expires_at timestamptz, revoked_at timestamptz, used_at timestamptz,
               tree_version bigint, usage_version bigint)
LANGUAGE plpgsql AS $$
BEGIN
    SELECT t.organization_id, t.name, t.secret_hash, t.previous_hash, t.previous_until, t.scopes,
        t.pool_ids, t.expires_at, t.revoked_at, t.used_at
    INTO organization_id, name, secret_hash, previous_hash, previous_until, scopes, pool_ids,
        expires_at, revoked_at, used_at
    FROM tenancy_authenticate_token(token) t;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    -- Local to the caller's transaction; without one, to this statement.
    PERFORM set_config('apportion.organization', organization_id::text, true);
    SELECT s.tree_version, s.usage_version INTO tree_version, usage_version
    FROM accounting_fairsharestate s
    WHERE s.organization_id = accounting_authenticate_token.organization_id;
    RETURN NEXT;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounting", "0002_fairshare_versions"),
        ("tenancy", "0001_initial"),
    ]

    operations = [
        migrations.RunSQL(FUNCTION, "DROP FUNCTION accounting_authenticate_token(uuid)"),
    ]
