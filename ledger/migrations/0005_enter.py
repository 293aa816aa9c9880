"""What every command asks first, as one value: a row from a function costs a table of its own."""

import importlib

from django.db import migrations

ROWS = importlib.import_module("ledger.migrations.0003_fewer_trips").ENTER
DROP = "DROP FUNCTION ledger_enter(uuid, text, text)"

# The receipt is read by a statement of its own: it sees what was committed while the lock of its key
# was waited for. What is only called is an expression, which needs no plan.
ENTER = """
CREATE FUNCTION ledger_enter(p_organization uuid, p_write_lock text, p_key text) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    v_done text;
    v_receipt text;
BEGIN
    v_done := set_config('apportion.organization', p_organization::text, true);
    v_done := pg_advisory_xact_lock_shared(hashtextextended(p_write_lock, 0))::text;
    IF p_key IS NOT NULL THEN
        v_done := pg_advisory_xact_lock(
            hashtextextended('receipt:' || p_organization || '/' || p_key, 0))::text;
        SELECT json_build_object('command', r.command, 'refused', r.refused,
            'input_hash', translate(encode(r.input_hash, 'base64'), chr(10), ''),
            'result', r.result::text) INTO v_receipt
            FROM ledger_receipt r WHERE r.organization_id = p_organization AND r.key = p_key;
    END IF;
    RETURN v_receipt;
END $$
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0004_append")]

    operations = [
        migrations.RunSQL(DROP, ROWS),
        migrations.RunSQL(ENTER, DROP),
    ]
