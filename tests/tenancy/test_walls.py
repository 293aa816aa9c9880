"""Organizations never see each other, whatever SQL runs under the application's role."""

import json
from datetime import timedelta
from uuid import UUID

import psycopg
import pytest
from django.db import connection, transaction

from ledger import readers, scope
from ledger.sql import server_cursor
from notices import preferences, reading
from quota.commands.admissions import AdmitBatch
from quota.commands.policies import SetAdmissionPolicy
from quota.commands.quotas import SetQuota
from quota.wire import Ask
from tenancy import authentication, queries
from tests import world
from tests.accounting import sample_statements
from tests.accounting.budgets import sample_budgets
from tests.preemption import sample_detections, sample_plans, sample_reclaim
from tests.quota.cycles import sample_cycles
from tests.quota.requests import sample_requests
from tests.world import NOW, Tenant, record

DEFINER_FUNCTIONS = {
    "accounting_ensure_partitions",
    "ledger_organization_ids",
    "ledger_traced_organization_ids",
    "tenancy_authenticate_token",
    "tenancy_organization_by_slug",
    "tenancy_organizations_of",
    "tenancy_people_of_email",
}
"""Functions that see more than one organization. Each answers only what its argument proves, or
ids alone; one more here needs a reason in docs/decisions/0006-identity.md."""

NO_TENANT = {
    "auth_group",
    "auth_group_permissions",
    "auth_permission",
    "account_emailaddress",
    "account_emailconfirmation",
    "django_content_type",
    "django_migrations",
    "django_session",
    "socialaccount_socialaccount",
    "socialaccount_socialapp",
    "socialaccount_socialtoken",
    "tenancy_user",
    "tenancy_user_groups",
    "tenancy_user_user_permissions",
}
"""Tables of logins, which belong to no organization, and of the frameworks."""


def ask(sql: str, params: tuple = ()) -> list[tuple]:
    with server_cursor() as cursor:
        cursor.execute(sql, params)
        return cursor.fetchall() if cursor.description else []


def tables() -> dict[str, str]:
    """Name and organization column of every tenant table, partitions apart."""
    rows = ask(
        "SELECT c.relname, a.attname FROM pg_class c LEFT JOIN pg_attribute a "
        "ON a.attrelid = c.oid AND a.attname = 'organization_id' AND NOT a.attisdropped "
        "WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') "
        "AND NOT c.relispartition ORDER BY 1"
    )
    return {
        name: column or "id"
        for name, column in rows
        if column is not None or name == "tenancy_organization"
    }


@pytest.fixture
def place(owner) -> Tenant:
    """acme with a row in every tenant table."""
    acme = world.acme()
    acme.use(record("a"), record("b", hours=None))
    authentication.authenticate_token(acme.token(), now=NOW)
    readers.catch_up(readers.Reader(name="test", handle=lambda run: None), acme.id)
    quota = {"account_id": acme.accounts["nlp"], "pool_id": acme.pools["h100"], "guaranteed": 8}
    acme.run(SetQuota(**quota), reason="test")
    acme.run(SetQuota(**quota, effective_at=NOW + timedelta(days=1)), reason="test")
    job = Ask(key="j", account="nlp", person="bob", pool="h100", units=1)
    times = {"hold_seconds": 60, "lease_seconds": 600, "heartbeat_seconds": 60}
    acme.run(SetAdmissionPolicy(**times, interactive_seconds_max=3600), reason="test")
    acme.run(AdmitBatch(requests=(job,)))
    sample_statements.closed(acme)
    sample_requests.asked(acme)
    sample_cycles.reviewed(acme)
    sample_plans.planned(acme)
    sample_reclaim.demoted(acme)
    sample_budgets.spoken(acme)
    sample_detections.found(acme)
    told(acme)
    acme.account("keyed")
    from tenancy.commands.accounts import OpenAccount

    acme.run(OpenAccount(parent_id=acme.root, name="receipt"), idempotency_key="k")
    return acme


def told(acme: Tenant) -> None:
    """Alice is told of her quota, by mail too, and has chosen what else comes."""
    choice = {"mail": "now", "muted": frozenset({"quota.ended"}), "now": NOW}
    preferences.choose(acme.id, acme.people["alice"], **choice)
    reading.read_events(acme.id, now=NOW)


def test_every_table_is_walled_or_known_to_be_of_no_tenant(db):
    names = {
        row[0]
        for row in ask(
            "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace "
            "AND relkind IN ('r', 'p', 'm', 'v', 'f') AND NOT relispartition"
        )
    }
    assert names - set(tables()) == NO_TENANT


def test_every_tenant_table_has_its_wall_forced_with_one_policy_for_all(db):
    for name, column in tables().items():
        enabled, forced = ask(
            "SELECT relrowsecurity, relforcerowsecurity FROM pg_class "
            "WHERE oid = %b::text::regclass",
            (name,),
        )[0]
        assert (enabled, forced) == (True, True), name
        policies = ask(
            "SELECT policyname, cmd, roles::text, qual, with_check FROM pg_policies "
            "WHERE schemaname = 'public' AND tablename = %b AND policyname <> 'directory'",
            (name,),
        )
        ((policy, command, roles, using, check),) = policies
        assert (policy, command, roles) == ("tenant", "ALL", "{public}"), name
        assert using == check, name
        assert using.startswith(f"({column} = "), name
        assert "ledger_current_organization()" in using, name


def test_the_directory_policy_is_for_the_owner_and_for_reading(db):
    rows = ask("SELECT tablename, cmd, roles::text FROM pg_policies WHERE policyname = 'directory'")
    me = ask("SELECT current_user")[0][0]
    assert rows
    assert all(command == "SELECT" and me not in roles for _, command, roles in rows)


def test_without_an_organization_nothing_is_seen_and_nothing_can_be_written(place, owner):
    for name in tables():
        sample = owner.execute(f"SELECT to_jsonb(t) FROM {name} t LIMIT 1").fetchone()
        assert sample is not None, f"{name} has no row to try it with"
        assert ask(f"SELECT count(*) FROM {name}") == [(0,)], name
        refused(name, sample[0])


def test_in_another_organization_nothing_of_this_one_is_seen_or_written(place, owner):
    globex = world.globex()
    for name, column in tables().items():
        sample = owner.execute(
            f"SELECT to_jsonb(t) FROM {name} t WHERE {column} = %s LIMIT 1", (place.id,)
        ).fetchone()[0]
        before = owner.execute(f"SELECT count(*) FROM {name}").fetchone()
        with scope.reading(globex.id):
            count = ask(f"SELECT count(*) FROM {name} WHERE {column} = %b", (place.id,))
            assert count == [(0,)], name
            refused(name, sample)
            untouched(name, column, place.id)
        assert owner.execute(f"SELECT count(*) FROM {name}").fetchone() == before


def refused(name: str, sample: dict) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege), transaction.atomic():
        ask(
            f"INSERT INTO {name} SELECT (jsonb_populate_record(NULL::{name}, %b::text::jsonb)).* "
            "RETURNING 1",
            (json.dumps(sample),),
        )


def untouched(name: str, column: str, organization_id: UUID) -> None:
    for statement in (
        f"UPDATE {name} SET {column} = {column} WHERE {column} = %b RETURNING 1",
        f"DELETE FROM {name} WHERE {column} = %b RETURNING 1",
    ):
        try:
            with transaction.atomic():
                assert ask(statement, (organization_id,)) == []
        except psycopg.errors.InsufficientPrivilege:
            pass  # append-only


def test_a_row_cannot_be_handed_to_another_organization(acme, globex):
    with (
        pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"),
        scope.reading(acme.id),
    ):
        ask(
            "UPDATE tenancy_person SET organization_id = %b WHERE name = 'bob' RETURNING 1",
            (globex.id,),
        )


def test_the_wall_cannot_be_switched_off(acme):
    with (
        pytest.raises(psycopg.errors.InsufficientPrivilege),
        transaction.atomic(),
    ):
        ask("SET LOCAL row_security = off")
        ask("SELECT count(*) FROM tenancy_account")
    with pytest.raises(psycopg.errors.InsufficientPrivilege), transaction.atomic():
        ask("ALTER TABLE tenancy_account DISABLE ROW LEVEL SECURITY")


def test_the_application_role_owns_nothing_and_bypasses_nothing(db):
    ((me, is_super, bypass, create_role, create_database),) = ask(
        "SELECT rolname, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb "
        "FROM pg_roles WHERE rolname = current_user"
    )
    assert me == "apportion_app"
    assert not (is_super or bypass or create_role or create_database)
    owned = (
        "SELECT 'relation', relname::text FROM pg_class WHERE relowner = current_user::regrole "
        "AND relpersistence <> 't' AND relnamespace::regnamespace::text !~ '^pg_t' "
        "UNION ALL SELECT 'function', proname::text FROM pg_proc "
        "WHERE proowner = current_user::regrole "
        "UNION ALL SELECT 'schema', nspname::text FROM pg_namespace "
        "WHERE nspowner = current_user::regrole AND nspname !~ '^pg_t'"
    )
    assert ask(owned) == []
    assert ask("SELECT has_schema_privilege(current_user, 'public', 'CREATE')") == [(False,)]


def test_partitions_can_be_reached_only_through_their_parent(acme):
    acme.use(record("a"))
    partitions = ask(
        "SELECT c.oid::regclass::text, relrowsecurity, relforcerowsecurity FROM pg_class c "
        "WHERE relispartition AND relkind = 'r' AND relnamespace = 'public'::regnamespace"
    )
    assert partitions
    with scope.reading(acme.id):
        assert ask("SELECT count(*) FROM accounting_usagerecord") == [(1,)]
        for name, enabled, forced in partitions:
            assert (enabled, forced) == (True, True)
            for statement in (f"SELECT * FROM {name}", f"DELETE FROM {name} RETURNING 1"):
                with (
                    pytest.raises(psycopg.errors.InsufficientPrivilege),
                    transaction.atomic(),
                ):
                    ask(statement)


def test_functions_that_see_more_are_exactly_the_known_ones(db):
    rows = ask(
        "SELECT proname, proconfig::text FROM pg_proc "
        "WHERE prosecdef AND pronamespace = 'public'::regnamespace"
    )
    assert {name for name, _ in rows} == DEFINER_FUNCTIONS
    for name, configuration in rows:
        assert "search_path=public, pg_temp" in (configuration or ""), name


def test_a_scope_ends_with_its_transaction(transactional_db):
    acme = world.acme()
    with scope.reading(acme.id):
        assert scope.current() == acme.id
        assert ask("SELECT count(*) FROM tenancy_organization") == [(1,)]
    assert scope.current() is None
    assert ask("SELECT count(*) FROM tenancy_organization") == [(0,)]
    with pytest.raises(RuntimeError, match="inside a transaction"):
        scope.enter(acme.id)


def test_a_failed_transaction_leaves_no_scope_behind(transactional_db):
    acme = world.acme()
    with pytest.raises(ZeroDivisionError), scope.writing(acme.id):
        raise ZeroDivisionError
    assert scope.current() is None
    assert ask("SELECT count(*) FROM tenancy_organization") == [(0,)]


def test_one_scope_inside_another_is_refused_for_writing(transactional_db):
    acme = world.acme()
    with (
        scope.reading(acme.id),
        pytest.raises(RuntimeError, match="durable"),
        scope.writing(acme.id),
    ):
        pass


def test_directory_questions_answer_only_what_the_argument_proves(acme, globex):
    login = acme.login("alice")
    assert [choice.slug for choice in queries.organizations_of(login.pk)] == ["acme"]
    assert queries.organizations_of(login.pk + 1) == []
    assert queries.organization_id_by_slug("globex") == globex.id
    assert queries.organization_id_by_slug("nowhere") is None
    assert scope.organization_ids() == sorted([acme.id, globex.id])
    assert not connection.needs_rollback


def test_one_login_may_be_a_person_in_two_organizations(acme, globex):
    from tenancy.commands.people import LinkLogin

    login = acme.login("alice")
    globex.run(LinkLogin(person_id=globex.people["charlie"], user_id=login.pk))
    choices = queries.organizations_of(login.pk)
    assert [(c.slug, c.person_name) for c in choices] == [("acme", "alice"), ("globex", "charlie")]
