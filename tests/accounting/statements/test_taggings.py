"""Tags for past use: told apart otherwise from then on, in open months, whatever comes when."""

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from itertools import permutations

import pytest

from accounting.commands.taggings import (
    AssignUsage,
    TagUsage,
    UndoAssignment,
    UndoTagging,
    UseChosen,
)
from accounting.queries import showback, tag_preview, taggings
from ledger import scope
from ledger.errors import DomainError
from tests.accounting.statements.test_close import NOVEMBER, close
from tests.accounting.statements.test_rating import DAY, LATER, OCTOBER, START
from tests.accounting.statements.test_showback import cells, shown
from tests.world import record

OCTOBER_DAYS = {"since": OCTOBER, "until": date(2026, 10, 31)}


def use_of(place, account="nlp", **values) -> UseChosen:
    return UseChosen(account_id=place.accounts[account], **OCTOBER_DAYS | values)


def tag(place, *, by="alice", now=LATER, only_untagged=True, chosen=None, **labels):
    chosen = chosen or use_of(place)
    command = TagUsage(
        account_id=chosen.account_id, chosen=chosen, only_untagged=only_untagged, **labels
    )
    return place.run(command, by=place.actor(by), now=now, reason="forgotten").result.tagging_id


def projects(place, account="nlp", **when):
    found = shown(place, account, **when)
    by_tag = cells(place, found, "kind", "project")
    return {key[1]: amount for key, amount in by_tag.items() if key[0] == "usage"}


@pytest.fixture
def untagged(place):
    """Besides 1,600 of project p, nlp used 400 on the 5th and 800 on the 20th without a project."""
    place.use(
        record("b", units=8, hours=25, start=START + 4 * DAY),
        record("c", units=8, hours=50, start=START + 19 * DAY, person="alice"),
        now=LATER,
    )
    return place


def test_untagged_use_is_tagged_by_an_event_and_what_it_costs_stays(untagged):
    before = shown(untagged, "nlp").total
    assert projects(untagged) == {"p": 1600, None: 1200}
    made = tag(untagged, project="q")
    assert projects(untagged) == {"p": 1600, "q": 1200}
    assert shown(untagged, "nlp").total == before
    undo = UndoTagging(account_id=untagged.accounts["nlp"], tagging_id=made)
    untagged.run(undo, by=untagged.actor("alice"), now=LATER, reason="wrong")
    assert projects(untagged) == {"p": 1600, None: 1200}
    with scope.reading(untagged.id):
        (row,) = taggings.taggings(untagged.id)
    assert (row.project, row.tagged_by, row.reason) == ("q", "alice", "forgotten")
    assert row.undone_at == LATER
    with pytest.raises(DomainError) as caught:
        untagged.run(undo, by=untagged.actor("alice"), now=LATER, reason="again")
    assert caught.value.code == "tagging_undone"


@pytest.mark.parametrize(
    ("chosen", "tagged"),
    [
        ({"until": date(2026, 10, 10)}, 400),
        ({"since": date(2026, 10, 21)}, 416),
        ({"person": "alice"}, 800),
        ({"job": "b"}, 400),
        ({"job": "*b*"}, 400),
        ({"job": "_"}, 0),
        ({"pool": "a100"}, 0),
    ],
    ids=str,
)
def test_days_person_pool_and_job_choose(untagged, chosen, tagged):
    chosen = dict(chosen)
    for name, known in (("person", untagged.people), ("pool", untagged.pools)):
        if name in chosen:
            chosen[f"{name}_id"] = known[chosen.pop(name)]
    tag(untagged, project="q", chosen=use_of(untagged, **chosen))
    assert projects(untagged).get("q", 0) == tagged
    assert sum(projects(untagged).values()) == 2800


def test_an_account_chooses_what_is_below_it_too_and_no_more(untagged):
    tag(untagged, by="otto", project="q", chosen=use_of(untagged, "research"))
    assert projects(untagged) == {"p": 1600, "q": 1200}
    tag(untagged, by="otto", project="r", only_untagged=False, chosen=use_of(untagged, "vision"))
    assert "r" not in projects(untagged, "root")


def test_later_taggings_win_unless_they_leave_alone_what_is_tagged(untagged):
    tag(untagged, project="q")
    tag(untagged, project="r")
    assert projects(untagged) == {"p": 1600, "q": 1200}
    tag(untagged, project="s", only_untagged=False, chosen=use_of(untagged, job="a"))
    assert projects(untagged) == {"s": 1600, "q": 1200}


def test_a_batch_chooses_its_records_also_once_they_are_corrected(untagged):
    batch = untagged.use(record("d", units=8, hours=10, start=START), now=LATER).batch_id
    chosen = use_of(untagged, batch_id=batch)
    tag(untagged, project="q", chosen=chosen)
    assert projects(untagged)["q"] == 160
    untagged.use(record("e", units=8, hours=5, start=START, supersedes="d"), now=LATER)
    assert projects(untagged) == {"p": 1600, None: 1280}


def test_the_order_in_which_records_and_tags_come_changes_nothing(place):
    steps = [
        lambda n: place.use(record(f"x{n}", units=8, hours=25, start=START + 4 * DAY), now=LATER),
        lambda n: place.use(
            record(f"y{n}", units=8, hours=50, start=START + 6 * DAY, labels={"model": "m"}),
            now=LATER,
        ),
        lambda n: tag(place, project=f"q{n}", chosen=use_of(place, job=f"*{n}")),
    ]
    for n, order in enumerate(permutations(steps)):
        for step in order:
            step(n)
    found = projects(place)
    assert {found[f"q{n}"] for n in range(6)} == {Decimal(1200)}


def test_a_closed_month_keeps_its_tags_and_takes_no_others(untagged):
    made = tag(untagged, project="q")
    close(untagged)
    assert projects(untagged) == {"p": 1600, "q": 1200}
    undo = UndoTagging(account_id=untagged.accounts["nlp"], tagging_id=made)
    for refused in (
        lambda: tag(untagged, model="m"),
        lambda: untagged.run(undo, by=untagged.actor("alice"), now=LATER, reason="x"),
    ):
        with pytest.raises(DomainError) as caught:
            refused()
        assert caught.value.code == "month_closed"
        assert "made good by a credit" in caught.value.detail
    late = LATER + timedelta(days=2)
    untagged.use(record("late", units=8, hours=10, start=START), now=late)
    tag(untagged, now=late, model="m", chosen=use_of(untagged, since=NOVEMBER, until=NOVEMBER))


def test_use_is_assigned_to_another_account_until_that_is_undone(untagged):
    untagged.person("fay")
    untagged.role("fay", "finance")
    fay = untagged.actor("fay")
    whole = shown(untagged).total.amount
    idle = cells(untagged, shown(untagged, "nlp"), "kind")["idle",]
    command = AssignUsage(
        chosen=use_of(untagged, job="b"), to_account_id=untagged.accounts["vision"], project="v"
    )
    made = untagged.run(command, by=fay, now=LATER, reason="their job").result.tagging_id
    assert projects(untagged) == {"p": 1600, None: 800}
    assert projects(untagged, "vision") == {"v": 400}
    assert shown(untagged).total.amount == whole
    assert cells(untagged, shown(untagged, "nlp"), "kind")["idle",] == idle
    open_ones = [projects(untagged, name) for name in ("root", "nlp", "vision")]
    with pytest.raises(DomainError) as caught:
        tag(untagged, project="x", chosen=use_of(untagged, "production"))
    assert caught.value.code == "role_missing"
    close(untagged)
    assert open_ones == [projects(untagged, name) for name in ("root", "nlp", "vision")]
    with pytest.raises(DomainError) as caught:
        untagged.run(UndoAssignment(tagging_id=made), by=fay, now=LATER, reason="x")
    assert caught.value.code == "month_closed"


def test_an_assignment_is_undone_by_finance_alone(untagged):
    command = AssignUsage(chosen=use_of(untagged), to_account_id=untagged.accounts["vision"])
    with pytest.raises(DomainError) as caught:
        untagged.run(command, by=untagged.actor("alice"), now=LATER, reason="x")
    assert caught.value.code == "role_missing"
    made = untagged.run(command, now=LATER, reason="x").result.tagging_id
    assert projects(untagged) == {}
    by_lead = UndoTagging(account_id=untagged.accounts["nlp"], tagging_id=made)
    with pytest.raises(DomainError) as caught:
        untagged.run(by_lead, by=untagged.actor("alice"), now=LATER, reason="x")
    assert caught.value.code == "tagging_unknown"
    untagged.run(UndoAssignment(tagging_id=made), now=LATER, reason="x")
    assert projects(untagged) == {"p": 1600, None: 1200}


def test_before_it_is_saved_a_tagging_says_what_it_would_change(untagged):
    made = tag(untagged, project="q", chosen=use_of(untagged, job="b"))
    with scope.reading(untagged.id):
        (row,) = taggings.taggings(untagged.id)
        wanted = replace(row, job=None, project="r")
        found = tag_preview.preview(untagged.id, wanted, now=LATER)
        assert (found.records, found.amount, found.unit_seconds) == (3, 800, 8 * 50 * 3600)
        moved = replace(wanted, to_account_id=untagged.accounts["vision"])
        found = tag_preview.preview(untagged.id, moved, now=LATER)
        assert (found.records, found.amount) == (3, 2800)
    assert made == row.id


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({}, "tag_missing"),
        ({"project": " q"}, "tag_malformed"),
        ({"project": "q" * 256}, "tag_malformed"),
        ({"project": "q", "job": "*"}, "job_malformed"),
        ({"project": "q", "since": date(2026, 11, 1)}, "period_out_of_range"),
        ({"project": "q", "until": date(2027, 11, 1)}, "period_out_of_range"),
        ({"project": "q", "person_id": OCTOBER}, "person_unknown"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(untagged, values, code):
    choices = {"job", "since", "until", "person_id"} & set(values)
    chosen = {name: values[name] for name in choices}
    if "person_id" in chosen:
        chosen["person_id"] = untagged.accounts["nlp"]
    labels = {name: value for name, value in values.items() if name not in choices}
    with pytest.raises(DomainError) as caught:
        tag(untagged, chosen=use_of(untagged, **chosen), **labels)
    assert caught.value.code == code


def test_a_month_has_so_many_taggings_and_no_more(untagged, monkeypatch):
    monkeypatch.setattr("accounting.commands.taggings.TAGGINGS_MAX", 2)
    for name in ("q", "r"):
        tag(untagged, project=name)
    with pytest.raises(DomainError) as caught:
        tag(untagged, project="s")
    assert caught.value.code == "taggings_full" and "Take one back" in caught.value.detail


def test_a_month_without_taggings_asks_no_more_of_the_database(untagged):
    with scope.reading(untagged.id):
        found = showback.showback(
            untagged.id, untagged.accounts["nlp"], OCTOBER, now=LATER, details=("project",)
        )
    assert found.ground.taggings == ()
