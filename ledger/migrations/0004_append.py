"""An append is one call: positions, versions and the chain are given where the events are kept."""

import importlib

from django.db import migrations

PLACES = importlib.import_module("ledger.migrations.0003_fewer_trips").PLACES

# The lanes come sorted, and their heads are locked one after the other: two appends cannot
# deadlock. Everything is read behind the locks. The bytes that are hashed are `ledger.chain`'s:
# what is known beforehand comes in pieces, between which position, sequence number and version go.
APPEND = """
CREATE FUNCTION ledger_append(
    p_organization uuid, p_lanes uuid[], p_streams text[], p_ids uuid[], p_lane_nos int[],
    p_stream_nos int[], p_types text[], p_schema_versions smallint[], p_occurred timestamptz[],
    p_payloads text[], p_places text[], p_streams_said text[], p_rests text[],
    p_recorded timestamptz, p_actor_kind text, p_actor uuid, p_actor_label text, p_command text,
    p_command_id uuid, p_key text, p_reason text,
    OUT positions bigint[], OUT seqs bigint[], OUT versions int[])
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    v_seqs bigint[];
    v_hashes bytea[];
    v_versions int[];
    v_before bytea[];
    v_after bytea[];
    v_seq bigint;
    v_hash bytea;
    v_version int;
    v_position bigint;
    l int;
    s int;
BEGIN
    FOR l IN 1 .. cardinality(p_lanes) LOOP
        LOOP
            SELECT h.seq, h.hash INTO v_seq, v_hash FROM ledger_lane h
                WHERE h.organization_id = p_organization AND h.lane = p_lanes[l] FOR UPDATE;
            EXIT WHEN FOUND;
            INSERT INTO ledger_lane (organization_id, lane, seq, hash)
                VALUES (p_organization, p_lanes[l], 0, decode(repeat('00', 32), 'hex'))
                ON CONFLICT DO NOTHING;
        END LOOP;
        v_seqs[l] := v_seq;
        v_hashes[l] := v_hash;
    END LOOP;
    IF cardinality(p_streams) = 1 THEN
        SELECT coalesce(max(e.version), 0) INTO v_version FROM ledger_event e
            WHERE e.organization_id = p_organization AND e.stream = p_streams[1];
        v_versions[1] := v_version;
    ELSE
        v_versions := ARRAY(
            SELECT coalesce((SELECT max(e.version) FROM ledger_event e
                WHERE e.organization_id = p_organization AND e.stream = n.stream), 0)
            FROM unnest(p_streams) WITH ORDINALITY AS n(stream, number) ORDER BY n.number);
    END IF;
    FOR i IN 1 .. cardinality(p_ids) LOOP
        l := p_lane_nos[i];
        s := p_stream_nos[i];
        v_position := nextval('ledger_event_position');
        v_seq := v_seqs[l] + 1;
        v_version := v_versions[s] + 1;
        v_hash := v_hashes[l];
        v_before[i] := v_hash;
        v_hash := sha256(v_hash || convert_to(
            '[' || v_position || p_places[i] || v_seq || p_streams_said[i] || v_version
            || p_rests[i] || p_payloads[i] || ']', 'UTF8'));
        v_after[i] := v_hash;
        v_hashes[l] := v_hash;
        v_seqs[l] := v_seq;
        v_versions[s] := v_version;
        positions[i] := v_position;
        seqs[i] := v_seq;
        versions[i] := v_version;
    END LOOP;
    INSERT INTO ledger_event (position, id, organization_id, lane, lane_seq, stream, version, type,
        schema_version, occurred_at, recorded_at, actor_kind, actor_id, actor_label, command,
        command_id, idempotency_key, reason, payload, previous_hash, hash)
    SELECT positions[i], p_ids[i], p_organization, p_lanes[p_lane_nos[i]], seqs[i],
        p_streams[p_stream_nos[i]], versions[i], p_types[i], p_schema_versions[i], p_occurred[i],
        p_recorded, p_actor_kind, p_actor, p_actor_label, p_command, p_command_id, p_key, p_reason,
        p_payloads[i]::jsonb, v_before[i], v_after[i]
    FROM generate_series(1, cardinality(p_ids)) AS i;
    FOR l IN 1 .. cardinality(p_lanes) LOOP
        UPDATE ledger_lane h SET seq = v_seqs[l], hash = v_hashes[l]
            WHERE h.organization_id = p_organization AND h.lane = p_lanes[l];
    END LOOP;
END $$
"""

DROP = """
DROP FUNCTION ledger_append(
    uuid, uuid[], text[], uuid[], int[], int[], text[], smallint[], timestamptz[], text[], text[],
    text[], text[], timestamptz, text, uuid, text, text, uuid, text, text)
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0003_fewer_trips")]

    operations = [
        migrations.RunSQL(APPEND, DROP),
        migrations.RunSQL("DROP FUNCTION ledger_places(uuid, uuid[], text[], int)", PLACES),
    ]
