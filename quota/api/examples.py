"""Examples of the OpenAPI document; a test compares them with the types."""

from config.api.schema import answer_example, request_example

_HELD = {
    "id": "0199a1f0-7d3c-7c11-9a52-3f0f4f1c2b9e",
    "key": "48300",
    "attempt": 1,
    "pool": "h100",
    "account": "nlp",
    "units": 8,
    "tier": "borrowed",
    "state": "held",
    "hold_until": "2026-11-29T12:05:00Z",
    "lease_seconds": 900,
    "duration_seconds": None,
    "started_at": None,
    "lease_until": None,
    "ended_at": None,
}
ADMIT = request_example(
    "A gang, and a job over two pools",
    {
        "requests": [
            {
                "key": "48300",
                "account": "nlp",
                "person": "bob",
                "pool": "h100",
                "units": 8,
                "class": "P3",
                "reclaim_seconds": 120,
                "labels": {"project": "translation"},
            },
            {
                "key": "48301",
                "account": "serving",
                "person": "bob",
                "needs": [{"pool": "h100", "units": 2}, {"pool": "cpu", "units": 64}],
                "class": "P0",
            },
        ]
    },
)
ADMITTED = answer_example(
    "One admitted, one denied",
    {
        "at": "2026-11-29T12:00:00Z",
        "dry_run": False,
        "admitted": 1,
        "denied": 1,
        "heartbeat_seconds": 300,
        "results": [
            {
                "key": "48300",
                "attempt": 1,
                "status": "admitted",
                "repeated": False,
                "allocations": [_HELD],
                "blocks": [],
                "relief": [],
                "errors": [],
            },
            {
                "key": "48301",
                "attempt": 1,
                "status": "denied",
                "repeated": False,
                "allocations": [],
                "blocks": [
                    {
                        "pool": "h100",
                        "account": "serving",
                        "limit": "guarantee",
                        "available": 0,
                        "short_by": 2,
                        "detail": "Serving has 0 units of its own guarantee in h100 left; 2 short.",
                    }
                ],
                "relief": [
                    {
                        "pool": "h100",
                        "reclaim": [],
                        "reclaim_enough": False,
                        "ends": [
                            {
                                "key": "48111",
                                "account": "serving",
                                "tier": "guaranteed",
                                "class": "P2",
                                "units": 4,
                                "ends_at": "2026-11-29T14:00:00Z",
                            }
                        ],
                        "ends_enough_at": "2026-11-29T14:00:00Z",
                    }
                ],
                "errors": [],
            },
        ],
    },
)
_RUNNING = _HELD | {
    "state": "running",
    "started_at": "2026-11-29T12:00:20Z",
    "lease_until": "2026-11-29T12:15:20Z",
}
MESSAGES = request_example("Two jobs", {"messages": [{"key": "48300"}, {"key": "47110"}]})
HEARTBEATS = request_example(
    "Two jobs; one tells of its work",
    {
        "messages": [
            {"key": "48300", "compute_util": 0.62, "memory_gb": 412.5, "progress": 1200},
            {"key": "47110"},
        ]
    },
)
ONE_HEARTBEAT = request_example(
    "Alive, and hardly busy", {"compute_util": 0.03, "memory_gb": 410, "progress": 1200}
)
RESIZES = request_example("One job", {"messages": [{"key": "48300", "units": 6}]})
RELEASES = request_example(
    "One job", {"messages": [{"key": "48300", "at": "2026-11-29T13:00:00Z"}]}
)
ONE = request_example("It happened just now", {})
ONE_RESIZE = request_example("Other units", {"units": 6})
TOLD = answer_example(
    "One message",
    {
        "at": "2026-11-29T12:00:21Z",
        "changed": 1,
        "counts": [1],
        "results": [
            {
                "key": "48300",
                "attempt": 1,
                "pool": "h100",
                "status": "changed",
                "code": "started",
                "detail": "It runs.",
                "allocation": _RUNNING,
            }
        ],
    },
)
_FACTS = _RUNNING | {
    "person": "bob",
    "min_units": 8,
    "wanted_units": 8,
    "class": "P3",
    "held_at": "2026-11-29T12:00:00Z",
    "heard_at": "2026-11-29T12:00:20Z",
    "reclaim_seconds": 120,
    "adopted": False,
    "labels": {"project": "translation"},
    "steps": [{"at": "2026-11-29T12:00:20Z", "units": 8, "tier": "borrowed"}],
}
PAGE = answer_example(
    "The newest", {"at": "2026-11-29T12:01:00Z", "allocations": [_FACTS], "next": None}
)
OF_JOB = answer_example("One attempt", {"at": "2026-11-29T12:01:00Z", "allocations": [_FACTS]})
SNAPSHOT = request_example(
    "Two jobs run",
    {
        "at": "2026-11-29T12:30:00Z",
        "jobs": [
            {"key": "48300", "account": "nlp", "person": "bob", "units": 8},
            {
                "key": "47001",
                "account": "vision",
                "person": "bob",
                "units": 4,
                "started_at": "2026-11-29T09:00:00Z",
            },
        ],
    },
)
RECONCILED = answer_example(
    "One was known, one adopted, one had ended",
    {
        "at": "2026-11-29T12:30:00Z",
        "dry_run": False,
        "pool": "h100",
        "known": 1,
        "differences": [
            {
                "key": "46990",
                "attempt": 1,
                "done": "ended",
                "code": "not_running",
                "detail": "The scheduler does not run it any more; its units are free.",
                "allocation": None,
            },
            {
                "key": "47001",
                "attempt": 1,
                "done": "adopted",
                "code": "not_admitted",
                "detail": "It ran without having been admitted; it counts from its start.",
                "allocation": None,
            },
        ],
    },
)
