"""What every command asks the database first and last, in one round trip each."""

from django.db import migrations

# Statements in a function see what was committed while the one before waited: the receipt is read
# behind the lock of its key.
ENTER = """
CREATE FUNCTION ledger_enter(p_organization uuid, p_write_lock text, p_key text)
RETURNS TABLE (command text, input_hash bytea, refused boolean, result text)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('apportion.organization', p_organization::text, true);
    PERFORM pg_advisory_xact_lock_shared(hashtextextended(p_write_lock, 0));
    IF p_key IS NOT NULL THEN
        PERFORM pg_advisory_xact_lock(
            hashtextextended('receipt:' || p_organization || '/' || p_key, 0));
        RETURN QUERY SELECT r.command, r.input_hash, r.refused, r.result::text
            FROM ledger_receipt r WHERE r.organization_id = p_organization AND r.key = p_key;
    END IF;
END $$
"""

# The lanes come sorted, and are locked one after the other: two appends cannot deadlock.
PLACES = """
CREATE FUNCTION ledger_places(
    p_organization uuid, p_lanes uuid[], p_streams text[], p_events int,
    OUT seqs bigint[], OUT hashes bytea[], OUT positions bigint[], OUT versions int[])
LANGUAGE plpgsql AS $$
DECLARE
    v_lane uuid;
    v_seq bigint;
    v_hash bytea;
BEGIN
    FOREACH v_lane IN ARRAY p_lanes LOOP
        LOOP
            SELECT l.seq, l.hash INTO v_seq, v_hash FROM ledger_lane l
                WHERE l.organization_id = p_organization AND l.lane = v_lane FOR UPDATE;
            EXIT WHEN FOUND;
            INSERT INTO ledger_lane (organization_id, lane, seq, hash)
                VALUES (p_organization, v_lane, 0, decode(repeat('00', 32), 'hex'))
                ON CONFLICT DO NOTHING;
        END LOOP;
        seqs := seqs || v_seq;
        hashes := hashes || v_hash;
    END LOOP;
    positions := ARRAY(
        SELECT nextval('ledger_event_position') FROM generate_series(1, p_events));
    versions := ARRAY(
        SELECT coalesce((SELECT max(e.version) FROM ledger_event e
            WHERE e.organization_id = p_organization AND e.stream = s.stream), 0)
        FROM unnest(p_streams) WITH ORDINALITY AS s(stream, n) ORDER BY n);
END $$
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0002_traces")]

    operations = [
        migrations.RunSQL(ENTER, "DROP FUNCTION ledger_enter(uuid, text, text)"),
        migrations.RunSQL(PLACES, "DROP FUNCTION ledger_places(uuid, uuid[], text[], int)"),
    ]
