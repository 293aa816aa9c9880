"""Requests in plain words: what is asked, where it stands, what comes next, and its story. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID
from zoneinfo import ZoneInfo

from frontend import numbers
from ledger.instants import on_clock
from ledger.queries import EventRow
from quota.domain.request_state import Request
from quota.domain.requests import Kind, State
from quota.queries.requests import RequestDetail, RequestRow

KINDS: Final[dict[str, tuple[str, str]]] = {
    Kind.NEW: (
        "A first guarantee",
        "Units that are yours whenever you need them, where you have none in the pool yet.",
    ),
    Kind.BOOST: (
        "More for a while",
        "So many units on top of what you have, until a day you name. Then it goes back by itself.",
    ),
    Kind.RAISE: ("More for good", "So many units on top of what you have."),
    Kind.LOWER: (
        "Give back",
        "So many units fewer. Needs nobody's approval; others get them at once.",
    ),
    Kind.CEILING: (
        "A new borrowing limit",
        "How far you may go beyond your own units while others leave theirs idle.",
    ),
    Kind.TRANSFER: (
        "Pass units on",
        "So many of your units go to another account under the same parent.",
    ),
    Kind.EXTENSION: ("A later end", "What you have for a while lasts until a later day."),
    Kind.JUSTIFICATION: (
        "Keep what is idle",
        "Why units that are not used must stay yours, and until when.",
    ),
}
"""Title and explanation of each kind, in the order in which people need them."""

DECISIONS: Final[dict[str, str]] = {
    "granted": "granted by the policy",
    "endorsed": "approved, the first of two",
    "approved": "approved",
    "countered": "offered less",
    "counter_accepted": "took the offer",
    "changes_requested": "asked for changes",
    "rejected": "rejected",
    "withdrawn": "withdrawn",
}
"""What each kind of decision came to, in words for people."""

STATES: Final[dict[str, str]] = {
    State.DRAFT: "Draft",
    State.DISCARDED: "Thrown away",
    State.SUBMITTED: "Waits for approval",
    State.CHANGES_REQUESTED: "Changes asked for",
    State.COUNTERED: "Less was offered",
    State.APPROVED: "Approved for later",
    State.REJECTED: "Rejected",
    State.WITHDRAWN: "Withdrawn",
    State.PROVISIONED: "Granted",
    State.EXPIRED: "Ended",
    State.RECLAIMED: "Taken back unused",
}


def several(units: int | None) -> str:
    """`1 unit`, `24 units`; an amount that is not said is told as such."""
    return "some units" if units is None else numbers.several(units)


def what(row: RequestRow) -> str:
    """`24 units more of h100 for nlp`: the title of a request."""
    said, place = several(row.request.terms.units), f"of {row.pool} for {row.account}"
    return {
        Kind.NEW: f"{said} {place}",
        Kind.RAISE: f"{said} more {place}",
        Kind.BOOST: f"{said} more {place} for a while",
        Kind.LOWER: f"{row.account} gives back {said} of {row.pool}",
        Kind.CEILING: f"Borrowing up to {said} {place}",
        Kind.TRANSFER: f"{said} of {row.pool} from {row.account} to {row.to_account or '?'}",
        Kind.EXTENSION: f"A later end of what {row.account} has of {row.pool}",
        Kind.JUSTIFICATION: f"Keeping the idle units {place}",
    }.get(row.request.terms.kind, f"{said} {place}")


def any_of(names: Sequence[str], *, most: int = 4) -> str:
    """`Petra`, `Petra or Rita`, `Petra, Rita or 3 others`."""
    shown = [*names[:most]]
    if len(names) > most:
        shown.append(f"{len(names) - most:,} others")
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} or {shown[-1]}"


def next_step(row: RequestRow, *, asked: Sequence[str], zone: ZoneInfo) -> str:
    """What happens next, or why nothing does.

    Args:
        asked: names of those who are asked to decide.
    """
    request = row.request
    end = request.terms.ends_at
    until = numbers.moment(end, zone) if end else ""
    if row.state == State.SUBMITTED:
        return _waiting(request, asked, zone)
    if row.state == State.COUNTERED and request.counter:
        offer = several(request.counter.units) if request.counter.units is not None else "it"
        ends = request.counter.ends_at
        by = f" until {numbers.moment(ends, zone)}" if ends else ""
        return f"{row.requester} accepts {offer}{by}, or withdraws."
    if row.state == State.PROVISIONED:
        if request.terms.kind == Kind.JUSTIFICATION:
            return f"Nothing is taken back for being idle until {until}."
        if end is None:
            return "It stands for good."
        return (
            f"It stands until {until} and then goes back by itself. "
            "You hear of it 14, 3 and 1 days before."
        )
    if row.state == State.APPROVED and request.terms.starts_at:
        return f"It begins by itself at {numbers.moment(request.terms.starts_at, zone)}."
    return {
        State.DRAFT: "Only you see it. Hand it in when it is ready.",
        State.DISCARDED: "It was never handed in.",
        State.CHANGES_REQUESTED: f"{row.requester} answers by changing it and handing it in again, "
        "or withdraws.",
        State.REJECTED: "Nothing. Ask again when the reason no longer holds.",
        State.WITHDRAWN: "Nothing. It is no longer asked for.",
        State.EXPIRED: "Nothing. What was granted has ended."
        if request.provisioned_at
        else "Nothing. The time it was asked for was over before anybody decided.",
        State.RECLAIMED: "Nothing. It was not used, so it was taken back.",
        State.APPROVED: "It begins by itself.",
    }.get(State(row.state), "")


def _waiting(request: Request, asked: Sequence[str], zone: ZoneInfo) -> str:
    needed, given = request.approvals_needed or 1, len(request.approvals)
    who = any_of(asked)
    if not who:
        return (
            "Nobody who was asked may decide it any more. The next people up are asked soon; where "
            "there are none, an operator gives somebody the role approver on this account or above."
        )
    if needed > 1 and not given:
        said = f"Two different people approve ({who})"
    elif needed > 1:
        said = f"{given} of {needed} approvals are given; {who} gives the next"
    else:
        said = f"{who} decides"
    if request.due_at is None:
        return f"{said}."
    return (
        f"{said}, by {numbers.moment(request.due_at, zone)}. "
        "After that the next people up are asked as well."
    )


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a request's story. `who`: empty where it came of itself; `text`: what somebody
    said, in their words."""

    at: datetime
    who: str
    what: str
    text: str
    event: EventRow


def timeline(detail: RequestDetail, *, zone: ZoneInfo) -> list[Step]:
    """Every event of the request in words, oldest first."""
    return [
        Step(
            at=row.occurred_at,
            who="" if row.type in _OF_ITSELF else detail.names.get(row.actor_id, row.actor_label),
            what=_said(row, detail.names, zone),
            text=_text(row, zone),
            event=row,
        )
        for row in detail.timeline
    ]


_PLAIN: Final = {
    "request.drafted": "wrote a draft",
    "request.discarded": "threw the draft away",
    "request.submitted": "handed it in",
    "request.granted": "The policy granted it",
    "request.endorsed": "approved; another person has to approve too",
    "request.approved": "approved",
    "request.changes_requested": "asked for changes",
    "request.rejected": "rejected it",
    "request.withdrawn": "withdrew it",
    "request.expired": "What was granted ended",
    "request.lapsed": "The time it was asked for was over before anybody decided",
    "request.reclaimed": "What was granted was taken back because it was not used",
    "request.commented": "said",
}


_OF_ITSELF: Final = frozenset(
    {
        "request.granted",
        "request.provisioned",
        "request.scheduled",
        "request.reopened",
        "request.expired",
        "request.lapsed",
        "request.reclaimed",
        "request.reminded",
        "request.escalated",
        "request.passed_on",
        "request.approval_voided",
    }
)
"""What follows from something else; whose command it was recorded with says nothing."""


def _said(row: EventRow, names: dict[UUID, str], zone: ZoneInfo) -> str:
    payload = row.payload
    if row.type == "request.approval_voided":
        return f"The approval of {_who(payload, names)} no longer counts"
    said = _PLAIN.get(row.type) or _with_facts(row.type, payload, zone)
    absent = payload.get("on_behalf_of_id")
    if absent:
        said += f" in the place of {names.get(UUID(absent), 'an absent approver')}"
    return said


def _who(payload: dict[str, Any], names: dict[UUID, str]) -> str:
    """Whose word it was, and in whose place."""
    who = names.get(UUID(payload["reviewer_id"]), "somebody")
    absent = payload.get("on_behalf_of_id")
    return f"{who} in the place of {names.get(UUID(absent), 'an approver')}" if absent else who


def _with_facts(kind: str, payload: dict[str, Any], zone: ZoneInfo) -> str:
    def at(field: str) -> str:
        value = payload.get(field)
        return numbers.moment(datetime.fromisoformat(value), zone) if value else ""

    units = several(payload.get("units")) if payload.get("units") is not None else "it"
    until = f" until {at('ends_at')}" if payload.get("ends_at") else ""
    return {
        "request.countered": lambda: f"offered {units}{until} instead",
        "request.counter_accepted": lambda: f"accepted {units}{until}",
        "request.provisioned": lambda: f"It stands{until}",
        "request.scheduled": lambda: f"It will stand from {at('starts_at')}",
        "request.reopened": lambda: "It waits for a decision again",
        "request.attached": lambda: f"attached {payload.get('name')}",
        "request.reminded": lambda: f"Reviewers were reminded of {at('due_at')}",
        "request.passed_on": lambda: (
            f"Nobody asked may decide it any more; others are, until {at('due_at')}"
        ),
        "request.escalated": lambda: (
            f"{at('missed_at')} passed; more people are asked, until {at('due_at')}"
        ),
    }.get(kind, lambda: kind.replace(".", " ").replace("_", " "))()


def _text(row: EventRow, zone: ZoneInfo) -> str:
    """What was said with it: a comment, a reason, why the route is as it is."""
    payload = row.payload
    if row.type == "request.commented":
        return payload.get("text", "")
    if row.type == "request.reopened":
        return on_clock(payload.get("detail", ""), zone)
    if row.type == "request.granted":
        return "\n".join(payload.get("reasons") or ())
    if row.type == "request.approval_voided":
        return "They may not review this account any more. Another person has to approve instead."
    if row.type in _OF_ITSELF:
        return ""
    route = payload.get("route") or {}
    # Why it is granted at once is told where it is granted.
    reasons = (route.get("reasons") or ()) if route.get("approvals") else ()
    return "\n".join(one for one in (row.reason, *reasons) if one)
