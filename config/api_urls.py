"""Addresses under /api/v1/."""

from django.urls import path
from drf_spectacular.views import SpectacularAPIView

from accounting.api.budgets import (
    BudgetOperation,
    BudgetsOperation,
    ChangeBudgetOperation,
    EndBudgetOperation,
)
from accounting.api.charging import (
    CommitmentsOperation,
    CreditsOperation,
    EndCommitmentOperation,
    StatementTermsOperation,
)
from accounting.api.comparison import ComparisonOperation, ComparisonPolicyOperation
from accounting.api.exports import (
    ExportFileOperation,
    ExportScheduleOperation,
    ExportSchedulesOperation,
    ExportSchemaOperation,
    ExportsOperation,
    OneExportOperation,
)
from accounting.api.fairshare import FairshareOperation
from accounting.api.months import (
    CloseMonthOperation,
    ConfirmCloseOperation,
    MonthOperation,
    MonthsOperation,
)
from accounting.api.organization_month import OrganizationMonthOperation
from accounting.api.priorities import PrioritiesOperation
from accounting.api.rates import (
    OneRatesOperation,
    RateGradeOperation,
    RatesOperation,
    RatesTrialOperation,
    WithdrawRatesOperation,
)
from accounting.api.showback import ShowbackOperation
from accounting.api.statements import (
    LineOperation,
    LineRecordsOperation,
    StatementOperation,
    StatementsOperation,
)
from accounting.api.taggings import TaggingsOperation, UndoTaggingOperation
from accounting.api.usage import RecordUsageOperation
from accounting.api.usage_reads import (
    UsageBatchesOperation,
    UsageBatchOperation,
    UsageBatchRecordsOperation,
    UsageDaysOperation,
)
from ledger.api import EventOperation, EventsOperation
from notices.api.notices import NoticesOperation, ReadNoticesOperation
from preemption.api.actions import ActionsOperation, LossesOperation
from preemption.api.checkpoints import CheckpointsOperation
from preemption.api.detections import (
    AcknowledgeDetectionOperation,
    DetectionOperation,
    DetectionPolicyOperation,
    DetectionsOperation,
    ReleaseDetectedOperation,
)
from preemption.api.plans import (
    CancelOperation,
    ConfirmOperation,
    PlanOperation,
    PlansOperation,
    ReportsOperation,
)
from preemption.api.policies import PreemptionPolicyOperation
from preemption.api.reclaim import ReclaimBoardOperation, RestoreOperation, ReturnOperation
from preemption.api.reclaim_rules import (
    ReclaimDefaultOperation,
    ReclaimDefaultTrialOperation,
    ReclaimFollowOperation,
    ReclaimRuleOperation,
    ReclaimTrialOperation,
)
from quota.api.admissions import AdmissionsOperation
from quota.api.allocations import AllocationOperation, AllocationsOperation
from quota.api.cycles import (
    CancelCycleOperation,
    CloseCycleOperation,
    CyclesOperation,
    OneCycleOperation,
)
from quota.api.cycles_policy import CyclePolicyOperation
from quota.api.cycles_quotas import (
    AnswerCycleQuotaOperation,
    AskCycleQuotaOperation,
    CycleQuotasOperation,
    DecideCycleOperation,
    DecideCycleQuotaOperation,
)
from quota.api.cycles_report import CycleReportOperation
from quota.api.messages import (
    HeartbeatOneOperation,
    HeartbeatOperation,
    ReleaseOneOperation,
    ReleaseOperation,
    ResizeOneOperation,
    ResizeOperation,
    StartOneOperation,
    StartOperation,
)
from quota.api.plans import QuotaPlanOperation
from quota.api.policies import AdmissionPolicyOperation
from quota.api.pool_changes import (
    DefineFlavorOperation,
    FlavorOperation,
    OpenPoolOperation,
    PoolOperation,
)
from quota.api.quota_changes import (
    AccountQuotaOperation,
    CancelScheduledQuotaOperation,
    EndQuotaOperation,
    ScheduledQuotasOperation,
)
from quota.api.quotas import (
    AccountQuotaHistoryOperation,
    AccountQuotasOperation,
    PoolQuotasOperation,
)
from quota.api.requests import RequestsOperation
from quota.api.requests_files import AttachmentOperation, AttachmentsOperation
from quota.api.requests_precheck import PrecheckOperation
from quota.api.requests_steps import (
    AcceptOfferOperation,
    CommentsOperation,
    DiscardDraftOperation,
    ExtendRequestOperation,
    RequestDraftOperation,
    SubmitRequestOperation,
    WithdrawRequestOperation,
)
from quota.api.reviews import (
    ApproveLessOperation,
    ApproveOperation,
    AskOperation,
    DecideManyOperation,
    RejectOperation,
    ReviewsOperation,
)
from quota.api.reviews_decisions import DecisionsOperation
from quota.api.reviews_policy import (
    DelegationsOperation,
    EndDelegationOperation,
    PreviewPolicyOperation,
    RoutePolicyOperation,
)
from quota.api.snapshots import SnapshotOperation
from tenancy.api.accounts import AccountOperation, AccountsOperation, ArchiveAccountOperation
from tenancy.api.me import MeOperation
from tenancy.api.people import AccountPeopleOperation, AccountPersonOperation, PeopleOperation
from tenancy.api.tokens import RevokeTokenOperation, RotateTokenOperation, TokensOperation

urlpatterns = [
    # What schedulers ask all day comes first: addresses are looked through from the top.
    path("priorities", PrioritiesOperation.as_view(), name="priorities"),
    path("admissions", AdmissionsOperation.as_view()),
    path("allocations/start", StartOperation.as_view()),
    path("allocations/heartbeat", HeartbeatOperation.as_view()),
    path("allocations/resize", ResizeOperation.as_view()),
    path("allocations/release", ReleaseOperation.as_view()),
    path("usage", RecordUsageOperation.as_view(), name="usage"),
    path("accounts", AccountsOperation.as_view(), name="api-accounts"),
    path("accounts/<str:name>", AccountOperation.as_view(), name="api-account"),
    path("accounts/<str:name>/archive", ArchiveAccountOperation.as_view()),
    path("accounts/<str:name>/people", AccountPeopleOperation.as_view()),
    path("accounts/<str:name>/people/<str:person>", AccountPersonOperation.as_view()),
    path("accounts/<str:name>/quota-changes", AccountQuotaHistoryOperation.as_view()),
    path("accounts/<str:name>/quotas", AccountQuotasOperation.as_view()),
    path("accounts/<str:name>/quotas/<str:pool>", AccountQuotaOperation.as_view()),
    path("accounts/<str:name>/quotas/<str:pool>/end", EndQuotaOperation.as_view()),
    path("accounts/<str:name>/rate-grade", RateGradeOperation.as_view()),
    path("admission-policy", AdmissionPolicyOperation.as_view()),
    path("allocations", AllocationsOperation.as_view()),
    # Keys are the scheduler's own and may hold slashes.
    path("allocations/<path:key>/heartbeat", HeartbeatOneOperation.as_view()),
    path("allocations/<path:key>/release", ReleaseOneOperation.as_view()),
    path("allocations/<path:key>/resize", ResizeOneOperation.as_view()),
    path("allocations/<path:key>/start", StartOneOperation.as_view()),
    path("allocations/<path:key>", AllocationOperation.as_view()),
    path("budgets", BudgetsOperation.as_view()),
    path("budgets/<uuid:budget_id>", BudgetOperation.as_view()),
    path("budgets/<uuid:budget_id>/change", ChangeBudgetOperation.as_view()),
    path("budgets/<uuid:budget_id>/end", EndBudgetOperation.as_view()),
    path("commitments", CommitmentsOperation.as_view()),
    path("commitments/<uuid:commitment_id>/end", EndCommitmentOperation.as_view()),
    path("comparison", ComparisonOperation.as_view()),
    path("comparison-policy", ComparisonPolicyOperation.as_view()),
    path("credits", CreditsOperation.as_view()),
    path("detection-policy", DetectionPolicyOperation.as_view()),
    path("detections", DetectionsOperation.as_view()),
    path("detections/<uuid:detection_id>", DetectionOperation.as_view()),
    path("detections/<uuid:detection_id>/acknowledge", AcknowledgeDetectionOperation.as_view()),
    path("detections/<uuid:detection_id>/release", ReleaseDetectedOperation.as_view()),
    path("export-schedules", ExportSchedulesOperation.as_view()),
    path("export-schedules/<str:name>", ExportScheduleOperation.as_view()),
    path("exports", ExportsOperation.as_view()),
    path("exports/<uuid:export_id>", OneExportOperation.as_view()),
    path("exports/<uuid:export_id>/file", ExportFileOperation.as_view(), name="api-export-file"),
    path("exports/<uuid:export_id>/schema", ExportSchemaOperation.as_view()),
    path("fairshare", FairshareOperation.as_view(), name="fairshare"),
    path("ledger/events", EventsOperation.as_view(), name="ledger-events"),
    path("ledger/events/<uuid:event_id>", EventOperation.as_view(), name="ledger-event"),
    path("flavors", DefineFlavorOperation.as_view()),
    path("flavors/<str:flavor>", FlavorOperation.as_view()),
    path("me", MeOperation.as_view()),
    path("months", MonthsOperation.as_view()),
    path("months/<str:month>", MonthOperation.as_view()),
    path("months/<str:month>/close", CloseMonthOperation.as_view()),
    path("months/<str:month>/confirm", ConfirmCloseOperation.as_view()),
    path("months/<str:month>/statements", StatementsOperation.as_view()),
    path("months/<str:month>/statements/<str:account>", StatementOperation.as_view()),
    path(
        "months/<str:month>/statements/<str:account>/lines/<str:line_id>",
        LineOperation.as_view(),
    ),
    path(
        "months/<str:month>/statements/<str:account>/lines/<str:line_id>/records",
        LineRecordsOperation.as_view(),
    ),
    path("notices", NoticesOperation.as_view()),
    path("notices/read", ReadNoticesOperation.as_view()),
    path("people", PeopleOperation.as_view()),
    path("pools", OpenPoolOperation.as_view()),
    path("pools/<str:pool>", PoolOperation.as_view(), name="api-pool"),
    path("pools/<str:pool>/checkpoints", CheckpointsOperation.as_view()),
    path("pools/<str:pool>/quotas", PoolQuotasOperation.as_view()),
    path("pools/<str:pool>/reclaim", ReclaimBoardOperation.as_view()),
    path("pools/<str:pool>/reclaim/<str:account>/restore", RestoreOperation.as_view()),
    path("pools/<str:pool>/reclaim/<str:account>/return", ReturnOperation.as_view()),
    path("pools/<str:pool>/reclaim-rule", ReclaimRuleOperation.as_view()),
    path("pools/<str:pool>/reclaim-rule/follow", ReclaimFollowOperation.as_view()),
    path("pools/<str:pool>/reclaim-rule/try", ReclaimTrialOperation.as_view()),
    path("pools/<str:pool>/snapshot", SnapshotOperation.as_view()),
    path("preemption-actions", ActionsOperation.as_view(), name="api-preemption-actions"),
    path("preemption-losses", LossesOperation.as_view()),
    path("preemption-plans", PlansOperation.as_view(), name="api-preemption-plans"),
    path("preemption-plans/<uuid:plan_id>", PlanOperation.as_view(), name="api-preemption-plan"),
    path("preemption-plans/<uuid:plan_id>/cancel", CancelOperation.as_view()),
    path("preemption-plans/<uuid:plan_id>/confirm", ConfirmOperation.as_view()),
    path("preemption-plans/<uuid:plan_id>/reports", ReportsOperation.as_view()),
    path("preemption-policy", PreemptionPolicyOperation.as_view()),
    path("quota-plan", QuotaPlanOperation.as_view()),
    path("rates", RatesOperation.as_view()),
    path("rates/try", RatesTrialOperation.as_view()),
    path("rates/<uuid:version_id>", OneRatesOperation.as_view()),
    path("rates/<uuid:version_id>/withdraw", WithdrawRatesOperation.as_view()),
    path("reclaim-rule", ReclaimDefaultOperation.as_view()),
    path("reclaim-rule/try", ReclaimDefaultTrialOperation.as_view()),
    path("requests", RequestsOperation.as_view()),
    path("requests/precheck", PrecheckOperation.as_view()),
    path("requests/<uuid:request_id>", RequestDraftOperation.as_view()),
    path("requests/<uuid:request_id>/accept", AcceptOfferOperation.as_view()),
    path("requests/<uuid:request_id>/attachments", AttachmentsOperation.as_view()),
    path(
        "requests/<uuid:request_id>/attachments/<uuid:attachment_id>",
        AttachmentOperation.as_view(),
    ),
    path("requests/<uuid:request_id>/comments", CommentsOperation.as_view()),
    path("requests/<uuid:request_id>/discard", DiscardDraftOperation.as_view()),
    path("requests/<uuid:request_id>/extend", ExtendRequestOperation.as_view()),
    path("requests/<uuid:request_id>/submit", SubmitRequestOperation.as_view()),
    path("requests/<uuid:request_id>/withdraw", WithdrawRequestOperation.as_view()),
    path("reviews", ReviewsOperation.as_view()),
    path("reviews/batch", DecideManyOperation.as_view()),
    path("reviews/cycles", CyclesOperation.as_view(), name="api-cycles"),
    path("reviews/cycles/policy", CyclePolicyOperation.as_view()),
    path("reviews/cycles/<uuid:cycle_id>", OneCycleOperation.as_view(), name="api-cycle"),
    path("reviews/cycles/<uuid:cycle_id>/cancel", CancelCycleOperation.as_view()),
    path("reviews/cycles/<uuid:cycle_id>/close", CloseCycleOperation.as_view()),
    path("reviews/cycles/<uuid:cycle_id>/decisions", DecideCycleOperation.as_view()),
    path("reviews/cycles/<uuid:cycle_id>/quotas", CycleQuotasOperation.as_view()),
    path(
        "reviews/cycles/<uuid:cycle_id>/quotas/<str:account>/<str:pool>/answer",
        AnswerCycleQuotaOperation.as_view(),
    ),
    path(
        "reviews/cycles/<uuid:cycle_id>/quotas/<str:account>/<str:pool>/ask",
        AskCycleQuotaOperation.as_view(),
    ),
    path(
        "reviews/cycles/<uuid:cycle_id>/quotas/<str:account>/<str:pool>/decide",
        DecideCycleQuotaOperation.as_view(),
    ),
    path("reviews/cycles/<uuid:cycle_id>/report", CycleReportOperation.as_view()),
    path("reviews/decisions", DecisionsOperation.as_view()),
    path("reviews/delegations", DelegationsOperation.as_view()),
    path("reviews/delegations/<uuid:delegation_id>/end", EndDelegationOperation.as_view()),
    path("reviews/policy", RoutePolicyOperation.as_view()),
    path("reviews/policy/preview", PreviewPolicyOperation.as_view()),
    path("reviews/<uuid:request_id>/approve", ApproveOperation.as_view()),
    path("reviews/<uuid:request_id>/approve-less", ApproveLessOperation.as_view()),
    path("reviews/<uuid:request_id>/ask", AskOperation.as_view()),
    path("reviews/<uuid:request_id>/reject", RejectOperation.as_view()),
    path("scheduled-quotas", ScheduledQuotasOperation.as_view()),
    path("scheduled-quotas/<uuid:change_id>/cancel", CancelScheduledQuotaOperation.as_view()),
    path(
        "schema",
        SpectacularAPIView.as_view(api_version="v1", versioning_class=None),
        name="schema",
    ),
    path("showback", ShowbackOperation.as_view()),
    path("showback/organization", OrganizationMonthOperation.as_view()),
    path("statement-terms", StatementTermsOperation.as_view()),
    path("tokens", TokensOperation.as_view()),
    path("tokens/<uuid:token_id>/revoke", RevokeTokenOperation.as_view()),
    path("tokens/<uuid:token_id>/rotate", RotateTokenOperation.as_view()),
    path("usage/batches", UsageBatchesOperation.as_view()),
    path("usage/batches/<uuid:batch_id>", UsageBatchOperation.as_view()),
    path("usage/batches/<uuid:batch_id>/records", UsageBatchRecordsOperation.as_view()),
    path("usage/taggings", TaggingsOperation.as_view()),
    path("usage/taggings/<uuid:tagging_id>/undo", UndoTaggingOperation.as_view()),
    path("usage/days", UsageDaysOperation.as_view()),
]
