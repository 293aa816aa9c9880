"""The demo's organizations into the database, through the same commands as everything else.

Two tenants: Meridian Labs, which the generator made up with ninety days of use, and Slurm Lab, a
real cluster's account tree and accounting (demo/samples). What is done carries the time at which it
would have been done. Every step has an idempotency key, so a load that was interrupted is taken up
where it stopped; the scheduler's token comes last and says that all is there.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from django.contrib.auth.hashers import make_password

from accounting import importing
from accounting.importers import sacct
from accounting.importers.formats import text_lines
from accounting.importers.record import ImportedRecord
from demo import (
    budget_history,
    detection_history,
    export_history,
    history,
    quota_history,
    request_history,
    steps,
    tag_history,
)
from demo.tenant import Tenant
from demo.values import Demo, DemoFlavor, DemoPool, DemoRole
from ledger import scope
from ledger.errors import Conflict
from ledger.execution import Context
from ledger.ids import new_id
from ledger.types import SYSTEM, Actor, ActorKind
from notices import reading as notices
from quota.commands.pools import DefineFlavor, OpenPool
from quota.queries import pools_with_weights
from tenancy import queries, tokens
from tenancy.commands.imports import ImportTree
from tenancy.commands.organizations import CreateOrganization
from tenancy.commands.people import AddPerson, GrantRole, LinkLogin
from tenancy.commands.tokens import IssueToken, RotateToken
from tenancy.domain.roles import Role, Scope
from tenancy.importers import sacctmgr
from tenancy.importers.tree import TreePlan
from tenancy.models import Organization, User

SAMPLES: Final = Path(__file__).parent / "samples"
AGE: Final = timedelta(days=95)
"""How long ago Meridian Labs began; its use begins a few days later."""
SCHEDULER: Final = "demo-scheduler"
"""The token that is issued last."""
SCHEDULER_SCOPES: Final = (
    Scope.PRIORITY_READ,
    Scope.USAGE_WRITE,
    Scope.ADMISSION_WRITE,
    Scope.PREEMPTION_WRITE,
    Scope.EXPORT_READ,
)
REPORTER_SCOPES: Final = (Scope.USAGE_WRITE, Scope.ADMISSION_WRITE, Scope.PREEMPTION_WRITE)
TOKEN_DAYS: Final = 365

LAB_SLUG: Final = "slurm-lab"
LAB_NAME: Final = "Slurm Lab"
LAB_CLUSTER: Final = "lab"
LAB_FLAVOR: Final = DemoFlavor(name="h100-80gb", weight=Decimal(1), memory_gb=80)
LAB_POOL: Final = DemoPool(
    name="lab-h100",
    flavor=LAB_FLAVOR.name,
    cluster=LAB_CLUSTER,
    capacity=64,
    unavailable=0,
    safety_margin=0,
    reclaim_target_seconds=300,
)
OPERATOR: Final = "jholm"
"""Operates both organizations with one login."""
LAB_ROLES: Final = (
    DemoRole(person=OPERATOR, role=Role.OPERATOR, account=None),
    DemoRole(person="ana", role=Role.LEAD, account="nlp"),
    DemoRole(person="max", role=Role.LEAD, account="research"),
)


def found(slug: str, *, name: str) -> Organization | None:
    """The demo's organization of that slug.

    Raises:
        Conflict: the slug belongs to an organization that is not the demo's.
    """
    organization_id = queries.organization_id_by_slug(slug)
    if organization_id is None:
        return None
    with scope.reading(organization_id):
        organization = Organization.objects.get(pk=organization_id)
    if organization.name != name:
        raise Conflict(
            "slug_taken", f"{slug} is an organization of yours; no demo is loaded beside it."
        )
    return organization


def is_complete(organization_id: UUID) -> bool:
    """Whether everything was loaded: the scheduler's token is the last thing."""
    with scope.reading(organization_id):
        return any(token.name == SCHEDULER for token in queries.tokens(organization_id))


def began(demo_slug: str, *, name: str) -> datetime | None:
    """The `now` of a load that was begun, for taking it up with the same records."""
    organization = found(demo_slug, name=name)
    return organization.created_at + AGE if organization else None


def load_generated(
    demo: Demo, *, now: datetime, users: dict[str, User], say: Callable[[str], None]
) -> Tenant:
    """Meridian Labs with its history. `users` are the logins by person."""
    start = now - AGE
    tenant = _organization(
        demo.slug, demo.name, currency=demo.currency, time_zone=demo.time_zone, at=start
    )
    _pools(tenant, demo.flavors, demo.pools, started_with=quota_history.STARTED_WITH)
    _tree(tenant, history.as_it_was(demo.tree))
    _roles(tenant, demo.roles)
    _memberships(tenant, demo.tree)
    _logins(tenant, users)
    say(f"{demo.name}: {len(tenant.accounts) - 1} accounts, {len(tenant.people)} people.")
    request_history.publish_prices(tenant)
    budget_history.set_budgets(tenant)
    for quota in quota_history.INITIAL:
        steps.promise(
            tenant,
            quota_history.Promised(quota=quota),
            f"quota/{quota.account}/{quota.pool}",
            by=tenant.person(OPERATOR),
            reason="The plan that the board agreed on",
        )
    clusters_of = {pool.name: pool.cluster for pool in demo.pools}
    names = sorted(set(clusters_of.values()))
    reporters = {cluster: _reporter(tenant, cluster) for cluster in names}
    # Weeks are reported on Monday mornings.
    since = (start - timedelta(days=start.weekday())).replace(
        hour=5, minute=30, second=0, microsecond=0
    )
    pending = steps.between_reports(tenant, demo, clusters_of, reporters, now=now)
    for at, cluster, records in history.reports(
        demo.records, clusters=clusters_of, since=since, now=now
    ):
        while pending and pending[0][0] <= at:
            pending.pop(0)[1]()
        _report(tenant, records, cluster=cluster, at=at, by=reporters[cluster])
    detection_history.find(tenant, now=now)
    budget_history.watch(tenant, now=now)
    tag_history.tell_apart(tenant, time_zone=demo.time_zone, now=now)
    export_history.export(tenant, time_zone=demo.time_zone, now=now)
    # What is to be told of it is told now, so that nobody waits for the worker's next round.
    notices.read_events(tenant.id, now=now)
    notices.remind(tenant.id, now=now)
    say(f"{demo.name}: {len(demo.records)} usage records.")
    return tenant


def load_sample(*, now: datetime, users: dict[str, User], say: Callable[[str], None]) -> Tenant:
    """Slurm Lab: the real account tree and the real jobs of demo/samples."""
    tenant = _organization(LAB_SLUG, LAB_NAME, currency="EUR", time_zone="UTC", at=now)
    _pools(tenant, (LAB_FLAVOR,), (LAB_POOL,))
    with (SAMPLES / "sacctmgr_dump.cfg").open("rb") as stream:
        plan = sacctmgr.read(text_lines(stream)).plan
    assert plan is not None, "the sample's tree is sound"
    _tree(tenant, plan)
    # Knows the cluster's people, and has no place among them.
    tenant.run(AddPerson(name=OPERATOR), f"person/{OPERATOR}")
    tenant.read_names()
    _roles(tenant, LAB_ROLES)
    _memberships(tenant, plan)
    _logins(tenant, users)
    with scope.reading(tenant.id):
        resolve = importing.pool_resolver(pools_with_weights(tenant.id))
    with (SAMPLES / "sacct.txt").open("rb") as stream:
        items = sacct.read(text_lines(stream), options=sacct.SacctOptions(resolve_pool=resolve))
        report = importing.UsageImport(
            organization_id=tenant.id,
            actor=SYSTEM,
            source="sacct",
            clock=lambda: now,
            reason="sacct.txt",
        ).run(items)
    assert report.is_clean, report
    say(f"{LAB_NAME}: {len(tenant.accounts) - 1} accounts, {report.records} usage records.")
    return tenant


def make_users(emails: Iterable[str], *, password: str) -> dict[str, User]:
    """Logins by e-mail address, all with the same password; those that exist get it too."""
    # One hash for all: hashing is slow on purpose, and the password is the same.
    encoded = make_password(password)
    found_users = {user.email: user for user in User.objects.filter(email__in=set(emails))}
    for email in sorted(set(emails) - found_users.keys()):
        found_users[email] = User(email=email, password=encoded)
    User.objects.bulk_create([user for user in found_users.values() if user.pk is None])
    User.objects.filter(pk__in=[user.pk for user in found_users.values()]).update(password=encoded)
    return found_users


def scheduler_token(organization_id: UUID, *, now: datetime) -> str:
    """A fresh secret for the demo's scheduler: what it sends from now on."""
    tenant = Tenant(id=organization_id, at=now)
    secret = tokens.new_secret()
    secret_hash = tokens.hash_secret(secret)
    expires_at = now + timedelta(days=TOKEN_DAYS)
    with scope.reading(organization_id):
        held = [
            token.id
            for token in queries.tokens(organization_id)
            if token.name == SCHEDULER and token.revoked_at is None
        ]
    if held:
        command: Any = RotateToken(
            token_id=held[0], secret_hash=secret_hash, overlap_hours=0, expires_at=expires_at
        )
    else:
        command = IssueToken(
            name=SCHEDULER,
            secret_hash=secret_hash,
            scopes=SCHEDULER_SCOPES,
            pool_ids=None,
            expires_at=expires_at,
        )
    return tokens.render(tenant.run(command, None).token_id, secret)


def _organization(slug: str, name: str, *, currency: str, time_zone: str, at: datetime) -> Tenant:
    organization = found(slug, name=name)
    tenant = Tenant(id=organization.id if organization else new_id(), at=at)
    command = CreateOrganization(slug=slug, name=name, currency=currency, time_zone=time_zone)
    tenant.run(command, "organization")
    return tenant


def _pools(
    tenant: Tenant,
    flavors: Iterable[DemoFlavor],
    pools: Iterable[DemoPool],
    *,
    started_with: Mapping[str, int] | None = None,
) -> None:
    """`started_with`: units out of order in the beginning, where not as many as now."""
    flavor_ids = {
        flavor.name: tenant.run(
            DefineFlavor(name=flavor.name, weight=flavor.weight),
            f"flavor/{flavor.name}",
            reason="first set-up",
        ).flavor_id
        for flavor in flavors
    }
    for pool in pools:
        command = OpenPool(
            name=pool.name,
            flavor_id=flavor_ids[pool.flavor],
            cluster=pool.cluster,
            capacity=pool.capacity,
            unavailable=(started_with or {}).get(pool.name, pool.unavailable),
            safety_margin=pool.safety_margin,
            reclaim_target_seconds=pool.reclaim_target_seconds,
        )
        tenant.run(command, f"pool/{pool.name}", reason="first set-up")


def _tree(tenant: Tenant, plan: TreePlan) -> None:
    tenant.run(ImportTree(wanted=plan), "tree")
    tenant.read_names()


def _roles(tenant: Tenant, roles: Iterable[DemoRole]) -> None:
    for role in roles:
        account = tenant.accounts[role.account] if role.account else tenant.root
        tenant.run(
            GrantRole(account_id=account, person_id=tenant.people[role.person], role=role.role),
            f"role/{role.person}/{role.role}/{role.account or ''}",
        )


def _memberships(tenant: Tenant, plan: TreePlan) -> None:
    _roles(
        tenant,
        [
            DemoRole(person=place.person, role=Role.MEMBER, account=place.account)
            for place in plan.associations
        ],
    )


def _logins(tenant: Tenant, users: dict[str, User]) -> None:
    for person in sorted(users.keys() & tenant.people.keys()):
        tenant.run(
            LinkLogin(person_id=tenant.people[person], user_id=users[person].pk),
            f"login/{person}",
        )


def _reporter(tenant: Tenant, cluster: str) -> Actor:
    """The token with which a cluster reports its use. Nobody keeps its secret."""
    name = f"slurm-{cluster}"
    with scope.reading(tenant.id):
        known = {token.name: token.id for token in queries.tokens(tenant.id)}
    token_id = known.get(name)
    if token_id is None:
        command = IssueToken(
            name=name,
            secret_hash=tokens.hash_secret(tokens.new_secret()),
            scopes=REPORTER_SCOPES,
            pool_ids=None,
            expires_at=tenant.at + timedelta(days=TOKEN_DAYS),
        )
        token_id = tenant.run(command, None).token_id
    return Actor(kind=ActorKind.TOKEN, id=token_id, label=name, scopes=frozenset(REPORTER_SCOPES))


def _report(
    tenant: Tenant, records: list[ImportedRecord], *, cluster: str, at: datetime, by: Actor
) -> None:
    content = importing.staged(records, source=f"slurm-{cluster}", now=at)
    context = Context(organization_id=tenant.id, actor=by, now=at)
    answer = importing.record_batch(content.batch, context)
    assert answer.accepted + answer.duplicates == len(records), answer.records[:3]
