"""Tenancy's tables. All but `User` and `TokenUse` are projections of events."""

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import Q


class UserManager(BaseUserManager):
    """Creates logins. They belong to no organization; a `Person` ties one to an organization."""

    def create_user(self, email: str, password: str | None = None, **extra) -> "User":
        """A login by e-mail address; without a password only single sign-on can use it."""
        user = self.model(email=self.normalize_email(email).lower(), **extra)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str, **extra) -> "User":
        """Django's own hook; Apportion gives superusers no rights inside organizations."""
        return self.create_user(email, password, is_staff=True, is_superuser=True, **extra)


class User(AbstractBaseUser, PermissionsMixin):
    """A login. One human may be a person of several organizations through one login."""

    email = models.EmailField(unique=True)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    date_joined = models.DateTimeField(auto_now_add=True)

    objects = UserManager()

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: list[str] = []

    class Meta:
        db_table = "tenancy_user"

    def __str__(self) -> str:
        return self.email


class Organization(models.Model):
    """A tenant: currency, billing time zone, and the root of its account tree."""

    id = models.UUIDField(primary_key=True)
    slug = models.SlugField(unique=True)
    name = models.TextField()
    currency = models.CharField(max_length=3)
    time_zone = models.TextField()
    root_account_id = models.UUIDField()
    created_at = models.DateTimeField()

    class Meta:
        db_table = "tenancy_organization"


class Account(models.Model):
    """A node of the tree. `ancestors` runs from the root to the account itself, so that a subtree
    is one indexed containment test. `shares` NULL means `parent`: transparent to fair-share."""

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    name = models.TextField()
    description = models.TextField(blank=True)
    parent_id = models.UUIDField(null=True)
    ancestors = ArrayField(models.UUIDField())
    shares = models.BigIntegerField(null=True)
    opened_at = models.DateTimeField()
    archived_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "tenancy_account"
        constraints = [
            models.UniqueConstraint("organization_id", "name", name="tenancy_account_name"),
            models.CheckConstraint(
                condition=Q(shares__isnull=True) | Q(shares__gte=0), name="tenancy_account_shares"
            ),
        ]
        indexes = [
            models.Index("organization_id", "parent_id", "name", name="tenancy_account_children"),
            GinIndex("ancestors", name="tenancy_account_subtree"),
        ]


class Person(models.Model):
    """Somebody known in an organization, by the short name that schedulers use."""

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    name = models.TextField()
    display_name = models.TextField(blank=True)
    email = models.TextField(blank=True)
    user_id = models.BigIntegerField(null=True)
    added_at = models.DateTimeField()

    class Meta:
        db_table = "tenancy_person"
        constraints = [
            models.UniqueConstraint("organization_id", "name", name="tenancy_person_name"),
            models.UniqueConstraint("organization_id", "user_id", name="tenancy_person_login"),
        ]
        indexes = [models.Index("user_id", name="tenancy_person_by_login")]


class Association(models.Model):
    """A person under an account, with shares among the account's people and children: a leaf of
    fair-share. `shares` NULL means `parent`."""

    pk = models.CompositePrimaryKey("organization_id", "account_id", "person_id")
    organization_id = models.UUIDField()
    account_id = models.UUIDField()
    person_id = models.UUIDField()
    shares = models.BigIntegerField(null=True)

    class Meta:
        db_table = "tenancy_association"
        constraints = [
            models.CheckConstraint(
                condition=Q(shares__isnull=True) | Q(shares__gte=0),
                name="tenancy_association_shares",
            )
        ]
        indexes = [models.Index("organization_id", "person_id", name="tenancy_association_person")]


class Membership(models.Model):
    """A role of a person on an account, inherited by everything below it."""

    pk = models.CompositePrimaryKey("organization_id", "account_id", "person_id", "role")
    organization_id = models.UUIDField()
    account_id = models.UUIDField()
    person_id = models.UUIDField()
    role = models.TextField()

    class Meta:
        db_table = "tenancy_membership"
        indexes = [models.Index("organization_id", "person_id", name="tenancy_membership_person")]


class ApiToken(models.Model):
    """A machine's identity. Only SHA-256 hashes of its secrets are kept; while it rotates, the
    previous secret stays good until `previous_until`."""

    pk = models.CompositePrimaryKey("organization_id", "id")
    organization_id = models.UUIDField()
    id = models.UUIDField()
    name = models.TextField()
    secret_hash = models.TextField()
    previous_hash = models.TextField(null=True)
    previous_until = models.DateTimeField(null=True)
    scopes = ArrayField(models.TextField())
    pool_ids = ArrayField(models.UUIDField(), null=True)
    issued_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "tenancy_apitoken"
        indexes = [models.Index("id", name="tenancy_apitoken_lookup")]


class TokenUse(models.Model):
    """When a token was last used, written at most once a minute. Not a fact of the ledger."""

    pk = models.CompositePrimaryKey("organization_id", "token_id")
    organization_id = models.UUIDField()
    token_id = models.UUIDField()
    used_at = models.DateTimeField()

    class Meta:
        db_table = "tenancy_tokenuse"
