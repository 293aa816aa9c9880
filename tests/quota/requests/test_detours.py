"""Detours around the rules that nobody should find, and what changes while a request waits."""

from datetime import timedelta

import pytest

from ledger import rebuild, scope, verification
from ledger.errors import DomainError, NotFound, Refused
from quota.commands.pools import ResizePool
from quota.commands.quotas import SetQuota, SettleQuotas
from quota.commands.requests import AcceptCounter, Submit
from quota.commands.reviews import FollowUpRequests
from quota.domain.requests import State
from quota.domain.routing import address
from quota.queries.inbox import asked_people, inbox
from tenancy.commands.accounts import ArchiveAccount, MoveAccount
from tenancy.commands.people import AddPerson, RevokeRole
from tests.quota.requests.conftest import DAY
from tests.world import NOW

# -- one human under several names ----------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ana@example.org", "ａna@example.org"),
        ("andr\u00e9@example.org", "andre\u0301@example.org"),
        ("ana@m\u00fcnchen.example", "ana@xn--mnchen-3ya.example"),
        ("ana@example.org", "ana@example.org."),
        ("ana@example.org", "a\u200bna@example.org"),
        ("ANA+x+y@EXAMPLE.org", "ana@example.org"),
        ("\u0130pek@example.org", "i\u0307pek@example.org"),
    ],
)
def test_spellings_of_one_address(one, other):
    assert address(one) == address(other)


def also(desk, name: str, email: str) -> None:
    made = desk.place.run(AddPerson(name=name, display_name=name, email=email)).result
    desk.place.people[name] = made.person_id
    desk.place.role(name, "approver")


@pytest.mark.parametrize(
    "email",
    ["Alice+2@Example.ORG", "ａlice@example.org", "alice@example.org.", "al\u200bice@example.org"],
)
def test_not_by_a_second_person_with_another_spelling_of_the_address(desk, email):
    it = desk.ask("nlp", 60)
    also(desk, "twin", email)
    with pytest.raises(Refused) as refused:
        desk.approve(it, by="twin")
    assert refused.value.code == "own_request"


def test_not_through_a_person_who_has_both_addresses(desk):
    """Alice is a1 by her address; by her login she is also a2, which a third person has."""
    place = desk.place
    middle = place.run(
        AddPerson(name="middle", display_name="m", email="alice@example.org")
    ).result.person_id
    place.people["middle"] = middle
    from tenancy.commands.people import LinkLogin
    from tenancy.models import User

    user = User.objects.create_user("second@example.org", "secret")
    place.run(LinkLogin(person_id=middle, user_id=user.pk))
    also(desk, "third", "second@example.org")
    it = desk.ask("nlp", 60)
    with pytest.raises(Refused) as refused:
        desk.approve(it, by="third")
    assert refused.value.code == "own_request"


# -- both sides of the table -----------------------------------------------------------------


def test_who_offers_less_does_not_accept_it(desk):
    it = desk.ask("nlp", 60)
    desk.approve_less(it, by="otto", units=40)
    with pytest.raises(Refused) as refused:
        desk.run(AcceptCounter(request_id=it.request_id), by="otto")
    assert refused.value.code == "own_offer"
    assert desk.run(AcceptCounter(request_id=it.request_id), by="alice").state == State.PROVISIONED


def test_who_accepts_for_the_team_does_not_approve_it(desk):
    desk.place.role("rita", "lead", on="nlp")
    it = desk.ask("nlp", 100)
    desk.approve_less(it, by="petra", units=99)
    desk.run(AcceptCounter(request_id=it.request_id), by="rita")
    with pytest.raises(Refused) as refused:
        desk.approve(it, by="rita")
    assert refused.value.code == "own_request"
    assert desk.approve(it, by="rolf").state == State.PROVISIONED
    with scope.snapshot(desk.place.id):
        assert rebuild.compare(desk.place.id).differences == ()


# -- what changes while it waits -------------------------------------------------------------


def waiting(desk, it, by: str) -> bool:
    with scope.reading(desk.place.id):
        page = inbox(desk.place.id, desk.place.people[by], now=NOW)
    return it.request_id in {row.row.request.id for row in page.rows}


def asked(desk, it) -> set[str]:
    names = {ident: name for name, ident in desk.place.people.items()}
    with scope.reading(desk.place.id):
        return {names[one] for one in asked_people(desk.place.id, desk.request(it), now=NOW)}


def test_an_account_that_moves_takes_its_request_to_its_new_approvers(desk):
    place = desk.place
    place.person("nora")
    place.role("nora", "approver", on="production")
    it = desk.ask("nlp", 60)
    assert asked(desk, it) == {"petra"}
    move = MoveAccount(account_id=place.accounts["nlp"], to_parent_id=place.accounts["production"])
    place.run(move, reason="reorganized")
    with pytest.raises(DomainError) as error:
        desk.approve(it, by="petra")
    assert error.value.code == "not_a_reviewer"
    assert not waiting(desk, it, "petra"), "nobody is offered what they may not decide"
    place.run(FollowUpRequests(), now=NOW + timedelta(minutes=5))
    assert asked(desk, it) == {"nora"} and waiting(desk, it, "nora")
    assert desk.request(it).approvals_needed == 1
    again = place.run(FollowUpRequests(), now=NOW + timedelta(minutes=6))
    assert again.events == ()
    assert desk.approve(it, by="nora").state == State.PROVISIONED


def test_a_request_whose_only_approver_lost_the_role_finds_another(desk):
    place = desk.place
    it = desk.ask("nlp", 60)
    place.run(
        RevokeRole(
            account_id=place.accounts["research"], person_id=place.people["petra"], role="approver"
        )
    )
    place.run(FollowUpRequests(), now=NOW + timedelta(minutes=5))
    assert asked(desk, it) == {"rita", "rolf"}


def test_a_second_word_is_asked_elsewhere_when_who_was_to_give_it_left(desk):
    place = desk.place
    place.role("rolf", "approver", on="research")
    it = desk.ask("nlp", 100)
    assert asked(desk, it) == {"petra", "rolf"}
    desk.approve(it, by="petra")
    for account in ("research", "root"):
        role = {"account_id": place.accounts[account], "role": "approver"}
        place.run(RevokeRole(person_id=place.people["rolf"], **role))
    place.run(FollowUpRequests(), now=NOW + timedelta(minutes=5))
    assert asked(desk, it) == {"rita"}
    assert place.run(FollowUpRequests(), now=NOW + timedelta(minutes=6)).events == ()
    assert desk.approve(it, by="rita").state == State.PROVISIONED


@pytest.mark.parametrize("step", ["", "offer", "question"])
def test_what_nobody_decides_until_its_time_is_over_is_over(desk, step):
    it = desk.ask("nlp", 60, days=2)
    if step == "offer":
        desk.approve_less(it, by="petra", units=40)
    if step == "question":
        desk.ask_changes(it, by="petra", reason="why?")
    over = NOW + 2 * DAY
    desk.place.run(FollowUpRequests(), now=over)
    request = desk.request(it)
    assert (request.state, request.ended_at, request.due_at) == (State.EXPIRED, over, None)
    assert desk.place.run(FollowUpRequests(), now=NOW + 30 * DAY).events == (), "nobody is reminded"
    for attempt in (
        lambda: desk.approve(it, by="petra", now=over),
        lambda: desk.withdraw(it, now=over),
        lambda: desk.run(AcceptCounter(request_id=it.request_id), by="alice", now=over),
    ):
        with pytest.raises(DomainError) as error:
            attempt()
        assert error.value.code == "request_moved_on"
    assert verification.verify(desk.place.id).clean


def test_an_archived_account_is_granted_nothing_but_can_be_answered(desk):
    it, other = desk.ask("nlp", 60), desk.ask("nlp", 61)
    desk.place.run(ArchiveAccount(account_id=desk.place.accounts["nlp"]), reason="done")
    with pytest.raises(DomainError) as error:
        desk.approve(it, by="petra")
    assert "archived" in error.value.code
    assert desk.request(it).state == State.SUBMITTED
    assert desk.reject(it, by="petra", reason="the team is gone").state == State.REJECTED
    assert desk.withdraw(other).state == State.WITHDRAWN


def test_a_pool_that_shrinks_meanwhile_is_said_with_the_shortfall(desk):
    it = desk.ask("nlp", 60)
    desk.place.run(
        ResizePool(pool_id=desk.place.pools["h100"], capacity=50, accept_over_promise=True),
        reason="racks went",
    )
    with pytest.raises(Refused) as refused:
        desk.approve(it, by="petra")
    assert (refused.value.code, refused.value.facts["short_by"]) == ("promise_exceeded", 10)
    assert desk.request(it).version == it.version


def test_another_policy_leaves_the_route_of_what_waits(desk):
    one, two = desk.ask("nlp", 60), desk.ask("nlp", 100)
    desk.policy(automatic_units_max=1_000, two_approvals_units=2)
    assert (desk.request(one).approvals_needed, desk.request(two).approvals_needed) == (1, 2)
    assert desk.approve(one, by="petra").state == State.PROVISIONED
    desk.policy(two_approvals_units=1_000)
    first = desk.approve(two, by="rita")
    assert (first.state, first.approvals_missing) == (State.SUBMITTED, 1)


def test_an_extension_after_the_end_is_told_to_be_something_else(desk):
    desk.ask("nlp", 8, days=7)
    desk.place.run(SettleQuotas(), now=NOW + 8 * DAY)
    with pytest.raises(Refused) as refused:
        desk.ask("nlp", None, kind="extension", days=30, now=NOW + 8 * DAY)
    assert refused.value.code == "not_temporary"


def test_withdrawn_after_the_first_of_two_words(desk):
    it = desk.ask("nlp", 100)
    desk.approve(it, by="petra")
    assert desk.withdraw(it).state == State.WITHDRAWN
    with pytest.raises(DomainError) as error:
        desk.approve(it, by="rita")
    assert error.value.code == "request_moved_on"
    assert desk.quotas.stored() == {}


def test_a_transfer_of_what_is_in_use_demotes_nobody(desk):
    from quota.commands.admissions import AdmitBatch
    from quota.models import Allocation
    from quota.wire import Ask

    desk.quotas.set("nlp", 10)
    job = Ask(key="j", account="nlp", person="bob", pool="h100", units=10)
    desk.place.run(AdmitBatch(requests=(job,)))
    move = {"kind": "transfer", "days": None, "to_account_id": desk.place.accounts["vision"]}
    it = desk.ask("nlp", 4, **move)
    assert desk.approve(it, by="petra").state == State.PROVISIONED
    assert desk.quotas.stored() == {"nlp": 6, "vision": 4}
    with scope.reading(desk.place.id):
        assert list(Allocation.objects.values_list("tier", "units")) == [("guaranteed", 10)]
    assert verification.verify(desk.place.id).clean


def test_ids_of_another_organization_are_nothing_here(desk, globex):
    theirs = desk.terms("nlp", 8, account_id=globex.accounts["nlp"])
    pools = desk.terms("nlp", 8, pool_id=globex.pools["h100"])
    receiver = desk.terms(
        "nlp", 8, kind="transfer", days=None, to_account_id=globex.accounts["nlp"]
    )
    for terms in (theirs, pools, receiver):
        with pytest.raises(NotFound):
            desk.run(Submit(terms=terms), by="otto")


def test_an_operator_who_sets_the_quota_by_hand_meanwhile(desk):
    """The request adds to what stands when it is granted, it does not overwrite it."""
    it = desk.ask("nlp", 60, days=None, kind="raise")
    place = {"account_id": desk.place.accounts["nlp"], "pool_id": desk.place.pools["h100"]}
    desk.place.run(SetQuota(**place, guaranteed=7, borrowing_limit=3), reason="by hand")
    desk.approve(it, by="petra")
    assert desk.quotas.stored() == {"nlp": 67}
