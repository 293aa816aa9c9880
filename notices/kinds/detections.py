"""Notices about allocations that do nothing, and accounts that use far more than they do."""

from ledger.types import RecordedEvent
from notices.registry import Draft, Look, Someone, kind, leads
from preemption.detection_events import DetectionFound, DetectionReopened


@kind(
    "detection.found",
    label="Your allocation does nothing, or your account uses far more than usual",
    about="A job of yours, or of an account that you lead, lies idle or does not get on; or the "
    "account's use is a multiple of its usual day.",
    on=(DetectionFound,),
)
def found(event: RecordedEvent, look: Look) -> Draft:
    """To whose job it is and to the leads of its account."""
    data: DetectionFound = event.data
    return Draft(
        to=(Someone(data.person_id), leads(data.account_id)),
        title=_title(data, look),
        body=_evidence(data, look),
        link=("detection", str(data.detection_id)),
    )


@kind(
    "detection.reopened",
    label="It is still so",
    about="What was acknowledged for a while is still so, and the while is over.",
    on=(DetectionReopened,),
)
def reopened(event: RecordedEvent, look: Look) -> Draft:
    """To the leads, who had it quiet."""
    data: DetectionReopened = event.data
    what = "use far above the usual day" if data.kind == "surge" else "a job that does nothing"
    return Draft(
        to=(leads(data.account_id),),
        title=f"Still so in {look.name(data.account_id)} on {look.name(data.pool_id)}: {what}",
        body="It was acknowledged until now. Acknowledge it again, or act.",
        link=("detection", str(data.detection_id)),
    )


def _title(data: DetectionFound, look: Look) -> str:
    pool = look.name(data.pool_id)
    units = "1 unit" if data.units == 1 else f"{data.units:,} units"
    if data.use is not None:
        account = look.name(data.account_id)
        return f"{account} uses {data.use.times:.1f} times its usual day on {pool}"
    what = "lies idle" if data.kind == "idle" else "does not get on"
    return f"Job {data.job} with {units} of {pool} {what}"[:200]


def _evidence(data: DetectionFound, look: Look) -> str:
    if data.use is not None:
        hours, usual = data.use.consumed / 3600, float(data.use.median) / 3600
        return (
            f"On {data.use.day:%-d %b %Y} it used {hours:,.0f} unit-hours; {usual:,.0f} are usual. "
            "If that is meant, acknowledge it with a reason."
        )
    if data.work is None:
        return "Release it if it is not needed, or say why it must stay."
    busy = f"{data.work.compute_util:.1%} of its compute"
    if data.kind == "zombie":
        return (
            f"It holds {data.work.memory_gb:,.0f} GB, uses {busy}, and has shown no progress since "
            f"{look.day(data.since)}. Release it, or say why it must stay."
        )
    return (
        f"It has used {busy} since {look.day(data.since)}. Release it if it is not needed, or say "
        "why it must stay."
    )
