"""Bad input and rights over REST: each a clear problem at its member, and nothing changed.

Nobody decides their own request: every path is tried with every step.
"""

import pytest

from quota.commands.request_policy import SetDelegate
from tenancy.commands.accounts import ArchiveAccount
from tenancy.commands.people import AddPerson, LinkLogin, RevokeRole
from tenancy.models import User
from tests.api.conftest import is_problem
from tests.api.requesting import DAY, Desk, at, now

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def desk(acme) -> Desk:
    return Desk(acme)


FAULTS = [
    ({"units": 0}, 400, "units_not_positive", "units"),
    ({"units": -1}, 400, "out_of_range", "units"),
    ({"units": 10**10}, 400, "out_of_range", "units"),
    ({"units": 10**30}, 400, "out_of_range", "units"),
    ({"units": 1.5}, 400, "wrong_type", "units"),
    ({"units": "24"}, 400, "wrong_type", "units"),
    ({"units": None}, 400, "units_missing", "units"),
    ({"units": 101}, 400, "units_beyond_capacity", "units"),
    ({"starts_at": at(9), "ends_at": at(8)}, 400, "end_not_later", "ends_at"),
    ({"starts_at": at(-9), "ends_at": at(-8)}, 400, "start_in_past", "starts_at"),
    ({"ends_at": at(-1)}, 400, "end_in_past", "ends_at"),
    ({"ends_at": None}, 400, "end_missing", "ends_at"),
    ({"starts_at": at(2_000), "ends_at": at(2_001)}, 400, "start_too_far", "starts_at"),
    ({"ends_at": "2027-01-01T00:00:00"}, 400, "time_without_zone", "ends_at"),
    ({"ends_at": "soon"}, 400, "time_invalid", "ends_at"),
    ({"pool": "nope"}, 404, "pool_unknown", "pool"),
    ({"pool": ""}, 400, "length_out_of_range", "pool"),
    ({"account": "nope"}, 404, "account_unknown", "account"),
    ({"kind": "gift"}, 400, "value_unknown", "kind"),
    ({"workload": "mining"}, 400, "value_unknown", "workload"),
    ({"tier": "gold"}, 400, "value_unknown", "tier"),
    ({"purpose": " "}, 400, "purpose_missing", "purpose"),
    ({"purpose": "x" * 4_001}, 400, "length_out_of_range", "purpose"),
    ({"budget": "-1"}, 400, "budget_out_of_range", "budget"),
    ({"budget": "NaN"}, 400, "budget_out_of_range", "budget"),
    ({"to_account": "vision"}, 400, "to_account_unused", "to_account"),
    ({"kind": "transfer", "ends_at": None}, 400, "to_account_missing", "to_account"),
    (
        {"kind": "transfer", "ends_at": None, "to_account": "no"},
        404,
        "account_unknown",
        "to_account",
    ),
    ({"kind": "extension", "units": None}, 422, "not_temporary", "kind"),
    ({"kind": "lower", "ends_at": None}, 422, "not_held", "units"),
    ({"colour": "red"}, 400, "field_unknown", "colour"),
    ({"purpose": "a\x00b"}, 400, "value_invalid", "purpose"),
]


def test_each_fault_is_named_at_its_member(desk):
    alice = desk.as_("alice")
    before = desk.events()
    for fields, status, code, field in FAULTS:
        found = is_problem(alice.post("requests", desk.wish(**fields)), status, code)
        pointers = [one["pointer"] for one in found["errors"]]
        assert pointers == ([f"#/{field}"] if field else []), fields
        tried = alice.post("requests/precheck", desk.wish(**fields))
        assert tried.status_code in (200, status), fields
        assert tried.status_code == status or not tried.json()["can_submit"], fields
    assert desk.events() == before


def test_bodies_that_are_none(desk):
    alice = desk.as_("alice")
    it = desk.ask()
    before = desk.events()
    for path in ("requests", f"requests/{it['id']}/withdraw", f"reviews/{it['id']}/approve"):
        is_problem(alice.post(path, b"{"), 400, "malformed_body")
        is_problem(alice.post(path, b""), 400, "body_empty")
        is_problem(alice.post(path, []), 400, "wrong_type")
        assert alice.post(path, b"a=b", content_type="text/plain").status_code == 415
    for path in ("requests/5", "requests/5/withdraw", "reviews/5/approve"):
        is_problem(alice.post(path, {}), 404, "address_unknown")
    assert desk.events() == before


def test_an_archived_account_asks_for_nothing(desk):
    alice = desk.as_("alice")
    draft = desk.ask(draft=True)
    desk.place.run(ArchiveAccount(account_id=desk.place.accounts["nlp"]), now=now())
    before = desk.events()
    is_problem(alice.post("requests", desk.wish()), 422, "account_archived")
    is_problem(desk.step(draft, "submit"), 422, "account_archived")
    found = alice.post("requests/precheck", desk.wish()).json()
    assert [one["code"] for one in found["problems"]] == ["account_archived"]
    assert desk.events() == before


def test_a_double_submit_and_a_stale_version(desk):
    it = desk.ask(draft=True)
    assert desk.step(it, "submit", expected_version=1).status_code == 200
    before = desk.events()
    is_problem(desk.step(it, "submit", expected_version=1), 409, "request_moved_on")
    found = is_problem(
        desk.decide(it, "approve", by="petra", expected_version=1), 409, "stale_version"
    )
    assert (found["expected"], found["found"], found["state"]) == (1, 2, "submitted")
    for step, body in (("reject", {"reason": "x"}), ("ask", {"reason": "x"})):
        answer = desk.decide(it, step, by="petra", expected_version=1, **body)
        is_problem(answer, 409, "stale_version")
    is_problem(desk.step(it, "withdraw", expected_version=1), 409, "stale_version")
    assert desk.events() == before


def test_who_may_not_ask_there(desk):
    before = desk.events()
    for name, account in (("bob", "nlp"), ("alice", "vision"), ("petra", "nlp"), ("uma", "nlp")):
        answer = desk.as_(name).post("requests", desk.wish(account=account))
        found = is_problem(answer, 403, "role_missing")
        assert found["roles"] == ["lead", "operator"]
        draft = desk.as_(name).post("requests", desk.wish(account=account, draft=True))
        is_problem(draft, 403, "role_missing")
    assert desk.events() == before


def test_a_draft_cannot_be_carried_to_another_team(desk):
    it = desk.ask(draft=True)
    before = desk.events()
    path = f"requests/{it['id']}"
    moved = desk.as_("alice").send("PATCH", path, {"account": "serving"})
    is_problem(moved, 403, "role_missing")
    is_problem(desk.step(it, "submit", account="serving"), 403, "role_missing")
    assert desk.events() == before


def test_a_role_lost_meanwhile(desk):
    place = desk.place
    it, draft = desk.ask(), desk.ask(draft=True)
    desk.as_("petra").get(f"requests/{it['id']}")
    for name, role, account in (("petra", "approver", "research"), ("alice", "lead", "nlp")):
        place.run(
            RevokeRole(account_id=place.accounts[account], person_id=place.people[name], role=role),
            now=now(),
        )
    before = desk.events()
    for step, body in (
        *(("approve", {}), ("approve-less", {"units": 5})),
        *(("ask", {"reason": "x"}), ("reject", {"reason": "x"})),
    ):
        is_problem(desk.decide(it, step, by="petra", **body), 404, "request_unknown")
    is_problem(desk.step(draft, "submit"), 403, "role_missing")
    is_problem(desk.as_("alice").post("requests", desk.wish()), 403, "role_missing")
    assert desk.events() == before
    mine = desk.as_("alice").get("requests", {"mine": "1"}).json()["requests"]
    assert len(mine) == 2, "what one asked oneself stays in sight"
    assert desk.step(it, "withdraw").json()["state"] == "withdrawn"


def test_who_reviews_nothing_here(desk):
    it = desk.ask()
    before = desk.events()
    for name in ("bob", "uma"):
        is_problem(desk.decide(it, "approve", by=name), 403, "not_a_reviewer")
        is_problem(desk.decide(it, "reject", by=name, reason="x"), 403, "not_a_reviewer")
    assert desk.events() == before


def also(desk: Desk, name: str, email: str) -> None:
    """Another person with somebody's address, who approves everything."""
    made = desk.place.run(AddPerson(name=name, display_name=name, email=email)).result
    desk.place.people[name] = made.person_id
    desk.place.role(name, "approver")


def stands_in(desk: Desk, person: str, delegate: str) -> None:
    people = desk.place.people
    command = SetDelegate(
        delegate_id=people[delegate], starts_at=now() - DAY, ends_at=now() + 7 * DAY
    )
    desk.place.run(command, by=desk.place.actor(person), now=now())


STEPS = (
    ("approve", {}),
    ("approve-less", {"units": 5}),
    ("ask", {"reason": "x"}),
    ("reject", {"reason": "x"}),
)


def refused(desk: Desk, it: dict, by: str, code: str) -> None:
    """Every step is refused, one by one and in a batch; the inbox is silent; nothing changed."""
    api = desk.as_(by)
    before = desk.events()
    for step, body in STEPS:
        is_problem(desk.decide(it, step, by=by, **body), 422, code)
    items = [
        {"request": it["id"], "decision": step.replace("-", "_")} | body for step, body in STEPS
    ]
    answer = api.post("reviews/batch", {"decisions": items}).json()
    assert {row["code"] for row in answer["results"]} == {code} and answer["decided"] == 0
    assert api.get("reviews").json()["requests"] == []
    assert desk.story(it, by=by)["may_decide"]["code"] == code
    assert desk.events() == before


@pytest.fixture
def petras(desk) -> dict:
    """A request of Petra's, who approves for the account as well."""
    desk.place.role("petra", "lead", on="nlp")
    return desk.ask(by="petra")


def test_not_as_who_asked(desk, petras):
    refused(desk, petras, "petra", "own_request")


def test_not_as_an_operator_who_asked(desk):
    refused(desk, desk.ask(by="otto"), "otto", "own_request")


def test_not_through_a_delegate(desk, petras):
    stands_in(desk, "petra", "bob")
    refused(desk, petras, "bob", "own_request_by_delegate")


def test_not_as_the_delegate_of_another(desk, petras):
    stands_in(desk, "rita", "petra")
    refused(desk, petras, "petra", "own_request")


@pytest.mark.parametrize("email", ["PETRA@example.org ", "petra+work@example.org"])
def test_not_as_a_second_person_with_the_address(desk, petras, email):
    also(desk, "petra2", email)
    refused(desk, petras, "petra2", "own_request")


def test_not_under_a_login_with_the_address(desk, petras):
    """The address on record says nothing; that of the login does."""
    also(desk, "ghost", "elsewhere@example.org")
    user = User.objects.create_user("petra+ghost@example.org", "secret")
    desk.place.run(LinkLogin(person_id=desk.place.people["ghost"], user_id=user.pk))
    desk.place.users["ghost"] = user
    refused(desk, petras, "ghost", "own_request")


def test_not_through_the_delegate_of_a_second_person(desk, petras):
    also(desk, "petra2", "petra@example.org")
    stands_in(desk, "petra2", "bob")
    refused(desk, petras, "bob", "own_request_by_delegate")


def test_not_after_somebody_else_handed_it_in_again(desk):
    desk.place.role("petra", "lead", on="nlp")
    it = desk.ask()
    desk.decide(it, "ask", by="rita", reason="which model?")
    assert desk.step(it, "submit", by="petra", units=50).status_code == 200
    refused(desk, it, "petra", "own_request")
    refused(desk, it, "alice", "own_request")


def test_not_by_taking_part_in_both_words(desk):
    desk.place.pool("b200", capacity=500)
    it = desk.ask(pool="b200", units=200)
    stands_in(desk, "rita", "petra")
    desk.decide(it, "approve", by="petra")
    is_problem(desk.decide(it, "approve", by="petra"), 422, "already_approved")
    desk.place.person("zoe")
    stands_in(desk, "petra", "zoe")
    is_problem(desk.decide(it, "approve", by="zoe"), 422, "already_approved")
    assert desk.decide(it, "approve", by="rita").json()["state"] == "provisioned"
