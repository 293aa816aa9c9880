"""With accounting's own evidence: its formula is the only one, and unknown stays unknown."""

from datetime import timedelta

from ledger import scope
from quota.queries.cycle_entries import entries
from quota.queries.cycles import cycle, viewer
from tests.quota.cycles.conftest import DAY, Table, Use
from tests.world import NOW, record


def test_the_recommended_figure_is_accountings(acme):
    table = Table(acme, Use())
    for number in range(80):
        start = NOW - timedelta(days=80 - number)
        acme.use(record(f"r-{number}", start=start, hours=24, units=8))
    it = table.open()
    with scope.reading(acme.id):
        who = viewer(acme.id, acme.actor("rita"))
        rows = entries(acme.id, cycle(acme.id, it, who), who, now=NOW).rows
    found = {(row.account, row.pool): row.figures for row in rows}
    nlp = found["nlp", "h100"]
    assert (nlp.p50, nlp.p95, nlp.idle_units) == (8, 8, 32)
    assert nlp.recommended == 9  # 40 - (40 - ceil(8 x 1.1))
    assert 80 <= nlp.coverage_percent <= 90
    assert nlp.idle_cost is None
    # research with all below it is promised 60 and needs 9: more is idle than its own 20.
    assert found["research", "h100"].recommended == 0
    vision = found["vision", "a100"]
    assert (vision.p95, vision.recommended, vision.coverage_percent) == (None, None, 0)
    table.decide(it, "nlp", "recommended", 9)
    table.close(it, undecided_keep=True, now=NOW + DAY)
    assert table.quotas.stored()["nlp"] == 9


def test_all_recommendations_together_leave_what_is_needed(acme):
    """nlp uses nothing; research itself uses its 20 and needs 22 with all below."""
    table = Table(acme, Use())
    acme.person("rob", "research")
    for number in range(80):
        start = NOW - timedelta(days=80 - number)
        used = {"account": "research", "person": "rob", "start": start, "hours": 24, "units": 20}
        acme.use(record(f"r-{number}", **used))
    it = table.open("research")
    table.decide(it, "research", "recommended", 20)
    table.decide(it, "nlp", "recommended", 2)
    table.close(it, undecided_keep=True, now=NOW + DAY)
    assert (table.quotas.stored()["research"], table.quotas.stored()["nlp"]) == (20, 2)
