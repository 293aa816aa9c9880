"""The demo's organization: departments, teams, people, pools, shares and roles. Pure.

All names are invented. None of them is a name of the real sample in demo/samples, so that both can
live in one organization.
"""

from decimal import Decimal
from typing import Final

from demo.values import DemoFlavor, DemoPool, DemoQuota, DemoRole
from tenancy.importers.tree import (
    PARENT,
    AccountEntry,
    AssociationEntry,
    PersonEntry,
    Shares,
    TreeBuilder,
    TreePlan,
)

NAME: Final = "Meridian Labs"
SLUG: Final = "meridian"
CURRENCY: Final = "EUR"
TIME_ZONE: Final = "Europe/Zurich"

H100: Final = "north-h100"
A100: Final = "north-a100"
MIG: Final = "south-mig"
ASCEND: Final = "south-ascend"

FLAVORS: Final = (
    DemoFlavor(name="h100-80gb", weight=Decimal("2.2"), memory_gb=80),
    DemoFlavor(name="a100-80gb", weight=Decimal(1), memory_gb=80),
    DemoFlavor(name="a100-mig-1g.10gb", weight=Decimal("0.14"), memory_gb=10),
    DemoFlavor(name="ascend-910b", weight=Decimal("0.8"), memory_gb=64),
)

POOLS: Final = (
    DemoPool(
        name=H100,
        flavor="h100-80gb",
        cluster="north",
        capacity=512,
        unavailable=8,
        safety_margin=16,
        reclaim_target_seconds=900,
    ),
    DemoPool(
        name=A100,
        flavor="a100-80gb",
        cluster="north",
        capacity=256,
        unavailable=0,
        safety_margin=8,
        reclaim_target_seconds=900,
    ),
    DemoPool(
        name=MIG,
        flavor="a100-mig-1g.10gb",
        cluster="south",
        capacity=224,
        unavailable=7,
        safety_margin=0,
        reclaim_target_seconds=300,
    ),
    DemoPool(
        name=ASCEND,
        flavor="ascend-910b",
        cluster="south",
        capacity=192,
        unavailable=16,
        safety_margin=8,
        reclaim_target_seconds=1800,
    ),
)

# (name, parent, shares, description)
ACCOUNTS: Final[tuple[tuple[str, str | None, Shares, str], ...]] = (
    ("foundation", None, 50, "Foundation models"),
    ("products", None, 30, "Product intelligence"),
    ("science", None, 20, "Applied science"),
    ("pretraining", "foundation", 50, "Pre-training of base models"),
    ("post-training", "foundation", 35, "Alignment, distillation and evaluation"),
    ("data-engine", "foundation", 15, "Corpora, filtering, synthetic data"),
    ("assistant", "products", 45, "The assistant that customers talk to"),
    ("search-ranking", "products", 25, "Retrieval and ranking"),
    ("code-tools", "products", 20, "Completion and review in the editor"),
    ("translation", "products", 10, "Forty languages, text and speech"),
    ("protein-design", "science", 40, "Structure prediction and design"),
    ("climate", "science", 35, "Weather and climate emulators"),
    ("robotics", "science", 25, "Manipulation policies, sim to real"),
)

# (name, display name, team, shares). The first of a team leads it.
PEOPLE: Final[tuple[tuple[str, str, str, Shares], ...]] = (
    ("aokonkwo", "Adaeze Okonkwo", "pretraining", 4),
    ("hlindqvist", "Henrik Lindqvist", "pretraining", 3),
    ("ztran", "Tran Gia Bao", "pretraining", 3),
    ("mferreira", "Marília Ferreira", "pretraining", 2),
    ("rdeshmukh", "Rohini Deshmukh", "post-training", 3),
    ("ybenali", "Yasmine Benali", "post-training", 2),
    ("tkowalczyk", "Tomasz Kowalczyk", "post-training", 2),
    ("snakagawa", "Sora Nakagawa", "post-training", 1),
    ("oadeyemi", "Olumide Adeyemi", "data-engine", 2),
    ("pvasquez", "Paloma Vásquez", "data-engine", 1),
    ("jholm", "Jógvan Holm", "data-engine", 1),
    ("nrahmani", "Nasrin Rahmani", "data-engine", PARENT),
    ("cdubois", "Clémence Dubois", "assistant", 2),
    ("bmwangi", "Baraka Mwangi", "assistant", 2),
    ("lzhou", "Zhou Lanying", "assistant", 1),
    ("ekarlsen", "Eirik Karlsen", "assistant", 1),
    ("smarangoni", "Silvia Marangoni", "search-ranking", 2),
    ("dtesfaye", "Dawit Tesfaye", "search-ranking", 1),
    ("ihorvat", "Ivana Horvat", "search-ranking", 1),
    ("kpark", "Park Ki-young", "search-ranking", 1),
    ("fokafor", "Femi Okafor", "code-tools", 1),
    ("avolkova", "Alina Volkova", "code-tools", 1),
    ("jmurray", "Jamie Murray", "code-tools", 1),
    ("rtamrakar", "Rekha Tamrakar", "code-tools", 1),
    ("gnunez", "Gael Núñez", "translation", 2),
    ("taalto", "Tuuli Aalto", "translation", 1),
    ("hsaidi", "Hamza Saïdi", "translation", 1),
    ("mkealoha", "Malia Kealoha", "translation", 1),
    ("vpopescu", "Viorica Popescu", "protein-design", 3),
    ("acohen", "Amit Cohen", "protein-design", 2),
    ("nsithole", "Nomvula Sithole", "protein-design", 2),
    ("dbauer", "Dorothea Bauer", "protein-design", 1),
    ("qmendoza", "Quetzali Mendoza", "climate", 2),
    ("wjansen", "Wouter Jansen", "climate", 2),
    ("fhasan", "Farhana Hasan", "climate", 1),
    ("tmaihi", "Tama Maihi", "climate", 0),
    ("eyilmaz", "Emre Yılmaz", "robotics", 2),
    ("asorensen", "Astrid Sørensen", "robotics", 1),
    ("lwanjiru", "Lucy Wanjiru", "robotics", 1),
    ("cmacdonald", "Calum MacDonald", "robotics", 1),
)

SECOND_TEAMS: Final[tuple[tuple[str, str, Shares], ...]] = (
    ("tkowalczyk", "code-tools", 1),
    ("lzhou", "translation", 1),
    ("acohen", "climate", 1),
)

ROLES: Final = (
    *(
        DemoRole(person=person, role="lead", account=team)
        for person, team in (
            ("aokonkwo", "pretraining"),
            ("rdeshmukh", "post-training"),
            ("oadeyemi", "data-engine"),
            ("cdubois", "assistant"),
            ("smarangoni", "search-ranking"),
            ("fokafor", "code-tools"),
            ("gnunez", "translation"),
            ("vpopescu", "protein-design"),
            ("qmendoza", "climate"),
            ("eyilmaz", "robotics"),
        )
    ),
    DemoRole(person="hlindqvist", role="approver", account="foundation"),
    DemoRole(person="bmwangi", role="approver", account="products"),
    DemoRole(person="dbauer", role="approver", account="science"),
    DemoRole(person="nrahmani", role="finance", account=None),
    DemoRole(person="jholm", role="operator", account=None),
    DemoRole(person="ihorvat", role="auditor", account=None),
)

# Departments keep some units of their own: their teams borrow them first, then everybody.
QUOTAS: Final = tuple(
    DemoQuota(account=account, pool=pool, guaranteed=guaranteed, borrowing_limit=limit)
    for account, pool, guaranteed, limit in (
        ("foundation", H100, 24, None),
        ("products", ASCEND, 28, None),
        ("pretraining", H100, 168, 128),
        ("post-training", H100, 64, 128),
        ("assistant", H100, 96, 0),
        ("protein-design", H100, 32, 96),
        ("robotics", H100, 64, 0),
        ("data-engine", A100, 48, 160),
        ("search-ranking", A100, 72, 32),
        ("climate", A100, 64, 128),
        ("post-training", A100, 24, 64),
        ("protein-design", A100, 32, None),
        ("code-tools", MIG, 112, None),
        ("assistant", MIG, 42, 0),
        ("translation", MIG, 28, 56),
        ("translation", ASCEND, 64, 64),
        ("data-engine", ASCEND, 32, 96),
        ("climate", ASCEND, 48, 96),
    )
)


def team_of(person: str) -> str:
    """The first team of a person."""
    return next(team for name, _, team, _ in PEOPLE if name == person)


def people_of(account: str) -> tuple[str, ...]:
    """Everyone in a team, its lead first, those of other teams last."""
    own = [name for name, _, team, _ in PEOPLE if team == account]
    return (*own, *(name for name, team, _ in SECOND_TEAMS if team == account))


def tree() -> TreePlan:
    """Accounts, people and associations, checked as any imported tree is."""
    builder = TreeBuilder()
    for name, parent, shares, description in ACCOUNTS:
        builder.account(
            1, AccountEntry(name=name, parent=parent, shares=shares, description=description)
        )
    for name, display_name, team, shares in PEOPLE:
        entry = PersonEntry(name=name, display_name=display_name, email=f"{name}@example.org")
        builder.person(1, entry)
        builder.association(1, AssociationEntry(account=team, person=name, shares=shares))
    for name, team, shares in SECOND_TEAMS:
        builder.association(1, AssociationEntry(account=team, person=name, shares=shares))
    plan = builder.finish().plan
    if plan is None:
        raise AssertionError("the demo's own tree breaks a rule")
    return plan
