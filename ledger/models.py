"""Tables of the ledger. Behavior is in `store.py`; the migration adds traps, walls and grants."""

from django.db import models


class StoredEvent(models.Model):
    """One event. Append-only: the application role may only SELECT and INSERT, and a trigger
    refuses UPDATE, DELETE and TRUNCATE to everybody."""

    pk = models.CompositePrimaryKey("organization_id", "position")
    organization_id = models.UUIDField()
    position = models.BigIntegerField()
    id = models.UUIDField()
    lane = models.UUIDField()
    lane_seq = models.BigIntegerField()
    stream = models.TextField()
    version = models.IntegerField()
    type = models.TextField()
    schema_version = models.SmallIntegerField()
    occurred_at = models.DateTimeField()
    recorded_at = models.DateTimeField()
    actor_kind = models.TextField()
    actor_id = models.UUIDField(null=True)
    actor_label = models.TextField()
    command = models.TextField()
    command_id = models.UUIDField()
    idempotency_key = models.TextField(null=True)
    reason = models.TextField()
    payload = models.JSONField()
    previous_hash = models.BinaryField()
    hash = models.BinaryField()

    class Meta:
        db_table = "ledger_event"
        constraints = [
            models.UniqueConstraint(
                "organization_id", "stream", "version", name="ledger_event_stream_version"
            ),
            models.UniqueConstraint(
                "organization_id", "lane", "lane_seq", name="ledger_event_lane_seq"
            ),
            models.CheckConstraint(
                condition=models.Q(version__gte=1, lane_seq__gte=1, position__gte=1),
                name="ledger_event_counts_from_one",
            ),
        ]


class Lane(models.Model):
    """The head of a hash chain; its row lock serializes the tail of appends, and only that.

    `remade`, of the organization's main lane: how often a rebuild has put projections right. With
    the head it tells whether what was read from projections before still holds.
    """

    pk = models.CompositePrimaryKey("organization_id", "lane")
    organization_id = models.UUIDField()
    lane = models.UUIDField()
    seq = models.BigIntegerField()
    hash = models.BinaryField()
    remade = models.IntegerField(db_default=0)

    class Meta:
        db_table = "ledger_lane"


class CommandReceipt(models.Model):
    """The first answer given under an idempotency key, also when it was a refusal."""

    pk = models.CompositePrimaryKey("organization_id", "key")
    organization_id = models.UUIDField()
    key = models.TextField()
    command = models.TextField()
    input_hash = models.BinaryField()
    refused = models.BooleanField()
    result = models.JSONField()
    recorded_at = models.DateTimeField()

    class Meta:
        db_table = "ledger_receipt"
        indexes = [models.Index("organization_id", "recorded_at", name="ledger_receipt_age")]


class EventSubject(models.Model):
    """Projection: which things an event is about, so that each thing can show its history."""

    pk = models.CompositePrimaryKey("organization_id", "subject_id", "event_id")
    organization_id = models.UUIDField()
    subject_id = models.UUIDField()
    event_id = models.UUIDField()

    class Meta:
        db_table = "ledger_subject"


class ReaderPosition(models.Model):
    """How far an asynchronous reader has come in a lane."""

    pk = models.CompositePrimaryKey("organization_id", "reader", "lane")
    organization_id = models.UUIDField()
    reader = models.TextField()
    lane = models.UUIDField()
    seq = models.BigIntegerField()

    class Meta:
        db_table = "ledger_reader"
