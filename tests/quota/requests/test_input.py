"""Bad input and rights: each a clear message at its field, and nothing changed."""

from datetime import datetime, timedelta

import pytest

from ledger import scope
from ledger.errors import Conflict, Denied, DomainError, Invalid, NotFound, Refused
from ledger.ids import new_id
from quota.commands.request_policy import SetDelegate, SetRequestPolicy
from quota.commands.requests import Attach, Comment, DiscardDraft, SaveDraft, Submit
from quota.commands.reviews import Reject
from quota.domain.attachments import SIZE_MAX
from quota.domain.requests import State
from quota.domain.routing import Policy
from quota.queries.requests import attachment_content
from tenancy.commands.accounts import ArchiveAccount
from tests.quota.requests.conftest import DAY
from tests.world import NOW


@pytest.mark.parametrize(
    ("fields", "code", "field"),
    [
        ({"units": 0}, "units_not_positive", "units"),
        ({"units": -3}, "units_not_positive", "units"),
        ({"units": None}, "units_missing", "units"),
        ({"units": 10**9 + 1}, "units_absurd", "units"),
        ({"units": 101}, "units_beyond_capacity", "units"),
        ({"starts_at": NOW + 5 * DAY, "ends_at": NOW + 4 * DAY}, "end_not_later", "ends_at"),
        ({"ends_at": NOW - DAY}, "end_in_past", "ends_at"),
        ({"starts_at": NOW - DAY}, "start_in_past", "starts_at"),
        ({"starts_at": NOW + 1000 * DAY}, "start_too_far", "starts_at"),
        ({"ends_at": None}, "end_missing", "ends_at"),
        ({"ends_at": datetime(2027, 1, 1)}, "instant_without_zone", "ends_at"),
        ({"purpose": "  "}, "purpose_missing", "purpose"),
        ({"purpose": "x" * 4001}, "purpose_too_long", "purpose"),
        ({"kind": "gift"}, "kind_unknown", "kind"),
        ({"workload": "mining"}, "workload_unknown", "workload"),
        ({"tier": "gold"}, "tier_unknown", "tier"),
        ({"kind": "lower", "ends_at": NOW + DAY}, "end_unused", "ends_at"),
        ({"kind": "transfer", "ends_at": None}, "to_account_missing", "to_account"),
        ({"kind": "extension"}, "units_unused", "units"),
        ({"kind": "extension", "units": None}, "not_temporary", "kind"),
        ({"kind": "lower", "ends_at": None}, "not_held", "units"),
        ({"kind": "justification", "units": None}, "not_held", "units"),
    ],
)
def test_a_fault_is_named_at_its_field(desk, fields, code, field):
    with pytest.raises(DomainError) as error:
        desk.ask("nlp", fields.pop("units", 8), **fields)
    assert (error.value.code, error.value.field) == (code, field)
    assert desk.quotas.stored() == {}


def test_a_period_is_as_long_as_the_policy_lets_it(desk):
    desk.policy(days_max=60)
    with pytest.raises(Invalid) as error:
        desk.ask("nlp", 8, days=61)
    assert error.value.code == "period_too_long"
    with pytest.raises(Invalid):
        desk.ask("nlp", 8, days=None, kind="raise")


def test_what_has_something_asks_for_a_raise(desk):
    desk.quotas.set("nlp", 5)
    with pytest.raises(Refused) as error:
        desk.ask("nlp", 8, kind="new")
    assert error.value.code == "guarantee_held"


def test_unknown_archived_and_foreign_things(desk, globex):
    with pytest.raises(NotFound):
        desk.ask("nlp", 8, pool_id=new_id(), pool="h100")
    with pytest.raises(NotFound):
        desk.ask("nlp", 8, pool_id=globex.pools["h100"])
    with pytest.raises(NotFound):
        desk.ask("nlp", 8, account_id=globex.accounts["nlp"])
    desk.place.run(ArchiveAccount(account_id=desk.place.accounts["vision"]))
    with pytest.raises(Refused) as error:
        desk.ask("vision", 8, by="otto")
    assert error.value.code == "account_archived"


def test_only_who_may_request_there(desk):
    for name, account in (("bob", "nlp"), ("alice", "vision"), ("petra", "nlp"), ("uma", "nlp")):
        with pytest.raises((Denied, NotFound)):
            desk.ask(account, 8, by=name)
    it = desk.ask("nlp", 60)
    with pytest.raises(Denied):
        desk.withdraw(it, by="bob")


def test_a_stale_form_and_a_double_submit_change_nothing(desk):
    it = desk.ask("nlp", 60)
    with pytest.raises(Conflict) as error:
        desk.approve(it, by="petra", expected_version=it.version - 1)
    assert error.value.code == "stale_version"
    desk.run(Comment(request_id=it.request_id, text="soon"), by="alice")
    desk.approve(it, by="petra", expected_version=it.version), "a comment makes nothing stale"
    with pytest.raises(Conflict) as error:
        desk.approve(it, by="rita", expected_version=it.version)
    assert error.value.code == "request_moved_on"
    with pytest.raises(Conflict):
        desk.run(Submit(terms=desk.terms("nlp", 9), request_id=it.request_id), by="alice")
    for decide in (desk.reject, desk.ask_changes):
        with pytest.raises(Conflict):
            decide(it, by="rita")


def test_no_needs_a_reason(desk):
    it = desk.ask("nlp", 60)
    with pytest.raises(Invalid) as error:
        desk.run(Reject(request_id=it.request_id), by="petra", reason=" ")
    assert error.value.field == "reason"


def test_an_offer_is_less(desk):
    it = desk.ask("nlp", 60)
    for fields in ({}, {"units": 60}, {"units": 61}, {"ends_at": NOW + 90 * DAY}):
        with pytest.raises(Invalid) as error:
            desk.approve_less(it, by="petra", **fields)
        assert error.value.code == "not_less"
    with pytest.raises(Invalid):
        desk.approve_less(it, by="petra", units=0)
    assert desk.approve_less(it, by="petra", ends_at=NOW + 5 * DAY).state == State.COUNTERED


def test_drafts_are_their_authors_alone(desk):
    draft = desk.run(SaveDraft(terms=desk.terms("nlp", None, purpose="")), by="alice")
    for command in (
        SaveDraft(terms=desk.terms("nlp", 1), request_id=draft.request_id),
        Submit(terms=desk.terms("nlp", 1), request_id=draft.request_id),
        DiscardDraft(request_id=draft.request_id),
    ):
        with pytest.raises(NotFound):
            desk.run(command, by="otto")
    gone = desk.run(DiscardDraft(request_id=draft.request_id), by="alice")
    assert gone.state == State.DISCARDED
    with pytest.raises(Conflict):
        desk.run(SaveDraft(terms=desk.terms(), request_id=draft.request_id), by="alice")


def test_people_who_do_not_see_a_request_do_not_talk_about_it(desk):
    it = desk.ask("nlp", 60)
    desk.place.person("eve")
    with pytest.raises((Denied, NotFound)):
        desk.run(Comment(request_id=it.request_id, text="hi"), by="eve")
    with pytest.raises(Invalid):
        desk.run(Comment(request_id=it.request_id, text=" "), by="bob")
    with pytest.raises(Invalid):
        desk.run(Comment(request_id=it.request_id, text="hi", mentioned_ids=(new_id(),)), by="bob")
    desk.run(
        Comment(request_id=it.request_id, text="hi", mentioned_ids=(desk.place.people["petra"],)),
        by="bob",
    )


def test_who_may_not_see_a_request_is_not_told_of_it(desk):
    """A notice quotes the words; a role elsewhere shows nothing here."""
    people = desk.place.people
    it = desk.ask("nlp", 60)
    desk.place.person("eve")
    desk.place.role("eve", "lead", on="production")
    words = {"request_id": it.request_id, "text": "look"}
    with pytest.raises(Invalid) as refused:
        desk.run(Comment(**words, mentioned_ids=(people["rita"], people["eve"])), by="bob")
    assert (refused.value.code, refused.value.facts) == ("person_cannot_see", {"people": ["eve"]})
    assert "@eve may not see this request" in refused.value.detail
    absence = {"starts_at": NOW, "ends_at": NOW + 9 * DAY}
    desk.run(SetDelegate(delegate_id=people["eve"], **absence), by="petra")
    desk.run(Comment(**words, mentioned_ids=(people["eve"],)), by="bob"), "who stands in sees it"
    desk.place.role("eve", "member", on="nlp")
    desk.run(Comment(**words, mentioned_ids=(people["eve"],)), by="bob")


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("plan.pdf", b"", "file_empty"),
        ("plan.pdf", b"%PDF-" + b"0" * SIZE_MAX, "file_too_large"),
        ("plan.pdf", b"MZ\x90\x00", "file_type_mismatch"),
        ("plan.png", b"%PDF-1.7", "file_type_mismatch"),
        ("plan.txt", b"a\x00b", "file_type_mismatch"),
        ("plan.html", b"<script>", "file_type_unsupported"),
        ("plan.exe", b"MZ", "file_type_unsupported"),
        ("noending", b"text", "file_name_malformed"),
        ("a\nb.txt", b"text", "file_name_malformed"),
    ],
)
def test_files_are_told_by_their_bytes(desk, name, content, code):
    it = desk.ask("nlp", 60)
    with pytest.raises(Invalid) as error:
        desk.run(Attach(request_id=it.request_id, name=name, content=content), by="alice")
    assert (error.value.code, error.value.field) == (code, "file")


def test_a_file_comes_back_as_it_was(desk):
    it = desk.ask("nlp", 60)
    png = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
    made = desk.run(
        Attach(request_id=it.request_id, name="C:\\plans\\curve.png", content=png), by="alice"
    )
    with scope.reading(desk.place.id):
        row, content = attachment_content(desk.place.id, it.request_id, made.attachment_id)
    assert (row.name, row.media_type, content) == ("curve.png", "image/png", png)


@pytest.mark.parametrize(
    "rules",
    [{"automatic_units_max": -1}, {"use_percent_min": 101}, {"decide_hours": 0}, {"days_max": 0}],
)
def test_a_policy_has_bounds(desk, rules):
    with pytest.raises(Invalid) as error:
        desk.policy(**rules)
    assert error.value.field == next(iter(rules))
    with pytest.raises(Denied):
        desk.run(SetRequestPolicy(policy=Policy(automatic=False)), by="alice")


def test_a_grant_too_late_is_refused(desk):
    it = desk.ask("nlp", 60, days=2)
    with pytest.raises(Refused) as error:
        desk.approve(it, by="petra", now=NOW + timedelta(days=2))
    assert error.value.code == "period_over"


def test_the_same_form_sent_twice_is_one_request(desk):
    submit = Submit(terms=desk.terms("nlp", 24))
    alice = desk.place.actor("alice")
    first, second = (desk.place.run(submit, by=alice, idempotency_key="form-1") for _ in range(2))
    assert second.replayed
    assert second.result == first.result
    assert desk.quotas.stored() == {"nlp": 24}
    with pytest.raises(Conflict) as error:
        other = Submit(terms=desk.terms("nlp", 25))
        desk.place.run(other, by=alice, idempotency_key="form-1")
    assert error.value.code == "idempotency_key_reused"


def test_a_dry_run_of_handing_in_is_a_rehearsal(desk):
    submit = Submit(terms=desk.terms("nlp", 24))
    seen = desk.place.run(submit, by=desk.place.actor("alice"), dry_run=True)
    assert seen.result.state == State.PROVISIONED
    assert desk.quotas.stored() == {}
