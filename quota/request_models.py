"""Tables of requests, their policy and delegations; all are projections but the bytes of files."""

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q

OPEN_STATES = ("changes_requested", "countered", "submitted")
STATES = (
    "approved",
    "changes_requested",
    "countered",
    "discarded",
    "draft",
    "expired",
    "provisioned",
    "reclaimed",
    "rejected",
    "submitted",
    "withdrawn",
)
KINDS = (
    "boost",
    "ceiling",
    "extension",
    "justification",
    "lower",
    "new",
    "raise",
    "transfer",
)


class QuotaRequest(models.Model):
    """A request as it stands. See `quota.domain.request_state.Request`."""

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    account_id = models.UUIDField()
    pool_id = models.UUIDField()
    kind = models.TextField()
    units = models.BigIntegerField(null=True)
    starts_at = models.DateTimeField(null=True)
    ends_at = models.DateTimeField(null=True)
    workload = models.TextField()
    tier = models.TextField()
    purpose = models.TextField()
    budget = models.DecimalField(max_digits=24, decimal_places=6, null=True)
    to_account_id = models.UUIDField(null=True)
    requester_id = models.UUIDField()
    author_ids = ArrayField(models.UUIDField())
    state = models.TextField()
    version = models.IntegerField()
    drafted_at = models.DateTimeField(null=True)
    submitted_at = models.DateTimeField(null=True)
    decided_at = models.DateTimeField(null=True)
    provisioned_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    updated_at = models.DateTimeField()
    approvals_needed = models.SmallIntegerField(null=True)
    level_ids = ArrayField(models.UUIDField())
    operators = models.BooleanField()
    route_reasons = ArrayField(models.TextField())
    approvals = models.JSONField()
    counter = models.JSONField(null=True)
    due_at = models.DateTimeField(null=True)
    reminded_at = models.DateTimeField(null=True)
    escalations = models.SmallIntegerField()
    change_id = models.UUIDField(null=True)
    facts = models.JSONField(null=True)

    class Meta:
        db_table = "quota_request"
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=STATES, kind__in=KINDS), name="quota_request_words"
            ),
            models.CheckConstraint(
                condition=Q(units__isnull=True) | Q(units__gte=0), name="quota_request_units"
            ),
        ]
        indexes = [
            models.Index(
                "organization_id",
                "due_at",
                "id",
                condition=Q(state="submitted"),
                name="quota_request_inbox",
            ),
            models.Index("organization_id", "account_id", "id", name="quota_request_account"),
            models.Index("organization_id", "requester_id", "id", name="quota_request_requester"),
            models.Index("organization_id", "state", "id", name="quota_request_state"),
            models.Index(
                "organization_id",
                "pool_id",
                "account_id",
                condition=Q(state__in=("approved", "provisioned")),
                name="quota_request_standing",
            ),
            GinIndex("level_ids", name="quota_request_levels"),
        ]


class RequestDecision(models.Model):
    """What somebody, or the policy, decided about a request, and why."""

    pk = models.CompositePrimaryKey("organization_id", "event_id")
    organization_id = models.UUIDField()
    event_id = models.UUIDField()
    request_id = models.UUIDField()
    account_id = models.UUIDField()
    pool_id = models.UUIDField()
    decision = models.TextField()
    person_id = models.UUIDField(null=True)
    on_behalf_of_id = models.UUIDField(null=True)
    units = models.BigIntegerField(null=True)
    ends_at = models.DateTimeField(null=True)
    reason = models.TextField()
    decided_at = models.DateTimeField()

    class Meta:
        db_table = "quota_requestdecision"
        indexes = [
            models.Index(
                "organization_id", "request_id", "event_id", name="quota_decision_request"
            ),
            models.Index("organization_id", "decided_at", "event_id", name="quota_decision_at"),
            models.Index(
                "organization_id",
                "account_id",
                "pool_id",
                "decided_at",
                condition=models.Q(decision="rejected"),
                name="quota_decision_rejections",
            ),
        ]


class RequestComment(models.Model):
    """A word in the discussion of a request."""

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    request_id = models.UUIDField()
    author_id = models.UUIDField()
    text = models.TextField()
    mentioned_ids = ArrayField(models.UUIDField())
    said_at = models.DateTimeField()

    class Meta:
        db_table = "quota_requestcomment"
        indexes = [
            models.Index("organization_id", "request_id", "id", name="quota_comment_request")
        ]


class RequestAttachment(models.Model):
    """A file of a request, without its bytes."""

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    request_id = models.UUIDField()
    author_id = models.UUIDField()
    name = models.TextField()
    media_type = models.TextField()
    size = models.IntegerField()
    digest = models.TextField()
    attached_at = models.DateTimeField()

    class Meta:
        db_table = "quota_requestattachment"
        indexes = [
            models.Index("organization_id", "request_id", "id", name="quota_attachment_request")
        ]


class AttachmentContent(models.Model):
    """The bytes of files by their SHA-256, which is in the ledger. Not a projection: rows are
    added and never changed."""

    pk = models.CompositePrimaryKey("organization_id", "digest")
    organization_id = models.UUIDField()
    digest = models.TextField()
    content = models.BinaryField()

    class Meta:
        db_table = "quota_attachmentcontent"


class RequestPolicyRow(models.Model):
    """How an organization routes requests. See `quota.domain.routing.Policy`."""

    organization_id = models.UUIDField(primary_key=True)
    automatic = models.BooleanField()
    automatic_units_max = models.BigIntegerField()
    automatic_days_max = models.IntegerField(null=True)
    automatic_price_max = models.DecimalField(max_digits=24, decimal_places=6, null=True)
    use_percent_min = models.SmallIntegerField()
    unknown_use_passes = models.BooleanField()
    rejection_days = models.SmallIntegerField()
    two_approvals_units = models.BigIntegerField()
    days_max = models.IntegerField(null=True)
    justification_days_max = models.SmallIntegerField()
    decide_hours = models.IntegerField()
    remind_hours = models.IntegerField()
    set_at = models.DateTimeField()

    class Meta:
        db_table = "quota_requestpolicy"


class Delegation(models.Model):
    """Who reviews in whose place, and when."""

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    person_id = models.UUIDField()
    delegate_id = models.UUIDField()
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()

    class Meta:
        db_table = "quota_delegation"
        indexes = [
            models.Index("organization_id", "person_id", name="quota_delegation_person"),
            models.Index("organization_id", "delegate_id", name="quota_delegation_delegate"),
        ]
