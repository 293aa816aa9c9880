"""Notices about requests for quota: to those who review, to those who ask, to those mentioned.

What is said rests on how the request stands when it is told, not when it happened: nobody is asked
to review what was withdrawn meanwhile.
"""

from ledger.instants import on_clock
from ledger.types import ActorKind, RecordedEvent
from notices.kinds.request_facts import RequestFact, fact_of, facts
from notices.kinds.words import quoted
from notices.registry import Draft, Look, Someone, kind
from quota.request_events import (
    DelegationEnded,
    DelegationSet,
    RequestApprovalVoided,
    RequestChangesRequested,
    RequestCommented,
    RequestCounterAccepted,
    RequestCountered,
    RequestEndorsed,
    RequestEscalated,
    RequestLapsed,
    RequestPassedOn,
    RequestProvisioned,
    RequestReclaimed,
    RequestRejected,
    RequestReminded,
    RequestReopened,
    RequestScheduled,
    RequestSubmitted,
)


def _people(ids) -> tuple[Someone, ...]:
    return tuple(Someone(person_id) for person_id in ids)


def _to_reviewers(look: Look, *, title: str, body: str) -> Draft | None:
    """To those who may still decide; None when there is nothing to decide any more."""
    fact: RequestFact | None = look.facts
    if fact is None or fact.state != "submitted":
        return None
    return Draft(
        to=_people(fact.reviewer_ids),
        title=title,
        body=body,
        link=("request", str(fact.id)),
        deadline=fact.due_at,
    )


def _to_authors(look: Look, *, title: str, body: str) -> Draft | None:
    fact: RequestFact | None = look.facts
    if fact is None:
        return None
    return Draft(
        to=_people(fact.author_ids), title=title, body=body, link=("request", str(fact.id))
    )


@kind(
    "request.waiting",
    label="A request waits for your review",
    about="Somebody asks for quota, and you may decide; with the deadline.",
    on=(RequestSubmitted, RequestEndorsed, RequestCounterAccepted, RequestApprovalVoided),
    facts=facts,
)
def request_waiting(event: RecordedEvent, look: Look) -> Draft | None:
    """To reviewers who have not had their word, at each step that leaves it to them."""
    fact = fact_of(look)
    again = {
        RequestEndorsed: f"{look.who(event)} has approved; another person has to approve too. ",
        RequestCounterAccepted: "The offer was accepted; another person has to approve too. ",
        RequestApprovalVoided: "An approval no longer counts: who gave it may not review the "
        "account any more. Another person has to approve instead. ",
    }.get(type(event.data), "")
    return _to_reviewers(
        look,
        title=f"{fact.requester} asks for {fact.what(look)}",
        body=f"{again}{quoted(fact.purpose)}".strip() or "No purpose was given.",
    )


@kind(
    "request.due",
    label="A request still waits for your review",
    about="A reminder before the deadline of a request that you may decide.",
    on=(RequestReminded,),
    facts=facts,
)
def request_due(event: RecordedEvent, look: Look) -> Draft | None:
    """To reviewers, with the deadline."""
    fact = fact_of(look)
    return _to_reviewers(
        look,
        title=f"Still waiting: {fact.requester} asks for {fact.what(look)}",
        body="Nobody has decided yet. After the deadline, others are asked as well. "
        f"{quoted(fact.purpose)}".strip(),
    )


@kind(
    "request.escalated",
    label="A request was passed on to you",
    about="The deadline of a request passed without a decision, or those asked may no longer "
    "decide; you may now.",
    on=(RequestEscalated, RequestPassedOn),
    facts=facts,
)
def request_escalated(event: RecordedEvent, look: Look) -> Draft | None:
    """To all who may decide now, those who missed the deadline included."""
    fact = fact_of(look)
    if isinstance(event.data, RequestPassedOn):
        return _to_reviewers(
            look,
            title=f"{fact.requester} asks for {fact.what(look)}",
            body="Those who were asked may no longer decide it, so you are asked. "
            f"{quoted(fact.purpose)}".strip(),
        )
    return _to_reviewers(
        look,
        title=f"Overdue: {fact.requester} asks for {fact.what(look)}",
        body=f"The deadline {look.day(event.data.missed_at)} passed without a decision, so more "
        f"people are asked. {quoted(fact.purpose)}".strip(),
    )


@kind(
    "request.answer",
    label="Your request waits for your answer",
    about="A reviewer asked you something, or offers less than you asked for.",
    on=(RequestChangesRequested, RequestCountered),
    facts=facts,
)
def request_answer(event: RecordedEvent, look: Look) -> Draft | None:
    """To those who ask, while their answer is still awaited."""
    fact = fact_of(look)
    if fact.state not in ("changes_requested", "countered"):
        return None
    if isinstance(event.data, RequestCountered):
        offer = fact.what(look, units=event.data.units, ends_at=event.data.ends_at)
        title = f"{look.who(event)} offers {offer}"
        body = f"You asked for {fact.what(look)}. Accept the offer, or withdraw the request."
    else:
        title = f"{look.who(event)} asks about your request: {fact.what(look)}"
        body = "Change the request and hand it in again, or withdraw it."
    return _to_authors(look, title=title, body=f"{body} {quoted(event.reason)}".strip())


@kind(
    "request.granted",
    label="Your request was granted",
    about="The quota stands, or will from the day on that you asked for.",
    on=(RequestProvisioned, RequestScheduled),
    facts=facts,
)
def request_granted(event: RecordedEvent, look: Look) -> Draft | None:
    """To those who asked; what the policy grants at once, its author has just seen."""
    fact = fact_of(look)
    if isinstance(event.data, RequestScheduled):
        when = f"It begins {look.day(event.data.starts_at)}."
    elif event.data.ends_at:
        when = f"It stands from now on, until {look.day(event.data.ends_at)}."
    else:
        when = "It stands from now on."
    who = "" if event.actor_kind == ActorKind.SYSTEM else f" {look.who(event)} decided."
    units = getattr(event.data, "units", None)
    return _to_authors(
        look,
        title=f"Granted: {fact.what(look, units=units)}",
        body=f"{when}{who} {quoted(event.reason)}".strip(),
    )


@kind(
    "request.rejected",
    label="Your request was rejected",
    about="With the reason. You may ask again.",
    on=(RequestRejected,),
    facts=facts,
)
def request_rejected(event: RecordedEvent, look: Look) -> Draft | None:
    """To those who asked, with the reason."""
    fact = fact_of(look)
    return _to_authors(
        look,
        title=f"Rejected: {fact.what(look)}",
        body=f"{look.who(event)} decided. {quoted(event.reason)}".strip(),
    )


@kind(
    "request.reopened",
    label="What was approved for later could not begin",
    about="For those who asked and those who review: the request waits for a decision again.",
    on=(RequestReopened,),
    facts=facts,
)
def request_reopened(event: RecordedEvent, look: Look) -> Draft | None:
    """To both sides."""
    fact = fact_of(look)
    return Draft(
        to=_people((*fact.author_ids, *fact.reviewer_ids)),
        title=f"Could not begin: {fact.what(look)}",
        body=f"{on_clock(event.data.detail, look.zone)} The request waits for a reviewer again.",
        link=("request", str(fact.id)),
        deadline=event.data.due_at,
    )


@kind(
    "request.lapsed",
    label="Nobody decided your request in time",
    about="The time you asked for was over before anybody decided.",
    on=(RequestLapsed,),
    facts=facts,
)
def request_lapsed(event: RecordedEvent, look: Look) -> Draft | None:
    """To those who asked."""
    fact = fact_of(look)
    return _to_authors(
        look,
        title=f"Not decided in time: {fact.what(look)}",
        body="The time it was asked for is over. Ask again if you still need it.",
    )


@kind(
    "request.reclaimed",
    label="Quota that you asked for was taken back",
    about="What was granted to you was not used, and went back.",
    on=(RequestReclaimed,),
    facts=facts,
)
def request_reclaimed(event: RecordedEvent, look: Look) -> Draft | None:
    """To those who asked."""
    fact = fact_of(look)
    return _to_authors(
        look,
        title=f"Taken back: {fact.what(look)}",
        body=f"It was not used. {quoted(event.reason)}".strip(),
    )


@kind(
    "request.mentioned",
    label="You were mentioned",
    about="Somebody mentioned you in the discussion of a request.",
    on=(RequestCommented,),
    facts=facts,
)
def request_mentioned(event: RecordedEvent, look: Look) -> Draft | None:
    """To those mentioned."""
    fact = fact_of(look)
    return Draft(
        to=_people(event.data.mentioned_ids),
        title=f"{look.who(event)} mentioned you: {fact.what(look)}",
        body=quoted(event.data.text),
        link=("request", str(fact.id)),
    )


@kind(
    "request.commented",
    label="A word about your request",
    about="Somebody commented on a request of yours.",
    on=(RequestCommented,),
    facts=facts,
)
def request_commented(event: RecordedEvent, look: Look) -> Draft | None:
    """To those who ask, but not to those who are told that they were mentioned."""
    fact = fact_of(look)
    mentioned = frozenset(event.data.mentioned_ids)
    return Draft(
        to=_people(one for one in fact.author_ids if one not in mentioned),
        title=f"{look.who(event)} about your request: {fact.what(look)}",
        body=quoted(event.data.text),
        link=("request", str(fact.id)),
    )


@kind(
    "delegation.changed",
    label="You review in somebody's place",
    about="An approver who is away named you, or you no longer stand in.",
    on=(DelegationSet, DelegationEnded),
)
def delegation_changed(event: RecordedEvent, look: Look) -> Draft:
    """To the delegate."""
    data = event.data
    away = look.name(data.person_id)
    if isinstance(data, DelegationEnded):
        title = f"You no longer review in the place of {away}"
        body = "Requests that wait for them are theirs again."
    else:
        title = f"You review in the place of {away} from {look.day(data.starts_at)}"
        body = (
            f"Until {look.day(data.ends_at)} you may decide what {away} may decide, but never a "
            "request of your own."
        )
    return Draft(to=(Someone(data.delegate_id),), title=title, body=body, link=("reviews",))
