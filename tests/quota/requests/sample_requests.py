"""A row in every table of requests, for tests that look at all tables."""

from datetime import timedelta

from quota.commands.request_policy import SetDelegate, SetRequestPolicy
from quota.commands.requests import Attach, Comment, Submit
from quota.commands.reviews import ApproveLess
from quota.domain.requests import Terms
from quota.domain.routing import Policy
from tests.world import NOW, Tenant

CSV = b"month,gpus\n2026-12,12\n"


def asked(place: Tenant) -> None:
    """Lena asks for everyone, Axel offers less; both talk, and Axel has a delegate."""
    for name, role, account in (("lena", "lead", "root"), ("axel", "approver", "root")):
        place.person(name)
        place.role(name, role, on=account)
    lena, axel = place.actor("lena"), place.actor("axel")
    place.run(SetRequestPolicy(policy=Policy(automatic=False)), reason="test")
    place.run(
        SetDelegate(
            delegate_id=place.people["bob"], starts_at=NOW, ends_at=NOW + timedelta(days=7)
        ),
        by=axel,
    )
    terms = Terms(
        account_id=place.root,
        pool_id=place.pools["h100"],
        kind="raise",
        units=12,
        ends_at=None,
        purpose="the next model",
    )
    it = place.run(Submit(terms=terms), by=lena).result
    place.run(
        Comment(request_id=it.request_id, text="Why?", mentioned_ids=(lena.id,)),
        by=axel,
    )
    place.run(Attach(request_id=it.request_id, name="plan.csv", content=CSV), by=lena)
    place.run(ApproveLess(request_id=it.request_id, units=6), by=axel, reason="half first")
