"""Two batches that need the same new partition at once: the second finds what the first made."""

from django.db import migrations

FUNCTION = """
CREATE OR REPLACE FUNCTION accounting_ensure_partitions(first_day date, last_day date) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    month date := date_trunc('month', first_day)::date;
    made integer := 0;
    partition text;
BEGIN
    IF first_day < '2000-01-01' OR last_day > '2100-01-01' THEN
        RAISE EXCEPTION 'usage partitions are made from 2000 to 2099 only';
    END IF;
    WHILE month <= last_day LOOP
        partition := 'accounting_usagerecord_' || to_char(month, 'YYYYMM');
        IF to_regclass(partition) IS NULL THEN
            PERFORM pg_advisory_xact_lock(hashtextextended('accounting_ensure_partitions', 0));
            -- Read from the catalog: to_regclass would repeat from its cache what it said before
            -- the lock, though whoever held it has made the partition meanwhile.
            IF NOT EXISTS (SELECT FROM pg_class c WHERE c.relname = partition
                    AND c.relnamespace = 'public'::regnamespace) THEN
                EXECUTE format(
                    'CREATE TABLE %I (LIKE accounting_usagerecord INCLUDING DEFAULTS INCLUDING CONSTRAINTS)',
                    partition);
                -- Only rows of the month: lets the attach skip its scan and its exclusive lock.
                EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', partition);
                EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', partition);
                IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'apportion_app') THEN
                    EXECUTE format('REVOKE ALL ON %I FROM apportion_app', partition);
                END IF;
                EXECUTE format(
                    'ALTER TABLE accounting_usagerecord ATTACH PARTITION %I '
                    'FOR VALUES FROM (%L) TO (%L)',
                    partition,
                    to_char(month, 'YYYY-MM-DD') || ' 00:00:00+00',
                    to_char(month + interval '1 month', 'YYYY-MM-DD') || ' 00:00:00+00');
                made := made + 1;
            END IF;
        END IF;
        month := (month + interval '1 month')::date;
    END LOOP;
    RETURN made;
END $$;
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounting", "0004_jobs"),
    ]

    operations = [
        # The function of 0001 fails where this one waits; there is no way back to it.
        migrations.RunSQL(FUNCTION, migrations.RunSQL.noop),
    ]
