"""A large organization: 10,000 accounts, 100,000 people, four pools, a token."""

import random
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from ledger.execution import Context, Unit, execute, handles
from ledger.ids import new_id
from ledger.types import SYSTEM
from quota.commands.pools import DefineFlavor, OpenPool
from tenancy import events, queries, tokens
from tenancy.commands.organizations import CreateOrganization
from tenancy.commands.tokens import IssueToken
from tenancy.domain.roles import SYSTEM_ONLY, Scope

ACCOUNTS = 10_000
PEOPLE = 100_000
ACTIVE_PEOPLE = 2_000
POOLS = ("h100", "a100", "mig", "npu")


@dataclass(frozen=True, slots=True, kw_only=True)
class GrowTree:
    """Accounts in three levels below the root, and people spread over the lowest."""

    root_account_id: UUID
    accounts: int
    people: int


@handles(GrowTree, permission=SYSTEM_ONLY)
def grow_tree(command: GrowTree, unit: Unit) -> int:
    """Record the whole tree at once."""
    ids = [unit.new_id() for _ in range(command.accounts)]
    for index, account_id in enumerate(ids):
        # 20 departments, 480 teams, the rest projects.
        if index < 20:
            parent = command.root_account_id
        elif index < 500:
            parent = ids[index % 20]
        else:
            parent = ids[20 + index % 480]
        unit.record(
            events.AccountOpened(
                account_id=account_id,
                name=f"account{index}",
                description="",
                parent_id=parent,
                shares=1 + index % 7,
            )
        )
    people = [unit.new_id() for _ in range(command.people)]
    for index, person_id in enumerate(people):
        unit.record(
            events.PersonAdded(
                person_id=person_id, name=f"person{index}", display_name="", email=""
            )
        )
    lowest = ids[500:] or ids
    for index, person_id in enumerate(people):
        unit.record(
            events.AssociationSet(
                account_id=lowest[index % len(lowest)], person_id=person_id, shares=1 + index % 3
            )
        )
    return len(ids) + len(people)


@dataclass(frozen=True, slots=True)
class World:
    """What the benchmarks talk to."""

    organization_id: UUID
    token: str
    accounts: int
    people: int

    def person_of(self, index: int) -> tuple[str, str]:
        """(account, person) names of the person with this number."""
        lowest = self.accounts - 500 if self.accounts > 500 else self.accounts
        offset = 500 if self.accounts > 500 else 0
        return f"account{offset + index % lowest}", f"person{index}"


def build(*, accounts: int = ACCOUNTS, people: int = PEOPLE) -> World:
    """Make the organization, or find the one of an earlier run, and a fresh token."""
    slug = f"bench-{accounts}-{people}"
    organization_id = queries.organization_id_by_slug(slug)
    if organization_id is None:
        organization_id = new_id()
        context = Context(organization_id=organization_id, actor=SYSTEM, reason="benchmark")
        made = execute(
            CreateOrganization(slug=slug, name=slug, currency="EUR", time_zone="Europe/Berlin"),
            context,
        ).result
        execute(
            GrowTree(root_account_id=made.root_account_id, accounts=accounts, people=people),
            context,
        )
        for name in POOLS:
            flavor = execute(DefineFlavor(name=f"{name}-flavor"), context).result.flavor_id
            execute(OpenPool(name=name, flavor_id=flavor, cluster="bench", capacity=4096), context)
    context = Context(organization_id=organization_id, actor=SYSTEM)
    secret = tokens.new_secret()
    token = execute(
        IssueToken(
            name="bench",
            secret_hash=tokens.hash_secret(secret),
            scopes=tuple(Scope),
            pool_ids=None,
            expires_at=datetime.now(UTC) + timedelta(days=2),
        ),
        context,
    ).result
    return World(organization_id, tokens.render(token.token_id, secret), accounts, people)


def usage_lines(world: World, count: int, *, prefix: str, seed: int = 1) -> bytes:
    """NDJSON of `count` ended records of the last week, of 2,000 people at work, a pool each."""
    chance = random.Random(seed)
    now = datetime.now(UTC).replace(microsecond=0)
    active = chance.sample(range(world.people), min(ACTIVE_PEOPLE, world.people))
    lines = []
    for number in range(count):
        who = active[chance.randrange(len(active))]
        account, person = world.person_of(who)
        seconds = chance.randrange(60, 8 * 3600)
        end = now - timedelta(seconds=chance.randrange(0, 7 * 86_400))
        start = end - timedelta(seconds=seconds)
        lines.append(
            f'{{"key":"{prefix}/{number}","account":"{account}","person":"{person}",'
            f'"pool":"{POOLS[who % 4]}","tier":"guaranteed","units":{1 + number % 64},'
            f'"start":"{start.isoformat()}","end":"{end.isoformat()}",'
            f'"compute_util":{chance.randrange(100) / 100}}}'
        )
    return "\n".join(lines).encode()
