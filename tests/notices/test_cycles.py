"""Reviews of quotas: who reviews, leads and asked is told, and nobody of what is over."""

import pytest

from ledger import scope
from notices.queries import notices
from tests.notices.test_reading import read, told
from tests.quota.cycles.conftest import DAY, Table, use  # noqa: F401  # a fixture
from tests.world import NOW


@pytest.fixture
def table(acme, use) -> Table:  # noqa: F811  # the fixture of that name
    made = Table(acme, use)
    read(acme)
    return made


def newest(table, name: str):
    with scope.reading(table.place.id):
        return notices(table.place.id, table.place.people[name]).rows[0]


def of_reviews(table, name: str) -> list[str]:
    with scope.reading(table.place.id):
        rows = notices(table.place.id, table.place.people[name]).rows
    return [row.kind for row in rows if row.kind.startswith("cycle.")]


def test_whoever_reviews_some_of_it_is_told(table):
    it = table.open()
    read(table.place)
    notice = newest(table, "petra")
    assert notice.title == "Autumn: 4 quotas of root to decide"
    assert (notice.link, notice.deadline) == (f"/reviews/cycles/{it}", NOW + 14 * DAY)
    assert of_reviews(table, "rolf") == ["cycle.opened"]
    assert of_reviews(table, "rita") == of_reviews(table, "alice") == []


def test_the_lead_is_asked_and_the_asker_hears_the_answer(table):
    it = table.open()
    table.ask(it, "nlp", question="Still needed?")
    read(table.place)
    notice = newest(table, "alice")
    assert notice.title == "Rita asks about the quota of nlp on h100"
    assert notice.body.startswith("“Still needed?”")
    assert notice.link.startswith(f"/reviews/cycles/{it}/")
    table.answer(it, "nlp", text="Half.", units=20)
    read(table.place)
    notice = newest(table, "rita")
    assert (notice.kind, notice.body) == ("cycle.answered", "“Half.” They need 20 units.")


def test_what_is_decided_meanwhile_asks_nobody(table):
    it = table.open()
    table.ask(it, "nlp")
    table.decide(it, "nlp", "keep")
    read(table.place)
    assert of_reviews(table, "alice") == []


def test_the_close_is_told_to_those_who_decided_and_the_change_to_leads(table):
    it = table.open()
    table.decide(it, "nlp", "set", 9, by="petra")
    read(table.place)
    table.close(it, undecided_keep=True)
    read(table.place)
    assert of_reviews(table, "petra")[0] == "cycle.closed"
    assert "Autumn is closed: 1 quotas changed" in told(table.place, "petra")
    notice = newest(table, "alice")
    assert notice.title.startswith("nlp on h100: 9 units guaranteed")
    assert "Reason: Autumn" in notice.body
