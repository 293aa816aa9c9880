"""What pools stand at, locked and read in one round trip. It replaces what 0005 and 0009 once made."""

from django.db import migrations

# Kinds of rows: P a pool, q a quota, h a holding, a an account with its parent (all that have one of
# these or were asked for, and those above), d something that has fallen due, p a person, l and k
# that something has lapsed, that a job is known, t the organization's times; of what is reserved R
# its pool and tier, r its account, key and units, o what an allocation still owes to it.
#
# Each statement of a function sees what was committed while the one before waited for the lock: what
# does not depend on it is read before. Generic plans: planning these anew costs more than running
# them. What is rarely there is a statement of its own: a plan is set up node by node for every call.
STANDING = """
CREATE OR REPLACE FUNCTION quota_standing(
    p_organization uuid, p_pool_names text[], p_pool_ids uuid[], p_lock boolean,
    p_now timestamptz, p_accounts text[], p_people text[], p_keys text[])
RETURNS TABLE (
    kind text, first uuid, second uuid, name text, at timestamptz,
    n1 bigint, n2 bigint, n3 bigint, n4 bigint, n5 bigint, n6 bigint)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    v_pools uuid[] := p_pool_ids;
    v_accounts uuid[] := '{}';
    v_lapsed boolean;
    v_known boolean;
    v_due boolean;
    v_reserved boolean;
BEGIN
    RETURN QUERY
    SELECT 'p', p.id, NULL::uuid, p.name, NULL::timestamptz, NULL::bigint, NULL::bigint,
        NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint
    FROM tenancy_person p WHERE p.organization_id = p_organization AND p.name = ANY(p_people)
    UNION ALL
    SELECT 't', NULL, NULL, NULL, NULL, t.hold_seconds, t.lease_seconds, t.heartbeat_seconds,
        t.interactive_seconds_max, NULL, NULL
    FROM quota_admissionpolicy t WHERE t.organization_id = p_organization;
    IF p_pool_names <> '{}' THEN
        v_pools := v_pools || ARRAY(
            SELECT p.id FROM quota_pool p
            WHERE p.organization_id = p_organization AND p.name = ANY(p_pool_names));
    END IF;
    IF p_lock THEN
        -- Always in the order of their ids, so that no two commands wait for each other; a row that
        -- was waited for is given as it is now.
        RETURN QUERY
        SELECT 'P', p.id, NULL::uuid, p.name, NULL::timestamptz, p.capacity, p.unavailable,
            p.safety_margin, p.reclaim_target_seconds::bigint, NULL::bigint, NULL::bigint
        FROM quota_pool p WHERE p.organization_id = p_organization AND p.id = ANY(v_pools)
        ORDER BY p.id FOR NO KEY UPDATE;
    END IF;
    SELECT
        EXISTS (SELECT FROM quota_allocation l WHERE l.organization_id = p_organization
            AND l.pool_id = ANY(v_pools) AND l.lapses_at <= p_now),
        EXISTS (SELECT FROM quota_allocation k WHERE k.organization_id = p_organization
            AND k.key = ANY(p_keys)),
        EXISTS (SELECT FROM quota_scheduled s WHERE s.organization_id = p_organization
            AND s.pool_id = ANY(v_pools) AND s.starts_at <= p_now),
        EXISTS (SELECT FROM quota_reservation r WHERE r.organization_id = p_organization
            AND r.pool_id = ANY(v_pools) AND r.until > p_now)
    INTO v_lapsed, v_known, v_due, v_reserved;
    IF v_due THEN
        v_accounts := v_accounts || ARRAY(
            SELECT s.account_id FROM quota_scheduled s
            WHERE s.organization_id = p_organization AND s.pool_id = ANY(v_pools)
                AND s.starts_at <= p_now);
        RETURN QUERY
        SELECT 'd', NULL::uuid, NULL::uuid, NULL, NULL::timestamptz, NULL::bigint, NULL::bigint,
            NULL::bigint, NULL::bigint, NULL::bigint, NULL::bigint;
    END IF;
    IF v_reserved THEN
        v_accounts := v_accounts || ARRAY(
            SELECT r.account_id FROM quota_reservation r
            WHERE r.organization_id = p_organization AND r.pool_id = ANY(v_pools)
                AND r.until > p_now);
        RETURN QUERY
        WITH reserved AS MATERIALIZED (
            SELECT r.id, r.pool_id, r.account_id, r.key, r.tier, r.slow, r.until, r.claims,
                least(r.units, r.free_units + (
                    SELECT coalesce(sum((c->>'units')::bigint), 0)::bigint
                    FROM jsonb_array_elements(r.claims) c)) AS most
            FROM quota_reservation r
            WHERE r.organization_id = p_organization AND r.pool_id = ANY(v_pools)
                AND r.until > p_now
        )
        SELECT 'R', id, pool_id, tier, NULL::timestamptz, NULL::bigint, NULL::bigint, NULL::bigint,
            NULL::bigint, NULL::bigint, NULL::bigint
        FROM reserved
        UNION ALL
        SELECT 'r', id, account_id, key, until, most, slow::int::bigint, NULL, NULL, NULL, NULL
        FROM reserved
        UNION ALL
        SELECT 'o', r.id, o.id, NULL, NULL, least((c->>'units')::bigint,
            greatest(0, o.units - (c->>'left')::bigint)), NULL, NULL, NULL, NULL, NULL
        FROM reserved r CROSS JOIN LATERAL jsonb_array_elements(r.claims) c
        JOIN quota_allocation o ON o.organization_id = p_organization
            AND o.id = (c->>'allocation_id')::uuid AND o.lapses_at IS NOT NULL;
    END IF;
    RETURN QUERY
    SELECT 'q', q.pool_id, q.account_id, NULL, q.ends_at, q.guaranteed, q.borrowing_limit,
        q.lending_limit, q.base_guaranteed, q.base_borrowing_limit, q.base_lending_limit
    FROM quota_quota q WHERE q.organization_id = p_organization AND q.pool_id = ANY(v_pools)
    UNION ALL
    SELECT 'h', h.pool_id, h.account_id, NULL, NULL, h.guaranteed, h.borrowed, h.spot,
        h.slow_borrowed, h.slow_spot, NULL
    FROM quota_holding h WHERE h.organization_id = p_organization AND h.pool_id = ANY(v_pools)
        AND h.guaranteed + h.borrowed + h.spot > 0
    UNION ALL
    SELECT 'a', a.id, a.parent_id, a.name, a.archived_at, NULL, NULL, NULL, NULL, NULL, NULL
    FROM tenancy_account a WHERE a.organization_id = p_organization AND a.id = ANY(ARRAY(
        SELECT DISTINCT unnest(w.ancestors) FROM tenancy_account w
        WHERE w.organization_id = p_organization AND (w.name = ANY(p_accounts)
            OR w.id = ANY(v_accounts || ARRAY(
                SELECT q.account_id FROM quota_quota q
                WHERE q.organization_id = p_organization AND q.pool_id = ANY(v_pools)
                UNION ALL
                SELECT h.account_id FROM quota_holding h
                WHERE h.organization_id = p_organization AND h.pool_id = ANY(v_pools)
                    AND h.guaranteed + h.borrowed + h.spot > 0)))));
    IF v_lapsed THEN
        kind := 'l';
        RETURN NEXT;
    END IF;
    IF v_known THEN
        kind := 'k';
        RETURN NEXT;
    END IF;
END $$
"""


class Migration(migrations.Migration):
    dependencies = [("quota", "0011_allocation_work"), ("tenancy", "0001_initial")]

    operations = [
        migrations.RunSQL(
            STANDING,
            "DROP FUNCTION quota_standing("
            "uuid, text[], uuid[], boolean, timestamptz, text[], text[], text[])",
        )
    ]
