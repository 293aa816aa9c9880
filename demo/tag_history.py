"""What was told apart afterwards in the demo, and what its leads may compare."""

from datetime import datetime, timedelta
from typing import Final
from zoneinfo import ZoneInfo

from accounting.commands.comparison import SetComparisonPolicy
from accounting.commands.taggings import TagUsage, UseChosen
from accounting.domain.comparison import FIGURES
from demo.quota_history import OPERATOR
from demo.request_history import FINANCE
from demo.tenant import Tenant

ACCOUNT: Final = "robotics"
DAYS: Final = 20


def tell_apart(tenant: Tenant, *, time_zone: str, now: datetime) -> None:
    """Some weeks of a team's use get the project that they really were for; leads may compare the
    teams of their department."""
    today = now.astimezone(ZoneInfo(time_zone)).date()
    chosen = UseChosen(
        account_id=tenant.accounts[ACCOUNT], since=today - timedelta(days=DAYS), until=today
    )
    tag = TagUsage(
        account_id=chosen.account_id, chosen=chosen, project="warehouse", only_untagged=False
    )
    reason = "The pilot of the warehouse pays for them"
    tenant.run(tag, "tag", at=now, by=tenant.person(FINANCE), reason=reason)
    policy = SetComparisonPolicy(reach="department", figures=FIGURES, named=True)
    reason = "Teams asked to see how they stand"
    tenant.run(policy, "comparison", at=now, by=tenant.person(OPERATOR), reason=reason)
