from django.db import migrations

# Comes before an organization is known, like the questions of 0001: whom a verified e-mail address
# lets in. It tells ids only, and only of people without a login.
PEOPLE_OF_EMAIL = """
CREATE INDEX tenancy_person_email ON tenancy_person (lower(email)) WHERE user_id IS NULL;
CREATE FUNCTION tenancy_people_of_email(wanted text)
RETURNS TABLE (organization_id uuid, person_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp
AS $$
    SELECT p.organization_id, p.id FROM tenancy_person p
    WHERE p.user_id IS NULL AND wanted <> '' AND lower(p.email) = lower(wanted)
    ORDER BY p.organization_id, p.added_at, p.id
$$;
"""
PEOPLE_OF_EMAIL_REVERSE = """
DROP FUNCTION tenancy_people_of_email(text);
DROP INDEX tenancy_person_email;
"""


class Migration(migrations.Migration):
    dependencies = [("tenancy", "0001_initial")]

    operations = [migrations.RunSQL(PEOPLE_OF_EMAIL, PEOPLE_OF_EMAIL_REVERSE)]
