"""Examples of the OpenAPI document; a test compares them with the types."""

from config.api.schema import answer_example, request_example

_ACTION = {
    "key": "48211",
    "attempt": 1,
    "account": "vision",
    "step": "spot",
    "mode": "checkpoint",
    "units": 64,
    "left": 0,
    "grace_seconds": 120,
    "returns_at": "2026-11-29T12:02:00Z",
    "tax": "96.000000",
    "state": "open",
    "given": None,
    "reported_at": None,
    "tax_reported": None,
    "detail": "",
}
_PLAN = {
    "id": "0199a1f0-7d3c-7c11-9a52-3f0f4f1c2b9e",
    "state": "open",
    "pool": "h100",
    "account": "nlp",
    "key": "48300",
    "units": 64,
    "class": "P1",
    "tier": "guaranteed",
    "made_at": "2026-11-29T12:00:00Z",
    "made_by": "slurm",
    "until": "2026-11-29T12:15:00Z",
    "ready_at": "2026-11-29T12:02:00Z",
    "deadline": None,
    "meets_deadline": None,
    "returns_guarantee": True,
    "within_target": True,
    "free_units": 0,
    "missing_units": 0,
    "aged": False,
    "override": False,
    "reason": "",
    "tax": "96.000000",
    "wanted": None,
    "min_units": None,
    "settled_at": None,
    "used_at": None,
    "actions": [_ACTION],
}
ASK = request_example(
    "A training job claims its team's guarantee",
    {"account": "nlp", "pool": "h100", "units": 64, "class": "P1", "key": "48300"},
)
ANSWER = answer_example(
    "One job saves itself and waits anew",
    {
        "at": "2026-11-29T12:00:00Z",
        "status": "plan",
        "dry_run": False,
        "repeated": False,
        "units": 64,
        "tier": "guaranteed",
        "free_units": 0,
        "plan": _PLAN,
        "wait_until": None,
        "actions": [],
        "obstacles": [],
        "blocks": [],
        "pool_budget": {"used": 0, "units": 64, "limit": 100, "window_seconds": 600},
    },
)
PAGE = answer_example("One plan", {"at": "2026-11-29T12:00:00Z", "plans": [_PLAN], "next": None})
REPORTS = request_example(
    "It is done, and 45 minutes are lost",
    {"reports": [{"key": "48211", "outcome": "done", "lost_seconds": 2700}]},
)
_DONE = _ACTION | {
    "state": "done",
    "given": 64,
    "reported_at": "2026-11-29T12:01:10Z",
    "tax_reported": "96.000000",
}
TOLD = answer_example(
    "Recorded",
    {
        "at": "2026-11-29T12:01:10Z",
        "changed": 1,
        "results": [
            {
                "key": "48211",
                "attempt": 1,
                "status": "changed",
                "code": "done",
                "detail": "The units are back.",
            }
        ],
        "plan": _PLAN | {"actions": [_DONE]},
    },
)
CHECKPOINTS = request_example(
    "A job that loads for twenty minutes and warms up for ten",
    {"checkpoints": [{"key": "48211", "reload_seconds": 1200, "warm_up_seconds": 600}]},
)
_BUDGETS = {
    "pool_share": "0.05",
    "pool_window_seconds": 600,
    "job_window_seconds": 3600,
    "aged_per_day": 10,
    "cooldown_seconds": 3600,
    "min_run_seconds": 300,
    "plan_seconds": 900,
}
BUDGETS = answer_example("The defaults", _BUDGETS)
NEW_BUDGETS = request_example(
    "Twice as much may be taken", _BUDGETS | {"pool_share": "0.1", "reason": "conference deadline"}
)
ACTIONS = answer_example(
    "The worked case: 64 units lose 15 + 20 + 10 minutes at 2 a unit-hour",
    {
        "at": "2026-11-29T13:00:00Z",
        "since": "2026-11-01T00:00:00Z",
        "until": "2026-12-01T00:00:00Z",
        "currency": "EUR",
        "total": {
            "actions": 1,
            "units": 64,
            "tax": "96.000000",
            "tax_reported": "96.000000",
            "cost": "96.000000",
            "unreported": 0,
            "overrides": 0,
        },
        "actions": [
            {
                "at": "2026-11-29T12:01:10Z",
                "plan": "0199a1f0-7d3c-7c11-9a52-3f0f4f1c2b9e",
                "pool": "h100",
                "account": "vision",
                "key": "48211",
                "attempt": 1,
                "step": "spot",
                "mode": "checkpoint",
                "units": 64,
                "left": 0,
                "tax": "96.000000",
                "tax_reported": "96.000000",
                "late": False,
                "by_account": "nlp",
                "by_key": "48300",
                "by_class": "P1",
                "by_tier": "guaranteed",
                "made_by": "slurm",
                "made_at": "2026-11-29T12:00:00Z",
                "returns_guarantee": True,
                "pool_used": 0,
                "pool_planned": 64,
                "pool_limit": 100,
                "override": False,
                "reason": "",
            }
        ],
        "next": None,
    },
)
LOSSES = answer_example(
    "Twelve losses of 96 in a month",
    {
        "at": "2026-11-29T13:00:00Z",
        "currency": "EUR",
        "months": [
            {
                "month": "2026-11-01",
                "account": "vision",
                "actions": 12,
                "units": 768,
                "tax": "1152.000000",
                "tax_reported": "1152.000000",
                "unreported": 0,
            }
        ],
        "jobs": [
            {
                "key": "48211",
                "account": "vision",
                "times": 12,
                "cost": "1152.000000",
                "between_seconds": 86400,
                "checkpoint_seconds": 90,
                "interval_seconds": 3943,
            }
        ],
    },
)
