"""Effective priorities of waiting jobs: names to nodes, standing, factors, ranks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a caller may ask about; None: everything."""

    accounts: frozenset[str] | None = None
    pool_ids: frozenset[UUID] | None = None


def prioritize(
    state: State,
    jobs: Sequence[WaitingJob],
    *,
    at: int,
    standing: Fairshare | None = None,
    bounds: Bounds | None = None,
) -> Answer:
    """Priority, rank and factors of every job whose names are known; an error for the others.

    Args:
        at: the whole second the answer is told for.
        standing: everybody's standing at that second, if not the warm one.
        bounds: jobs outside are errors.
    """
    if standing is None:
        standing = state.evaluate(at)
    by_name, pools = state.names.person_by_name, state.pools
    keys = [job.key for job in jobs]
    people = [by_name.get((job.account, job.person)) for job in jobs]
    found = [pools.get(job.pool) for job in jobs]
    errors: list[JobError] = []
    places: Sequence[int] = range(len(jobs))
    bound = bounds is not None and (bounds.accounts is not None or bounds.pool_ids is not None)
    if bound or None in people or None in found or len(set(keys)) < len(keys):
        places, errors = _sort_out(state, jobs, people, found, bounds or Bounds())
        keys = [keys[index] for index in places]
        people = [people[index] for index in places]
        found = [found[index] for index in places]
        jobs = [jobs[index] for index in places]
    owners, boosts = state.names.person_accounts, state.boosts
    result = priority.evaluate(
        Jobs.of(
            keys,
            fair_share=standing.people.fairshare[people] if people else [],
            submitted=[job.submitted for job in jobs],
            class_index=[CLASS_INDEX[job.job_class] for job in jobs],
            units=[job.units for job in jobs],
            capacity=[pool.capacity for pool in found],
            boost=[boosts[owners[person]] for person in people],
        ),
        now=at,
        policy=state.policy,
    )
    return Answer(list(places), people, result, standing, errors)


def _sort_out(
    state: State, jobs: Sequence[WaitingJob], people: list, pools: list, bounds: Bounds
) -> tuple[list[int], list[JobError]]:
    """The places of jobs that can be answered, and why not of the others."""
    places: list[int] = []
    errors: list[JobError] = []
    seen: set[str] = set()
    for index, job in enumerate(jobs):
        duplicate = job.key in seen
        seen.add(job.key)
        if bounds.accounts is not None and job.account not in bounds.accounts:
            # Said of accounts that do not exist too: nobody learns which do.
            detail = f"You may not ask about {job.account}."
            errors.append(JobError(index, job.key, "account", "account_denied", detail))
        elif people[index] is None or pools[index] is None or duplicate:
            errors.append(_error(state, index, job, duplicate=duplicate))
        elif bounds.pool_ids is not None and pools[index].id not in bounds.pool_ids:
            detail = f"This token may not ask about pool {job.pool}."
            errors.append(JobError(index, job.key, "pool", "pool_denied", detail))
        else:
            places.append(index)
    return places, errors


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
