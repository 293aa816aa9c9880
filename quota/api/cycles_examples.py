"""Examples of review cycles in the OpenAPI document."""

from config.api.schema import answer_example, request_example
from quota.api.requests_examples import AT, END, ID

_CYCLE = {
    "id": ID,
    "account": "root",
    "name": "Review Q4 2026",
    "state": "open",
    "deadline": END,
    "window_days": 90,
    "quota_count": 214,
    "decided": 120,
    "asked": 4,
    "answered": 2,
    "reason": "",
    "opened_by": None,
    "opened_at": AT,
    "ended_by": None,
    "ended_at": None,
    "end_reason": "",
    "changed": 0,
    "kept": 0,
    "undecided": 0,
    "impossible": 0,
    "may_close": True,
}
_USE = {
    "since": "2026-08-31T12:00:00Z",
    "until": AT,
    "guaranteed": 40,
    "p50": 6,
    "p95": 8,
    "peak": 12,
    "use_percent": 16,
    "idle_units": 32,
    "recommended": 9,
    "idle_cost": "138240.00",
    "currency": "EUR",
    "coverage_percent": 100,
}
_QUOTA = {
    "account": "nlp",
    "pool": "h100",
    "listed": 40,
    "guaranteed": 40,
    "ends_at": None,
    "state": "undecided",
    "version": 0,
    "decision": None,
    "units": None,
    "stale": False,
    "reviewer": None,
    "reason": "",
    "moved_at": None,
    "question": "",
    "answer": "",
    "answer_units": None,
    "answered_by": None,
    "outcome": None,
    "before": None,
    "after": None,
    "detail": None,
    "may_decide": True,
    "may_answer": False,
    "use": _USE,
}
_TAKEN = {"decision": "recommended", "units": 9, "reviewer": "rita", "reason": "hardly used"}
CYCLES = answer_example("One", {"at": AT, "waiting": 0, "cycles": [_CYCLE], "next": None})
NEW_CYCLE = request_example(
    "Over everything", {"account": "root", "name": "Autumn", "deadline": END, "window_days": 90}
)
CYCLE = answer_example(
    "Half way",
    {
        "at": AT,
        "cycle": _CYCLE,
        "reviewers": [{"person": "rita", "decided": 80}, {"person": "petra", "decided": 40}],
        "pools": [
            {
                "pool": "h100",
                "cuts": 120,
                "rises": 32,
                "promised": 480,
                "after": 392,
                "promisable": 512,
            }
        ],
    },
)
QUOTAS = answer_example("One", {"at": AT, "quotas": [_QUOTA], "next": None})
DECISION = request_example(
    "As recommended",
    {"decision": "recommended", "units": 9, "expected_version": 0, "reason": "hardly used"},
)
DECIDED = answer_example(
    "Decided", _QUOTA | _TAKEN | {"state": "decided", "version": 1, "moved_at": AT}
)
CHOICES = request_example(
    "Two",
    {
        "decisions": [
            {"account": "nlp", "pool": "h100", "decision": "recommended", "units": 9},
            {"account": "serving", "pool": "h100", "decision": "set", "units": 50},
        ],
        "reason": "autumn review",
    },
)
_REFUSED = {
    "account": "serving",
    "pool": "h100",
    "status": "refused",
    "units": None,
    "version": None,
    "code": "own_quota",
    "detail": "You lead serving, and nobody raises their own quota. Keep or lower it, or leave it "
    "to another reviewer.",
    "field": "units",
    "facts": {"account": "serving", "pool": "h100"},
}
_NOTED = {"account": "nlp", "pool": "h100", "status": "decided", "units": 9, "version": 1}
RESULTS = answer_example(
    "One of two",
    {
        "decided": 1,
        "refused": 1,
        "results": [
            _NOTED | {"code": None, "detail": None, "field": None, "facts": {}},
            _REFUSED,
        ],
    },
)
QUESTION = request_example("Why idle", {"question": "Is the training over?"})
REPLY = request_example("Not yet", {"text": "It goes on in January.", "units": 24})
CLOSING = request_example("Try", {"undecided_keep": True, "dry_run": True})
CLOSED = answer_example(
    "What it would do",
    {
        "dry_run": True,
        "changed": 31,
        "kept": 89,
        "undecided": 94,
        "impossible_count": 0,
        "impossible": [],
    },
)
CANCEL = request_example("Opened twice", {"reason": "opened twice"})
_CYCLE_POLICY = {"automatic": True, "window_days": 90, "decide_days": 28}
CYCLE_POLICY = answer_example("The default", _CYCLE_POLICY | {"version": 0})
NEW_CYCLE_POLICY = request_example(
    "Two weeks",
    _CYCLE_POLICY | {"decide_days": 14, "reason": "done before the board", "expected_version": 0},
)
CYCLE_POLICY_SET = answer_example(
    "Set", {"changed": True, "policy": _CYCLE_POLICY | {"decide_days": 14, "version": 1}}
)
