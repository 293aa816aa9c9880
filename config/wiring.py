"""Who implements what: the one place where apps are connected. Plain calls, no signals."""

import importlib

from accounting.projectors import PROJECTORS as ACCOUNTING
from ledger import execution, projection
from ledger.projectors import PROJECTORS as LEDGER
from quota.projectors import PROJECTORS as QUOTA
from tenancy import policy
from tenancy.projectors import PROJECTORS as TENANCY

COMMAND_MODULES = (
    "tenancy.commands.organizations",
    "tenancy.commands.accounts",
    "tenancy.commands.people",
    "tenancy.commands.imports",
    "tenancy.commands.tokens",
    "quota.commands.pools",
    "accounting.commands.usage",
    "accounting.commands.fairshare",
)


def connect() -> None:
    """Register projectors and handlers and install the permission check. Idempotent."""
    projection.register(LEDGER)
    projection.register(TENANCY)
    projection.register(QUOTA)
    projection.register(ACCOUNTING)
    for module in COMMAND_MODULES:
        importlib.import_module(module)
    execution.use_authorizer(policy.authorize)
