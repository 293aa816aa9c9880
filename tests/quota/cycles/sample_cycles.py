"""Rows in every table of cycles: one closed, one open with a question and an answer, a policy."""

from datetime import timedelta

from quota.commands.cycle_close import CloseCycle
from quota.commands.cycle_decisions import AnswerReview, AskLead, Choice, DecideCycle
from quota.commands.cycles import OpenCycle, SetCyclePolicy
from quota.domain.cycles import CyclePolicy, Decision
from tests.world import NOW, Tenant


def reviewed(acme: Tenant, *, account: str = "nlp", pool: str = "h100") -> None:
    """Needs a quota of the account in the pool, and Alice as its lead."""
    place = {"account_id": acme.accounts[account], "pool_id": acme.pools[pool]}
    by = acme.actor("otto")
    for name in ("Spring", "Summer"):
        opened = acme.run(
            OpenCycle(
                account_id=acme.accounts["root"], name=name, deadline=NOW + timedelta(days=7)
            ),
            by=by,
        ).result
        cycle_id = opened.cycle_id
        keep = Choice(decision=Decision.KEEP, **place)
        acme.run(DecideCycle(cycle_id=cycle_id, choices=(keep,)), by=by)
        if name == "Spring":
            acme.run(CloseCycle(cycle_id=cycle_id, undecided_keep=True), by=by)
    acme.run(AskLead(cycle_id=cycle_id, question="Why so many?", **place), by=by)
    acme.run(
        AnswerReview(cycle_id=cycle_id, text="For a model.", units=20, **place),
        by=acme.actor("alice"),
    )
    acme.run(SetCyclePolicy(policy=CyclePolicy(automatic=False)), reason="test")
