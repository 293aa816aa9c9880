"""Who may do what where: roles are inherited downward, tokens have scopes, the system may all."""

import pytest

from ledger import scope
from ledger.errors import Denied, NotFound, Refused
from ledger.ids import new_id
from ledger.types import SYSTEM, Actor, ActorKind
from tenancy import policy, queries
from tenancy.commands.accounts import MoveAccount, OpenAccount
from tenancy.commands.organizations import CreateOrganization
from tenancy.commands.people import GrantRole, RevokeRole, SetAssociation
from tenancy.domain import roles
from tenancy.domain.roles import Role, Scope
from tests.world import Tenant


def may(place: Tenant, name: str, permission: str, account: str | None) -> bool:
    account_id = place.accounts[account] if account else None
    with scope.reading(place.id):
        return policy.may(place.actor(name), permission, account_id, place.id)


@pytest.mark.parametrize(
    ("name", "permission", "account", "want"),
    [
        # Alice leads nlp: there and below, not beside and not above.
        ("alice", roles.PEOPLE_WRITE, "nlp", True),
        ("alice", roles.PEOPLE_WRITE, "nlp-sub", True),
        ("alice", roles.PEOPLE_WRITE, "vision", False),
        ("alice", roles.PEOPLE_WRITE, "research", False),
        ("alice", roles.PEOPLE_WRITE, None, False),
        ("alice", roles.TREE_WRITE, "nlp", False),
        # Bob is a member of nlp only, though he works in vision, too.
        ("bob", roles.READ, "nlp", True),
        ("bob", roles.READ, "vision", False),
        ("bob", roles.LEDGER_READ, "nlp", False),
        # Otto operates and Uma audits the whole organization.
        ("otto", roles.TREE_WRITE, "serving", True),
        ("otto", roles.TREE_WRITE, None, True),
        ("uma", roles.LEDGER_READ, "serving", True),
        ("uma", Scope.EXPORT_READ, None, True),
        ("uma", roles.TREE_WRITE, None, False),
        ("otto", roles.SYSTEM_ONLY, None, False),
    ],
)
def test_roles_count_on_their_account_and_below(acme, name, permission, account, want):
    acme.account("nlp-sub", under="nlp")
    assert may(acme, name, permission, account) is want


def test_a_role_moves_with_its_account(acme):
    acme.role("alice", "lead", on="research")
    assert may(acme, "alice", roles.PEOPLE_WRITE, "vision")
    vision, production = acme.accounts["vision"], acme.accounts["production"]
    acme.run(MoveAccount(account_id=vision, to_parent_id=production))
    assert not may(acme, "alice", roles.PEOPLE_WRITE, "vision")


def test_a_role_that_is_taken_is_gone_and_others_stay(acme):
    acme.role("alice", "auditor", on="nlp")
    wish = RevokeRole(account_id=acme.accounts["nlp"], person_id=acme.people["alice"], role="lead")
    acme.run(wish)
    assert not may(acme, "alice", roles.PEOPLE_WRITE, "nlp")
    assert may(acme, "alice", Scope.EXPORT_READ, "nlp")


def test_a_denial_names_the_permission_and_who_carries_it(acme):
    with pytest.raises(Denied) as caught:
        acme.run(OpenAccount(parent_id=acme.root, name="x"), by=acme.actor("alice"))
    assert caught.value.code == "role_missing"
    assert caught.value.facts == {"permission": "tree:write", "roles": ["operator"]}
    assert caught.value.detail.endswith("Ask for the role operator on this account.")
    with scope.reading(acme.id), pytest.raises(Denied) as caught:
        policy.authorize(acme.actor("alice"), Scope.EXPORT_READ, None, acme.id)
    assert "Ask for one of the roles lead, " in caught.value.detail
    assert caught.value.detail.endswith(" on the root account.")


def test_a_lead_places_people_below_and_nowhere_else(acme):
    bob = acme.people["bob"]
    acme.account("sub", under="nlp")
    for account, allowed in (("nlp", True), ("sub", True), ("serving", False)):
        wish = SetAssociation(account_id=acme.accounts[account], person_id=bob)
        if allowed:
            acme.run(wish, by=acme.actor("alice"))
        else:
            with pytest.raises(Denied):
                acme.run(wish, by=acme.actor("alice"))


def test_nobody_raises_themselves(acme):
    for name in ("alice", "bob", "uma"):
        wish = GrantRole(
            account_id=acme.accounts["nlp"], person_id=acme.people[name], role="operator"
        )
        with pytest.raises(Denied):
            acme.run(wish, by=acme.actor(name))


def test_people_of_another_organization_hold_nothing_here(acme, globex):
    charlie = globex.actor("charlie")
    with scope.reading(acme.id):
        assert policy.permissions_anywhere(charlie, acme.id) == frozenset()
        assert not policy.may(charlie, roles.READ, None, acme.id)
        with pytest.raises(NotFound):
            policy.permissions_on(charlie, globex.accounts["nlp"], acme.id)


def test_an_unknown_account_is_not_found(acme):
    with scope.reading(acme.id), pytest.raises(NotFound):
        policy.authorize(acme.actor("otto"), roles.READ, new_id(), acme.id)


def test_a_token_may_what_its_scopes_say(acme):
    token = Actor(
        kind=ActorKind.TOKEN, id=new_id(), label="t", scopes=frozenset({Scope.USAGE_WRITE})
    )
    with scope.reading(acme.id):
        policy.authorize(token, Scope.USAGE_WRITE, None, acme.id)
        with pytest.raises(Denied) as caught:
            policy.authorize(token, Scope.PRIORITY_READ, None, acme.id)
    assert caught.value.code == "scope_missing"
    assert caught.value.facts["scopes"] == ["usage:write"]


def test_only_the_system_creates_organizations(acme):
    wish = CreateOrganization(slug="x", name="X", currency="EUR", time_zone="UTC")
    with pytest.raises(Denied):
        acme.run(wish, by=acme.actor("otto"))
    with scope.reading(acme.id):
        policy.authorize(SYSTEM, roles.SYSTEM_ONLY, None, acme.id)


def test_every_role_may_read_and_only_operators_change_the_tree():
    for role in Role:
        held = roles.permitted([role])
        assert roles.READ in held
        assert roles.SYSTEM_ONLY not in held
        assert (roles.TREE_WRITE in held) == (role is Role.OPERATOR)
    assert roles.granting(roles.PEOPLE_WRITE) == ("lead", "operator")


def test_the_last_operator_of_the_organization_stays(acme):
    wish = RevokeRole(account_id=acme.root, person_id=acme.people["otto"], role="operator")
    with pytest.raises(Refused) as caught:
        acme.run(wish, by=acme.actor("otto"))
    assert caught.value.code == "last_operator"
    assert may(acme, "otto", roles.TREE_WRITE, "root")
    acme.role("alice", "operator")
    acme.run(wish, by=acme.actor("otto"))
    assert not may(acme, "otto", roles.TREE_WRITE, "root")


def test_search_finds_people_only_where_one_has_a_role(acme):
    acme.person("bert", "serving")
    with scope.reading(acme.id):
        everybody = queries.search(acme.id, "b")[1]
        seen_by_alice = queries.search(acme.id, "b", seen_by=acme.people["alice"])[1]
        seen_by_bert = queries.search(acme.id, "b", seen_by=acme.people["bert"])[1]
    assert [one.name for one in everybody] == ["bert", "bob"]
    assert [one.name for one in seen_by_alice] == ["bob"]
    assert [one.name for one in seen_by_bert] == ["bert"]
