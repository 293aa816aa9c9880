"""The questions that `manage.py whatif` answers. One line each; the command knows nothing else."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from accounting.whatif import fairshare, rate
from preemption.whatif import preempt, reclaim
from quota import whatif as quota

Answer = Callable[[bytes], dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """`answer` takes the JSON document and returns JSON-friendly values, or raises `Invalid`."""

    answer: Answer
    help: str


QUESTIONS: dict[str, Question] = {
    "fairshare": Question(
        answer=fairshare.answer,
        help="levels, factors and ranks of accounts and people, from shares and usage",
    ),
    "preempt": Question(
        answer=preempt.answer,
        help="which allocations give back what so that a request fits, or what it waits for",
    ),
    "quota": Question(
        answer=quota.answer,
        help="what guarantees, borrowing and lending give each account, and who is admitted",
    ),
    "reclaim": Question(
        answer=reclaim.answer,
        help="what happens to a guarantee that is not used: stages with their times",
    ),
    "rate": Question(
        answer=rate.answer,
        help="what records of use cost at given rates: lines, totals, and what has no price",
    ),
}
