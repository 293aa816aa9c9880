"""Who decides what in a cycle, again and at once; the lead's word; what cannot be."""

from functools import partial

import pytest

from ledger import scope, verification
from ledger.errors import Conflict, DomainError, Invalid, NotFound, Refused
from quota.commands.cycle_decisions import DecideCycle
from quota.commands.cycles import CancelCycle
from quota.models import CycleEntry
from tests.quota.cycles.conftest import DAY
from tests.races import became
from tests.world import NOW


def test_a_decision_is_revised_until_the_close(table):
    it = table.open()
    table.decide(it, "nlp", "set", 10, by="rita")
    table.decide(it, "nlp", "keep", by="petra", expected_version=1)
    entry = table.entry(it, "nlp")
    assert (entry.decision, entry.units, entry.version) == ("keep", 40, 2)
    assert entry.reviewer_id == table.place.people["petra"]
    assert table.quotas.stored()["nlp"] == 40


def test_who_comes_later_is_told_who_decided_meanwhile(table):
    it = table.open()
    table.decide(it, "nlp", "set", 10, by="petra", expected_version=0)
    with pytest.raises(Conflict, match="Petra decided set: 10 units about nlp in h100") as told:
        table.decide(it, "nlp", "keep", by="rita", expected_version=0)
    assert told.value.facts["found"] == 1
    assert table.entry(it, "nlp").units == 10


@pytest.mark.django_db(transaction=True)
def test_two_at_once_one_is_told(table):
    it = table.open()

    def decide(by: str, units: int) -> str:
        table.decide(it, "nlp", "set", units, by=by, expected_version=0)
        return "done"

    told = became([partial(decide, "petra", 11), partial(decide, "rita", 12)])
    assert sorted(told) == ["decided_meanwhile", "done"]
    assert table.entry(it, "nlp").version == 1
    assert verification.verify(table.place.id).clean


def test_a_batch_is_whole(table):
    it = table.open()
    choices = (table.choice("nlp", "set", 5), table.choice("serving", "recommended"))
    with pytest.raises(Refused, match="Too little of its use is known"):
        table.run(DecideCycle(cycle_id=it, choices=choices), by="rita")
    assert table.entry(it, "nlp").state == "undecided"


def test_the_recommended_figure_is_the_one_that_was_seen(table):
    table.known("nlp", recommended=9)
    it = table.open()
    table.known("nlp", recommended=11)
    with pytest.raises(Conflict, match="11 now, not 9"):
        table.decide(it, "nlp", "recommended", 9)
    table.decide(it, "nlp", "recommended", 11)
    assert table.entry(it, "nlp").units == 11


def test_what_was_known_is_kept_with_the_decision(table):
    table.known("nlp", recommended=9, cost="812.50")
    it = table.open()
    table.decide(it, "nlp", "set", 12)
    table.decide(it, "serving", "keep")
    with scope.reading(table.place.id):
        rows = {
            row.account_id: row.figures
            for row in CycleEntry.objects.filter(cycle_id=it, state="decided")
        }
    known = rows[table.place.accounts["nlp"]]
    assert (known["p95"], known["recommended"], known["idle_cost"]) == (8, 9, "812.50")
    unknown = rows[table.place.accounts["serving"]]
    assert (unknown["p95"], unknown["idle_cost"], unknown["coverage_percent"]) == (None, None, 0)


def test_the_lead_is_asked_and_answers(table):
    it = table.open()
    table.decide(it, "nlp", "set", 10)
    table.ask(it, "nlp", question="Do you still need 40?", by="petra", expected_version=1)
    entry = table.entry(it, "nlp")
    assert (entry.state, entry.decision, entry.units) == ("asked", None, None)
    with pytest.raises(Refused, match="4 quotas have no decision"):
        table.close(it)
    table.answer(it, "nlp", text="Only 30.", units=30, expected_version=2)
    assert table.entry(it, "nlp").state == "answered"
    table.answer(it, "nlp", text="Even 25.", units=25)
    table.decide(it, "nlp", "set", 25)
    with pytest.raises(Refused, match="it is decided"):
        table.answer(it, "nlp", text="No, 50!")


def test_only_leads_answer_and_only_what_was_asked(table):
    it = table.open()
    with pytest.raises(Refused, match="no lead"):
        table.ask(it, "serving")
    table.ask(it, "nlp")
    with pytest.raises(DomainError, match="Only a lead of nlp"):
        table.answer(it, "nlp", by="bob")
    with pytest.raises(Invalid, match="Write a sentence"):
        table.answer(it, "nlp", text="  ")


def test_a_reviewer_stays_inside_their_subtree(table):
    it = table.open()
    table.decide(it, "nlp", "keep", by="petra")
    for by in ("petra", "alice", "bob", "uma"):
        with pytest.raises(DomainError) as told:
            table.decide(it, "serving", "keep", by=by)
        assert told.value.code in ("role_missing", "account_unknown")
    with pytest.raises(DomainError, match="role"):
        table.close(it, by="petra", undecided_keep=True)
    with pytest.raises(DomainError, match="role"):
        table.open("root", by="petra")
    table.open("research", by="petra")


def test_nobody_raises_the_quota_that_they_lead(table):
    table.place.role("petra", "lead", on="nlp")
    it = table.open()
    with pytest.raises(Refused, match="You lead nlp, and nobody raises their own quota"):
        table.decide(it, "nlp", "set", 41, by="petra")
    assert table.entry(it, "nlp").state == "undecided"
    table.decide(it, "nlp", "keep", by="petra")
    table.decide(it, "nlp", "set", 30, by="petra")
    table.decide(it, "nlp", "set", 50, by="rita")


def test_nor_under_another_login(table):
    from tenancy.commands.people import AddPerson

    made = table.place.run(AddPerson(name="alice2", email="Alice+second@example.org")).result
    table.place.people["alice2"] = made.person_id
    table.place.role("alice2", "approver")
    it = table.open()
    with pytest.raises(Refused, match="You lead nlp"):
        table.decide(it, "nlp", "set", 41, by="alice2")


def test_a_large_rise_is_closed_by_somebody_else(table):
    table.place.pool("big", capacity=1_000)
    table.quotas.set("nlp", 10, pool="big")
    it = table.open()
    table.decide(it, "nlp", "set", 300, pool="big", by="rita")
    with pytest.raises(Refused, match="takes two people"):
        table.close(it, by="rita", undecided_keep=True)
    assert table.close(it, by="rolf", undecided_keep=True).changed == 1


def test_what_changed_since_is_decided_again(table):
    it = table.open()
    table.decide(it, "nlp", "set", 10)
    table.decide(it, "serving", "keep")
    table.quotas.set("nlp", 45)
    table.quotas.set("serving", 25)
    with pytest.raises(Refused, match="It had 40 units when this was decided and has 45 now"):
        table.close(it, undecided_keep=True)
    table.decide(it, "nlp", "set", 10)
    assert table.close(it, undecided_keep=True).changed == 1
    assert table.quotas.stored() == {"research": 20, "nlp": 10, "serving": 25}


def test_a_temporary_quota_keeps_its_end(table):
    table.quotas.set("nlp", 50, ends_at=NOW + 20 * DAY, carve="research")
    assert table.quotas.stored() == {"research": 10, "nlp": 50, "serving": 30}
    it = table.open()
    table.decide(it, "nlp", "set", 46)
    table.close(it, undecided_keep=True)
    assert table.quotas.stored() == {"research": 14, "nlp": 46, "serving": 30}
    from quota.commands.quotas import SettleQuotas

    table.place.run(SettleQuotas(), now=NOW + 21 * DAY)
    assert table.quotas.stored() == {"research": 20, "nlp": 40, "serving": 30}
    assert verification.verify(table.place.id).clean


def test_below_what_it_returns_to_it_returns_to_no_more(table):
    table.quotas.set("nlp", 50, ends_at=NOW + 20 * DAY, carve="research")
    it = table.open()
    table.decide(it, "nlp", "set", 5)
    table.close(it, undecided_keep=True)
    assert table.quotas.stored() == {"research": 20, "nlp": 5, "serving": 30}
    from quota.commands.quotas import SettleQuotas

    table.place.run(SettleQuotas(), now=NOW + 21 * DAY)
    assert table.quotas.stored()["nlp"] == 5


def test_a_cancelled_cycle_changes_nothing(table):
    it = table.open()
    table.decide(it, "nlp", "set", 5)
    with pytest.raises(Invalid, match="Say why"):
        table.run(CancelCycle(cycle_id=it), by="rita")
    table.run(CancelCycle(cycle_id=it), by="rita", reason="too early")
    assert table.quotas.stored()["nlp"] == 40
    with pytest.raises(Refused, match="cancelled"):
        table.close(it, undecided_keep=True)
    table.open()


def test_another_tenants_cycle_is_not_there(table, globex):
    it = table.open()
    with pytest.raises(NotFound):
        globex.run(CancelCycle(cycle_id=it), by=globex.actor("charlie"), reason="x")


def test_the_quota_says_where_its_change_came_from(table):
    from ledger.models import StoredEvent

    it = table.open(name="Autumn 2026")
    table.decide(it, "nlp", "set", 5, reason="idle")
    table.close(it, undecided_keep=True, reason="agreed")
    with scope.reading(table.place.id):
        stored = StoredEvent.objects.filter(type="quota.set").order_by("-position").first()
    assert (stored.reason, stored.actor_label) == ("Autumn 2026: agreed", "rolf")
