"""Examples of reviews in the OpenAPI document."""

from config.api.schema import answer_example, request_example
from quota.api.requests_examples import AT, END, ID, SUMMARY, outcome

INBOX = answer_example(
    "One waits",
    {
        "at": AT,
        "waiting": 1,
        "requests": [{"request": SUMMARY, "on_behalf_of": None}],
        "next": None,
    },
)
APPROVAL = request_example("As seen", {"expected_version": 1, "reason": "fits the plan"})
PROVISIONED = answer_example("The quota stands", outcome("provisioned", 3))
LESS = request_example("16 units", {"units": 16, "reason": "others need the rest"})
QUESTION = request_example("A question", {"reason": "Which model, and could it wait a week?"})
NO = request_example("No", {"reason": "the project ended in October"})
BATCH = request_example(
    "Two",
    {
        "decisions": [
            {"request": ID, "decision": "approve", "expected_version": 1},
            {"request": ID, "decision": "reject", "reason": "asked twice"},
        ]
    },
)
DECIDED = answer_example(
    "One of two",
    {
        "decided": 1,
        "refused": 1,
        "results": [
            {
                "request": ID,
                "status": "decided",
                "state": "provisioned",
                "version": 3,
                "approvals_missing": 0,
                "code": None,
                "detail": None,
                "field": None,
                "facts": {},
            },
            {
                "request": ID,
                "status": "refused",
                "state": None,
                "version": None,
                "approvals_missing": None,
                "code": "request_moved_on",
                "detail": "This request is granted by now, so it cannot be rejected. Reload it.",
                "field": None,
                "facts": {"state": "provisioned"},
            },
        ],
    },
)
DECISIONS = answer_example(
    "One decision",
    {
        "since": "2026-10-01T00:00:00Z",
        "until": "2027-01-01T00:00:00Z",
        "decisions": [
            {
                "event_id": ID,
                "request_id": ID,
                "account": "nlp",
                "pool": "h100",
                "kind": "boost",
                "requester": "alice",
                "decision": "approved",
                "person": "petra",
                "on_behalf_of": None,
                "units": 24,
                "ends_at": END,
                "reason": "fits the plan",
                "decided_at": AT,
            }
        ],
        "next": None,
    },
)
_POLICY = {
    "automatic": True,
    "automatic_units_max": 32,
    "automatic_days_max": 56,
    "automatic_price_max": None,
    "use_percent_min": 50,
    "unknown_use_passes": False,
    "rejection_days": 30,
    "two_approvals_units": 100,
    "days_max": None,
    "justification_days_max": 90,
    "decide_hours": 72,
    "remind_hours": 24,
}
POLICY = answer_example("The defaults", _POLICY | {"version": 0})
NEW_POLICY = request_example(
    "The defaults", _POLICY | {"reason": "as it was", "expected_version": 0}
)
POLICY_SET = answer_example("Set", {"changed": True, "policy": _POLICY | {"version": 1}})
POLICY_TRIAL = request_example("More by itself", {"rules": {"automatic_units_max": 64}})
PREVIEWED = answer_example(
    "One would have gone by itself",
    {
        "since": "2026-08-31T12:00:00Z",
        "tried": 40,
        "automatic_before": 22,
        "automatic_after": 23,
        "changed_count": 1,
        "changed": [
            {
                "request": ID,
                "approvals_before": 1,
                "approvals_after": 0,
                "reasons": ["It is small, short and fits, and what is held is used."],
                "outcome": "provisioned",
            }
        ],
    },
)
DELEGATIONS = answer_example(
    "One",
    {
        "at": AT,
        "delegations": [
            {"id": ID, "person": "petra", "delegate": "rita", "starts_at": AT, "ends_at": END}
        ],
    },
)
NEW_DELEGATION = request_example(
    "Over the holidays", {"delegate": "rita", "starts_at": AT, "ends_at": END}
)
DELEGATION_END = request_example("Back early", {"reason": "back early"})
