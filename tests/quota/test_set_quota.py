"""Grants and what refuses them, with numbers. Pools of acme have 100 units."""

from datetime import timedelta

import pytest

from ledger import rebuild, verification
from ledger.errors import Denied, Invalid, NotFound, Refused
from quota.commands.pools import ResizePool, SetReclaimTarget, SetSafetyMargin, SetUnavailable
from quota.commands.quotas import (
    CancelScheduledQuota,
    EndQuota,
    SetQuota,
    SettleQuotas,
)
from tenancy.commands.accounts import ArchiveAccount, MoveAccount
from tests.world import NOW

HOUR = timedelta(hours=1)


def facts(call) -> tuple[str, int | None]:
    with pytest.raises(Refused) as refused:
        call()
    return refused.value.code, refused.value.facts.get("short_by")


def test_a_grant_adds_to_the_promise_and_carving_does_not(quotas):
    assert quotas.set("research", 90).result.promised == 90
    answer = quotas.set("nlp", 60, carve="research", borrowing_limit=20).result
    assert (answer.promised, answer.promisable, answer.changed) == (90, 100, True)
    assert quotas.stored() == {"research": 30, "nlp": 60}
    assert facts(lambda: quotas.set("vision", 31, carve="research")) == ("carve_exceeded", 1)
    assert facts(lambda: quotas.set("serving", 11)) == ("promise_exceeded", 1)
    assert quotas.set("serving", 10).result.promised == 100


def test_the_event_says_who_why_and_from_whom(quotas, acme):
    quotas.set("research", 90)
    lent, became = quotas.set("nlp", 60, carve="research", by="otto", reason="Q4 plan").events
    assert (lent.data.quota.guaranteed, lent.data.borrower_id) == (30, acme.accounts["nlp"])
    assert (became.data.quota.guaranteed, became.data.lender_id) == (60, acme.accounts["research"])
    assert (became.actor_label, became.reason) == ("otto", "Q4 plan")


def test_setting_what_is_set_records_nothing(quotas):
    quotas.set("nlp", 10, lending_limit=5)
    again = quotas.set("nlp", 10, lending_limit=5)
    assert (again.events, again.result.changed) == ((), False)


def test_only_operators_and_only_with_a_reason(quotas, acme, globex):
    for name in ("alice", "bob", "uma"):
        with pytest.raises(Denied):
            quotas.set("nlp", 1, by=name)
    with pytest.raises(Invalid, match="why"):
        quotas.set("nlp", 1, reason=" ")
    with pytest.raises(Invalid) as invalid:
        quotas.set("nlp", -1)
    assert invalid.value.code == "amount_out_of_range"
    with pytest.raises(Denied):
        globex.run(
            SetQuota(account_id=globex.accounts["nlp"], pool_id=globex.pools["h100"], guaranteed=1),
            by=acme.actor("otto"),
            reason="not mine",
        )


def test_nothing_of_another_tenant_can_be_named(quotas, acme, globex):
    with pytest.raises(NotFound):
        acme.run(
            SetQuota(account_id=globex.accounts["nlp"], pool_id=acme.pools["h100"], guaranteed=1),
            reason="test",
        )
    with pytest.raises(NotFound):
        acme.run(
            SetQuota(account_id=acme.accounts["nlp"], pool_id=globex.pools["h100"], guaranteed=1),
            reason="test",
        )
    quotas.set("nlp", 5)
    from ledger import scope
    from quota.models import PoolHistory, Quota, QuotaHistory

    with scope.reading(globex.id):
        assert not Quota.objects.exists()
        assert not QuotaHistory.objects.exists()
        assert PoolHistory.objects.count() == 1


def test_a_pool_does_not_shrink_under_its_promises(quotas, acme):
    h100 = acme.pools["h100"]
    quotas.set("research", 80)
    run = lambda command: acme.run(command, reason="test").result  # noqa: E731
    assert facts(lambda: run(ResizePool(pool_id=h100, capacity=70))) == ("promise_exceeded", 10)
    assert facts(lambda: run(SetSafetyMargin(pool_id=h100, safety_margin=25))) == (
        "promise_exceeded",
        5,
    )
    assert run(SetSafetyMargin(pool_id=h100, safety_margin=10)).promisable == 90
    assert run(SetUnavailable(pool_id=h100, unavailable=30)).over_promised_by == 20
    assert facts(lambda: quotas.set("serving", 1)) == ("pool_over_promised", 21)
    assert quotas.set("research", 70).result.promised == 70, "what helps is let through"
    assert run(ResizePool(pool_id=h100, capacity=90, accept_over_promise=True)).promisable == 50
    assert run(SetReclaimTarget(pool_id=h100, reclaim_target_seconds=60)).changed
    assert not run(SetReclaimTarget(pool_id=h100, reclaim_target_seconds=60)).changed
    assert verification.verify(acme.id).clean


def test_a_temporary_quota_ends_by_itself(quotas, acme):
    quotas.set("research", 50)
    quotas.set("nlp", 10, carve="research")
    quotas.set("nlp", 30, carve="research", ends_at=NOW + HOUR, borrowing_limit=0)
    assert quotas.stored() == {"research": 20, "nlp": 30}
    assert acme.run(SettleQuotas(), now=NOW + HOUR - timedelta(seconds=1)).result.recorded == 0
    settled = acme.run(SettleQuotas(), now=NOW + 2 * HOUR)
    assert [event.data.event_type for event in settled.events] == ["quota.set", "quota.ended"]
    assert {event.occurred_at for event in settled.events} == {NOW + HOUR}
    assert quotas.stored() == {"research": 40, "nlp": 10}
    assert acme.run(SettleQuotas(), now=NOW + 3 * HOUR).events == ()


def test_a_temporary_quota_ends_early(quotas, acme):
    ref = {"account_id": acme.accounts["nlp"], "pool_id": acme.pools["h100"]}
    quotas.set("nlp", 30, ends_at=NOW + HOUR)
    (ended,) = acme.run(EndQuota(**ref), reason="done").events
    assert (ended.data.early, quotas.stored()) == (True, {"nlp": 0})
    assert facts(lambda: acme.run(EndQuota(**ref), reason="again"))[0] == "not_temporary"


def test_a_change_to_come_takes_effect_or_lapses_and_says_so(quotas, acme):
    quotas.set("research", 80)
    coming = quotas.set("nlp", 20, effective_at=NOW + HOUR).result
    assert (coming.promised, coming.foreseen) == (80, None)
    crowded = quotas.set("vision", 15, effective_at=NOW + 2 * HOUR).result
    assert "15 short" in crowded.foreseen
    settled = acme.run(SettleQuotas(), now=NOW + 3 * HOUR).events
    assert [event.data.event_type for event in settled] == ["quota.set", "quota.lapsed"]
    assert settled[0].data.change_id == coming.change_id
    lapsed = settled[1].data
    assert (lapsed.change_id, lapsed.code, lapsed.short_by) == (
        crowded.change_id,
        "promise_exceeded",
        15,
    )
    assert quotas.stored() == {"research": 80, "nlp": 20}
    assert acme.run(SettleQuotas(), now=NOW + 9 * HOUR).events == ()
    assert verification.verify(acme.id).clean


def test_whoever_comes_first_records_what_is_due(quotas, acme):
    quotas.set("nlp", 90, ends_at=NOW + HOUR)
    later = quotas.set("vision", 100, now=NOW + 2 * HOUR)
    assert [event.data.event_type for event in later.events] == ["quota.ended", "quota.set"]


def test_a_change_to_come_can_be_cancelled_until_it_is_due(quotas, acme):
    first = quotas.set("nlp", 20, effective_at=NOW + HOUR).result.change_id
    second = quotas.set("nlp", 30, effective_at=NOW + 2 * HOUR).result.change_id
    acme.run(CancelScheduledQuota(change_id=first), reason="no")
    for change, now in ((first, NOW), (second, NOW + 2 * HOUR)):
        command = CancelScheduledQuota(change_id=change)
        assert facts(lambda c=command, n=now: acme.run(c, now=n, reason="no"))[0] == "not_scheduled"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"effective_at": NOW - HOUR}, "effective_in_past"),
        ({"ends_at": NOW}, "end_not_later"),
        ({"effective_at": NOW + HOUR, "ends_at": NOW + HOUR}, "end_not_later"),
        ({"ends_at": NOW.replace(tzinfo=None)}, "instant_without_zone"),
        ({"carve": "production"}, "carve_not_ancestor"),
        ({"carve": "production", "effective_at": NOW + HOUR}, "carve_not_ancestor"),
        ({"carve": "nlp"}, "carve_not_ancestor"),
    ],
)
def test_what_cannot_mean_anything(quotas, fields, code):
    with pytest.raises(Invalid) as invalid:
        quotas.set("nlp", 1, **fields)
    assert invalid.value.code == code


def test_an_account_moves_with_its_guarantee_but_not_out_of_a_carving_to_come(quotas, acme):
    nlp, production = acme.accounts["nlp"], acme.accounts["production"]
    quotas.set("research", 60)
    quotas.set("nlp", 20, carve="research")
    coming = quotas.set("nlp", 30, carve="research", effective_at=NOW + HOUR).result
    move = MoveAccount(account_id=nlp, to_parent_id=production)
    assert facts(lambda: acme.run(move))[0] == "carving_to_come"
    acme.run(CancelScheduledQuota(change_id=coming.change_id), reason="moves")
    acme.run(move)
    assert quotas.stored() == {"research": 40, "nlp": 20}


def test_an_account_is_archived_only_with_empty_hands(quotas, acme):
    nlp, research = acme.accounts["nlp"], acme.accounts["research"]
    archive = ArchiveAccount(account_id=nlp)
    quotas.set("nlp", 20)
    with pytest.raises(Refused) as refused:
        acme.run(archive)
    assert refused.value.code == "quota_held"
    assert refused.value.facts["held"] == [{"account": "nlp", "pool": "h100", "units": 20}]
    quotas.set("nlp", 0, ends_at=NOW + HOUR)
    assert facts(lambda: acme.run(archive))[0] == "quota_held", "20 would come back"
    quotas.set("nlp", 0, borrowing_limit=5)
    coming = quotas.set("nlp", 5, effective_at=NOW + HOUR).result
    assert facts(lambda: acme.run(archive))[0] == "quota_held"
    acme.run(CancelScheduledQuota(change_id=coming.change_id), reason="closes")
    acme.run(archive)
    assert facts(lambda: quotas.set("nlp", 1))[0] == "account_archived"
    quotas.set("research", 10)
    quotas.set("vision", 10, carve="research", ends_at=NOW + HOUR)
    assert quotas.stored()["research"] == 0
    acme.run(MoveAccount(account_id=acme.accounts["vision"], to_parent_id=acme.accounts["root"]))
    with pytest.raises(Refused) as refused:
        acme.run(ArchiveAccount(account_id=research))
    assert [one["lent_to"] for one in refused.value.facts["held"]] == ["vision"]


def test_a_rebuild_finds_every_quota_again(owner, quotas, acme):
    quotas.set("research", 60)
    quotas.set("nlp", 20, carve="research", ends_at=NOW + HOUR)
    quotas.set("vision", 90, effective_at=NOW + HOUR)
    quotas.set("serving", 9, effective_at=NOW + 3 * HOUR)
    acme.run(SetUnavailable(pool_id=acme.pools["h100"], unavailable=3), reason="failed")
    acme.run(SettleQuotas(), now=NOW + 2 * HOUR)
    assert verification.verify(acme.id).clean
    owner.execute("SET session_replication_role = replica")
    for table in ("quota", "quotahistory", "scheduled", "poolhistory", "pool"):
        owner.execute(f"DELETE FROM quota_{table}")
    owner.execute("SET session_replication_role = DEFAULT")
    assert not verification.verify(acme.id).clean
    rebuild.rebuild(acme.id)
    assert verification.verify(acme.id).clean
    assert quotas.stored() == {"research": 60, "nlp": 0}
