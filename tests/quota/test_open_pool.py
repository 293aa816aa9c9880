"""A pool can be opened from the shell, with a flavor made where it is new."""

import pytest
from django.core.management import CommandError, call_command

from ledger import scope
from quota.queries import pools_with_weights


def opened(acme, name: str, **options):
    values = {"flavor": "h200", "cluster": "lab", "capacity": 16, "organization": "acme"}
    values["reason"] = "rack 7"
    call_command("open_pool", name, **(values | options))
    with scope.reading(acme.id):
        return next(pool for pool in pools_with_weights(acme.id) if pool.name == name)


def test_a_pool_and_its_new_flavor(acme):
    pool = opened(acme, "lab-h200", weight="2.5")
    assert (pool.flavor, str(pool.weight), pool.capacity) == ("h200", "2.5000", 16)
    assert opened(acme, "lab-h200-b").flavor == "h200"


@pytest.mark.parametrize(
    "change",
    [
        {"organization": "nowhere"},
        {"capacity": -1},
        {"weight": "x", "flavor": "new"},
        {"reason": " "},
    ],
)
def test_what_cannot_be_is_said_and_nothing_is_opened(acme, change):
    with pytest.raises(CommandError):
        opened(acme, "bad", **change)
    with scope.reading(acme.id):
        assert "bad" not in {pool.name for pool in pools_with_weights(acme.id)}
