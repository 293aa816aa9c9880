"""Effective priorities of waiting jobs: names to nodes, standing, factors, ranks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from accounting.domain import priority
from accounting.domain.fairshare import Fairshare
from accounting.domain.priority import CLASSES, Jobs, Priorities
from accounting.fairshare_state import State

CLASS_INDEX = {name: index for index, name in enumerate(CLASSES)}


class WaitingJob(Protocol):
    """A job as the caller describes it; `submitted` in seconds since 1970."""

    key: str
    account: str
    person: str
    pool: str
    units: int
    job_class: str
    submitted: float


@dataclass(frozen=True, slots=True)
class JobError:
    """Why one job has no priority. `index` is its place in the question."""

    index: int
    key: str
    field: str
    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Answer:
    """Priorities of the jobs that could be answered.

    `places[i]` is the index in the question of row i of `result`; `people[i]` its person's node.
    """

    places: list[int]
    people: list[int]
    result: Priorities
    standing: Fairshare
    errors: list[JobError]


def prioritize(state: State, jobs: Sequence[WaitingJob], *, at: int) -> Answer:
    """Priority, rank and factors of every job whose names are known; an error for the others.

    Args:
        at: the whole second the answer is told for.
    """
    standing = state.evaluate(at)
    factors = standing.people.fairshare
    by_name, pools = state.names.person_by_name, state.pools
    owners, boosts = state.names.person_accounts, state.boosts
    places: list[int] = []
    people: list[int] = []
    capacity: list[int] = []
    errors: list[JobError] = []
    seen: set[str] = set()
    for index, job in enumerate(jobs):
        person = by_name.get((job.account, job.person))
        pool = pools.get(job.pool)
        if person is None or pool is None or job.key in seen:
            errors.append(_error(state, index, job, duplicate=job.key in seen))
            continue
        seen.add(job.key)
        places.append(index)
        people.append(person)
        capacity.append(pool.capacity)
    chosen = [jobs[index] for index in places]
    result = priority.evaluate(
        Jobs.of(
            [job.key for job in chosen],
            fair_share=factors[people] if people else [],
            submitted=[job.submitted for job in chosen],
            class_index=[CLASS_INDEX[job.job_class] for job in chosen],
            units=[job.units for job in chosen],
            capacity=capacity,
            boost=[boosts[owners[person]] for person in people],
        ),
        now=at,
        policy=state.policy,
    )
    return Answer(places, people, result, standing, errors)


def _error(state: State, index: int, job: WaitingJob, *, duplicate: bool) -> JobError:
    """The first thing wrong with a job, in a fixed order."""
    names = state.names
    if duplicate:
        found = ("key", "duplicate_key", f"The key {job.key} occurs twice in this request.")
    elif job.account in names.archived:
        found = ("account", "account_archived", f"The account {job.account} is archived.")
    elif job.account not in names.account_by_name:
        found = ("account", "account_unknown", f"There is no account {job.account}.")
    elif job.person not in names.people_known:
        found = ("person", "person_unknown", f"There is no person {job.person}.")
    elif (job.account, job.person) not in names.person_by_name:
        detail = f"{job.person} does not work under {job.account}. A lead can add them."
        found = ("person", "person_not_on_account", detail)
    else:
        found = ("pool", "pool_unknown", f"There is no pool {job.pool}.")
    return JobError(index, job.key, *found)
