"""Examples of the OpenAPI document; a test compares them with the types."""

from config.api.schema import answer_example, request_example

_ONE = {
    "id": "0199a1f0-7d3c-7c11-9a52-3f0f4f1c2b9e",
    "kind": "idle",
    "state": "open",
    "account": "nlp",
    "pool": "h100",
    "person": "bob",
    "job": "48300",
    "units": 8,
    "worth_per_hour": "15.360000",
    "since": "2026-11-29T11:00:00Z",
    "found_at": "2026-11-29T12:00:40Z",
    "by": "",
    "reason": "",
    "acknowledged_at": None,
    "quiet_until": None,
    "closed_at": None,
    "why": "",
    "work": {
        "until": "2026-11-29T12:00:00Z",
        "compute_util": 0.04,
        "below": 0.1,
        "limit_seconds": 3600,
        "memory_gb": 410.0,
        "progress_at": None,
        "stretches": [{"start": "2026-11-29T11:00:00Z", "mean": 0.04, "peak": 0.07}],
    },
    "use": None,
}
ONE = answer_example("8 units that have done nothing for an hour", _ONE)
PAGE = answer_example(
    "One is so now",
    {"at": "2026-11-29T12:05:00Z", "detections": [_ONE], "next": None},
)
ACKNOWLEDGEMENT = request_example(
    "Quiet until tomorrow", {"reason": "debugging", "until": "2026-11-30T12:00:00Z"}
)
ACKNOWLEDGED = answer_example(
    "Known", {"id": _ONE["id"], "changed": True, "state": "acknowledged", "units": 0}
)
RELEASE = request_example("Why", {"reason": "forgotten"})
RELEASED = answer_example("Free", {"id": _ONE["id"], "changed": True, "state": "acted", "units": 8})
_POLICY = {
    "kinds": ["idle", "zombie", "surge"],
    "idle_below": "0.1",
    "idle_minutes": 60,
    "zombie_below": "0.05",
    "progress_seconds_max": 600,
    "baseline_factor": 3,
    "baseline_spread": 3,
    "baseline_days_min": 14,
}
POLICY = answer_example("The default", _POLICY)
NEW_POLICY = request_example(
    "Two hours until an allocation is idle; the rest as it comes",
    {"idle_minutes": 120, "reason": "notebooks pause over lunch"},
)
