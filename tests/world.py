"""The cast of the tests, made through the same commands as everything else.

`acme` has departments research (nlp, vision) and production (serving); Alice leads nlp, Bob works
in nlp and vision, Otto operates, Uma audits. `globex` is another tenant where Charlie works; he
must never see anything of acme. Pools: h100 and a100 in acme, h100 in globex.
"""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from accounting.commands.usage import RecordUsage, UsageRecorded
from accounting.partitions import ensure
from accounting.staging import Batch
from ledger.execution import Context, Outcome, execute
from ledger.ids import new_id
from ledger.types import SYSTEM, Actor, ActorKind
from quota.commands.pools import DefineFlavor, OpenPool
from tenancy import tokens
from tenancy.commands.accounts import OpenAccount
from tenancy.commands.organizations import CreateOrganization
from tenancy.commands.people import AddPerson, GrantRole, LinkLogin, SetAssociation
from tenancy.commands.tokens import IssueToken
from tenancy.domain.roles import Scope
from tenancy.models import User

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


@dataclass
class Tenant:
    """One organization of the cast, with shortcuts in the words of the domain."""

    id: UUID
    root: UUID
    accounts: dict[str, UUID] = field(default_factory=dict)
    people: dict[str, UUID] = field(default_factory=dict)
    pools: dict[str, UUID] = field(default_factory=dict)
    users: dict[str, User] = field(default_factory=dict)

    def run(self, command: Any, *, by: Actor = SYSTEM, now: datetime = NOW, **context) -> Outcome:
        """Execute a command of this tenant at a fixed instant."""
        return execute(command, Context(organization_id=self.id, actor=by, now=now, **context))

    def actor(self, name: str) -> Actor:
        """Somebody of this tenant, acting in person."""
        return Actor(kind=ActorKind.PERSON, id=self.people[name], label=name)

    def account(self, name: str, *, under: str = "root", shares: int | None = 1) -> UUID:
        parent = self.accounts[under]
        made = self.run(OpenAccount(parent_id=parent, name=name, shares=shares)).result
        self.accounts[name] = made.account_id
        return made.account_id

    def person(self, name: str, *accounts: str, shares: int | None = 1) -> UUID:
        if name not in self.people:
            self.people[name] = self.run(
                AddPerson(name=name, display_name=name.title(), email=f"{name}@example.org")
            ).result.person_id
        for account in accounts:
            self.run(
                SetAssociation(
                    account_id=self.accounts[account], person_id=self.people[name], shares=shares
                )
            )
        return self.people[name]

    def role(self, name: str, role: str, *, on: str = "root") -> None:
        self.run(GrantRole(account_id=self.accounts[on], person_id=self.people[name], role=role))

    def login(self, name: str) -> User:
        """Give a person a login with the password `secret-of-<name>`."""
        user = User.objects.create_user(f"{name}@example.org", f"secret-of-{name}")
        self.run(LinkLogin(person_id=self.people[name], user_id=user.pk))
        self.users[name] = user
        return user

    def pool(self, name: str, *, capacity: int = 100, weight: str = "1") -> UUID:
        from decimal import Decimal

        flavor = self.run(
            DefineFlavor(name=f"{name}-80gb", weight=Decimal(weight)), reason="test"
        ).result
        made = self.run(
            OpenPool(name=name, flavor_id=flavor.flavor_id, cluster="lab", capacity=capacity),
            reason="test",
        ).result
        self.pools[name] = made.pool_id
        return made.pool_id

    def token(self, *scopes: str, now: datetime = NOW, days: int = 90, pools=None) -> str:
        """A machine's token string."""
        secret = tokens.new_secret()
        made = self.run(
            IssueToken(
                name="scheduler",
                secret_hash=tokens.hash_secret(secret),
                scopes=scopes or (Scope.PRIORITY_READ, Scope.USAGE_WRITE),
                pool_ids=pools,
                expires_at=now + timedelta(days=days),
            ),
            now=now,
        ).result
        return tokens.render(made.token_id, secret)

    def use(self, *records: dict[str, Any], now: datetime = NOW, **context) -> UsageRecorded:
        """Record usage; see `record`."""
        batch = Batch(now=now)
        for line, values in enumerate(records, start=1):
            batch.add(line=line, **values)
        if batch.first_started_at is not None:
            ensure(batch.first_started_at.date(), batch.last_started_at.date())
        command = RecordUsage(batch=batch, content_digest=batch.content_digest)
        return self.run(command, now=now, **context).result


def record(
    key: str,
    *,
    hours: float | None = 1.0,
    start: datetime = NOW - timedelta(hours=2),
    **values: Any,
) -> dict[str, Any]:
    """A usage record of Bob's in nlp on h100; `hours` None runs on."""
    return {
        "source": "test",
        "key": key,
        "account": "nlp",
        "person": "bob",
        "pool": "h100",
        "tier": "guaranteed",
        "units": 8,
        "start": start,
        "end": None if hours is None else start + timedelta(hours=hours),
        "compute_util": None,
        "productive_util": None,
        "memory_gb": None,
        "supersedes": None,
        "supersedes_optional": False,
        "labels": None,
    } | values


def tenant(slug: str, *, time_zone: str = "Europe/Berlin") -> Tenant:
    """A bare organization."""
    organization_id = new_id()
    made = execute(
        CreateOrganization(slug=slug, name=slug.title(), currency="EUR", time_zone=time_zone),
        Context(organization_id=organization_id, actor=SYSTEM, now=NOW),
    ).result
    made_tenant = Tenant(id=organization_id, root=made.root_account_id)
    made_tenant.accounts["root"] = made.root_account_id
    return made_tenant


def acme() -> Tenant:
    """The organization most tests happen in."""
    it = tenant("acme")
    it.account("research", shares=60)
    it.account("production", shares=30)
    it.account("nlp", under="research", shares=40)
    it.account("vision", under="research", shares=20)
    it.account("serving", under="production")
    it.person("alice", "nlp", shares=2)
    it.person("bob", "nlp", "vision")
    it.person("otto")
    it.person("uma")
    it.role("alice", "lead", on="nlp")
    it.role("bob", "member", on="nlp")
    it.role("otto", "operator")
    it.role("uma", "auditor")
    it.pool("h100")
    it.pool("a100", weight="0.5")
    return it


def globex() -> Tenant:
    """The other tenant, with names that acme has too."""
    it = tenant("globex", time_zone="America/New_York")
    it.account("nlp")
    it.person("charlie", "nlp")
    it.role("charlie", "operator")
    it.pool("h100")
    return it
