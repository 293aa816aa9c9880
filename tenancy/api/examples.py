"""Examples of the OpenAPI document about accounts, people and tokens."""

from config.api.schema import answer_example, request_example

_ID = "0199a1f0-7d3c-7c11-9a52-3f0f4f1c2b9e"
ACCOUNTS = answer_example(
    "The last page",
    {
        "accounts": [
            {
                "id": _ID,
                "name": "nlp",
                "description": "Language models",
                "parent": "research",
                "path": ["root", "research", "nlp"],
                "shares": 40,
                "archived_at": None,
            }
        ],
        "next": None,
    },
)
NEW_ACCOUNT = request_example(
    "A team", {"name": "speech", "parent": "research", "description": "", "shares": 20}
)
ACCOUNT_CHANGE = request_example("Move it", {"parent": "production"})
NEW_PERSON = request_example(
    "Somebody", {"name": "ana", "display_name": "Ana Silva", "email": "ana@example.org"}
)
ACCOUNT_PEOPLE = answer_example(
    "As a machine sees it",
    {
        "people": [
            {"id": _ID, "name": "bob", "display_name": "Bob", "email": None, "shares": "parent"}
        ],
        "next": None,
    },
)
SHARES = request_example("Two shares", {"shares": 2})
NEW_TOKEN = request_example(
    "A scheduler's", {"name": "slurm", "scopes": ["priority:read", "usage:write"]}
)
ROTATION = request_example("With a day to change over", {"overlap_hours": 24})
ME = answer_example(
    "A machine",
    {
        "kind": "token",
        "id": _ID,
        "name": "slurm",
        "organization": {
            "id": _ID,
            "slug": "acme",
            "name": "Acme",
            "currency": "EUR",
            "time_zone": "Europe/Berlin",
        },
        "scopes": ["priority:read", "usage:write"],
        "pool_ids": None,
        "expires_at": "2027-02-27T12:00:00Z",
        "roles": None,
    },
)
