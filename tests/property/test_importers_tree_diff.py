"""Applying the difference of two trees makes the one into the other, step by possible step."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tenancy.importers import diff
from tenancy.importers.tree import (
    AccountEntry,
    AssociationEntry,
    PersonEntry,
    TreeBuilder,
    TreePlan,
)

NAMES = [f"a{number}" for number in range(8)]
PEOPLE = [f"p{number}" for number in range(4)]
shares = st.one_of(st.none(), st.integers(0, 3))


@st.composite
def trees(draw: st.DrawFn) -> TreePlan:
    builder = TreeBuilder()
    names = draw(st.permutations(NAMES).flatmap(lambda all_: st.just(all_)))
    names = names[: draw(st.integers(0, len(NAMES)))]
    for index, name in enumerate(names):
        parent = draw(st.sampled_from([None, *names[:index]]))
        builder.account(1, AccountEntry(name=name, parent=parent, shares=draw(shares)))
    if names:
        for account, person in draw(
            st.sets(st.tuples(st.sampled_from(names), st.sampled_from(PEOPLE)), max_size=6)
        ):
            builder.association(
                1, AssociationEntry(account=account, person=person, shares=draw(shares))
            )
    plan = builder.finish().plan
    assert plan is not None
    return plan


class World:
    """A tree that refuses what the commands refuse."""

    def __init__(self, plan: TreePlan) -> None:
        self.accounts = {entry.name: entry for entry in plan.accounts}
        self.people = {entry.name for entry in plan.people}
        self.places = {(e.account, e.person): e.shares for e in plan.associations}

    def apply(self, change: diff.Change) -> None:
        match change:
            case diff.OpenAccount():
                assert change.name not in self.accounts
                assert change.parent is None or change.parent in self.accounts
                self.accounts[change.name] = AccountEntry(
                    name=change.name, parent=change.parent, shares=change.shares
                )
            case diff.MoveAccount():
                self._check_no_cycle(change)
                before = self.accounts[change.name]
                assert before.parent == change.parent_before
                self.accounts[change.name] = replace(before, parent=change.parent)
            case diff.ChangeAccountShares():
                before = self.accounts[change.name]
                assert before.shares == change.shares_before
                self.accounts[change.name] = replace(before, shares=change.shares)
            case diff.ArchiveAccount():
                assert not [e for e in self.accounts.values() if e.parent == change.name]
                del self.accounts[change.name]
            case diff.AddPerson():
                assert change.name not in self.people
                self.people.add(change.name)
            case diff.AddAssociation():
                assert change.account in self.accounts
                assert change.person in self.people
                self.places[change.account, change.person] = change.shares
            case diff.ChangeAssociationShares():
                assert self.places[change.account, change.person] == change.shares_before
                self.places[change.account, change.person] = change.shares
            case diff.EndAssociation():
                del self.places[change.account, change.person]

    def _check_no_cycle(self, change: diff.MoveAccount) -> None:
        above = change.parent
        while above is not None:
            assert above != change.name
            above = self.accounts[above].parent

    def plan(self) -> TreePlan:
        builder = TreeBuilder()
        for entry in self.accounts.values():
            builder.account(1, entry)
        for name in self.people:
            builder.person(1, PersonEntry(name=name))
        for (account, person), held in self.places.items():
            builder.association(1, AssociationEntry(account=account, person=person, shares=held))
        plan = builder.finish().plan
        assert plan is not None
        return plan


@given(trees(), trees())
@settings(max_examples=300, deadline=None)
def test_with_endings_the_world_becomes_the_wanted_tree(
    current: TreePlan, wanted: TreePlan
) -> None:
    world = World(current)
    asked = {"archive_missing": True, "end_missing": True}
    for change in diff.changes(current=current, wanted=wanted, **asked):
        world.apply(change)
    assert set(world.accounts.values()) == set(wanted.accounts)
    assert world.places == {(e.account, e.person): e.shares for e in wanted.associations}
    assert diff.changes(current=world.plan(), wanted=wanted, **asked) == ()


@given(trees(), trees())
@settings(max_examples=150, deadline=None)
def test_without_endings_nothing_is_lost_and_again_changes_nothing(
    current: TreePlan, wanted: TreePlan
) -> None:
    world = World(current)
    for change in diff.changes(current=current, wanted=wanted):
        assert not isinstance(change, diff.ArchiveAccount | diff.EndAssociation)
        world.apply(change)
    assert set(world.accounts) == {e.name for e in (*current.accounts, *wanted.accounts)}
    assert set(wanted.accounts) <= set(world.accounts.values())
    assert diff.changes(current=world.plan(), wanted=wanted) == ()


def test_a_swap_of_parent_and_child() -> None:
    over = AccountEntry(name="a")
    current = TreePlan(accounts=(over, AccountEntry(name="b", parent="a")))
    wanted = TreePlan(accounts=(AccountEntry(name="b"), AccountEntry(name="a", parent="b")))
    assert diff.changes(current=current, wanted=wanted) == (
        diff.MoveAccount(name="b", parent=None, parent_before="a"),
        diff.MoveAccount(name="a", parent="b", parent_before=None),
    )
