"""A month with use, a promise and prices."""

import pytest

from tests.accounting.statements.test_guarantees import promise
from tests.accounting.statements.test_rating import DAY, END, LATER, START, publish
from tests.world import Tenant, record


@pytest.fixture
def place(acme) -> Tenant:
    """nlp is promised 10 h100 at 2 and uses 8 for 100 hours of October; spot is seen all along."""
    publish(acme, "2", at=START - 10 * DAY)
    promise(acme, "nlp", 10, at=START - 10 * DAY)
    hours = int((END - START).total_seconds()) // 3600 + 100 * 24
    acme.use(record("known", units=1, hours=hours, start=START - DAY, account="serving",
                    person="alice", tier="spot"), now=LATER + 100 * DAY)  # fmt: skip
    acme.use(record("a", units=8, hours=100, start=START, labels={"project": "p"}), now=LATER)
    for name in ("fay", "finn"):
        acme.person(name)
        acme.role(name, "finance")
    return acme
