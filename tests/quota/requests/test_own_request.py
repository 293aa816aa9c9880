"""Nobody approves their own request: every path that somebody might try, on the database.

Each path is tried with the command, and the inbox must not offer what the command refuses.
"""

from datetime import timedelta

import pytest

from ledger import scope
from ledger.errors import Denied, DomainError, Refused
from quota.commands.request_policy import EndDelegate, SetDelegate
from quota.commands.requests import AcceptCounter, Submit
from quota.domain.requests import State
from quota.queries.inbox import inbox
from tenancy.commands.people import AddPerson, LinkLogin
from tenancy.models import User
from tests.quota.requests.conftest import DAY, Desk
from tests.world import NOW, tenant

HOUR = timedelta(hours=1)


def delegate(desk, person: str, to: str, *, start=NOW - DAY, end=NOW + 7 * DAY):
    people = desk.place.people
    command = SetDelegate(delegate_id=people[to], starts_at=start, ends_at=end)
    return desk.run(command, by=person)


def also(desk, name: str, email: str, *, role: str = "approver", on: str = "root") -> None:
    """Another person of the organization, with an address of somebody's."""
    made = desk.place.run(AddPerson(name=name, display_name=name, email=email)).result
    desk.place.people[name] = made.person_id
    if role:
        desk.place.role(name, role, on=on)


def refused(desk, it, by: str, **fields) -> str:
    """The code with which an approval is refused; nothing changed, and the inbox is silent."""
    before = desk.request(it)
    with pytest.raises(DomainError) as error:
        desk.approve(it, by=by, **fields)
    assert desk.request(it) == before
    assert not offered(desk, it, by)
    return error.value.code


def offered(desk, it, by: str, *, now=NOW) -> bool:
    with scope.reading(desk.place.id):
        page = inbox(desk.place.id, desk.place.people[by], now=now)
    return it.request_id in {row.row.request.id for row in page.rows}


@pytest.fixture
def petras(desk):
    """A request of Petra's, who may request for nlp and approves for it."""
    desk.place.role("petra", "lead", on="nlp")
    return desk.ask("nlp", 60, by="petra")


def test_not_as_who_asked(desk, petras):
    assert refused(desk, petras, "petra") == "own_request"
    assert desk.place.people["petra"] not in petras.asked_ids
    assert offered(desk, petras, "rita")
    assert desk.approve(petras, by="rita").state == State.PROVISIONED


def test_not_as_an_operator_who_asked(desk):
    it = desk.ask("nlp", 60, by="otto")
    assert refused(desk, it, "otto") == "own_request"


def test_not_under_a_second_login_with_the_same_address(desk, petras):
    for name, email in (("petra2", "PETRA@example.org "), ("petra3", "petra+work@Example.org")):
        also(desk, name, email)
        assert refused(desk, petras, name) == "own_request"


def test_not_under_a_person_whose_login_has_the_address(desk, petras):
    also(desk, "ghost", "elsewhere@example.org")
    user = User.objects.create_user("petra@example.org", "secret")
    desk.place.run(LinkLogin(person_id=desk.place.people["ghost"], user_id=user.pk))
    assert refused(desk, petras, "ghost") == "own_request"


def test_blank_addresses_make_nobody_the_same(desk):
    also(desk, "one", "", role="lead", on="nlp")
    also(desk, "two", " ")
    it = desk.ask("nlp", 60, by="one")
    assert desk.approve(it, by="two").state == State.PROVISIONED


def test_not_through_a_delegate(desk, petras):
    delegate(desk, "petra", "bob")
    assert refused(desk, petras, "bob") == "own_request_by_delegate"


def test_not_as_the_delegate_of_another_approver(desk, petras):
    delegate(desk, "rita", "petra")
    assert refused(desk, petras, "petra") == "own_request"


def test_not_by_a_second_login_that_stands_in_for_another(desk, petras):
    also(desk, "petra2", "petra@example.org", role="")
    delegate(desk, "rita", "petra2")
    assert refused(desk, petras, "petra2") == "own_request"


def test_not_through_the_delegate_of_a_second_login(desk, petras):
    also(desk, "petra2", "petra@example.org")
    delegate(desk, "petra2", "bob")
    assert refused(desk, petras, "bob") == "own_request_by_delegate"


def test_a_delegate_with_a_role_of_their_own_decides_in_their_own_name(desk, petras):
    delegate(desk, "petra", "rita")
    desk.approve(petras, by="rita")
    (word,) = desk.request(petras).approvals
    assert word.on_behalf_of_id is None


def test_not_by_having_somebody_else_hand_it_in(desk):
    """Alice asks, Petra hands in what was asked to be changed: both are its authors."""
    desk.place.role("rita", "lead", on="nlp")
    it = desk.ask("nlp", 60)
    desk.ask_changes(it, by="petra", reason="more, please")
    again = desk.run(Submit(terms=desk.terms("nlp", 70), request_id=it.request_id), by="rita")
    assert refused(desk, again, "rita") == "own_request"
    assert refused(desk, again, "alice") == "own_request"
    assert desk.approve(again, by="petra").state == State.PROVISIONED


def test_not_by_offering_less_to_oneself(desk, petras):
    for by in ("petra",):
        with pytest.raises(Refused):
            desk.approve_less(petras, by=by, units=10)
        with pytest.raises(Refused):
            desk.reject(petras, by=by)


def test_an_offer_is_taken_by_those_who_ask_only(desk, petras):
    desk.approve_less(petras, by="rita", units=10)
    with pytest.raises(DomainError):
        desk.run(AcceptCounter(request_id=petras.request_id), by="bob")


def test_members_and_strangers_review_nothing(desk):
    it = desk.ask("nlp", 60)
    assert refused(desk, it, "bob") == "not_a_reviewer"
    assert refused(desk, it, "uma") == "not_a_reviewer"
    also(desk, "stranger", "s@example.org", on="production")
    assert refused(desk, it, "stranger") == "not_a_reviewer"


def test_another_tenant_finds_nothing(desk, globex):
    it = desk.ask("nlp", 60)
    from ledger.errors import NotFound
    from quota.commands.reviews import Approve

    with pytest.raises(NotFound):
        globex.run(Approve(request_id=it.request_id), by=globex.actor("charlie"))
    with pytest.raises((Denied, NotFound)):
        desk.place.run(Approve(request_id=it.request_id), by=globex.actor("charlie"))


def test_the_system_and_machines_decide_nothing(desk):
    from quota.commands.reviews import Approve

    it = desk.ask("nlp", 60)
    with pytest.raises(Denied):
        desk.place.run(Approve(request_id=it.request_id))


def test_a_delegate_decides_during_the_absence_and_no_longer(desk):
    it = desk.ask("nlp", 60)
    made = delegate(desk, "petra", "bob", start=NOW + DAY, end=NOW + 2 * DAY)
    assert refused(desk, it, "bob") == "not_a_reviewer"
    assert refused(desk, it, "bob", now=NOW + 2 * DAY) == "not_a_reviewer"
    assert offered(desk, it, "bob", now=NOW + DAY + HOUR)
    desk.run(EndDelegate(delegation_id=made.delegation_id), by="petra", now=NOW + DAY + HOUR)
    assert refused(desk, it, "bob", now=NOW + DAY + HOUR) == "not_a_reviewer"


def test_a_delegate_of_a_delegate_is_none(desk):
    it = desk.ask("nlp", 60)
    delegate(desk, "petra", "bob")
    delegate(desk, "bob", "alice")
    also(desk, "carl", "carl@example.org", role="")
    delegate(desk, "bob", "carl")
    assert refused(desk, it, "carl") == "not_a_reviewer"
    done = desk.approve(it, by="bob")
    assert done.state == State.PROVISIONED
    (word,) = desk.request(it).approvals
    assert word.on_behalf_of_id == desk.place.people["petra"]


def test_a_role_lost_meanwhile_counts_for_nothing(desk):
    from tenancy.commands.people import RevokeRole

    it = desk.ask("nlp", 60)
    delegate(desk, "petra", "bob")
    desk.place.run(
        RevokeRole(
            account_id=desk.place.accounts["research"],
            person_id=desk.place.people["petra"],
            role="approver",
        )
    )
    assert refused(desk, it, "petra") == "not_a_reviewer"
    assert refused(desk, it, "bob") == "not_a_reviewer"


class TestTwoApprovals:
    """The second word is another human's, whoever speaks for whom."""

    @pytest.fixture
    def it(self, desk):
        it = desk.ask("nlp", 100)
        desk.approve(it, by="petra")
        return it

    def test_not_twice_by_one(self, desk, it):
        assert refused(desk, it, "petra") == "already_approved"

    def test_not_by_a_second_login(self, desk, it):
        also(desk, "petra2", "petra@example.org")
        assert refused(desk, it, "petra2") == "already_approved"

    def test_not_through_ones_delegate(self, desk, it):
        delegate(desk, "petra", "bob")
        assert refused(desk, it, "bob") == "already_approved"

    def test_not_as_the_delegate_of_another(self, desk, it):
        delegate(desk, "rita", "petra")
        assert refused(desk, it, "petra") == "already_approved"

    def test_not_in_the_name_of_whose_delegate_spoke_first(self, desk):
        it = desk.ask("nlp", 100)
        delegate(desk, "petra", "bob")
        desk.approve(it, by="bob")
        assert refused(desk, it, "petra") == "already_approved"

    def test_not_by_one_delegate_of_two(self, desk):
        it = desk.ask("nlp", 100)
        delegate(desk, "petra", "bob")
        delegate(desk, "rita", "bob")
        desk.approve(it, by="bob")
        assert refused(desk, it, "bob") == "already_approved"

    def test_by_another(self, desk, it):
        assert desk.approve(it, by="rolf").state == State.PROVISIONED

    def test_by_another_in_the_name_of_a_third(self, desk, it):
        delegate(desk, "rita", "bob")
        assert desk.approve(it, by="bob").state == State.PROVISIONED

    def test_an_offer_counts_as_one_word_of_its_author(self, desk):
        it = desk.ask("nlp", 100)
        desk.approve_less(it, by="petra", units=90)
        taken = desk.run(AcceptCounter(request_id=it.request_id), by="alice")
        assert (taken.state, taken.approvals_missing) == (State.SUBMITTED, 1)
        assert refused(desk, it, "petra") == "already_approved"
        assert desk.approve(it, by="rita").state == State.PROVISIONED
        assert desk.quotas.stored() == {"nlp": 90}

    def test_handing_in_again_makes_approvals_void(self, desk, it):
        desk.ask_changes(it, by="rita", reason="ninety would do")
        again = desk.run(Submit(terms=desk.terms("nlp", 100), request_id=it.request_id), by="alice")
        assert again.approvals_missing == 2
        desk.approve(again, by="petra")


def test_without_two_humans_nobody_is_asked(desk):
    """A second login of the only approver is no second approver."""
    from tenancy.commands.people import RevokeRole

    people, accounts = desk.place.people, desk.place.accounts
    for name in ("rita", "rolf", "otto"):
        role = "operator" if name == "otto" else "approver"
        if name == "otto":
            also(desk, "op", "petra@example.org", role="operator")
        desk.place.run(RevokeRole(account_id=accounts["root"], person_id=people[name], role=role))
    with pytest.raises(Refused) as refusal:
        desk.ask("nlp", 100)
    assert refusal.value.code == "nobody_to_ask"
    assert desk.ask("nlp", 60).asked_ids == (people["petra"],)


def test_the_only_operator_who_asks_alone_reads_the_way_out(db):
    """Neither leads nor approvers: nobody grants it to themselves, and it is said what to do."""
    place = tenant("lone")
    place.account("lab")
    place.person("olga")
    place.role("olga", "operator")
    place.pool("h100")
    alone = Desk(place)
    asked = {"by": "olga", "kind": "new", "ends_at": NOW + 30 * DAY}
    assert alone.ask("lab", 8, **asked).state == State.PROVISIONED, (
        "the policy grants what is small"
    )
    with pytest.raises(Refused) as refusal:
        alone.ask("lab", 90, **asked | {"kind": "raise", "ends_at": None})
    assert refusal.value.code == "nobody_to_ask"
    assert refusal.value.detail == (
        "Somebody else has to approve this, and nobody else may. Give somebody the role approver "
        "on this account or above it."
    )
    place.person("rita")
    place.role("rita", "approver")
    waiting = alone.ask("lab", 90, **asked | {"kind": "raise", "ends_at": None})
    assert alone.approve(waiting, by="rita").state == State.PROVISIONED


def test_nobody_is_their_own_delegate(desk):
    also(desk, "petra2", "petra@example.org", role="")
    for to in ("petra", "petra2"):
        with pytest.raises(DomainError) as error:
            delegate(desk, "petra", to)
        assert error.value.code == "delegate_is_oneself"
    with pytest.raises(Denied):
        desk.run(
            SetDelegate(
                person_id=desk.place.people["rita"],
                delegate_id=desk.place.people["bob"],
                starts_at=NOW,
                ends_at=NOW + DAY,
            ),
            by="petra",
        )
