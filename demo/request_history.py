"""Requests for quota in the demo's organization, their prices and the review of this quarter.

Each has another story: granted at once, waiting for a second word, an offer that waits for its
requester, a no with its reason, a temporary quota that ends in three days, a draft, and some that
wait for a reviewer. Through the commands that people use, each at the time at which it was done.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any, Final
from uuid import UUID

from accounting.commands.rates import PriceWish, PublishRateCard
from demo.organization import A100, ASCEND, H100, MIG
from demo.quota_history import OPERATOR
from demo.tenant import Tenant
from quota.commands.cycle_decisions import AskLead, Choice, DecideCycle
from quota.commands.cycles import OpenCycle
from quota.commands.requests import Comment, SaveDraft, Submit
from quota.commands.reviews import Approve, ApproveLess, Reject
from quota.domain.cycles import Decision, quarter_of
from quota.domain.requests import Terms

FINANCE: Final = "nrahmani"
PRICES: Final = (
    ("h100-80gb", "3.10"),
    ("a100-80gb", "1.45"),
    ("a100-mig-1g.10gb", "0.21"),
    ("ascend-910b", "0.98"),
)
"""List price of a unit-hour by flavor, in the organization's currency."""
CONTRACTED: Final = {"h100-80gb": "2.64"}
OPENED_DAYS_AGO: Final = 3.3
"""When the review of this quarter was opened by hand."""

Step = tuple[datetime, Callable[[], Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request and when it was made.

    Attributes:
        name: of the step, so that it is made once.
        days: how long it is wanted from then on; None: for good.
        draft: it was written, and not handed in.
    """

    name: str
    days_ago: float
    by: str
    account: str
    pool: str
    kind: str
    purpose: str
    units: int | None = None
    days: float | None = None
    workload: str = "training"
    draft: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What a reviewer did with a request: `units` are offered instead, where that is an offer."""

    request: str
    days_ago: float
    by: str
    how: str
    reason: str
    units: int | None = None


REQUESTS: Final = (
    Asked(
        name="ends-soon",
        days_ago=60.8,
        by="gnunez",
        account="translation",
        pool=MIG,
        kind="boost",
        units=7,
        days=63.7,
        workload="batch",
        purpose="Re-score the speech corpus in forty languages. Late, the winter release of the "
        "app ships with the old voices.",
    ),
    Asked(
        name="at-once",
        days_ago=9.3,
        by="fokafor",
        account="code-tools",
        pool=A100,
        kind="new",
        units=4,
        days=35,
        workload="inference",
        purpose="Editor previews for the beta group. Without it they wait four seconds for each "
        "completion.",
    ),
    Asked(
        name="rejected",
        days_ago=7.6,
        by="qmendoza",
        account="climate",
        pool=ASCEND,
        kind="raise",
        units=24,
        purpose="A second emulator ensemble next to the operational one.",
    ),
    Asked(
        name="second-word",
        days_ago=1.4,
        by="aokonkwo",
        account="pretraining",
        pool=H100,
        kind="ceiling",
        units=256,
        purpose="Use what others leave idle at night for the long-context run. No guarantee "
        "needed: the job takes a checkpoint every ten minutes and may be interrupted.",
    ),
    Asked(
        name="offered",
        days_ago=1.1,
        by="vpopescu",
        account="protein-design",
        pool=H100,
        kind="boost",
        units=40,
        days=56,
        purpose="Fold the enzyme library before the partner's review in January. With fewer units "
        "we screen half of it.",
    ),
    Asked(
        name="alignment",
        days_ago=0.9,
        by="rdeshmukh",
        account="post-training",
        pool=H100,
        kind="raise",
        units=8,
        purpose="The evaluation suite doubled; it now holds the release back by two days a week.",
    ),
    Asked(
        name="corpora",
        days_ago=0.6,
        by="oadeyemi",
        account="data-engine",
        pool=A100,
        kind="boost",
        units=4,
        days=70,
        workload="batch",
        purpose="Filter the third web crawl for the spring model.",
    ),
    Asked(
        name="idle-kept",
        days_ago=0.4,
        by="eyilmaz",
        account="robotics",
        pool=H100,
        kind="justification",
        days=30,
        workload="interactive",
        purpose="The robots come back from calibration next week; from then on they run day and "
        "night.",
    ),
    Asked(
        name="draft",
        days_ago=0.3,
        by="aokonkwo",
        account="pretraining",
        pool=MIG,
        kind="new",
        units=8,
        days=60,
        purpose="Ablations of the tokenizer, ",
        draft=True,
    ),
)

ANSWERS: Final = (
    Answered(
        request="ends-soon",
        days_ago=60.1,
        by="bmwangi",
        how="approve",
        reason="A known run with a known end; the units are free until then.",
    ),
    Answered(
        request="rejected",
        days_ago=6.9,
        by="dbauer",
        how="reject",
        reason="Four units of the pool are left to promise, and the operational run comes first. "
        "Borrow at night, or ask again when the next rack stands.",
    ),
    Answered(
        request="second-word",
        days_ago=0.8,
        by="hlindqvist",
        how="approve",
        reason="It takes nothing from anybody, and nights are a third idle.",
    ),
    Answered(
        request="offered",
        days_ago=0.5,
        by="dbauer",
        how="less",
        units=8,
        reason="Eight are free for all of it without touching what others were promised.",
    ),
)

DECIDED: Final = (
    ("pretraining", H100, Decision.KEEP, "hlindqvist", "In use day and night"),
    ("post-training", H100, Decision.KEEP, "hlindqvist", "In use before each release"),
    (
        "post-training",
        A100,
        Decision.RECOMMENDED,
        "hlindqvist",
        "As used; the rest can be borrowed",
    ),
    ("data-engine", A100, Decision.KEEP, "hlindqvist", "In use"),
    ("search-ranking", A100, Decision.KEEP, "bmwangi", "In use"),
    ("code-tools", MIG, Decision.KEEP, "bmwangi", "In use"),
    ("translation", MIG, Decision.KEEP, "bmwangi", "In use"),
    ("protein-design", A100, Decision.RECOMMENDED, "dbauer", "The pipeline moved to north-h100"),
)
"""What was decided in the review so far, and by whom; it leaves the rest."""
QUESTION: Final = (
    "robotics",
    H100,
    "dbauer",
    "Held, but computing for 8 % of the time. What changes when the robots return?",
)


def steps(tenant: Tenant, *, now: datetime) -> list[Step]:
    """Everything of this story with its times, in no order."""
    made: dict[str, UUID] = {}
    found: list[Step] = []
    for asked in REQUESTS:
        at = now - timedelta(days=asked.days_ago)
        found.append((at, partial(_ask, tenant, at, asked, made)))
    for answered in ANSWERS:
        at = now - timedelta(days=answered.days_ago)
        found.append((at, partial(_answer, tenant, at, answered, made)))
    at = now - timedelta(days=0.7)
    found.append((at, partial(_discuss, tenant, at, made)))
    at = now - timedelta(days=OPENED_DAYS_AGO)
    found.append((at, partial(_open_review, tenant, at, now)))
    return found


def publish_prices(tenant: Tenant) -> None:
    """What a unit-hour costs, from the organization's first instant on."""
    command = PublishRateCard(
        lines=tuple(
            PriceWish(
                flavor=flavor,
                list_price=Decimal(price),
                contracted_price=Decimal(CONTRACTED[flavor]) if flavor in CONTRACTED else None,
            )
            for flavor, price in PRICES
        ),
        effective_from=tenant.at,
    )
    by = tenant.person(FINANCE)
    tenant.run(command, "prices", by=by, reason="Prices of the year, as the board set them")


def _ask(tenant: Tenant, at: datetime, asked: Asked, made: dict[str, UUID]) -> None:
    terms = Terms(
        account_id=tenant.accounts[asked.account],
        pool_id=tenant.pools[asked.pool],
        kind=asked.kind,
        units=asked.units,
        ends_at=None if asked.days is None else at + timedelta(days=asked.days),
        workload=asked.workload,
        purpose=asked.purpose,
    )
    command: Any = SaveDraft(terms=terms) if asked.draft else Submit(terms=terms)
    answer = tenant.run(command, f"request/{asked.name}", at=at, by=tenant.person(asked.by))
    made[asked.name] = answer.request_id


def _answer(tenant: Tenant, at: datetime, answered: Answered, made: dict[str, UUID]) -> None:
    request_id = made[answered.request]
    command: Any
    match answered.how:
        case "approve":
            command = Approve(request_id=request_id)
        case "less":
            command = ApproveLess(request_id=request_id, units=answered.units)
        case _:
            command = Reject(request_id=request_id)
    tenant.run(
        command,
        f"answer/{answered.request}",
        at=at,
        by=tenant.person(answered.by),
        reason=answered.reason,
    )


def _discuss(tenant: Tenant, at: datetime, made: dict[str, UUID]) -> None:
    command = Comment(
        request_id=made["alignment"],
        text="Could part of the suite run at night, @rdeshmukh? Nights are quiet on north-h100.",
        mentioned_ids=(tenant.people["rdeshmukh"],),
    )
    tenant.run(command, "comment/alignment", at=at, by=tenant.person("hlindqvist"))


def _open_review(tenant: Tenant, at: datetime, now: datetime) -> None:
    """Open the review of the quarter, decide half of it, ask about one quota."""
    quarter = quarter_of(at.date())
    assert tenant.root is not None
    opened = tenant.run(
        OpenCycle(
            account_id=tenant.root,
            name=f"Review Q{quarter.number} {quarter.year}",
            deadline=now + timedelta(days=11),
        ),
        "cycle",
        at=at,
        by=tenant.person(OPERATOR),
    )
    for account, pool, decision, by, reason in DECIDED:
        choice = Choice(
            account_id=tenant.accounts[account], pool_id=tenant.pools[pool], decision=decision
        )
        tenant.run(
            DecideCycle(cycle_id=opened.cycle_id, choices=(choice,)),
            f"cycle/{account}/{pool}",
            at=at + timedelta(hours=2),
            by=tenant.person(by),
            reason=reason,
        )
    account, pool, by, question = QUESTION
    ask = AskLead(
        cycle_id=opened.cycle_id,
        account_id=tenant.accounts[account],
        pool_id=tenant.pools[pool],
        question=question,
    )
    tenant.run(ask, "cycle/ask", at=at + timedelta(hours=2), by=tenant.person(by))
