"""Units of a pool can be set aside for a job; what pools stand at tells of them as well."""

import importlib

from django.db import migrations, models

from ledger.rls import tenant_wall

BEFORE = importlib.import_module("quota.migrations.0005_standing").STANDING.replace(
    "CREATE FUNCTION", "CREATE OR REPLACE FUNCTION"
)
# As before, with what is reserved: R its pool and tier, r its account, key and units, o what an
# allocation still owes to it.
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
    v_pools uuid[];
BEGIN
    IF p_lock THEN
        -- Always in the order of their ids, so that no two commands wait for each other.
        PERFORM FROM quota_pool p
        WHERE p.organization_id = p_organization
            AND (p.name = ANY(p_pool_names) OR p.id = ANY(p_pool_ids))
        ORDER BY p.id FOR NO KEY UPDATE;
    END IF;
    v_pools := ARRAY(
        SELECT p.id FROM quota_pool p WHERE p.organization_id = p_organization
            AND (p.name = ANY(p_pool_names) OR p.id = ANY(p_pool_ids)));
    RETURN QUERY
    WITH quotas AS MATERIALIZED (
        SELECT q.pool_id, q.account_id, q.guaranteed, q.borrowing_limit, q.lending_limit, q.ends_at,
            q.base_guaranteed, q.base_borrowing_limit, q.base_lending_limit
        FROM quota_quota q WHERE q.organization_id = p_organization AND q.pool_id = ANY(v_pools)
    ), holdings AS MATERIALIZED (
        SELECT h.pool_id, h.account_id, h.guaranteed, h.borrowed, h.spot, h.slow_borrowed,
            h.slow_spot
        FROM quota_holding h WHERE h.organization_id = p_organization AND h.pool_id = ANY(v_pools)
            AND h.guaranteed + h.borrowed + h.spot > 0
    ), due AS MATERIALIZED (
        SELECT s.pool_id, s.account_id FROM quota_scheduled s
        WHERE s.organization_id = p_organization AND s.pool_id = ANY(v_pools)
            AND s.starts_at <= p_now
    ), reserved AS MATERIALIZED (
        SELECT r.id, r.pool_id, r.account_id, r.key, r.tier, r.slow, r.until, r.claims,
            least(r.units, r.free_units + (
                SELECT coalesce(sum((c->>'units')::bigint), 0)::bigint
                FROM jsonb_array_elements(r.claims) c)) AS most
        FROM quota_reservation r
        WHERE r.organization_id = p_organization AND r.pool_id = ANY(v_pools) AND r.until > p_now
    ), wanted AS (
        SELECT a.ancestors FROM tenancy_account a
        WHERE a.organization_id = p_organization AND a.name = ANY(p_accounts)
        UNION ALL
        SELECT a.ancestors FROM (
            SELECT account_id FROM quotas UNION SELECT account_id FROM holdings
            UNION SELECT account_id FROM due UNION SELECT account_id FROM reserved
        ) s JOIN tenancy_account a ON a.organization_id = p_organization AND a.id = s.account_id
    ), accounts AS (
        SELECT a.id, a.parent_id, a.name, a.archived_at
        FROM (SELECT DISTINCT unnest(ancestors) AS id FROM wanted) w
        JOIN tenancy_account a ON a.organization_id = p_organization AND a.id = w.id
    )
    SELECT 'P', p.id, NULL::uuid, p.name, NULL::timestamptz, p.capacity, p.unavailable,
        p.safety_margin, p.reclaim_target_seconds::bigint, NULL::bigint, NULL::bigint
    FROM quota_pool p WHERE p.organization_id = p_organization AND p.id = ANY(v_pools)
    UNION ALL
    SELECT 'a', id, parent_id, name, archived_at, NULL, NULL, NULL, NULL, NULL, NULL FROM accounts
    UNION ALL
    SELECT 'q', pool_id, account_id, NULL, ends_at, guaranteed, borrowing_limit, lending_limit,
        base_guaranteed, base_borrowing_limit, base_lending_limit FROM quotas
    UNION ALL
    SELECT 'h', pool_id, account_id, NULL, NULL, guaranteed, borrowed, spot, slow_borrowed,
        slow_spot, NULL FROM holdings
    UNION ALL
    SELECT 'd', pool_id, account_id, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM due
    UNION ALL
    SELECT 'R', id, pool_id, tier, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM reserved
    UNION ALL
    SELECT 'r', id, account_id, key, until, most, slow::int::bigint, NULL, NULL, NULL, NULL
    FROM reserved
    UNION ALL
    SELECT 'o', r.id, o.id, NULL, NULL, least((c->>'units')::bigint,
        greatest(0, o.units - (c->>'left')::bigint)), NULL, NULL, NULL, NULL, NULL
    FROM reserved r CROSS JOIN LATERAL jsonb_array_elements(r.claims) c
    JOIN quota_allocation o ON o.organization_id = p_organization
        AND o.id = (c->>'allocation_id')::uuid AND o.lapses_at IS NOT NULL
    UNION ALL
    SELECT 'p', p.id, NULL, p.name, NULL, NULL, NULL, NULL, NULL, NULL, NULL
    FROM tenancy_person p WHERE p.organization_id = p_organization AND p.name = ANY(p_people)
    UNION ALL
    SELECT 'l', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL WHERE EXISTS (
        SELECT 1 FROM quota_allocation l WHERE l.organization_id = p_organization
            AND l.pool_id = ANY(v_pools) AND l.lapses_at <= p_now)
    UNION ALL
    SELECT 'k', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL WHERE EXISTS (
        SELECT 1 FROM quota_allocation k
        WHERE k.organization_id = p_organization AND k.key = ANY(p_keys))
    UNION ALL
    SELECT 't', NULL, NULL, NULL, NULL, t.hold_seconds, t.lease_seconds, t.heartbeat_seconds,
        t.interactive_seconds_max, NULL, NULL
    FROM quota_admissionpolicy t WHERE t.organization_id = p_organization;
END $$
"""


class Migration(migrations.Migration):
    dependencies = [
        ("quota", "0008_cycles"),
    ]

    operations = [
        migrations.CreateModel(
            name="Reservation",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "organization_id",
                        "id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("organization_id", models.UUIDField()),
                ("id", models.UUIDField()),
                ("pool_id", models.UUIDField()),
                ("account_id", models.UUIDField()),
                ("key", models.TextField()),
                ("tier", models.TextField()),
                ("slow", models.BooleanField()),
                ("units", models.BigIntegerField()),
                ("free_units", models.BigIntegerField()),
                ("until", models.DateTimeField()),
                ("claims", models.JSONField()),
            ],
            options={
                "db_table": "quota_reservation",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("free_units__gte", 0),
                            ("tier__in", ("guaranteed", "borrowed", "spot")),
                            ("units__gt", 0),
                        ),
                        name="quota_reservation_units",
                    )
                ],
                "indexes": [
                    models.Index(
                        models.F("organization_id"),
                        models.F("pool_id"),
                        models.F("until"),
                        name="quota_reservation_pool",
                    )
                ],
            },
        ),
        tenant_wall("quota_reservation"),
        migrations.RunSQL(STANDING, BEFORE),
    ]
