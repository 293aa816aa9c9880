"""Examples of requests in the OpenAPI document."""

from config.api.schema import answer_example, request_example

ID = "0199a1f0-7d3c-7c11-9a52-3f0f4f1c2b9e"
AT = "2026-11-29T12:00:00Z"
END = "2027-01-10T00:00:00Z"
_ASKED = {
    "account": "nlp",
    "pool": "h100",
    "kind": "boost",
    "units": 24,
    "starts_at": None,
    "ends_at": END,
    "workload": "training",
    "tier": "guaranteed",
    "purpose": "Train the translation model.",
    "budget": "90000",
    "to_account": None,
}
_FACTS = {
    "rise": 24,
    "held": 40,
    "fits": True,
    "days": 42,
    "use_percent": 81,
    "price": "52000.00",
    "currency": "EUR",
    "rejections": 0,
    "automatic_units": 16,
    "extensions": 0,
    "over_budget": False,
}
REASONS = ["Automatic up to 32 units together; 16 were granted so."]
SUMMARY = _ASKED | {
    "id": ID,
    "state": "submitted",
    "version": 1,
    "requester": "alice",
    "authors": ["alice"],
    "drafted_at": None,
    "submitted_at": AT,
    "decided_at": None,
    "provisioned_at": None,
    "ended_at": None,
    "updated_at": AT,
    "due_at": "2026-12-02T12:00:00Z",
    "escalations": 0,
    "approvals_needed": 1,
    "approvals_missing": 1,
    "approvals": [],
    "levels": ["research"],
    "operators": False,
    "route_reasons": REASONS,
    "counter": None,
    "change_id": None,
    "facts": _FACTS,
}
LISTED = answer_example("One request", {"at": AT, "requests": [SUMMARY], "next": None})
_WISH = {name: value for name, value in _ASKED.items() if value is not None}
NEW_REQUEST = request_example("24 GPUs for six weeks", _WISH)
NEW_DRAFT = request_example(
    "A draft", {"account": "nlp", "pool": "h100", "kind": "boost", "draft": True}
)
TRIAL = request_example("24 GPUs for six weeks", _WISH)


def outcome(state: str, version: int, **values) -> dict:
    """What a step answers."""
    return {
        "id": ID,
        "state": state,
        "version": version,
        "approvals_missing": 0,
        "change_id": None,
        "asked": [],
        "reasons": [],
    } | values


SUBMITTED = answer_example(
    "One person is asked",
    outcome("submitted", 2, approvals_missing=1, asked=["petra"], reasons=REASONS),
)
DRAFTED = answer_example("A draft", outcome("draft", 2))
CHANGE = request_example("Fewer", {"units": 16, "expected_version": 1})
AS_IT_STANDS = request_example("As it stands", {})
STEP = request_example("As seen", {"expected_version": 3})
EXTENSION = request_example("Four more weeks", {"ends_at": "2027-02-07T00:00:00Z"})
COMMENT = request_example(
    "With a mention", {"text": "Could it start in the new year?", "mentioned": ["petra"]}
)
FILE = request_example("A plan", {"name": "plan.txt", "content": "MjQgR1BVcyB4IDYgd2Vla3MK"})
ATTACHED = answer_example(
    "A text",
    {
        "request": ID,
        "attachment": ID,
        "media_type": "text/plain",
        "digest": "2f0a4b1c" * 8,
    },
)
STORY = answer_example(
    "Handed in",
    {
        "at": AT,
        "request": SUMMARY,
        "asked": ["petra"],
        "may_decide": {"allowed": False, "code": "own_request", "detail": "Nobody decides ..."},
        "comments": [],
        "attachments": [],
        "decisions": [],
        "timeline": [
            {
                "id": ID,
                "type": "request.submitted",
                "version": 1,
                "occurred_at": AT,
                "recorded_at": AT,
                "actor_kind": "person",
                "actor": "alice",
                "reason": "",
                "data": {"request_id": ID, "account_id": ID, "pool_id": ID},
            }
        ],
        "names": {ID: "nlp"},
    },
)
_POINT = {"at": AT, "promised": 450, "promisable": 500, "free": 50}
PRECHECKED = answer_example(
    "A person would be asked",
    {
        "at": AT,
        "can_submit": True,
        "problems": [],
        "fits": True,
        "shortage": None,
        "rise": 24,
        "guaranteed_before": 40,
        "guaranteed_after": 64,
        "lender": "research",
        "free_over_period": [_POINT],
        "free_with_it": [_POINT],
        "nearest": {"units": None, "starts_at": None, "ends_at": None},
        "automatic": False,
        "approvals": 1,
        "asked": ["petra"],
        "reasons": REASONS,
        "use": {
            "mean": 0.81,
            "p50": 34,
            "p95": 40,
            "peak": 40,
            "guaranteed": 40,
            "idle_units": 0,
            "coverage": 1.0,
        },
        "price_per_month": {"amount": "52000.00", "currency": "EUR"},
        "price_of_period": {"amount": "71802.74", "currency": "EUR"},
        "budget": {
            "account": "research",
            "currency": "EUR",
            "amount": "400000.00",
            "expected": "310500.25",
            "forecast": True,
            "together": "362500.25",
            "beyond": False,
        },
    },
)
