"""What tests of requests over REST share: acme with approvers, everybody signed in at need."""

from datetime import UTC, datetime, timedelta
from typing import Any

from ledger import scope
from ledger.sql import server_cursor
from tests.api.conftest import Api, signed_in
from tests.world import Tenant

DAY = timedelta(days=1)


def now() -> datetime:
    return datetime.now(UTC)


def at(days: float) -> str:
    """An instant so many days from now, as JSON has it."""
    return (now() + days * DAY).isoformat()


class Desk:
    """Words of the workflow over REST: `desk.ask(units=24)`, `desk.as_("petra")`."""

    def __init__(self, place: Tenant) -> None:
        self.place = place
        for name, account in (("petra", "research"), ("rita", "root"), ("rolf", "root")):
            place.person(name)
            place.role(name, "approver", on=account)
        self._apis: dict[str, Api] = {}

    def as_(self, name: str) -> Api:
        """Somebody, signed in."""
        if name not in self._apis:
            self._apis[name] = signed_in(self.place, name)
        return self._apis[name]

    def wish(self, **values: Any) -> dict[str, Any]:
        """A boost of 60 units for 30 days: one person has to approve."""
        return {
            "account": "nlp",
            "pool": "h100",
            "kind": "boost",
            "units": 60,
            "ends_at": at(30),
            "workload": "training",
            "purpose": "train the next model",
        } | values

    def ask(self, by: str = "alice", **values: Any) -> dict[str, Any]:
        answer = self.as_(by).post("requests", self.wish(**values))
        assert answer.status_code == 201, answer.content
        return answer.json()

    def decide(self, it: dict[str, Any], step: str, *, by: str, **body: Any):
        return self.as_(by).post(f"reviews/{it['id']}/{step}", body)

    def step(self, it: dict[str, Any], step: str, *, by: str = "alice", **body: Any):
        return self.as_(by).post(f"requests/{it['id']}/{step}", body)

    def story(self, it: dict[str, Any], *, by: str = "alice", **query: Any) -> dict[str, Any]:
        answer = self.as_(by).get(f"requests/{it['id']}", query)
        assert answer.status_code == 200, answer.content
        return answer.json()

    def state(self, it: dict[str, Any], *, by: str = "alice") -> str:
        return self.story(it, by=by)["request"]["state"]

    def guaranteed(self, account: str = "nlp") -> int:
        otto = self.as_("otto")
        return otto.get(f"accounts/{account}/quotas/h100").json()["guaranteed"]

    def events(self) -> int:
        """How many events acme has; that somebody signs in for a test is none of it."""
        with scope.reading(self.place.id), server_cursor() as cursor:
            return cursor.execute(
                "SELECT count(*) FROM ledger_event WHERE type <> 'person.login_linked'"
            ).fetchone()[0]
