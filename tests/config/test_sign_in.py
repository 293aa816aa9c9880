"""Signing in: throttled with a password, and by an identity provider only whom one knows."""

from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import settings as django_settings
from django.core.cache import cache

from config import oidc
from tenancy import queries
from tenancy.commands.people import AddPerson
from tenancy.models import User
from tests.config.identity_provider import CLIENT, SECRET, IdentityProvider

LOGIN = "/accounts/oidc/sso/login/"
BOB = {"sub": "4711", "email": "Bob@Example.org", "email_verified": True, "name": "Bob"}


@pytest.fixture
def provider(settings, db):
    """Single sign-on as an operator turns it on, at a provider that knows Bob."""
    cache.clear()
    found = IdentityProvider()
    found.claims = dict(BOB)
    settings.ROOT_URLCONF = "tests.config.sso_urls"
    settings.SOCIALACCOUNT_PROVIDERS = {
        "openid_connect": oidc.provider(
            identifier="sso",
            name="Lab login",
            client_id=CLIENT,
            secret=SECRET,
            server_url=found.issuer,
            uid_field="sub",
        )
    }
    yield found
    found.close()


def sign_in(client, provider):
    """The round trip of a browser; the answer to its last step."""
    sent = client.post(LOGIN)
    assert sent.status_code == 302 and sent["Location"].startswith(provider.issuer)
    back = urlsplit(provider.authorize(sent["Location"]))
    return client.get(f"{back.path}?{back.query}")


def who(client):
    return client.session.get("_auth_user_id")


def test_the_verified_address_of_a_known_login_signs_in(acme, client, provider):
    bob = acme.login("bob")
    answer = sign_in(client, provider)
    assert (answer.status_code, answer["Location"]) == (302, "/")
    assert who(client) == str(bob.pk)


def test_the_verified_address_of_an_imported_person_signs_in(acme, globex, client, provider):
    globex.run(AddPerson(name="robert", email="bob@example.org"))
    assert sign_in(client, provider).status_code == 302
    user = User.objects.get(pk=who(client))
    assert user.email == "bob@example.org" and not user.has_usable_password()
    # One login for both organizations that know the address, and nothing else of them.
    assert {
        (one.organization_id, one.person_name) for one in queries.organizations_of(user.pk)
    } == {
        (acme.id, "bob"),
        (globex.id, "robert"),
    }
    assert client.get("/").status_code == 200


def test_the_second_time_the_subject_counts_and_not_the_address(acme, client, provider):
    sign_in(client, provider)
    first = who(client)
    client.logout()
    provider.claims |= {"email": "renamed@example.org"}
    sign_in(client, provider)
    assert who(client) == first


@pytest.mark.parametrize(
    "claims",
    [
        {"email": "mallory@example.org"},
        {"email_verified": False},
        {"email": ""},
    ],
    ids=["unknown", "unverified", "none"],
)
def test_nobody_else_gets_in(acme, client, provider, claims):
    provider.claims |= claims
    answer = sign_in(client, provider)
    assert who(client) is None
    assert User.objects.count() == 0
    shown = client.get(answer["Location"]) if answer.status_code == 302 else answer
    assert b'class="entrance"' in shown.content


def test_a_person_whose_login_is_closed_stays_out(acme, client, provider):
    bob = acme.login("bob")
    User.objects.filter(pk=bob.pk).update(is_active=False)
    sign_in(client, provider)
    assert who(client) is None


@pytest.mark.parametrize("change", ["state", "code"])
def test_a_forged_way_back_is_refused(acme, client, provider, change):
    acme.login("bob")
    sent = client.post(LOGIN)
    back = urlsplit(provider.authorize(sent["Location"]))
    asked = {name: values[0] for name, values in parse_qs(back.query).items()}
    client.get(back.path, asked | {change: "forged"})
    assert who(client) is None


def test_a_stolen_code_is_worth_nothing_to_another_browser(acme, client, provider):
    from django.test import Client

    acme.login("bob")
    back = urlsplit(provider.authorize(client.post(LOGIN)["Location"]))
    thief = Client()
    thief.get(f"{back.path}?{back.query}")
    assert who(thief) is None


def test_single_sign_on_is_off_unless_configured(client, db):
    assert django_settings.OIDC_ENABLED is False
    assert client.post(LOGIN).status_code == 404


def test_guessing_a_password_is_throttled_for_the_account(acme, client):
    cache.clear()
    acme.login("bob")
    form = {"login": "bob@example.org"}
    for _ in range(5):
        assert client.post("/accounts/login/", form | {"password": "wrong"}).status_code == 200
    # From now on for a while the right password, too, or guessing would go on unseen.
    answer = client.post("/accounts/login/", form | {"password": "secret-of-bob"})
    assert who(client) is None
    assert b"Too many failed login attempts" in answer.content


def test_sign_in_is_throttled_for_an_address_of_the_network(acme, client):
    cache.clear()
    form = {"password": "wrong"}
    answers = [
        client.post("/accounts/login/", form | {"login": f"p{n}@example.org"}) for n in range(31)
    ]
    assert answers[-1].status_code == 429
    cache.clear()
