"""Who implements what: the one place where apps are connected. Plain calls, no signals."""

import importlib

from accounting import ports as accounting_ports
from accounting import verification as accounting_verification
from accounting.budget_projectors import PROJECTORS as BUDGETS
from accounting.comparison_projectors import PROJECTORS as COMPARISON
from accounting.export_projectors import PROJECTORS as EXPORTS
from accounting.projectors import PROJECTORS as ACCOUNTING
from accounting.projectors import rebuilt as accounting_rebuilt
from accounting.queries import budget_effect, evidence
from accounting.rate_projectors import PROJECTORS as RATES
from accounting.statement_projectors import PROJECTORS as STATEMENTS
from accounting.statement_verification import verify_statements
from accounting.tag_projectors import PROJECTORS as TAGGINGS
from config.api import operation
from ledger import api as ledger_api
from ledger import execution, projection, scope, verification
from ledger.projectors import PROJECTORS as LEDGER
from preemption import month_tax
from preemption import verification as preemption_verification
from preemption.detection_projectors import PROJECTORS as DETECTIONS
from preemption.projectors import PROJECTORS as PREEMPTION
from preemption.reclaim_projectors import PROJECTORS as RECLAIM
from quota import event_reading, ports, tree_guard
from quota import verification as quota_verification
from quota.allocation_projectors import PROJECTORS as ALLOCATIONS
from quota.attachment_verification import verify_attachments
from quota.cycle_projectors import PROJECTORS as CYCLES
from quota.loading import allocations
from quota.measuring_projectors import PROJECTORS as WORK
from quota.projectors import PROJECTORS as QUOTA
from quota.request_projectors import PROJECTORS as REQUESTS
from quota.reservation_projectors import PROJECTORS as RESERVATIONS
from tenancy import callers, guards, policy, queries
from tenancy.projectors import PROJECTORS as TENANCY

COMMAND_MODULES = (
    "ledger.commands",
    "tenancy.commands.organizations",
    "tenancy.commands.accounts",
    "tenancy.commands.people",
    "tenancy.commands.imports",
    "tenancy.commands.tokens",
    "quota.commands.pools",
    "quota.commands.quotas",
    "quota.commands.plans",
    "quota.commands.policies",
    "quota.commands.settling",
    "quota.commands.admissions",
    "quota.commands.allocations",
    "quota.commands.snapshots",
    "quota.commands.requests",
    "quota.commands.reviews",
    "quota.commands.request_policy",
    "quota.commands.cycles",
    "quota.commands.cycle_decisions",
    "quota.commands.cycle_close",
    "accounting.commands.usage",
    "accounting.commands.fairshare",
    "accounting.commands.rates",
    "accounting.commands.statements",
    "accounting.commands.taggings",
    "accounting.commands.comparison",
    "accounting.commands.budgets",
    "accounting.commands.budget_watch",
    "accounting.commands.exports",
    "preemption.commands.policies",
    "preemption.commands.checkpoints",
    "preemption.commands.plans",
    "preemption.commands.reports",
    "preemption.commands.settling",
    "preemption.commands.reclaim",
    "preemption.commands.reclaim_rules",
    "preemption.commands.detections",
    "preemption.commands.detection_policy",
)

NOTICE_MODULES = (
    "notices.kinds.quota",
    "notices.kinds.access",
    "notices.kinds.usage",
    "notices.kinds.requests",
    "notices.kinds.cycles",
    "notices.kinds.reclaim",
    "notices.kinds.exports",
    "notices.kinds.preemption",
    "notices.kinds.budgets",
    "notices.kinds.detections",
)


def connect() -> None:
    """Register projectors and handlers and install the permission check. Idempotent."""
    projection.register(LEDGER)
    projection.register(TENANCY)
    projection.register(QUOTA)
    projection.register(ALLOCATIONS)
    projection.register(RESERVATIONS)
    projection.register(WORK)
    projection.register(REQUESTS)
    projection.register(CYCLES)
    projection.register(ACCOUNTING)
    projection.register(RATES)
    projection.register(STATEMENTS)
    projection.register(TAGGINGS)
    projection.register(COMPARISON)
    projection.register(EXPORTS)
    projection.register(BUDGETS)
    projection.register(PREEMPTION)
    projection.register(RECLAIM)
    projection.register(DETECTIONS)
    projection.on_rebuilt(accounting_rebuilt)
    verification.register("usage", accounting_verification.verify_usage)
    verification.register("statements", verify_statements)
    verification.register("attachments", verify_attachments)
    verification.register("allocations", quota_verification.verify_allocations)
    verification.register("preemption", preemption_verification.verify_preemption)
    guards.register(tree_guard.guard)
    guards.use_pools(allocations.pool_names)
    scope.use_directory(queries.organization_id_by_slug)
    accounting_ports.use_ports(preemption_tax=month_tax.preemption_tax)
    ports.use_ports(
        utilization=evidence.Utilization(),
        price=evidence.Prices(),
        budget=budget_effect.Budgets(),
    )
    for module in (*COMMAND_MODULES, *NOTICE_MODULES):
        importlib.import_module(module)
    execution.use_authorizer(policy.authorize)
    ledger_api.use_visibility(event_reading.may_read)
    operation.connect(
        authenticate=callers.authenticate, caller=callers.caller, authorize=policy.authorize
    )
