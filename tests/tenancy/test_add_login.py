"""`manage.py add_login`: the first operator of an organization, and everybody after."""

import re
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from ledger import scope
from tenancy import queries
from tenancy.models import User


def add_login(email, **options):
    said = StringIO()
    call_command("add_login", email, stdout=said, **options)
    return said.getvalue()


def roles(tenant, name):
    with scope.reading(tenant.id):
        person = queries.person_by_name(tenant.id, name)
        return {tuple(role) for role in queries.roles_of(tenant.id, person.id)}


def test_the_first_operator_chooses_a_password_and_signs_in(acme, client):
    said = add_login("Olga@Example.org", role="operator", display_name="Olga")
    assert "olga@example.org may sign in to acme as olga, operator on root." in said
    link = re.search(r"http://localhost:8000(\S+)", said).group(1)
    form_at = client.get(link)["Location"]
    passwords = {"password1": "quartz-otter-lamp-77", "password2": "quartz-otter-lamp-77"}
    assert client.post(form_at, passwords).status_code == 302
    form = {"login": "olga@example.org", "password": "quartz-otter-lamp-77"}
    assert client.post("/accounts/login/", form)["Location"] == "/"
    assert client.get("/settings/tokens").status_code == 200
    # The link was good once.
    assert client.get(link).status_code == 200


def test_whoever_is_known_by_the_address_is_meant(acme):
    assert "as bob." in add_login("bob@example.org")
    assert [one.person_name for one in queries.organizations_of(User.objects.get().pk)] == ["bob"]


def test_a_second_run_changes_nothing_but_may_add_a_role(acme):
    add_login("bob@example.org")
    assert "as bob, lead on nlp" in add_login("bob@example.org", role="lead", account="nlp")
    assert User.objects.count() == 1
    assert ("nlp", "lead") in roles(acme, "bob")


def test_one_login_serves_several_organizations(acme, globex):
    add_login("bob@example.org", organization="acme")
    add_login("bob@example.org", organization="globex", person="charlie")
    names = {one.person_name for one in queries.organizations_of(User.objects.get().pk)}
    assert names == {"bob", "charlie"}


@pytest.mark.parametrize(
    ("email", "options", "said"),
    [
        ("nobody", {}, "not an e-mail address"),
        ("new@example.org", {"organization": "none"}, "no organization none"),
        ("new@example.org", {"role": "lead", "account": "none"}, "no such account"),
        ("new@example.org", {"person": "alice"}, "has another login"),
        ("alice@example.org", {"person": "bob"}, "signs in as alice already"),
    ],
)
def test_what_cannot_be_is_said_and_nothing_is_made(acme, email, options, said):
    acme.login("alice")
    with pytest.raises(CommandError, match=said):
        add_login(email, **options)
    assert User.objects.count() == 1
