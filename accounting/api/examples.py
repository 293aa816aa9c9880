"""Examples of the OpenAPI document; a test sends the questions and compares the shapes."""

from accounting.usage_bodies import NDJSON
from config.api.schema import answer_example, request_example

_RECORD = {
    "key": "cluster-a/48213/1",
    "account": "nlp",
    "person": "bob",
    "pool": "h100",
    "units": 8,
    "start": "2026-11-29T08:00:00Z",
    "end": "2026-11-29T11:30:00Z",
    "tier": "borrowed",
    "labels": {"project": "translation"},
    "compute_util": 0.83,
}
USAGE = request_example("A batch", {"source": "cluster-a", "records": [_RECORD]})
USAGE_LINES = request_example("A line", _RECORD, media_type=NDJSON)
USAGE_RECORDED = answer_example(
    "One of three records was unknown",
    {
        "batch_id": "0199a1f0-7d3c-7c11-9a52-3f0f4f1c2b9e",
        "accepted": 2,
        "duplicates": 0,
        "conflicts": 0,
        "rejected": 1,
        "records": [
            {
                "line": 3,
                "key": "cluster-a/48214/1",
                "status": "rejected",
                "code": "account_unknown",
                "field": "account",
                "detail": "There is no account nlq.",
            }
        ],
    },
)
QUESTION = request_example(
    "Two jobs",
    {
        "jobs": [
            {
                "key": "48300",
                "account": "nlp",
                "person": "bob",
                "pool": "h100",
                "units": 8,
                "class": "P2",
                "submitted_at": "2026-11-29T11:00:00Z",
            },
            {
                "key": "48301",
                "account": "nlq",
                "person": "bob",
                "pool": "h100",
                "units": 1,
                "class": "P3",
                "submitted_at": "2026-11-29T11:20:00Z",
            },
        ]
    },
)
PRIORITIES = answer_example(
    "One answered, one unknown",
    {
        "at": "2026-11-29T12:00:00Z",
        "algorithm": "fair_tree",
        "half_life_days": 7.0,
        "versions": {"tree": 41, "usage": 1207},
        "results": [
            {
                "key": "48300",
                "priority": 1835.2,
                "rank": 1,
                "effective_class": "P1",
                "factors": {
                    "fair_share": 0.33,
                    "age": 0.006,
                    "class": 0.75,
                    "size": 0.08,
                    "boost": 0.0,
                },
            }
        ],
        "errors": [
            {
                "index": 1,
                "key": "48301",
                "field": "account",
                "code": "account_unknown",
                "detail": "There is no account nlq.",
            }
        ],
    },
)
FAIRSHARE = answer_example(
    "The first of many nodes",
    {
        "at": "2026-11-29T12:00:00Z",
        "algorithm": "fair_tree",
        "half_life_days": 7.0,
        "versions": {"tree": 41, "usage": 1207},
        "nodes": [
            {
                "depth": 1,
                "account": "research",
                "person": None,
                "shares": 60,
                "norm_shares": 0.6667,
                "usage": 80640.0,
                "norm_usage": 0.8,
                "effective_usage": 0.8,
                "level_fs": 0.8333,
                "fairshare": 0.5,
                "rank": 2,
            }
        ],
        "next": "/api/v1/fairshare?limit=1&cursor=WzEsNDFd",
    },
)
SSHARE = answer_example(
    "As text",
    "Account|User|RawShares|NormShares|RawUsage|NormUsage|EffectvUsage|FairShare|LevelFS\n"
    "  nlp|bob|1|0.333333|80640|0.800000|1.000000|0.250000|0.333333\n",
    media_type="text/plain",
)
USAGE_DAYS = answer_example(
    "One day of one account on one pool",
    {
        "since": "2026-11-29",
        "until": "2026-11-29",
        "groups": [
            {
                "day": "2026-11-29",
                "account": "nlp",
                "person": None,
                "pool": "h100",
                "tier": None,
                "unit_seconds": "100800.000000",
                "weighted": "100800.0000000000",
                "compute_util": 0.83,
                "compute_known": 1.0,
                "productive_util": None,
                "productive_known": 0.0,
            }
        ],
        "next": None,
    },
)
BATCHES = answer_example(
    "One batch",
    {
        "batches": [
            {
                "id": "0199a1f0-7d3c-7c11-9a52-3f0f4f1c2b9e",
                "event_id": "0199a1f0-7d3c-7c11-9a52-3f0f4f1c2b9f",
                "sources": ["cluster-a"],
                "recorded_at": "2026-11-29T12:00:00Z",
                "rows": 1,
                "duplicates": 0,
                "conflicts": 0,
                "rejected": 0,
                "unit_seconds": "100800.000000",
                "digest": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            }
        ],
        "next": None,
    },
)
