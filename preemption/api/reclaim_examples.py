"""Examples of the OpenAPI document; a test compares them with the types."""

from config.api.schema import answer_example, request_example

_SHARES = {"threshold": "0.2", "clear_margin": "0.05"}
_SECONDS = {
    "window_seconds": 259200,
    "watch_seconds": 172800,
    "cooldown_seconds": 1209600,
    "gap_seconds_max": 7200,
    "unknown_seconds_max": 86400,
}
_OTHERS = {"exempt": ["serving"], "maintenance": []}
_STANDS = {"version": 1, "enabled": True} | _SHARES | _SECONDS | _OTHERS
RULE = answer_example("The pool's own rule, on", {"pool": "h100", "set_for": "pool"} | _STANDS)
DEFAULT = answer_example(
    "The organization's rule, on", {"pool": None, "set_for": "organization"} | _STANDS
)
FOLLOW = request_example("Why", {"reason": "one rule for all", "expected_version": 1})
NEW_RULE = request_example(
    "The default rule; serving is left alone",
    {"enabled": True, "exempt": ["serving"], "reason": "use it or lose it, from December on"},
)
TRIAL = request_example("The default rule, tried on three weeks", {"days": 21})
TRIED = answer_example(
    "500 idle units at 2 per unit-hour",
    {
        "start": "2026-11-08T12:00:00Z",
        "end": "2026-11-29T12:00:00Z",
        "guarantees": [
            {
                "pool": "h100",
                "account": "nlp",
                "guarantee": 500,
                "units": 500,
                "left_alone": None,
                "stages": [
                    {
                        "stage": "demoted",
                        "at": "2026-11-11T12:00:00Z",
                        "units": 500,
                        "guarantee": 0,
                        "utilisation": 0.0,
                        "p95": 0,
                        "until": "2026-11-25T12:00:00Z",
                    }
                ],
                "utilisation": 0.0,
                "p95": 0,
                "recommended": 0,
                "idle_cost": "504000.00",
                "worth_a_month": "730000.00",
            }
        ],
    },
)
BOARD = answer_example(
    "One is watched",
    {
        "pool": "h100",
        "guarantees": [
            {
                "account": "nlp",
                "state": "watched",
                "at": "2026-11-29T12:00:00Z",
                "guarantee": 40,
                "units": 0,
                "due_at": "2026-11-30T12:00:00Z",
                "until": None,
                "demotions": 0,
                "justifications": 0,
            }
        ],
    },
)
DECISION = request_example("Why", {"reason": "the next run begins on Monday"})
_DECIDED = {"account": "nlp", "pool": "h100", "changed": True}
RESTORED = answer_example("Restored", _DECIDED | {"guarantee": 40, "parent": None})
RETURNED = answer_example("Returned", _DECIDED | {"guarantee": 5, "parent": "research"})
