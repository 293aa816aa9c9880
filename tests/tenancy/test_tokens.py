"""Machines' tokens: issue, authenticate, rotate, revoke, expire."""

from datetime import timedelta
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.exceptions import AuthenticationFailed

from ledger import scope
from ledger.errors import Denied, Invalid, NotFound, Refused
from ledger.ids import new_id
from ledger.sql import server_cursor
from tenancy import queries, tokens
from tenancy.authentication import Machine, authenticate_token
from tenancy.commands.tokens import IssueToken, RevokeToken, RotateToken
from tenancy.domain.roles import Scope
from tests.world import NOW, Tenant

ID = UUID(int=0x42)


def why(text: str, *, now=NOW) -> str:
    """The code with which a token is turned away."""
    with pytest.raises(AuthenticationFailed) as caught:
        authenticate_token(text, now=now)
    return caught.value.get_codes()


def token_id(text: str) -> UUID:
    presented = tokens.parse(text)
    assert presented is not None
    return presented.id


def rotate(place: Tenant, text: str, **values) -> str:
    secret = tokens.new_secret()
    place.run(
        RotateToken(
            token_id=token_id(text),
            secret_hash=tokens.hash_secret(secret),
            overlap_hours=values.pop("overlap_hours", 24),
            expires_at=NOW + timedelta(days=180),
        ),
        **values,
    )
    return tokens.render(token_id(text), secret)


def test_a_token_is_its_machine_with_its_scopes(acme):
    pool = acme.pools["h100"]
    text = acme.token(Scope.USAGE_WRITE, pools=(pool,))
    machine = authenticate_token(text, now=NOW)
    assert isinstance(machine, Machine)
    assert machine.organization_id == acme.id
    assert machine.actor.scopes == {"usage:write"}
    assert machine.actor.pool_ids == {pool}
    assert (machine.actor.label, machine.pk) == ("scheduler", token_id(text))


@given(secret=st.text(alphabet="0123456789abcdef", min_size=1, max_size=64))
def test_a_token_string_can_be_taken_apart_again(secret):
    assert tokens.parse(tokens.render(ID, secret)) == tokens.PresentedToken(ID, secret)


@given(
    text=st.text(max_size=40) | st.text(max_size=30).map(lambda s: f"{tokens.PREFIX}_{s}_00000000")
)
def test_nonsense_is_no_token_and_no_crash(text):
    assert tokens.parse(text) is None


@pytest.mark.parametrize("cut", [0, 1, -1, 10])
def test_a_copy_that_lost_characters_is_malformed_and_asks_no_database(cut):
    text = tokens.render(ID, "ab" * 32)
    assert why(text[:cut] + text[cut + 1 :] if cut >= 0 else text[:cut]) == "token_malformed"


def test_a_wrong_secret_is_unknown_like_a_wrong_id(acme):
    text = acme.token()
    assert why(tokens.render(token_id(text), tokens.new_secret())) == "token_unknown"
    assert why(tokens.render(new_id(), tokens.new_secret())) == "token_unknown"


def test_a_token_ends_at_its_expiry_to_the_second(acme):
    text = acme.token(days=30)
    end = NOW + timedelta(days=30)
    authenticate_token(text, now=end - timedelta(seconds=1))
    assert why(text, now=end) == "token_expired"


def test_revocation_counts_at_once_and_is_recorded_once(acme):
    text = acme.token()
    assert len(acme.run(RevokeToken(token_id=token_id(text))).events) == 1
    assert acme.run(RevokeToken(token_id=token_id(text))).events == ()
    assert why(text) == "token_revoked"
    with pytest.raises(Refused) as caught:
        rotate(acme, text)
    assert caught.value.code == "token_revoked"


def test_a_wrong_secret_learns_nothing_of_expiry_or_revocation(acme):
    text = acme.token()
    acme.run(RevokeToken(token_id=token_id(text)))
    assert why(tokens.render(token_id(text), tokens.new_secret())) == "token_unknown"


def test_both_secrets_are_good_while_a_token_rotates(acme):
    old = acme.token()
    new = rotate(acme, old, overlap_hours=2)
    for now in (NOW, NOW + timedelta(hours=2, seconds=-1)):
        assert authenticate_token(old, now=now).pk == authenticate_token(new, now=now).pk
    assert why(old, now=NOW + timedelta(hours=2)) == "token_unknown"
    authenticate_token(new, now=NOW + timedelta(days=100))
    newest = rotate(acme, new, overlap_hours=0)
    assert why(new) == "token_unknown"
    authenticate_token(newest, now=NOW)


def test_the_secret_is_stored_nowhere(acme):
    text = acme.token()
    secret = tokens.parse(text).secret
    with scope.reading(acme.id), server_cursor() as cursor:
        for table in ("tenancy_apitoken", "ledger_event", "ledger_receipt"):
            found = cursor.execute(
                f"SELECT count(*) FROM {table} t WHERE t::text LIKE '%%' || %b::text || '%%'",
                (secret,),
            ).fetchone()
            assert found == (0,)


def test_last_use_is_stamped_at_most_once_a_minute(acme):
    text = acme.token()

    def used_at():
        with scope.reading(acme.id):
            return queries.tokens(acme.id)[0].used_at

    assert used_at() is None
    for seconds, want in ((0, 0), (59, 0), (61, 61), (30, 61)):
        authenticate_token(text, now=NOW + timedelta(seconds=seconds))
        assert used_at() == NOW + timedelta(seconds=want)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"name": " "}, "token_name_length"),
        ({"name": "x" * 81}, "token_name_length"),
        ({"scopes": ()}, "scope_unknown"),
        ({"scopes": ("usage:write", "world:own")}, "scope_unknown"),
        ({"scopes": ("system",)}, "scope_unknown"),
        ({"expires_at": NOW}, "expiry_out_of_range"),
        ({"expires_at": NOW + timedelta(days=367)}, "expiry_out_of_range"),
    ],
)
def test_a_bad_wish_is_invalid(acme, change, code):
    wish = {
        "name": "n",
        "secret_hash": tokens.hash_secret("s"),
        "scopes": ("usage:write",),
        "pool_ids": None,
        "expires_at": NOW + timedelta(days=1),
    }
    with pytest.raises(Invalid) as caught:
        acme.run(IssueToken(**wish | change))
    assert caught.value.code == code


def test_overlap_has_a_limit(acme):
    with pytest.raises(Invalid) as caught:
        rotate(acme, acme.token(), overlap_hours=24 * 14 + 1)
    assert caught.value.code == "overlap_out_of_range"


def test_an_operator_issues_tokens_and_a_lead_does_not(acme):
    text = acme.token()
    acme.run(RevokeToken(token_id=token_id(text)), by=acme.actor("otto"))
    with pytest.raises(Denied):
        acme.run(RevokeToken(token_id=token_id(text)), by=acme.actor("alice"))


def test_another_organizations_token_is_not_found(acme, globex):
    text = acme.token()
    with pytest.raises(NotFound):
        globex.run(RevokeToken(token_id=token_id(text)))
    authenticate_token(text, now=NOW)


def test_a_token_is_bound_to_pools_of_its_own_organization(acme, globex):
    for pools in ((new_id(),), (globex.pools["h100"],), (acme.pools["h100"], new_id())):
        with pytest.raises(NotFound) as raised:
            acme.token(Scope.USAGE_WRITE, pools=pools)
        assert (raised.value.code, raised.value.field) == ("pool_unknown", "pool_ids")
        assert len(raised.value.facts["unknown"]) == 1
    assert acme.token(Scope.USAGE_WRITE, pools=(acme.pools["h100"],))
