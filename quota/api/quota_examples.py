"""Examples of pools and quotas in the OpenAPI document."""

from config.api.schema import answer_example, request_example

_ID = "0199a1f0-7d3c-7c11-9a52-3f0f4f1c2b9e"
_AT = "2026-11-29T12:00:00Z"
_QUOTA = {
    "account": "nlp",
    "pool": "h100",
    "guaranteed": 60,
    "borrowing_limit": 40,
    "lending_limit": None,
    "ends_at": "2026-12-24T00:00:00Z",
    "returns_to": {"guaranteed": 40, "borrowing_limit": 40, "lending_limit": None},
    "lender": "research",
}
_STANDING = {name: value for name, value in _QUOTA.items() if name != "account"} | {
    "subtree": 60,
    "used": 70,
    "own": {"guaranteed": 60, "borrowed": 10, "spot": 4},
    "set_aside": [],
    "borrowed": 10,
    "overshoot": 0,
    "lendable": 0,
    "available": 30,
    "potential": 100,
    "obtainable": 12,
    "stopped_by": {
        "limit": "capacity",
        "account": None,
        "detail": "Its quota would allow 30, but only 12 units are free: the rest is in use or set "
        "aside.",
        "way_out": "Wait for jobs to end; what borrows or runs as spot has to give way.",
    },
    "level": {
        "lenders": [{"account": "vision", "units": 12}],
        "borrowers": [{"account": "nlp", "units": 10}],
    },
    "version": 3,
}
QUOTAS_OF_POOL = answer_example(
    "One quota", {"at": _AT, "pool": "h100", "quotas": [_QUOTA], "next": None}
)
ACCOUNT_QUOTAS = answer_example("One pool", {"at": _AT, "account": "nlp", "quotas": [_STANDING]})
NEW_QUOTA = request_example(
    "For a while, carved from the department",
    {
        "guaranteed": 60,
        "borrowing_limit": 40,
        "carve_from": "research",
        "ends_at": "2026-12-24T00:00:00Z",
        "reason": "training run of the translation model",
    },
)
QUOTA_OUTCOME = answer_example(
    "Set",
    {
        "account": "nlp",
        "pool": "h100",
        "dry_run": False,
        "changed": True,
        "promised": 450,
        "promisable": 500,
        "change_id": None,
        "foreseen": None,
    },
)
QUOTA_END = request_example("The run is over", {"reason": "the run is over"})
SCHEDULED = answer_example(
    "One change",
    {
        "at": _AT,
        "changes": [
            {
                "change_id": _ID,
                "account": "nlp",
                "pool": "h100",
                "guaranteed": 80,
                "borrowing_limit": None,
                "lending_limit": None,
                "starts_at": "2026-12-01T00:00:00Z",
                "ends_at": None,
                "lender": None,
            }
        ],
    },
)
CANCEL = request_example("Not needed", {"reason": "the project is put off"})
QUOTA_HISTORY = answer_example(
    "One change",
    {
        "account": "nlp",
        "changes": [
            {
                "id": _ID,
                "type": "quota.set",
                "pool": "h100",
                "occurred_at": _AT,
                "recorded_at": _AT,
                "actor_kind": "person",
                "actor": "otto",
                "reason": "training run of the translation model",
                "asked_by": None,
                "data": {"account_id": _ID, "pool_id": _ID, "quota": {"guaranteed": 60}},
            }
        ],
        "next": None,
    },
)
POOL = answer_example(
    "One pool",
    {
        "id": _ID,
        "name": "h100",
        "cluster": "lab",
        "flavor": "h100-80gb",
        "capacity": 512,
        "unavailable": 8,
        "safety_margin": 4,
        "reclaim_target_seconds": 300,
        "promised": 450,
        "promisable": 500,
        "over_promised_by": 0,
        "in_use": {"guaranteed": 380, "borrowed": 60, "spot": 30},
        "set_aside": {"guaranteed": 10, "borrowed": 0, "spot": 0},
        "free": 24,
        "at": _AT,
        "version": 2,
    },
)
NEW_POOL = request_example(
    "A new cluster",
    {
        "name": "b200",
        "flavor": "b200-180gb",
        "cluster": "hall2",
        "capacity": 256,
        "safety_margin": 2,
        "reason": "hall 2 is in service",
    },
)
POOL_CHANGE = request_example(
    "Failed hardware", {"unavailable": 16, "reason": "rack 7 is without power"}
)
POOL_OUTCOME = answer_example(
    "It still fits",
    {
        "pool": "h100",
        "dry_run": False,
        "changed": True,
        "promised": 450,
        "promisable": 492,
        "over_promised_by": 0,
    },
)
NEW_FLAVOR = request_example(
    "A kind of GPU", {"name": "b200-180gb", "weight": "2.5", "reason": "new hardware"}
)
FLAVOR_CHANGE = request_example("Cheaper", {"weight": "0.8", "reason": "price list of 2027"})
_TIMES = {
    "hold_seconds": 300,
    "lease_seconds": 900,
    "heartbeat_seconds": 300,
    "interactive_seconds_max": 28800,
}
TIMES = answer_example("The defaults", _TIMES)
NEW_TIMES = request_example(
    "A quick cluster",
    {
        "hold_seconds": 120,
        "lease_seconds": 600,
        "heartbeat_seconds": 120,
        "interactive_seconds_max": 14400,
        "reason": "starts are quick here",
    },
)
PLAN = request_example(
    "One quota",
    "quotas:\n  - {account: nlp, pool: h100, guaranteed: 60}\n",
    media_type="application/yaml",
)
PLANNED = answer_example(
    "One change",
    {
        "dry_run": True,
        "counts": {"quota set": 1},
        "changes": [{"kind": "quota set", "name": "nlp in h100", "detail": "40 -> 60"}],
        "affected": [
            {
                "account": "nlp",
                "pool": "h100",
                "available_before": 10,
                "available_after": 30,
                "potential_before": 80,
                "potential_after": 100,
            }
        ],
        "affected_count": 1,
        "skipped": [],
    },
)
