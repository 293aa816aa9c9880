"""Whoever defines, weighs or opens something that others rest on says why; it is kept."""

from decimal import Decimal

import pytest

from ledger import queries, scope
from ledger.errors import Invalid
from quota.commands.pools import DefineFlavor, OpenPool, SetFlavorWeight
from quota.queries import flavors


def commands(acme):
    with scope.reading(acme.id):
        flavor_id = flavors(acme.id)[0].id
    return {
        "flavor.defined": DefineFlavor(name="b200"),
        "flavor.weight_set": SetFlavorWeight(flavor_id=flavor_id, weight=Decimal(3)),
        "pool.opened": OpenPool(name="new", flavor_id=flavor_id, cluster="lab", capacity=4),
    }


def newest(acme, kind):
    with scope.reading(acme.id):
        return queries.history(acme.id, types=[kind], limit=1).rows[0]


@pytest.mark.parametrize("kind", ["flavor.defined", "flavor.weight_set", "pool.opened"])
def test_the_reason_is_asked_for_and_kept(acme, kind):
    command = commands(acme)[kind]
    for nothing in ("", "  "):
        with pytest.raises(Invalid) as refused:
            acme.run(command, reason=nothing)
        assert (refused.value.code, refused.value.field) == ("reason_missing", "reason")
    acme.run(command, reason="priced anew")
    assert newest(acme, kind).reason == "priced anew"
