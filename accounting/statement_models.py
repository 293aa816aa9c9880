"""Tables of statements. Lines and their parts are a truth of their own, append-only, covered by the
digests in the ledger; the others are projections."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

MONEY = {"max_digits": 30, "decimal_places": 4}
QUANTITY = {"max_digits": 60, "decimal_places": 12}


class StatementTerms(models.Model):
    """What holds for the statements of a month and later."""

    pk = models.CompositePrimaryKey("organization_id", "from_month")
    organization_id = models.UUIDField()
    from_month = models.DateField()
    idle_share = models.DecimalField(max_digits=12, decimal_places=6)
    lending_share = models.DecimalField(max_digits=12, decimal_places=6)
    ladder = models.JSONField()
    two_persons = models.BooleanField()

    class Meta:
        db_table = "accounting_statementterms"


class Credit(models.Model):
    """An amount that finance gives back."""

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    account_id = models.UUIDField()
    month = models.DateField()
    amount = models.DecimalField(**MONEY)
    about = models.DateField(null=True)
    reason = models.TextField()

    class Meta:
        db_table = "accounting_credit"
        indexes = [models.Index("organization_id", "month", name="accounting_credit_month")]
        constraints = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="accounting_credit_positive")
        ]


class Commitment(models.Model):
    """What an account has promised to be charged at least, each month."""

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    account_id = models.UUIDField()
    amount = models.DecimalField(**MONEY)
    from_month = models.DateField()
    until_month = models.DateField(null=True)
    ending_charge = models.DecimalField(**MONEY, default=0)

    class Meta:
        db_table = "accounting_commitment"
        constraints = [
            models.CheckConstraint(condition=Q(amount__gt=0), name="accounting_commitment_positive")
        ]


class MonthClose(models.Model):
    """How far the close of a month is. `drawn_through` is the last account that was drawn;
    `chunks` and the sums are of what is drawn so far."""

    pk = models.CompositePrimaryKey("organization_id", "month")
    organization_id = models.UUIDField()
    month = models.DateField()
    state = models.TextField()
    started_at = models.DateTimeField()
    started_by = models.TextField()
    starter_id = models.UUIDField(null=True)
    accepted = ArrayField(models.TextField())
    confirmed_by = models.TextField(null=True)
    waits = models.BooleanField()
    accounts = models.IntegerField()
    drawn_accounts = models.IntegerField()
    drawn_through = models.UUIDField(null=True)
    chunks = models.IntegerField()
    lines = models.IntegerField()
    amount = models.DecimalField(**MONEY)
    list_amount = models.DecimalField(**MONEY)
    closed_at = models.DateTimeField(null=True)
    digest = models.TextField(null=True)

    class Meta:
        db_table = "accounting_monthclose"
        constraints = [
            models.CheckConstraint(
                condition=Q(state__in=("closing", "closed")), name="accounting_monthclose_state"
            )
        ]


class StatementLine(models.Model):
    """A line of a closed month: see `accounting.domain.lines.Line`. `of_kind` is what an adjustment
    is of. Never changed."""

    pk = models.CompositePrimaryKey("organization_id", "month", "chunk", "line_no")
    organization_id = models.UUIDField()
    month = models.DateField()
    chunk = models.IntegerField()
    line_no = models.IntegerField()
    account_id = models.UUIDField()
    above = ArrayField(models.UUIDField())
    kind = models.TextField()
    of_kind = models.TextField()
    pool_id = models.UUIDField(null=True)
    flavor_id = models.UUIDField(null=True)
    tier = models.TextField(null=True)
    grade = models.TextField(null=True)
    version_id = models.UUIDField(null=True)
    ref_id = models.UUIDField(null=True)
    about = models.DateField(null=True)
    unit_seconds = models.DecimalField(**QUANTITY)
    price = models.DecimalField(max_digits=24, decimal_places=12, null=True)
    list_price = models.DecimalField(max_digits=24, decimal_places=12, null=True)
    amount = models.DecimalField(**MONEY)
    list_amount = models.DecimalField(**MONEY)
    facts = models.JSONField()

    class Meta:
        db_table = "accounting_statementline"
        indexes = [
            models.Index(
                "organization_id",
                "about",
                name="accounting_statementline_about",
                condition=Q(about__isnull=False),
            )
        ]


class StatementPart(models.Model):
    """What a line of usage consists of: unit-seconds by day, person and labels. Never changed."""

    pk = models.CompositePrimaryKey("organization_id", "month", "chunk", "line_no", "part_no")
    organization_id = models.UUIDField()
    month = models.DateField()
    chunk = models.IntegerField()
    line_no = models.IntegerField()
    part_no = models.IntegerField()
    day = models.DateField()
    person_id = models.UUIDField(null=True)
    project = models.TextField(null=True)
    model = models.TextField(null=True)
    workload = models.TextField(null=True)
    unit_seconds = models.DecimalField(**QUANTITY)

    class Meta:
        db_table = "accounting_statementpart"
