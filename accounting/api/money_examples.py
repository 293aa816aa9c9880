"""Examples of the OpenAPI document for money; docs/api/money.md prints them too."""

from config.api.schema import answer_example, request_example

NEW_RATES = request_example(
    "Two prices, from December on",
    {
        "prices": [
            {"flavor": "h100-80gb", "list_price": "2.40", "contracted_price": "2"},
            {"flavor": "h100-80gb", "tier": "spot", "list_price": "0.70"},
        ],
        "effective_from": "2026-12-01T00:00:00+01:00",
        "currency": "EUR",
        "reason": "the contract of December",
    },
)
TRY_RATES = request_example(
    "One price, on October",
    {"month": "2026-10", "prices": [{"flavor": "h100-80gb", "list_price": "2.20"}]},
)
_TERMS = {
    "idle_share": "1",
    "lending_share": "0.5",
    "ladder": [{"above": "0.8", "rate": "0.05"}],
    "two_persons": False,
}
TERMS = answer_example("Nothing was ever said", {"from_month": None} | _TERMS)
NEW_TERMS = request_example(
    "Two steps, and a second person",
    {
        "from_month": "2026-12",
        "idle_share": "1",
        "lending_share": "0.5",
        "ladder": [{"above": "0.8", "rate": "0.05"}, {"above": "0.9", "rate": "0.1"}],
        "two_persons": True,
        "reason": "the board's decision",
    },
)
NEW_CREDIT = request_example(
    "For an outage in October",
    {"account": "nlp", "amount": "1250.00", "about": "2026-10", "reason": "outage of the 12th"},
)
NEW_COMMITMENT = request_example(
    "A year", {"account": "nlp", "amount": "9000", "from_month": "2026-12",
               "until_month": "2027-11", "reason": "the contract of December"},
)  # fmt: skip
END_COMMITMENT = request_example(
    "Half a month is charged for it",
    {"last_month": "2027-03", "charge": "4500", "reason": "the project ends"},
)
NEW_TAGGING = request_example(
    "Jobs of November that named no project",
    {
        "account": "nlp",
        "since": "2026-11-01",
        "until": "2026-11-15",
        "job": "train-7b*",
        "project": "lima",
        "reason": "the launcher forgot it",
    },
)
NEW_COMPARISON = request_example(
    "The department, two figures, no names",
    {
        "reach": "department",
        "figures": ["utilization", "idle_share"],
        "named": False,
        "reason": "teams asked for it",
    },
)
MONTHS = answer_example(
    "October is closed",
    {
        "currency": "EUR",
        "turn": "2026-11",
        "months": [
            {
                "month": "2026-10",
                "state": "closed",
                "started_at": "2026-11-02T09:00:00Z",
                "started_by": "fay",
                "confirmed_by": None,
                "waits": False,
                "progress": 1.0,
                "drawn_accounts": 6,
                "accounts": 6,
                "lines": 3,
                "amount": "2400.00",
                "list_amount": "2400.00",
                "closed_at": "2026-11-02T09:00:04Z",
                "digest": "7d1a54127b222502f5b79b5fb0803061152a44f92b37e23c6527baf665d4da9a",
            }
        ],
        "next": None,
    },
)
CLOSE = request_example(
    "One finding was seen", {"accept": ["telemetry_missing"], "reason": "the end of October"}
)
