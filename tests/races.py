"""Jobs that start together, and what became of each."""

from collections.abc import Callable, Iterable
from typing import Any

from ledger.errors import DomainError
from tests.ledger.sample import together


def became(jobs: Iterable[Callable[[], Any]]) -> list[Any]:
    """Run all jobs at once; what each returned, or the code of its error. Whatever else goes wrong
    in one of them is raised."""
    outcomes = together(jobs)
    for outcome in outcomes:
        if isinstance(outcome, Exception) and not isinstance(outcome, DomainError):
            raise outcome
    return [one.code if isinstance(one, DomainError) else one for one in outcomes]
