"""The account tree over REST: read by role and page, changed by one command a request."""

import pytest

from ledger import scope
from ledger.queries import history
from tests.api.conftest import fresh_token, is_problem, signed_in, speaking

pytestmark = pytest.mark.django_db(transaction=True)


def names(answer) -> list[str]:
    assert answer.status_code == 200, answer.content
    return [account["name"] for account in answer.json()["accounts"]]


def test_a_machine_reads_the_whole_tree(api):
    assert names(api.get("accounts")) == [
        "nlp",
        "production",
        "research",
        "root",
        "serving",
        "vision",
    ]
    nlp = api.get("accounts").json()["accounts"][0]
    assert nlp["parent"] == "research"
    assert nlp["path"] == ["root", "research", "nlp"]
    assert (nlp["shares"], nlp["archived_at"]) == (40, None)


def test_pages_share_and_skip_nothing(api):
    first = api.get("accounts", {"limit": 4}).json()
    assert [account["name"] for account in first["accounts"]][-1] == "root"
    rest = api.client.get(first["next"], headers=api._headers({})).json()
    assert [account["name"] for account in rest["accounts"]] == ["serving", "vision"]
    assert rest["next"] is None
    for cursor in ("x", "IjEi!", "MQ", "Ilx1MDAwMCI"):
        is_problem(api.get("accounts", {"cursor": cursor}), 400, "parameter_invalid")
    is_problem(api.get("accounts", {"limit": 0}), 400, "parameter_invalid")
    is_problem(api.get("accounts", {"limit": 5_000}), 400, "parameter_invalid")
    is_problem(api.get("accounts", {"under": "nlp"}), 400, "parameter_unknown")


def test_children_of_one_account(api):
    assert names(api.get("accounts", {"parent": "research"})) == ["nlp", "vision"]
    is_problem(api.get("accounts", {"parent": "nowhere"}), 404, "account_unknown")


def test_one_account_by_name(api):
    assert api.get("accounts/vision").json()["path"] == ["root", "research", "vision"]
    for name in ("nowhere", "a%00b", "%F0%9F%A6%80", "a b", "x" * 300):
        is_problem(api.get(f"accounts/{name}"), 404, "account_unknown")


def test_a_person_reads_what_a_role_covers(acme):
    alice = signed_in(acme, "alice")
    assert names(alice.get("accounts")) == ["nlp"]
    is_problem(alice.get("accounts", {"parent": "research"}), 403, "role_missing")
    is_problem(alice.get("accounts/vision"), 403, "role_missing")
    acme.role("alice", "member", on="research")
    assert names(alice.get("accounts")) == ["nlp", "research", "vision"]
    acme.person("ida", "nlp")
    is_problem(signed_in(acme, "ida").get("accounts"), 403, "role_missing")


def test_a_machine_without_the_scope_reads_nothing(acme):
    api = speaking(fresh_token(acme, "usage:write"))
    for path in ("accounts", "accounts/nlp", "accounts/nlp/people", "people"):
        assert is_problem(api.get(path), 403, "scope_missing")["permission"] == "priority:read"


def test_another_tenant_sees_none_of_it(acme, globex):
    api = speaking(fresh_token(globex))
    assert names(api.get("accounts")) == ["nlp", "root"]
    is_problem(api.get("accounts/research"), 404, "account_unknown")
    charlie = signed_in(globex, "charlie")
    is_problem(charlie.send("PATCH", "accounts/vision", {"shares": 1}), 404, "account_unknown")
    is_problem(
        charlie.post("accounts", {"name": "x", "parent": "research"}), 404, "account_unknown"
    )


def test_an_operator_opens_changes_and_archives(acme):
    otto = signed_in(acme, "otto")
    made = otto.post("accounts", {"name": "speech", "parent": "research", "shares": "parent"})
    assert made.status_code == 201
    assert made["Location"] == "/api/v1/accounts/speech"
    assert made.json()["shares"] == "parent"
    changed = otto.send("PATCH", "accounts/speech", {"shares": 7}).json()
    assert changed["shares"] == 7
    moved = otto.send("PATCH", "accounts/speech", {"parent": "production"}).json()
    assert moved["path"] == ["root", "production", "speech"]
    renamed = otto.send("PATCH", "accounts/speech", {"name": "audio", "description": "Sound"})
    assert (renamed.json()["name"], renamed.json()["description"]) == ("audio", "Sound")
    described = otto.send("PATCH", "accounts/audio", {"description": ""}).json()
    assert (described["name"], described["description"]) == ("audio", "")
    assert otto.post("accounts/audio/archive", b"").json()["archived_at"]
    assert "audio" not in names(otto.get("accounts"))
    assert "audio" in names(otto.get("accounts", {"archived": "1"}))


@pytest.mark.parametrize(
    ("body", "status", "code", "pointer"),
    [
        ({"parent": "research"}, 400, "field_missing", "#/name"),
        ({"name": "x"}, 400, "field_missing", "#/parent"),
        ({"name": "x y", "parent": "research"}, 400, "name_malformed", "#/name"),
        ({"name": "x\u0000", "parent": "research"}, 400, "text_unstorable", None),
        ({"name": "x", "parent": "re\u0000"}, 404, "account_unknown", "#/parent"),
        ({"name": "x", "parent": "no"}, 404, "account_unknown", "#/parent"),
        ({"name": "nlp", "parent": "research"}, 409, "account_name_taken", "#/name"),
        ({"name": "x", "parent": "root", "shares": -1}, 400, "out_of_range", "#/shares"),
        ({"name": "x", "parent": "root", "shares": 1.5}, 400, "wrong_type", "#/shares"),
        ({"name": "x", "parent": "root", "shares": "many"}, 400, "value_unknown", "#/shares"),
        ({"name": "x", "parent": "root", "color": 1}, 400, "field_unknown", "#/color"),
        ({"name": 1, "parent": "root"}, 400, "wrong_type", "#/name"),
        ([], 400, "wrong_type", "#"),
        (b"{", 400, "malformed_body", "#"),
        (b"", 400, "body_empty", None),
    ],
)
def test_what_cannot_be_opened(acme, body, status, code, pointer):
    found = is_problem(signed_in(acme, "otto").post("accounts", body), status, code)
    assert [error.get("pointer") for error in found["errors"]] == ([pointer] if pointer else [])


@pytest.mark.parametrize(
    ("account", "body", "status", "code"),
    [
        ("nlp", {}, 400, "one_change"),
        ("nlp", {"shares": 1, "parent": "production"}, 400, "one_change"),
        ("nlp", {"shares": None}, 400, "wrong_type"),
        ("nlp", {"name": "vision"}, 409, "account_name_taken"),
        ("research", {"parent": "nlp"}, 422, "cycle"),
        ("root", {"parent": "nlp"}, 422, "root_cannot_move"),
        ("nlp", {"description": "x" * 1001}, 400, "length_out_of_range"),
        ("nlp", {"description": "a\u0000b"}, 400, "text_unstorable"),
    ],
)
def test_what_cannot_be_changed(acme, account, body, status, code):
    otto = signed_in(acme, "otto")
    is_problem(otto.send("PATCH", f"accounts/{account}", body), status, code)


def test_what_cannot_be_archived(acme):
    otto = signed_in(acme, "otto")
    is_problem(otto.post("accounts/research/archive", b""), 422, "children_open")
    is_problem(otto.post("accounts/root/archive", b""), 422, "root_cannot_archive")


def test_why_the_tree_changes_is_kept(acme):
    otto = signed_in(acme, "otto")
    otto.post("accounts", {"name": "speech", "parent": "research"})
    moved = {"parent": "production", "reason": "goes to production"}
    assert otto.send("PATCH", "accounts/speech", moved).status_code == 200
    assert otto.post("accounts/speech/archive", {"reason": "merged"}).status_code == 200
    with scope.reading(acme.id):
        found = history(acme.id, types=("account.moved", "account.archived"), limit=2).rows
    assert [(row.type, row.reason) for row in found] == [
        ("account.archived", "merged"),
        ("account.moved", "goes to production"),
    ]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"reason": ""}, "length_out_of_range"),
        ({"reason": "x" * 501}, "length_out_of_range"),
        ({"reason": "a\u0000b"}, "text_unstorable"),
        ({"why": "x"}, "field_unknown"),
    ],
)
def test_reasons_that_are_none(acme, body, code):
    otto = signed_in(acme, "otto")
    is_problem(otto.post("accounts/serving/archive", body), 400, code)
    if code != "field_unknown":
        is_problem(otto.send("PATCH", "accounts/serving", {"shares": 2} | body), 400, code)
    is_problem(otto.send("PATCH", "accounts/serving", {"reason": "only why"}), 400, "one_change")


def test_only_operators_change_the_tree(acme, api):
    alice = signed_in(acme, "alice")
    new = {"name": "x", "parent": "nlp"}
    found = is_problem(alice.post("accounts", new), 403, "role_missing")
    assert found["roles"] == ["operator"]
    is_problem(alice.send("PATCH", "accounts/nlp", {"shares": 1}), 403, "role_missing")
    found = is_problem(api.post("accounts", new), 403, "people_only")
    assert found["roles"] == ["operator"]


def test_a_retry_opens_one_account(acme):
    otto = signed_in(acme, "otto")
    new = {"name": "speech", "parent": "research"}
    first = otto.post("accounts", new, idempotency_key="k1")
    again = otto.post("accounts", new, idempotency_key="k1")
    assert again.json() == first.json()
    assert again.status_code == 201
    assert again["Idempotency-Replayed"] == "true"
    other = otto.post("accounts", new | {"name": "y"}, idempotency_key="k1")
    is_problem(other, 409, "idempotency_key_reused")


def test_lists_read_a_bounded_number_of_times(acme, api, django_assert_max_num_queries):
    for n in range(20):
        acme.account(f"team-{n}", under="research")
    with django_assert_max_num_queries(6):
        assert len(names(api.get("accounts"))) == 26
