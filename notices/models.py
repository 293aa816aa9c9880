"""Notices and their mails. Not projections: what somebody has read is no fact of the ledger
(docs/decisions/0011-notices.md)."""

from django.db import models
from django.db.models import Q


class Notice(models.Model):
    """Something one person was told. `source` is the event, or the date, that made it: with the
    kind and the person it occurs once."""

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    person_id = models.UUIDField()
    kind = models.TextField()
    source = models.TextField()
    title = models.TextField()
    body = models.TextField()
    link = models.TextField()
    deadline = models.DateTimeField(null=True)
    made_at = models.DateTimeField()
    read_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "notices_notice"
        constraints = [
            models.UniqueConstraint(
                "organization_id", "source", "kind", "person_id", name="notices_notice_once"
            ),
            models.CheckConstraint(
                condition=Q(link__startswith="/") & ~Q(link__startswith="//"),
                name="notices_notice_link",
            ),
        ]
        indexes = [
            models.Index("organization_id", "person_id", "id", name="notices_notice_list"),
            models.Index(
                "organization_id",
                "person_id",
                "id",
                condition=Q(read_at__isnull=True),
                name="notices_notice_unread",
            ),
            models.Index("organization_id", "made_at", name="notices_notice_age"),
        ]


class Mail(models.Model):
    """A notice that is to go out by e-mail, was, or will not. Several that are due to one person
    at the same time share a letter."""

    pk = models.CompositePrimaryKey("organization_id", "notice_id")
    organization_id = models.UUIDField()
    notice_id = models.UUIDField()
    person_id = models.UUIDField()
    state = models.TextField()
    due_at = models.DateTimeField()
    attempts = models.SmallIntegerField()
    claimed_at = models.DateTimeField(null=True)
    sent_at = models.DateTimeField(null=True)
    message_id = models.TextField(blank=True)
    problem = models.TextField(blank=True)

    class Meta:
        db_table = "notices_mail"
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    state__in=("waiting", "sending", "sent", "dropped", "failed", "unsure")
                ),
                name="notices_mail_state",
            )
        ]
        indexes = [
            models.Index(
                "organization_id",
                "due_at",
                condition=Q(state="waiting"),
                name="notices_mail_due",
            ),
            models.Index(
                "organization_id",
                "claimed_at",
                condition=Q(state="sending"),
                name="notices_mail_sending",
            ),
        ]


class Setting(models.Model):
    """How a person wants mail: `now`, `daily` or `none`. No row is `now`."""

    pk = models.CompositePrimaryKey("organization_id", "person_id")
    organization_id = models.UUIDField()
    person_id = models.UUIDField()
    mail = models.TextField()

    class Meta:
        db_table = "notices_setting"
        constraints = [
            models.CheckConstraint(
                condition=Q(mail__in=("now", "daily", "none")), name="notices_setting_mail"
            )
        ]


class Mute(models.Model):
    """A kind that a person wants no mail of. It is still shown in the product."""

    pk = models.CompositePrimaryKey("organization_id", "person_id", "kind")
    organization_id = models.UUIDField()
    person_id = models.UUIDField()
    kind = models.TextField()
    muted_at = models.DateTimeField()

    class Meta:
        db_table = "notices_mute"
