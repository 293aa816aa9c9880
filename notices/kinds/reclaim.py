"""Notices about idle guarantees: watched, idle units that left one, restored, gone for good."""

from ledger.types import ActorKind, RecordedEvent
from notices.kinds.words import units
from notices.registry import Draft, Look, approvers, kind, leads
from preemption.domain.reclaim import idle_units
from preemption.reclaim_events import (
    GuaranteeDemoted,
    GuaranteeRestored,
    GuaranteeReturned,
    GuaranteeWatched,
)


def _idle(data: GuaranteeWatched) -> str:
    """How much that is, by the use of the watch; nothing where the event did not say."""
    if data.p95 is None or data.in_use is None:
        return ""
    idle = idle_units(guarantee=data.guarantee, p95=data.p95, in_use=data.in_use)
    return f": {units(idle)} as things stand"


@kind(
    "reclaim.watched",
    label="Your guarantee lies idle",
    about="A guarantee of an account that you lead is hardly used and will lose its idle part.",
    on=(GuaranteeWatched,),
)
def watched(event: RecordedEvent, look: Look) -> Draft:
    """To the leads, while there is time to use it or to say why it must stay."""
    data: GuaranteeWatched = event.data
    account, pool = look.name(data.account_id), look.name(data.pool_id)
    return Draft(
        to=(leads(data.account_id),),
        title=f"{account} uses {data.utilisation:.0%} of {units(data.guarantee)} on {pool}",
        body=f"If it stays so, the idle part leaves the guarantee{_idle(data)}. Use it, or ask "
        "for a justification that says why it must stay and until when.",
        link=("reclaim_quota", account, pool),
        deadline=data.due_at,
    )


@kind(
    "reclaim.demoted",
    label="Idle units left your guarantee",
    about="The idle part of a guarantee of an account that you lead was taken back.",
    on=(GuaranteeDemoted,),
)
def demoted(event: RecordedEvent, look: Look) -> Draft:
    """To the leads, with what stays and until when it can be undone."""
    data: GuaranteeDemoted = event.data
    account, pool = look.name(data.account_id), look.name(data.pool_id)
    return Draft(
        to=(leads(data.account_id),),
        title=f"{units(data.units)} of {pool} left the guarantee of {account}",
        body=f"{units(data.guarantee)} stay guaranteed. Nothing that runs was touched, and "
        "what left may still be borrowed where it is free. A lead can have it restored until the "
        "deadline, if the pool can promise it then.",
        link=("reclaim_quota", account, pool),
        deadline=data.until,
    )


@kind(
    "reclaim.settled",
    label="Units that left your guarantee were decided on",
    about="Units that left the guarantee of an account that you lead were restored, or do not "
    "come back.",
    on=(GuaranteeRestored, GuaranteeReturned),
)
def settled(event: RecordedEvent, look: Look) -> Draft:
    """To the leads, and to whoever reviews the account."""
    data: GuaranteeRestored | GuaranteeReturned = event.data
    account, pool = look.name(data.account_id), look.name(data.pool_id)
    who = "a review" if event.actor_kind == ActorKind.SYSTEM else look.who(event)
    what = "are guaranteed again" if isinstance(data, GuaranteeRestored) else "do not come back"
    return Draft(
        to=(leads(data.account_id), approvers(data.account_id)),
        title=f"{account} on {pool}: {units(data.units)} {what}",
        body=f"{account} has {units(data.guarantee)} guaranteed now. Decided by {who}.",
        link=("reclaim_quota", account, pool),
    )
