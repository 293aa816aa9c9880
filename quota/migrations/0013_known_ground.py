"""What pools stand at, without what is known already; checks that every admission pays for say the
same in fewer words. What 0012 made stays: processes of the release before may still ask it."""

from django.db import migrations, models
from django.db.models import F, Q
from django.db.models.functions import Least
from django.db.models.lookups import GreaterThanOrEqual

# Kinds of rows as before, and s: the stamp of all that hardly ever changes, and whether it is the
# one that is known: then rows of kinds q, a, p and t are left out. Accounts, people, quotas and times
# change by events of the organization's main lane alone, and the head of a lane tells what it holds;
# `remade` counts when projections were put right without an event. The stamp is read behind the
# locks of the pools, and before what it stands for: nothing older is ever taken for it.
#
# Each statement of a function sees what was committed while the one before waited for the lock.
# Generic plans: planning these anew costs more than running them. What is rarely there is a statement
# of its own: a plan is set up node by node for every call. Of what has lapsed the first is looked for,
# pool by pool: only one index has them in this order. Without it every allocation that there ever
# was could be read for each admission, until the table has been analyzed.
STANDING = """CREATE FUNCTION quota_standing(
    p_organization uuid, p_pool_names text[], p_pool_ids uuid[], p_lock boolean,
    p_now timestamptz, p_accounts text[], p_people text[], p_keys text[], p_known text)
RETURNS TABLE (
    kind text, first uuid, second uuid, name text, at timestamptz,
    n1 bigint, n2 bigint, n3 bigint, n4 bigint, n5 bigint)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    v_pools uuid[] := p_pool_ids;
    v_accounts uuid[] := '{}';
    v_lapsed boolean;
    v_known boolean;
    v_due boolean;
    v_reserved boolean;
    v_stamp text;
    v_same boolean;
BEGIN
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
            p.safety_margin, p.reclaim_target_seconds::bigint, NULL::bigint
        FROM quota_pool p WHERE p.organization_id = p_organization AND p.id = ANY(v_pools)
        ORDER BY p.id FOR NO KEY UPDATE;
    END IF;
    SELECT h.seq || ' ' || h.remade || ' ' || encode(h.hash, 'hex') INTO v_stamp
        FROM ledger_lane h WHERE h.organization_id = p_organization AND h.lane = p_organization;
    SELECT
        EXISTS (SELECT FROM unnest(v_pools) AS n(pool_id) CROSS JOIN LATERAL (
            SELECT FROM quota_allocation l WHERE l.organization_id = p_organization
                AND l.pool_id = n.pool_id AND l.lapses_at <= p_now
            ORDER BY l.lapses_at LIMIT 1) AS lapsed),
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
            NULL::bigint, NULL::bigint, NULL::bigint;
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
            NULL::bigint, NULL::bigint
        FROM reserved
        UNION ALL
        SELECT 'r', id, account_id, key, until, most, slow::int::bigint, NULL, NULL, NULL
        FROM reserved
        UNION ALL
        SELECT 'o', r.id, o.id, NULL, NULL, least((c->>'units')::bigint,
            greatest(0, o.units - (c->>'left')::bigint)), NULL, NULL, NULL, NULL
        FROM reserved r CROSS JOIN LATERAL jsonb_array_elements(r.claims) c
        JOIN quota_allocation o ON o.organization_id = p_organization
            AND o.id = (c->>'allocation_id')::uuid AND o.lapses_at IS NOT NULL;
    END IF;
    RETURN QUERY
    SELECT 'h', h.pool_id, h.account_id, NULL, NULL::timestamptz, h.guaranteed, h.borrowed, h.spot,
        h.slow_borrowed, h.slow_spot
    FROM quota_holding h WHERE h.organization_id = p_organization AND h.pool_id = ANY(v_pools)
        AND h.guaranteed + h.borrowed + h.spot > 0;
    v_same := v_stamp = p_known AND NOT v_due AND NOT v_reserved;
    IF v_same IS NOT TRUE THEN
        RETURN QUERY
        SELECT 'q', q.pool_id, q.account_id, NULL, q.ends_at, q.guaranteed, q.borrowing_limit,
            q.lending_limit, NULL::bigint, NULL::bigint
        FROM quota_quota q WHERE q.organization_id = p_organization AND q.pool_id = ANY(v_pools)
        UNION ALL
        SELECT 'a', a.id, a.parent_id, a.name, a.archived_at, NULL, NULL, NULL, NULL, NULL
        FROM tenancy_account a WHERE a.organization_id = p_organization AND a.id = ANY(ARRAY(
            SELECT DISTINCT unnest(w.ancestors) FROM tenancy_account w
            WHERE w.organization_id = p_organization AND (w.name = ANY(p_accounts)
                OR w.id = ANY(v_accounts || ARRAY(
                    SELECT q.account_id FROM quota_quota q
                    WHERE q.organization_id = p_organization AND q.pool_id = ANY(v_pools)
                    UNION ALL
                    SELECT h.account_id FROM quota_holding h
                    WHERE h.organization_id = p_organization AND h.pool_id = ANY(v_pools)
                        AND h.guaranteed + h.borrowed + h.spot > 0)))))
        UNION ALL
        SELECT 'p', p.id, NULL, p.name, NULL, NULL, NULL, NULL, NULL, NULL
        FROM tenancy_person p WHERE p.organization_id = p_organization AND p.name = ANY(p_people)
        UNION ALL
        SELECT 't', NULL, NULL, NULL, NULL, t.hold_seconds, t.lease_seconds, t.heartbeat_seconds,
            t.interactive_seconds_max, NULL
        FROM quota_admissionpolicy t WHERE t.organization_id = p_organization;
    END IF;
    kind := 's';
    name := v_stamp;
    n1 := v_same::int;
    RETURN NEXT;
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
DROP = """
DROP FUNCTION quota_standing(
    uuid, text[], uuid[], boolean, timestamptz, text[], text[], text[], text)
"""


class Migration(migrations.Migration):
    dependencies = [("quota", "0012_standing"), ("ledger", "0007_remade")]

    operations = [
        migrations.RunSQL(STANDING, DROP),
        migrations.RemoveConstraint("allocation", "quota_allocation_units"),
        migrations.RemoveConstraint("allocation", "quota_allocation_words"),
        migrations.RemoveConstraint("allocation", "quota_allocation_ended"),
        migrations.RemoveConstraint("holding", "quota_holding_not_negative"),
        migrations.AddConstraint(
            "allocation",
            models.CheckConstraint(
                condition=GreaterThanOrEqual(
                    Least(
                        "min_units",
                        F("units") - F("min_units"),
                        F("wanted_units") - F("units"),
                    ),
                    0,
                ),
                name="quota_allocation_units",
            ),
        ),
        migrations.AddConstraint(
            "allocation",
            models.CheckConstraint(
                condition=Q(
                    priority_class__in=("P0", "P1", "P2", "P3"),
                    tier__in=("guaranteed", "borrowed", "spot"),
                )
                & (
                    Q(state__in=("held", "running"), ended_at__isnull=True, lapses_at__isnull=False)
                    | Q(
                        state__in=("released", "preempted", "expired"),
                        ended_at__isnull=False,
                        lapses_at__isnull=True,
                    )
                ),
                name="quota_allocation_words",
            ),
        ),
        migrations.AddConstraint(
            "holding",
            models.CheckConstraint(
                condition=GreaterThanOrEqual(
                    Least(
                        *("guaranteed", "slow_borrowed", "slow_spot"),
                        F("borrowed") - F("slow_borrowed"),
                        F("spot") - F("slow_spot"),
                    ),
                    0,
                ),
                name="quota_holding_not_negative",
            ),
        ),
    ]
