"""Forms: tokens shown once, roles given and taken, sign-in; each by those who may only."""

import re
from datetime import timedelta

import pytest
from django.core.cache import cache

from ledger import scope
from tenancy import queries
from tenancy.authentication import authenticate_token
from tests.world import NOW

TOKEN = re.compile(r"apn_live_[0-9a-f]+_[0-9a-f]+_[0-9a-f]{8}")
GOOD = {"name": "cluster-north", "scopes": ["usage:write"], "days": "30", "key": "k1"}


def tokens_of(tenant):
    with scope.reading(tenant.id):
        return queries.tokens(tenant.id)


def roles_on(tenant, account):
    with scope.reading(tenant.id):
        return {
            (r.person_name, r.role) for r in queries.roles_on(tenant.id, tenant.accounts[account])
        }


def test_a_new_token_is_shown_once_and_works(acme, browse):
    client = browse(acme, "otto")
    page = client.post("/settings/tokens/issue", GOOD).content.decode()
    secret = TOKEN.search(page).group()
    machine = authenticate_token(secret, now=NOW)
    assert machine.organization_id == acme.id and machine.actor.scopes == {"usage:write"}
    assert not TOKEN.search(client.get("/settings/tokens").content.decode())
    assert tokens_of(acme)[0].expires_at == NOW + timedelta(days=30)


def test_the_same_form_sent_twice_makes_one_token(acme, browse):
    client = browse(acme, "otto")
    client.post("/settings/tokens/issue", GOOD)
    again = client.post("/settings/tokens/issue", GOOD)
    assert again.status_code == 409 and b"shown once" in again.content
    assert len(tokens_of(acme)) == 1


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"name": ""}, "required"),
        ({"scopes": []}, "required"),
        ({"scopes": ["root"]}, "not one of the available"),
        ({"days": "0"}, "greater than or equal to 1"),
        ({"days": "4000"}, "less than or equal to 366"),
    ],
)
def test_a_bad_token_form_comes_back_with_the_error_at_the_field(acme, browse, values, said):
    answer = browse(acme, "otto").post("/settings/tokens/issue", GOOD | values)
    assert answer.status_code == 400
    assert said in answer.content.decode()
    assert tokens_of(acme) == []


def test_rotating_gives_a_new_secret_and_keeps_the_old_for_a_while(acme, browse):
    old = acme.token()
    row = tokens_of(acme)[0]
    page = browse(acme, "otto").post(
        f"/settings/tokens/{row.id}/rotate", {"overlap_hours": "24", "days": "90"}
    )
    new = TOKEN.search(page.content.decode()).group()
    assert new != old
    for secret in (old, new):
        assert authenticate_token(secret, now=NOW).organization_id == acme.id


def test_rotating_asks_for_how_long_and_points_to_what_is_wrong(acme, browse):
    acme.token()
    client, row = browse(acme, "otto"), tokens_of(acme)[0]
    address = f"/settings/tokens/{row.id}/rotate"
    assert 'value="24"' in client.get(address).content.decode()
    answer = client.post(address, {"overlap_hours": "9999", "days": "90"})
    assert answer.status_code == 400
    assert '<a href="#id_overlap_hours">Hours the old secret stays good' in answer.content.decode()
    assert not TOKEN.search(answer.content.decode())


def test_a_token_may_be_bound_to_pools(acme, browse):
    client = browse(acme, "otto")
    assert client.post("/settings/tokens/issue", GOOD | {"pools": ["none"]}).status_code == 400
    page = client.post("/settings/tokens/issue", GOOD | {"pools": ["h100"]}).content.decode()
    assert TOKEN.search(page) and "only h100" in page
    assert tokens_of(acme)[0].pool_ids == (acme.pools["h100"],)


def test_revoking_takes_the_name_typed(acme, browse):
    acme.token()
    row = tokens_of(acme)[0]
    client, address = browse(acme, "otto"), f"/settings/tokens/{row.id}/revoke"
    assert client.post(address, {"confirm": "no"}).status_code == 400
    assert tokens_of(acme)[0].revoked_at is None
    assert client.post(address, {"confirm": "scheduler"}).status_code == 302
    assert tokens_of(acme)[0].revoked_at == NOW
    assert "good for nothing" in client.get("/settings/tokens").content.decode()


@pytest.mark.parametrize("name", ["alice", "bob", "uma"])
def test_only_operators_touch_tokens(acme, browse, name):
    acme.token()
    row = tokens_of(acme)[0]
    client = browse(acme, name)
    for address in ("issue", f"{row.id}/rotate", f"{row.id}/revoke"):
        assert client.post(f"/settings/tokens/{address}", GOOD).status_code == 403
    assert tokens_of(acme) == [row]


def test_roles_are_given_and_taken(acme, browse):
    client = browse(acme, "otto")
    form = {"account": "vision", "person": "bob", "role": "lead"}
    assert client.post("/settings/people/grant", form).status_code == 302
    assert ("bob", "lead") in roles_on(acme, "vision")
    assert "is lead on vision now" in client.get("/settings/people?account=vision").content.decode()
    client.post(
        "/settings/people/revoke",
        {"account": "vision", "person_id": str(acme.people["bob"]), "role": "lead"},
    )
    assert ("bob", "lead") not in roles_on(acme, "vision")


@pytest.mark.parametrize(
    "form",
    [
        {"account": "vision", "person": "nobody", "role": "lead"},
        {"account": "vision", "person": "bob", "role": "king"},
        {"account": "vision", "person": "", "role": "lead"},
    ],
)
def test_a_role_that_cannot_be_given_is_said(acme, browse, form):
    client = browse(acme, "otto")
    before = roles_on(acme, "vision")
    client.post("/settings/people/grant", form)
    assert (
        'class="notice problem"' in client.get("/settings/people?account=vision").content.decode()
    )
    assert roles_on(acme, "vision") == before


@pytest.mark.parametrize("name", ["alice", "bob", "uma"])
def test_only_operators_change_roles(acme, browse, name):
    form = {"account": "nlp", "person": name, "role": "operator"}
    assert browse(acme, name).post("/settings/people/grant", form).status_code == 403
    assert (name, "operator") not in roles_on(acme, "nlp")


def test_forms_need_their_csrf_token(acme, browse):
    client = browse(acme, "otto")
    client.handler.enforce_csrf_checks = True
    answer = client.post("/settings/tokens/issue", GOOD)
    assert answer.status_code == 403
    assert b"The form was too old" in answer.content


def test_sign_in_leads_back_to_the_page_asked_for(acme, client):
    cache.clear()
    acme.login("alice")
    form = {"login": "alice@example.org", "password": "secret-of-alice"}
    answer = client.post("/accounts/login/?next=/usage", form | {"next": "/usage"})
    assert (answer.status_code, answer["Location"]) == (302, "/usage")


@pytest.mark.parametrize("password", ["wrong", ""])
def test_a_failed_sign_in_does_not_say_who_is_known(acme, client, password):
    cache.clear()
    acme.login("alice")
    said = []
    for email in ("alice@example.org", "nobody@example.org"):
        page = client.post("/accounts/login/", {"login": email, "password": password})
        assert page.status_code == 200
        said.append(page.content.decode().split("<form")[1:][0].count("is-invalid"))
    assert said[0] == said[1]


@pytest.mark.parametrize(
    "address", ["/accounts/password/reset/", "/accounts/signup/", "/accounts/logout/"]
)
def test_other_sign_in_pages_wear_the_same_frame(acme, browse, client, address):
    asked = browse(acme, "alice") if "logout" in address else client
    page = asked.get(address).content.decode()
    assert 'class="entrance"' in page and "css/app.css" in page


@pytest.mark.parametrize(
    "address", ["/accounts/email/", "/accounts/confirm-email/", "/accounts/3rdparty/"]
)
def test_addresses_of_allauth_that_we_do_not_use_are_not_there(acme, browse, address):
    assert browse(acme, "alice").get(address).status_code == 404


def test_pages_allow_no_inline_script_or_style(acme, browse):
    answer = browse(acme, "otto").get("/")
    policy = answer["Content-Security-Policy"]
    assert "unsafe" not in policy and "script-src 'self'" in policy
    page = answer.content.decode()
    assert " style=" not in page and "<style" not in page and " onclick=" not in page
    scripts = re.findall(r"<script(?![^>]*src=)([^>]*)>", page)
    assert all("application/json" in attributes for attributes in scripts)
