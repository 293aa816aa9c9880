"""Numbers told in words: every algorithm, and the shares that are special."""

import pytest

from accounting.commands.fairshare import SetFairsharePolicy
from accounting.domain.priority import PriorityPolicy
from frontend import explanations, history
from ledger.queries import event_types
from tests.world import record


@pytest.mark.parametrize(
    ("algorithm", "want"),
    [
        ("fair_tree", "level = S / U = "),
        ("classic", "factor = 2^-(U / S) = 2^-("),
        ("ratio", "factor = base × S / (U + eps)"),
    ],
)
def test_each_algorithm_puts_the_numbers_into_its_formula(acme, browse, algorithm, want):
    acme.use(record("a"))
    acme.run(SetFairsharePolicy(algorithm=algorithm, half_life_seconds=7 * 86_400))
    page = browse(acme, "otto").get("/fairshare/nlp/bob").content.decode()
    assert want in page
    assert explanations.ALGORITHM_NAMES[algorithm] in page


def test_the_share_parent_is_told(acme, browse):
    acme.use(record("a"))
    acme.account("team", under="nlp", shares=None)
    acme.person("tess", "team")
    acme.person("root-like", "team", shares=None)
    client = browse(acme, "otto")
    page = client.get("/fairshare/team/tess").content.decode()
    assert "takes no part in the sharing in nlp" in page
    assert "shares in nlp" in page, "below a transparent account the sharing is the one above's"
    assert (
        "It comes first in the account" in client.get("/fairshare/team/root-like").content.decode()
    )


def test_no_shares_and_no_use_are_told(acme, browse):
    acme.use(record("a"))
    acme.person("zoe", "nlp", shares=0)
    client = browse(acme, "otto")
    assert "has no share" in client.get("/fairshare/nlp/zoe").content.decode()
    assert "has used nothing" in client.get("/fairshare/nlp/alice").content.decode()


def test_without_any_use_nothing_divides_by_zero(acme, browse):
    page = browse(acme, "otto").get("/fairshare/nlp/bob")
    assert page.status_code == 200
    assert "No record of Bob under nlp still counts" in page.content.decode()


def test_priority_terms_leave_out_what_is_switched_off():
    terms = explanations.priority_terms(PriorityPolicy(boost_weight=0.0), 0.5)
    assert [term.name for term in terms] == ["fair-share", "age", "class", "size"]
    assert terms[0].points == 500.0


def test_every_event_has_a_sentence():
    # Other tests register events of their own beside the product's.
    ours = {name for name in event_types() if not name.startswith("test.")}
    assert ours <= set(history.SENTENCES)
