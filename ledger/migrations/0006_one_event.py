"""What most commands are, one event and a receipt, in one call of plain values."""

import importlib

from django.db import migrations

ENTER_BEFORE = importlib.import_module("ledger.migrations.0005_enter").ENTER.replace(
    "CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"
)

# The receipt is read by a statement of its own: it sees what was committed while the lock of its key
# was waited for. What is only called is an expression, which needs no plan.
ENTER = """
CREATE OR REPLACE FUNCTION ledger_enter(p_organization uuid, p_write_lock text, p_key text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    v_done text;
    v_kept ledger_receipt;
BEGIN
    v_done := set_config('apportion.organization', p_organization::text, true);
    v_done := pg_advisory_xact_lock_shared(hashtextextended(p_write_lock, 0))::text;
    IF p_key IS NOT NULL THEN
        v_done := pg_advisory_xact_lock(
            hashtextextended('receipt:' || p_organization || '/' || p_key, 0))::text;
        SELECT * INTO v_kept
            FROM ledger_receipt r WHERE r.organization_id = p_organization AND r.key = p_key;
        IF FOUND THEN
            RETURN json_build_object('command', v_kept.command, 'refused', v_kept.refused,
                'input_hash', translate(encode(v_kept.input_hash, 'base64'), chr(10), ''),
                'result', v_kept.result::text);
        END IF;
    END IF;
    RETURN NULL;
END $$
"""

# As `ledger_append`, for one event. A receipt is kept where `p_receipt` is its key.
APPEND = """
CREATE FUNCTION ledger_append_one(
    p_organization uuid, p_lane uuid, p_stream text, p_id uuid, p_type text,
    p_schema_version smallint, p_occurred timestamptz, p_payload text, p_place text,
    p_stream_said text, p_rest text, p_recorded timestamptz, p_actor_kind text, p_actor uuid,
    p_actor_label text, p_command text, p_command_id uuid, p_key text, p_reason text,
    p_receipt text, p_input_hash bytea, p_result text)
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    v_position bigint;
    v_seq bigint;
    v_version int;
    v_before bytea;
    v_hash bytea;
BEGIN
    IF p_receipt IS NOT NULL THEN
        INSERT INTO ledger_receipt
            (organization_id, key, command, input_hash, refused, result, recorded_at)
        VALUES (p_organization, p_receipt, p_command, p_input_hash, false, p_result::jsonb,
            p_recorded);
    END IF;
    LOOP
        SELECT h.seq + 1, h.hash INTO v_seq, v_before FROM ledger_lane h
            WHERE h.organization_id = p_organization AND h.lane = p_lane FOR UPDATE;
        EXIT WHEN FOUND;
        INSERT INTO ledger_lane (organization_id, lane, seq, hash)
            VALUES (p_organization, p_lane, 0, decode(repeat('00', 32), 'hex'))
            ON CONFLICT DO NOTHING;
    END LOOP;
    SELECT e.version + 1 INTO v_version FROM ledger_event e
        WHERE e.organization_id = p_organization AND e.stream = p_stream
        ORDER BY e.version DESC LIMIT 1;
    IF NOT FOUND THEN
        v_version := 1;
    END IF;
    v_position := nextval('ledger_event_position');
    v_hash := sha256(v_before || convert_to(
        '[' || v_position || p_place || v_seq || p_stream_said || v_version || p_rest || p_payload
        || ']', 'UTF8'));
    INSERT INTO ledger_event (position, id, organization_id, lane, lane_seq, stream, version, type,
        schema_version, occurred_at, recorded_at, actor_kind, actor_id, actor_label, command,
        command_id, idempotency_key, reason, payload, previous_hash, hash)
    VALUES (v_position, p_id, p_organization, p_lane, v_seq, p_stream, v_version, p_type,
        p_schema_version, p_occurred, p_recorded, p_actor_kind, p_actor, p_actor_label, p_command,
        p_command_id, p_key, p_reason, p_payload::jsonb, v_before, v_hash);
    UPDATE ledger_lane h SET seq = v_seq, hash = v_hash
        WHERE h.organization_id = p_organization AND h.lane = p_lane;
    RETURN ARRAY[v_position, v_seq, v_version];
END $$
"""

DROP = """
DROP FUNCTION ledger_append_one(
    uuid, uuid, text, uuid, text, smallint, timestamptz, text, text, text, text, timestamptz, text,
    uuid, text, text, uuid, text, text, text, bytea, text)
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0005_enter")]

    operations = [
        migrations.RunSQL(ENTER, ENTER_BEFORE),
        migrations.RunSQL(APPEND, DROP),
    ]
