"""Examples of the OpenAPI document for budgets; docs/api/budgets.md prints them too."""

from config.api.schema import answer_example, request_example

NEW_BUDGET = request_example(
    "A month's budget with alerts of its own",
    {
        "account": "nlp",
        "period": "month",
        "amount": "12000",
        "spent": [50, 80, 100],
        "forecast": [100],
        "burn": [{"long_days": 7, "short_days": 1, "factor": "1.5"}],
        "reason": "plan of 2027",
    },
)
CHANGE = request_example(
    "More from the next quarter on",
    {"effective_from": "2027-01-01", "amount": "15000", "reason": "two more projects"},
)
END = request_example("From today on", {"reason": "the project is over"})
_BUDGET = {
    "id": "0199a1f0-7d3c-7c11-9a52-3f0f4f1c2b9e",
    "account": "nlp",
    "name": "",
    "period": "month",
    "ended_on": None,
    "first_day": "2026-11-01",
    "end_day": "2026-12-01",
    "amount": "12000.00",
    "spent": "10752.00",
    "remaining": "1248.00",
    "forecast": "11312.00",
    "forecast_low": "11180.40",
    "forecast_high": "11443.60",
    "no_forecast": None,
    "burn_day": "0.9600",
    "burn_week": "0.9600",
    "state": "ok",
}
_DRAWN = {"currency": "EUR", "costs_until": "2026-11-29T12:25:00Z"}
BUDGETS = answer_example("One that will last", _DRAWN | {"budgets": [_BUDGET], "next": None})
BUDGET = answer_example(
    "With one of its days, an alert and what holds",
    _DRAWN
    | {
        "budget": _BUDGET,
        "days": [
            {"day": "2026-11-20", "use": "384.00", "idle": "0.00", "other": "0.00", "unusual": None}
        ],
        "alerts": [
            {
                "period_start": "2026-11-01",
                "kind": "spent",
                "rule": "80",
                "figure": "80.00",
                "amount": "12000.00",
                "spent": "9600.00",
                "forecast": "11312.00",
                "fired_at": "2026-11-26T00:25:00Z",
                "over_at": None,
            }
        ],
        "versions": [
            {
                "effective_from": "2026-11-01",
                "amount": "12000.00",
                "spent": [50, 80, 100],
                "forecast": [100],
                "burn": [{"long_days": 7, "short_days": 1, "factor": "1.5"}],
                "set_at": "2026-10-28T09:00:00Z",
                "set_by": "fay",
                "reason": "plan of 2027",
            }
        ],
    },
)
