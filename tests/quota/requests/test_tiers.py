"""What an approved request grants is used at once."""

from tests.quota.allocations.conftest import Jobs


def test_a_borrower_rises_into_what_its_request_is_given(desk):
    jobs = Jobs(desk.place)
    desk.quotas.set("production", 60)
    jobs.admit(jobs.ask("a", units=8))
    assert jobs.holding("nlp") == (0, 8, 0)
    desk.ask("nlp", 8, days=7)
    assert jobs.holding("nlp") == (8, 0, 0)
