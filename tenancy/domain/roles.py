"""Roles, what they permit, and the scopes of machine tokens. Pure.

A role is held on an account and counts for everything below it (docs/design.md part 2). A role on
the root account is a role on the whole organization.
"""

from collections.abc import Iterable
from enum import StrEnum


class Role(StrEnum):
    """What a person is on an account."""

    MEMBER = "member"
    LEAD = "lead"
    APPROVER = "approver"
    FINANCE = "finance"
    OPERATOR = "operator"
    AUDITOR = "auditor"


class Scope(StrEnum):
    """What a machine's token may do."""

    PRIORITY_READ = "priority:read"
    ADMISSION_WRITE = "admission:write"
    USAGE_WRITE = "usage:write"
    PREEMPTION_WRITE = "preemption:write"
    EXPORT_READ = "export:read"


READ = "account:read"
LEDGER_READ = "ledger:read"
PEOPLE_WRITE = "people:write"
TREE_WRITE = "tree:write"
TOKEN_WRITE = "token:write"
POLICY_WRITE = "policy:write"
POOL_WRITE = "pool:write"
RATE_WRITE = "rate:write"
BUDGET_WRITE = "budget:write"
BUDGET_DIVIDE = "budget:divide"
"""Give the accounts below budgets, within the account's own."""
USE_TAG = "use:tag"
TEAM_COMPARE = "team:compare"
"""See one's own teams beside others, as far as the organization's policy lets leads."""
REQUEST_WRITE = "request:write"
REQUEST_REVIEW = "request:review"
TAKE_PART = "person"
"""Held by every person of the organization: for what only the loaded state can permit, such as a
decision in the place of an absent approver."""
SYSTEM_ONLY = "system"

PERMISSIONS: dict[Role, frozenset[str]] = {
    Role.MEMBER: frozenset({READ, Scope.PRIORITY_READ}),
    Role.LEAD: frozenset(
        {
            READ,
            Scope.PRIORITY_READ,
            LEDGER_READ,
            PEOPLE_WRITE,
            REQUEST_WRITE,
            BUDGET_DIVIDE,
            USE_TAG,
            TEAM_COMPARE,
            Scope.EXPORT_READ,
        }
    ),
    Role.APPROVER: frozenset(
        {READ, Scope.PRIORITY_READ, LEDGER_READ, REQUEST_REVIEW, TEAM_COMPARE}
    ),
    Role.FINANCE: frozenset(
        {
            READ,
            Scope.PRIORITY_READ,
            LEDGER_READ,
            RATE_WRITE,
            BUDGET_WRITE,
            USE_TAG,
            TEAM_COMPARE,
            Scope.EXPORT_READ,
        }
    ),
    Role.OPERATOR: frozenset(
        {
            READ,
            LEDGER_READ,
            PEOPLE_WRITE,
            TREE_WRITE,
            TOKEN_WRITE,
            POLICY_WRITE,
            POOL_WRITE,
            USE_TAG,
            TEAM_COMPARE,
            BUDGET_WRITE,
            REQUEST_WRITE,
            REQUEST_REVIEW,
            Scope.PRIORITY_READ,
            Scope.USAGE_WRITE,
            Scope.ADMISSION_WRITE,
            Scope.PREEMPTION_WRITE,
            Scope.EXPORT_READ,
        }
    ),
    Role.AUDITOR: frozenset(
        {READ, LEDGER_READ, TEAM_COMPARE, Scope.PRIORITY_READ, Scope.EXPORT_READ}
    ),
}


def permitted(roles: Iterable[str]) -> frozenset[str]:
    """Everything that the roles held on an account and its ancestors permit together."""
    found: frozenset[str] = frozenset()
    for role in roles:
        found |= PERMISSIONS[Role(role)]
    return found


def granting(permission: str) -> tuple[str, ...]:
    """The roles that carry a permission, for an error that says who can help."""
    return tuple(role.value for role, held in PERMISSIONS.items() if permission in held)
