"""Examples of the OpenAPI document; a test compares them with the types."""

from typing import Any

from config.api.schema import answer_example, request_example

_ID = "0199a1f0-7d3c-7c11-9a52-3f0f4f1c2b9e"
_EXPORT: dict[str, Any] = {
    "id": _ID,
    "account": "root",
    "month": "2026-10",
    "what": "focus",
    "format": "csv",
    "focus_version": "1.4",
    "state": "ready",
    "month_state": "closed",
    "progress": 1.0,
    "scheduled": False,
    "requested_at": "2026-11-02T08:00:00Z",
    "requested_by": "fay",
    "finished_at": "2026-11-02T08:00:01Z",
    "expires_at": "2026-11-16T08:00:01Z",
    "rows": 1240,
    "size": 812345,
    "sha256": "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
    "total": "153600.00",
    "problem": None,
    "problem_detail": None,
    "file": f"/api/v1/exports/{_ID}/file",
}
NEW = request_example(
    "October as FOCUS, of everybody", {"month": "2026-10", "what": "focus", "format": "csv"}
)
ONE = answer_example("It is there", _EXPORT)
MANY = answer_example("The newest", {"exports": [_EXPORT], "next": None})
NEW_SCHEDULE = request_example(
    "FOCUS and a workbook, every month",
    {
        "files": [
            {"what": "focus", "format": "parquet"},
            {"what": "lines", "format": "xlsx"},
        ],
        "store": True,
        "notify": True,
    },
)
_SCHEDULE = {
    "account": "root",
    "files": [{"what": "focus", "format": "parquet"}, {"what": "lines", "format": "xlsx"}],
    "store": True,
    "notify": True,
    "set_at": "2026-11-02T08:00:00Z",
    "set_by": "fay",
}
SCHEDULE = answer_example("A schedule", _SCHEDULE)
SCHEDULES = answer_example("One schedule", {"schedules": [_SCHEDULE]})
