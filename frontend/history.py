"""Events in words: one sentence each, with the names that their ids have today."""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from frontend.numbers import duration, instant, percent
from frontend.request_words import KINDS
from ledger.instants import on_clock
from ledger.queries import EventRow
from quota.event_reading import mentioned, of_allocation
from quota.queries import pools_with_weights
from quota.queries.allocations import jobs_of
from tenancy import queries

SENTENCES = {
    "organization.created": "Organization {name} created",
    "account.opened": "Account {name} opened under {parent_id}, shares {shares}",
    "account.moved": "{account_id} moved from {from_parent_id} to {to_parent_id}",
    "account.renamed": "Account renamed to {name}",
    "account.shares_set": "Shares of {account_id} set to {shares}",
    "account.archived": "{account_id} archived",
    "person.added": "{name} became known",
    "person.changed": "Details of {person_id} changed",
    "person.login_linked": "A login may act as {person_id}",
    "association.set": "{person_id} works under {account_id}, shares {shares}",
    "association.ended": "{person_id} no longer works under {account_id}",
    "membership.granted": "{person_id} became {role} on {account_id}",
    "membership.revoked": "{person_id} is no longer {role} on {account_id}",
    "token.issued": "API token {name} issued",
    "token.rotated": "API token {token_id} rotated",
    "token.revoked": "API token {token_id} revoked",
    "flavor.defined": "Flavor {name} defined, weight {weight}",
    "flavor.weight_set": "Weight of flavor {flavor_id} set to {weight}",
    "pool.opened": "Pool {name} opened in {cluster}, {capacity} units",
    "pool.resized": "Pool {pool_id} now has {capacity} units",
    "pool.unavailable_set": "Pool {pool_id} now has {unavailable} units unavailable",
    "pool.margin_set": "Pool {pool_id} now never promises {safety_margin} units",
    "pool.reclaim_target_set": "Guarantees in {pool_id} hold within {reclaim_target_seconds} s",
    "quota.set": "Quota of {account_id} in {pool_id} set: {terms}{aside}",
    "quota.ended": "Temporary quota of {account_id} in {pool_id} ended: {terms}",
    "quota.scheduled": "Quota of {account_id} in {pool_id} from {starts_at}: {terms}{aside}",
    "quota.schedule_cancelled": "A scheduled quota of {account_id} in {pool_id} was cancelled",
    "quota.lapsed": "A due change of {account_id} in {pool_id} was refused: {detail}",
    "admission.policy_set": "Times of admission set: holds {hold_seconds} s, leases "
    "{lease_seconds} s, heartbeats every {heartbeat_seconds} s, "
    "interactive at most {interactive_seconds_max} s",
    "request.drafted": "Request for {account_id} in {pool_id} drafted: {asked}",
    "request.discarded": "Draft of a request for {account_id} in {pool_id} thrown away",
    "request.submitted": "{author_id} asks for {account_id} in {pool_id}: {asked}",
    "request.granted": "Request of {account_id} in {pool_id} granted by the policy",
    "request.endorsed": "First approval for {account_id} in {pool_id} by {reviewer_id}",
    "request.approved": "Request of {account_id} in {pool_id} approved by {reviewer_id}",
    "request.countered": "{reviewer_id} would approve {units} units of {pool_id} for {account_id}",
    "request.counter_accepted": "{author_id} accepts {units} units of {pool_id} for {account_id}",
    "request.changes_requested": "{reviewer_id} asks about the request of {account_id}",
    "request.rejected": "Request of {account_id} in {pool_id} rejected by {reviewer_id}",
    "request.withdrawn": "Request of {account_id} in {pool_id} withdrawn by {author_id}",
    "request.provisioned": "What {account_id} asked for in {pool_id} stands",
    "request.scheduled": "What {account_id} asked for in {pool_id} will stand from {starts_at}",
    "request.reopened": "Request of {account_id} in {pool_id} waits again: {detail}",
    "request.expired": "What {account_id} was granted in {pool_id} is over",
    "request.reclaimed": "What {account_id} was granted in {pool_id} was taken back unused",
    "request.commented": "{author_id} commented on a request of {account_id}",
    "request.attached": "{author_id} attached {name} to a request of {account_id}",
    "request.reminded": "Reviewers of {account_id} reminded of {due_at}",
    "request.lapsed": "Nobody decided about {account_id} in {pool_id} before its time was over",
    "request.passed_on": "Others are asked about the request of {account_id}, until {due_at}",
    "request.approval_voided": "The approval of {reviewer_id} for {account_id} no longer counts",
    "request.escalated": "No decision for {account_id} by {missed_at}: more reviewers asked",
    "request_policy.set": "Routing of requests set: automatic up to {automatic_units_max} units, "
    "two approvals from {two_approvals_units}",
    "cycle.opened": "Review cycle {name} opened for {account_id}: {quota_count} quotas until "
    "{deadline}",
    "cycle.listed": "Quotas to review were listed",
    "cycle.decided": "{reviewer_id} reviewed {account_id} in {pool_id}: {decision}, {units} units",
    "cycle.asked": "{reviewer_id} asked the lead of {account_id} about {pool_id}: {question}",
    "cycle.answered": "{author_id} answered for {account_id} about {pool_id}: {text}",
    "cycle.settled": "Reviewed quotas were settled",
    "cycle.closed": "Review cycle of {account_id} closed: {changed} quotas changed, {kept} kept, "
    "{undecided} undecided, {impossible} not possible",
    "cycle.cancelled": "Review cycle of {account_id} given up; no quota changed",
    "cycle_policy.set": "Quarterly review cycles: {automatic}, use of {window_days} days, "
    "{decide_days} days to decide",
    "delegation.set": "{delegate_id} reviews in the place of {person_id} until {ends_at}",
    "delegation.ended": "{delegate_id} no longer reviews in the place of {person_id}",
    "allocation.held": "{units} units of {pool_id} held for {key} of {account_id} ({person_id}), "
    "{tier}",
    "allocation.started": "{allocation_id} runs with {units} units of {pool_id}, {tier}",
    "allocation.leases_renewed": "Running jobs in {pool_id} were heard of",
    "allocation.work_measured": "Running jobs in {pool_id} told of their work",
    "allocation.resized": "{allocation_id} of {account_id} now has {units} units of {pool_id}, "
    "before {units_before}",
    "allocation.promoted": "{allocation_id} of {account_id}: {units} units of {pool_id} rose "
    "from {tier_before} to {tier}",
    "allocation.demoted": "{allocation_id} of {account_id}: {units} units of {pool_id} fell "
    "from {tier_before} to {tier}",
    "allocation.released": "{allocation_id} of {account_id} gave {units} {tier} units of {pool_id} "
    "back",
    "allocation.preempted": "{units} {tier} units of {pool_id} taken back from {allocation_id} of "
    "{account_id}",
    "allocation.expired": "{allocation_id} of {account_id} expired with {units} {tier} units of "
    "{pool_id}",
    "allocation.adopted": "{key} of {account_id} ({person_id}) was found running on {units} units "
    "of {pool_id}",
    "allocation.snapshot_reconciled": "Snapshot of {pool_id}: {known} known, {adopted} adopted, "
    "{ended} ended, {disputed} disputed",
    "reservation.set": "Up to {units} units of {pool_id} set aside for {key} of {account_id}, "
    "{tier}, until {until}",
    "reservation.ended": "Nothing is set aside any more in {pool_id}: {why}",
    "preemption.plan_made": "{units} units of {pool_id} to be taken back for {key} of "
    "{account_id}, {tier}",
    "preemption.action_reported": "{victim_id} gave {units} units of {pool_id} back, job {key}, "
    "for {account_id}: {outcome}",
    "preemption.plan_settled": "Plan of {account_id} to take units of {pool_id} back: {how}",
    "preemption.checkpoints_recorded": "Jobs in {pool_id} saved themselves",
    "preemption.policy_set": "Budgets of preemption set: {pool_share} of a pool in any "
    "{pool_window_seconds} s, a job once in {job_window_seconds} s",
    "reclaim.rule_set": "Rule for idle guarantees of {pool_id} set: below {threshold} of it in use "
    "over {window_seconds}",
    "reclaim.rule_dropped": "{pool_id} has no rule for idle guarantees of its own any more: the "
    "organization's holds",
    "reclaim.default_set": "The organization's rule for idle guarantees set: below {threshold} of "
    "one in use over {window_seconds}",
    "reclaim.watched": "Guarantee of {account_id} in {pool_id} lies idle: {utilisation} of "
    "{guarantee} units in use",
    "reclaim.cleared": "Guarantee of {account_id} in {pool_id} is used again: {utilisation} of "
    "{guarantee} units",
    "reclaim.justified": "Idle guarantee of {account_id} in {pool_id} stays until {until}, as "
    "approved",
    "reclaim.demoted": "{units} idle units left the guarantee of {account_id} in {pool_id}: "
    "{guarantee} stay",
    "reclaim.restored": "{units} units went back into the guarantee of {account_id} in {pool_id}",
    "reclaim.returned": "{units} units will not come back to the guarantee of {account_id} in "
    "{pool_id}",
    "detection.policy_set": "Detection set: idle below {idle_below} for {idle_minutes} min, zombie "
    "below {zombie_below} without progress for {progress_seconds_max} s, {baseline_factor} times "
    "the usual day",
    "detection.found": "{account_id} in {pool_id}: {kind} found, {units} units",
    "detection.acknowledged": "What was found at {account_id} in {pool_id} was acknowledged",
    "detection.acted": "{units} units of {account_id} in {pool_id} released: they did nothing",
    "detection.reopened": "What was acknowledged at {account_id} in {pool_id} is still so: {kind}",
    "detection.cleared": "What was found at {account_id} in {pool_id} is no longer so: {why}",
    "usage.source_registered": "Usage source {name} seen for the first time",
    "usage.batch_recorded": "{rows} usage rows recorded{beside}",
    "usage.settled": "Records that ended by {until} settled",
    "fairshare.policy_set": "Fair-share policy set: {algorithm}, half-life {half_life}",
    "fairshare.reset": "Use before {at} no longer counts for priority",
    "rates.published": "Rates in {currency} published, from {effective_from}",
    "rates.withdrawn": "Rates that did not hold yet withdrawn",
    "rates.grade_set": "Rate grade of {account_id} set to {grade} from {effective_from}",
    "comparison.policy_set": "Leads may compare teams: {reach}, figures {figures}, named {named}",
    "usage.tagged": "Use of {account_id} from {since} through {until} tagged: project {project}, "
    "model {model}, workload {workload}; charged to {to_account_id}",
    "usage.untagged": "A tagging of past use taken back",
    "statement.terms_set": "Terms of statements set from {from_month}: idle share {idle_share}, "
    "lending share {lending_share}",
    "statement.credit_granted": "{account_id} was given back {amount} in the statement of {month}",
    "statement.commitment_agreed": "{account_id} is charged at least {amount} a month from "
    "{from_month}",
    "statement.commitment_ended": "A commitment ends early, with {until_month}; ending it costs "
    "{charge}",
    "statement.closing": "The month {month} began to close",
    "statement.close_confirmed": "A second person confirmed the close of {month}",
    "statement.drawn": "{lines} lines of {month} drawn: {amount}",
    "statement.closed": "The month {month} closed: {statements} statements, {amount}",
    "budget.set": "Budget of {account_id} set: {amount} {currency} per {period} from {starts_on}",
    "budget.changed": "Budget of {account_id} is {amount} from {effective_from}",
    "budget.ended": "Budget of {account_id} ended on {ended_on}",
    "budget.alerted": "Budget of {account_id} from {period_start} {alert}: {spent} of {amount} "
    "{currency} spent",
    "budget.alert_ended": "No longer so: budget of {account_id} {alert}",
    "export.requested": "{what} of {account_id} in {month} asked for as {format}",
    "export.made": "Export of {account_id} made: {rows} rows, SHA-256 {digest}",
    "export.failed": "Export of {account_id} failed: {detail}",
    "export.removed": "File of an export of {account_id} removed",
    "export.schedule_set": "Monthly exports of {account_id} set",
    "ledger.lane_heads_recorded": "Heads of all hash chains recorded",
}


_INSTANTS = frozenset({"at", "until", "deadline"})
_SHARES = frozenset({"threshold", "utilisation"})
_MONEY = frozenset({"amount", "spent", "list_amount", "list_price", "price"})
_BESIDE = ("duplicates", "conflicts", "rejected")
_ONE_OF = re.compile(
    r"(?<!\S)1 ((?:guaranteed |borrowed |spot |idle )?)(unit|usage row|row|line|statement)s\b"
)


class _Words(dict):
    """Payload values as words; a field this release does not know reads as a question mark."""

    def __missing__(self, name: str) -> str:
        return "?"


def sentence(event: EventRow, names: Mapping[UUID, str], zone: ZoneInfo) -> str:
    """What happened, with instants as the organization's clocks show them. An event without a
    sentence of its own is told by its type."""
    template = SENTENCES.get(event.type)
    if template is None:
        return event.type.replace(".", " ").replace("_", " ")
    said = template.format_map(_words(event.payload, names, zone))
    return _ONE_OF.sub(r"1 \1\2", said)


def names_for(organization_id: UUID, events: Iterable[EventRow]) -> dict[UUID, str]:
    """Names of everything that a page of events is about, in at most five questions. Allocations
    go by the key of their job."""
    events = list(events)
    wanted = {ident for event in events for ident in mentioned(event)}
    if not wanted:
        return {}
    found = queries.names_of(organization_id, accounts=wanted, people=wanted)
    if wanted - found.keys():
        found |= {pool.id: pool.name for pool in pools_with_weights(organization_id)}
        found |= {token.id: token.name for token in queries.tokens(organization_id)}
    told = {UUID(event.payload["allocation_id"]) for event in events if of_allocation(event)}
    if told:
        found |= {ident: job.key for ident, job in jobs_of(organization_id, told).items()}
    return found


def _local(value: str, zone: ZoneInfo) -> str:
    """What reads as an instant with a zone, on the organization's clock; else as it stands."""
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return value
    return value if found.tzinfo is None else instant(found, zone)


def _is_instant(field: str) -> bool:
    return field in _INSTANTS or field.endswith(("_at", "_from", "_until"))


def _words(payload: Mapping[str, Any], names: Mapping[UUID, str], zone: ZoneInfo) -> _Words:
    words = _Words()
    odd = [f"{payload[name]:,} {name}" for name in _BESIDE if payload.get(name)]
    words["beside"] = f", {', '.join(odd)}" if odd else ""
    for field, value in payload.items():
        if field.endswith("_id") and isinstance(value, str):
            words[field] = names.get(UUID(value), f"{value[:8]}…")
        elif field == "shares":
            words[field] = "parent" if value is None else value
        elif field == "half_life_seconds":
            words["half_life"] = f"{value / 86_400:g} days"
        elif field in _MONEY and isinstance(value, str):
            words[field] = f"{Decimal(value):,}"
        elif field in _SHARES:
            words[field] = percent(Decimal(value))
        elif field == "window_seconds":
            words[field] = duration(value)
        elif field == "detail" and isinstance(value, str):
            words[field] = on_clock(value, zone)
        elif value is None:
            words[field] = "none"
        elif isinstance(value, str) and (field == "month" or field.endswith("_month")):
            words[field] = value[:7]
        elif isinstance(value, str) and _is_instant(field):
            words[field] = _local(value, zone)
        elif isinstance(value, bool):
            words[field] = "yes" if value else "no"
        elif isinstance(value, int):
            words[field] = f"{value:,}"
        elif isinstance(value, list | tuple):
            words[field] = ", ".join(str(one).replace("_", " ") for one in value) or "none"
        else:
            words[field] = value
    if isinstance(quota := payload.get("quota"), Mapping):
        words["terms"], words["aside"] = _terms(quota), _aside(payload, words)
    if isinstance(terms := payload.get("terms"), Mapping) and terms.get("kind") in KINDS:
        words["asked"] = KINDS[terms["kind"]][0].lower()
    if {"kind", "rule"} <= payload.keys():
        words["alert"] = _alert(payload["kind"], payload["rule"])
    return words


def _alert(kind: str, rule: str) -> str:
    """What a budget came to: see `accounting.budget_events.BudgetAlerted`."""
    if kind == "burn":
        long, short, factor = rule.split("/")
        return f"burned {factor} times as fast as it lasts, over {long} days and over {short}"
    return f"{'is forecast to reach' if kind == 'forecast' else 'reached'} {rule} %"


def _terms(quota: Mapping[str, Any]) -> str:
    """A quota as a whole; a limit that is not named does not bind."""
    limits = (
        f", {name.replace('_', ' ')} {quota[name]:,}"
        for name in ("borrowing_limit", "lending_limit")
        if quota.get(name) is not None
    )
    return f"{quota.get('guaranteed', 0):,} guaranteed{''.join(limits)}"


def _aside(payload: Mapping[str, Any], words: Mapping[str, Any]) -> str:
    """Until when, and with whom units were exchanged: a rise takes them, a cut gives them back."""
    until = f", until {words['ends_at']}" if payload.get("ends_at") else ""
    if payload.get("borrower_id"):
        return f"{until}, by a change of {words['borrower_id']}"
    return f"{until}, exchanged with {words['lender_id']}" if payload.get("lender_id") else until
