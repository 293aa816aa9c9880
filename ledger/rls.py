"""Walls between tenants: row-level security as migration operations.

Every tenant table gets `FORCE ROW LEVEL SECURITY` and one policy that compares its
`organization_id` with the setting `apportion.organization` of the current transaction. With
nothing set the setting is NULL and no row is visible, no row can be written. The sub-select lets
PostgreSQL evaluate it once per query and use an index.
"""

from django.db.migrations import RunSQL

CURRENT_ORGANIZATION = """
CREATE OR REPLACE FUNCTION ledger_current_organization() RETURNS uuid
LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT nullif(current_setting('apportion.organization', true), '')::uuid $$;
"""


def tenant_wall(table: str, *, column: str = "organization_id") -> RunSQL:
    """Turn on forced row-level security for `table` with the one tenant policy."""
    return RunSQL(
        sql=f"""
        ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;
        ALTER TABLE {table} FORCE ROW LEVEL SECURITY;
        CREATE POLICY tenant ON {table}
            USING ({column} = (SELECT ledger_current_organization()))
            WITH CHECK ({column} = (SELECT ledger_current_organization()));
        """,
        reverse_sql=f"""
        DROP POLICY tenant ON {table};
        ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY;
        ALTER TABLE {table} DISABLE ROW LEVEL SECURITY;
        """,
    )


def directory_policy(table: str) -> RunSQL:
    """Let the table's owner, and so a SECURITY DEFINER function of it, look across tenants.

    Used for the few look-ups that come before the organization is known: whose token is this,
    which organizations does a login belong to. The application role itself stays walled in.
    """
    return RunSQL(
        sql=f"CREATE POLICY directory ON {table} FOR SELECT TO CURRENT_USER USING (true);",
        reverse_sql=f"DROP POLICY directory ON {table};",
    )


def append_only(table: str) -> RunSQL:
    """Refuse UPDATE, DELETE and TRUNCATE of `table` to everyone, the owner included."""
    return RunSQL(
        sql=f"""
        CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON {table}
            FOR EACH ROW EXECUTE FUNCTION ledger_refuse_change();
        CREATE TRIGGER append_only_truncate BEFORE TRUNCATE ON {table}
            FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse_change();
        DO $$ BEGIN
            IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'apportion_app') THEN
                REVOKE UPDATE, DELETE, TRUNCATE ON {table} FROM apportion_app;
            END IF;
        END $$;
        """,
        reverse_sql=f"""
        DROP TRIGGER append_only ON {table};
        DROP TRIGGER append_only_truncate ON {table};
        """,
    )


REFUSE_CHANGE = """
CREATE OR REPLACE FUNCTION ledger_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only: % refused', TG_TABLE_NAME, TG_OP
        USING ERRCODE = 'insufficient_privilege',
              HINT = 'Correct a fact by recording a new one.';
END $$;
"""
