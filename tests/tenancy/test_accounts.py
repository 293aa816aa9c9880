"""The account tree: open, move, rename, weigh, archive; people and their places."""

from uuid import UUID

import pytest

from ledger import scope
from ledger.errors import Conflict, DomainError, Invalid, NotFound, Refused
from ledger.ids import new_id
from tenancy import queries
from tenancy.commands.accounts import (
    ArchiveAccount,
    MoveAccount,
    OpenAccount,
    RenameAccount,
    SetAccountShares,
)
from tenancy.commands.organizations import CreateOrganization
from tenancy.commands.people import AddPerson, EndAssociation, SetAssociation
from tenancy.domain.tree import DEPTH_MAX, SHARES_MAX
from tests import world
from tests.ledger.sample import together
from tests.world import Tenant


def code(call, *args, **kwargs) -> str:
    with pytest.raises(DomainError) as caught:
        call(*args, **kwargs)
    return caught.value.code


def path(place: Tenant, name: str) -> tuple[str, ...]:
    with scope.reading(place.id):
        return queries.account(place.id, place.accounts[name]).path


def move(place: Tenant, name: str, to: str) -> None:
    place.run(MoveAccount(account_id=place.accounts[name], to_parent_id=place.accounts[to]))


def test_a_tree_has_paths(acme):
    assert path(acme, "nlp") == ("root", "research", "nlp")
    with scope.reading(acme.id):
        below = queries.children(acme.id, acme.root)
    assert [row.name for row in below] == ["production", "research"]


@pytest.mark.parametrize("name", ["", "a b", "-x", "x" * 65, "a|b", "a\n", "ä"])
def test_a_name_must_survive_every_format(acme, name):
    assert code(acme.account, name) == "name_malformed"


def test_names_are_unique_within_the_organization_alone(acme, globex):
    assert code(acme.account, "vision", under="production") == "account_name_taken"
    globex.account("vision")


@pytest.mark.parametrize("shares", [-1, SHARES_MAX + 1])
def test_shares_have_bounds(acme, shares):
    assert code(acme.account, "new", shares=shares) == "shares_out_of_range"


@pytest.mark.parametrize("shares", [0, SHARES_MAX, None])
def test_shares_may_be_nothing_or_the_parents(acme, shares):
    acme.account("new", shares=shares)
    with scope.reading(acme.id):
        assert queries.account_by_name(acme.id, "new").shares == shares


def test_a_move_takes_everything_below_along(acme):
    acme.account("deep", under="nlp")
    move(acme, "research", "production")
    assert path(acme, "deep") == ("root", "production", "research", "nlp", "deep")
    move(acme, "nlp", "root")
    assert path(acme, "deep") == ("root", "nlp", "deep")
    assert path(acme, "vision") == ("root", "production", "research", "vision")


def test_a_move_to_where_it_is_records_nothing(acme):
    command = MoveAccount(account_id=acme.accounts["nlp"], to_parent_id=acme.accounts["research"])
    assert acme.run(command).events == ()


@pytest.mark.parametrize(
    ("name", "to", "want"),
    [
        ("root", "nlp", "root_cannot_move"),
        ("research", "research", "cycle"),
        ("research", "nlp", "cycle"),
    ],
)
def test_moves_that_make_no_tree_are_refused(acme, name, to, want):
    assert code(move, acme, name, to) == want


def test_a_tree_is_at_most_sixteen_levels_deep(acme):
    under = "root"
    for level in range(DEPTH_MAX):
        acme.account(f"level{level}", under=under)
        under = f"level{level}"
    assert code(acme.account, "more", under=under) == "too_deep"
    acme.account("a")
    acme.account("b", under="a")
    assert code(move, acme, "a", f"level{DEPTH_MAX - 2}") == "too_deep"
    move(acme, "a", f"level{DEPTH_MAX - 3}")


def test_two_moves_at_once_make_no_cycle(transactional_db):
    acme = world.acme()
    outcomes = together([lambda: move(acme, "nlp", "vision"), lambda: move(acme, "vision", "nlp")])
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["NoneType", "Refused"]


def test_one_name_is_given_once_to_many_who_ask_at_once(transactional_db):
    acme = world.acme()
    outcomes = together([lambda: acme.account("wanted")] * 5)
    assert sum(isinstance(outcome, UUID) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 4


def test_an_archived_account_takes_nothing_new_but_stays(acme):
    nlp, research = acme.accounts["nlp"], acme.accounts["research"]
    assert code(acme.run, ArchiveAccount(account_id=research)) == "children_open"
    assert code(acme.run, ArchiveAccount(account_id=acme.root)) == "root_cannot_archive"
    assert len(acme.run(ArchiveAccount(account_id=nlp)).events) == 1
    assert acme.run(ArchiveAccount(account_id=nlp)).events == ()
    assert code(acme.account, "under", under="nlp") == "parent_archived"
    assert code(acme.account, "nlp") == "account_name_taken"
    assert path(acme, "nlp") == ("root", "research", "nlp")


def test_a_rename_keeps_the_identity(acme):
    nlp = acme.accounts["nlp"]
    acme.run(RenameAccount(account_id=nlp, name="language", description="d"))
    with scope.reading(acme.id):
        assert queries.account_by_name(acme.id, "language").id == nlp
    wish = RenameAccount(account_id=nlp, name="vision", description="")
    assert code(acme.run, wish) == "account_name_taken"


def test_setting_the_shares_that_are_set_records_nothing(acme):
    wish = SetAccountShares(account_id=acme.accounts["nlp"], shares=40)
    assert acme.run(wish).events == ()


def test_people_have_places(acme):
    nlp, bob = acme.accounts["nlp"], acme.people["bob"]
    acme.run(SetAssociation(account_id=nlp, person_id=bob, shares=None))
    with scope.reading(acme.id):
        found = [(row.name, row.shares) for row in queries.people_of(acme.id, nlp)]
    assert found == [("alice", 2), ("bob", None)]
    acme.run(EndAssociation(account_id=nlp, person_id=bob))
    with scope.reading(acme.id):
        assert [row.name for row in queries.people_of(acme.id, nlp)] == ["alice"]
    assert code(acme.run, AddPerson(name="bob")) == "person_name_taken"


def test_what_another_organization_has_is_not_found(acme, globex):
    foreign = globex.accounts["nlp"]
    for wish in (
        OpenAccount(parent_id=foreign, name="x"),
        RenameAccount(account_id=foreign, name="x", description=""),
        MoveAccount(account_id=acme.accounts["nlp"], to_parent_id=foreign),
        SetAssociation(account_id=acme.accounts["nlp"], person_id=globex.people["charlie"]),
        ArchiveAccount(account_id=new_id()),
    ):
        with pytest.raises(NotFound):
            acme.run(wish)


@pytest.mark.parametrize(
    ("change", "want"),
    [
        ({"slug": "Acme"}, "slug_malformed"),
        ({"slug": "a" * 50}, "slug_malformed"),
        ({"slug": "acme"}, "slug_taken"),
        ({"currency": "euro"}, "currency_malformed"),
        ({"time_zone": "Europe/Nowhere"}, "time_zone_unknown"),
        ({"time_zone": "../etc/passwd"}, "time_zone_unknown"),
        ({"time_zone": ""}, "time_zone_unknown"),
    ],
)
def test_an_organization_needs_four_good_facts(acme, change, want):
    facts = {"slug": "new", "name": "New", "currency": "EUR", "time_zone": "Europe/Berlin"}
    newcomer = Tenant(id=new_id(), root=new_id())
    assert code(newcomer.run, CreateOrganization(**facts | change)) == want


def test_errors_are_of_their_kind():
    assert issubclass(Refused, DomainError)
    assert (Invalid.status, Refused.status, Conflict.status) == (400, 422, 409)


@pytest.mark.parametrize("text", ["Zoe\r\nBcc: eve@example.org", "Zoe\nX: y", "Zoe\u2028"])
def test_names_and_addresses_are_one_line_as_they_head_letters(acme, text):
    for field in ("display_name", "email"):
        assert code(acme.run, AddPerson(name="zoe", **{field: text})) == "name_malformed"
