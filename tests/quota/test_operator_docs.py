"""docs/operator/quota.md keeps its word."""

import re
from pathlib import Path

from quota.commands.plans import ApplyQuotaPlan
from quota.importers.formats import read
from tests import world

GUIDE = (Path(__file__).parents[2] / "docs/operator/quota.md").read_text()


def test_the_plan_of_the_guide_applies(db):
    (text,) = re.findall(r"```yaml plan\n(.*?)```", GUIDE, re.DOTALL)
    place = world.tenant("place")
    answer = place.run(ApplyQuotaPlan(plan=read(text).plan), reason="guide").result
    assert answer.counts == {
        "flavors defined": 1,
        "pools opened": 1,
        "accounts opened": 3,
        "quotas set": 3,
    }


def test_every_code_of_the_guide_is_raised():
    sources = "".join(path.read_text() for path in Path(__file__).parents[2].glob("quota/**/*.py"))
    codes = ("promise_exceeded", "carve_exceeded", "carving_to_come", "quota_held")
    assert all(f"`{code}`" in GUIDE and f'"{code}"' in sources for code in codes)
