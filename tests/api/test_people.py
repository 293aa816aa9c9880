"""People over REST: who works where, with which shares, and who may know."""

import pytest

from tests.api.conftest import fresh_token, is_problem, signed_in, speaking

pytestmark = pytest.mark.django_db(transaction=True)


def test_machines_know_names_and_shares_but_no_addresses(api):
    people = api.get("people").json()["people"]
    assert [person["name"] for person in people] == ["alice", "bob", "otto", "uma"]
    assert {person["email"] for person in people} == {None}
    places = api.get("accounts/nlp/people").json()["people"]
    assert [(place["name"], place["shares"]) for place in places] == [("alice", 2), ("bob", 1)]


def test_people_come_in_pages(api):
    first = api.get("people", {"limit": 3}).json()
    rest = api.client.get(first["next"], headers=api._headers({})).json()
    assert [person["name"] for person in first["people"] + rest["people"]] == [
        "alice",
        "bob",
        "otto",
        "uma",
    ]
    assert rest["next"] is None
    page = api.get("accounts/nlp/people", {"limit": 1}).json()
    assert page["people"][0]["name"] == "alice"
    assert api.client.get(page["next"], headers=api._headers({})).json()["next"] is None


def test_a_person_knows_those_under_the_same_accounts(acme):
    acme.person("zoe", "serving")
    alice = signed_in(acme, "alice")
    people = alice.get("people").json()["people"]
    assert [person["name"] for person in people] == ["alice", "bob"]
    assert people[1]["email"] == "bob@example.org"
    is_problem(alice.get("accounts/serving/people"), 403, "role_missing")


def test_another_tenant_knows_nobody(acme, globex):
    people = speaking(fresh_token(globex)).get("people").json()["people"]
    assert [person["name"] for person in people] == ["charlie"]


def test_somebody_new_is_made_known_and_placed(acme):
    otto = signed_in(acme, "otto")
    made = otto.post("people", {"name": "ana", "display_name": "Ana", "email": "ana@example.org"})
    assert made.status_code == 201
    assert made.json()["email"] == "ana@example.org"
    put = otto.send("PUT", "accounts/nlp/people/ana", {"shares": 3})
    assert (put.json()["name"], put.json()["shares"]) == ("ana", 3)
    otto.send("PUT", "accounts/nlp/people/ana", {"shares": "parent"})
    listed = {p["name"]: p["shares"] for p in otto.get("accounts/nlp/people").json()["people"]}
    assert listed == {"alice": 2, "ana": "parent", "bob": 1}
    assert otto.send("DELETE", "accounts/nlp/people/ana").status_code == 200
    assert len(otto.get("accounts/nlp/people").json()["people"]) == 2


def test_a_lead_places_people_in_the_own_account_only(acme):
    alice = signed_in(acme, "alice")
    assert alice.send("PUT", "accounts/nlp/people/otto", {}).json()["shares"] == 1
    is_problem(alice.send("PUT", "accounts/vision/people/otto", {}), 403, "role_missing")
    bob = signed_in(acme, "bob")
    is_problem(bob.send("PUT", "accounts/nlp/people/uma", {}), 403, "role_missing")


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "field_missing"),
        ({"name": "a b"}, "name_malformed"),
        ({"name": "ana", "email": "not an address"}, "value_invalid"),
        ({"name": "ana", "display_name": "x" * 201}, "length_out_of_range"),
        ({"name": "ana", "display_name": "a\u0000"}, "name_malformed"),
        ({"name": "ana", "age": 3}, "field_unknown"),
    ],
)
def test_who_cannot_be_made_known(acme, body, code):
    is_problem(signed_in(acme, "otto").post("people", body), 400, code)


def test_unknown_people_and_accounts(acme):
    otto = signed_in(acme, "otto")
    is_problem(otto.post("people", {"name": "bob"}), 409, "person_name_taken")
    is_problem(otto.send("PUT", "accounts/nlp/people/nobody", {}), 404, "person_unknown")
    is_problem(otto.send("PUT", "accounts/nlp/people/a%00b", {}), 404, "person_unknown")
    is_problem(otto.send("DELETE", "accounts/nowhere/people/bob"), 404, "account_unknown")
    is_problem(otto.send("PUT", "accounts/nlp/people/bob", {"shares": -1}), 400, "out_of_range")


def test_lists_read_a_bounded_number_of_times(acme, api, django_assert_max_num_queries):
    for n in range(20):
        acme.person(f"p{n}", "nlp")
    with django_assert_max_num_queries(6):
        assert len(api.get("people").json()["people"]) == 24
    with django_assert_max_num_queries(6):
        assert len(api.get("accounts/nlp/people").json()["people"]) == 22
