"""`POST /api/v1/priorities`: effective priorities of waiting jobs, new usage already counted."""

import time
from datetime import UTC, datetime
from itertools import starmap
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from accounting.api import examples
from accounting.api.instants import standing_at
from accounting.domain import priority
from accounting.domain.priority import CLASSES, TERMS
from accounting.fairshare_state import State, Versions
from accounting.priorities import Answer, Bounds, JobError, prioritize
from accounting.queries.fairshare import PersonExplanation, explain_person
from accounting.questions import Asked, read_question
from accounting.wire import Question
from accounting.wire_answers import Factors, JobPriority, Priorities, explanation
from config.api import bodies, parameters
from config.api.operation import JSON, Operation
from config.api.schema import describe, query
from ledger import scope
from ledger.errors import Invalid
from ledger.sql import first_row
from ledger.types import ActorKind
from tenancy.domain.roles import Scope
from tenancy.policy import accounts_permitting

BODY_BYTES_MAX = 64 * bodies.MIB
EXPLAINED_MAX = 50
EXPLAIN = query(
    "explain",
    f"`1` adds to each of up to {EXPLAINED_MAX} jobs why it stands where it stands.",
    enum=["0", "1", "false", "true"],
)
_TOKEN_AND_VERSIONS = "SELECT * FROM accounting_authenticate_token($1)"


class PrioritiesOperation(Operation):
    """Ask for the priorities of waiting jobs."""

    parameters = frozenset({"explain"})
    limit = "priorities"
    versions: Versions | None = None

    def authenticate(self, request: HttpRequest, **how: Any) -> None:
        """A token's row and its organization's versions come in one round trip."""
        super().authenticate(request, look_up=self._look_up)

    def _look_up(self, token_id: UUID) -> tuple | None:
        row = first_row(_TOKEN_AND_VERSIONS, token_id.hex)
        if row is not None and row[-1] is not None:
            self.versions = Versions(*row[-2:])
        return row

    @describe(
        "askPriorities",
        tag="priorities",
        summary="Effective priorities of waiting jobs",
        takes={JSON: Question},
        gives=Priorities,
        parameters=(EXPLAIN,),
        examples=(examples.QUESTION, examples.PRIORITIES),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """Priority, rank and factors of up to 100,000 jobs; an error for each unknown one."""
        caller = self.caller(request)
        bounds = _bounds(caller)
        explain = bool(request.GET) and parameters.flag(request, "explain")
        _, body = bodies.read(request, (JSON,), bytes_max=BODY_BYTES_MAX)
        asked = read_question(body)
        if explain and len(asked.jobs) + len(asked.errors) > EXPLAINED_MAX:
            raise Invalid(
                "too_many_explanations",
                f"At most {EXPLAINED_MAX} jobs are explained in one request.",
                field="jobs",
                facts={"limit": EXPLAINED_MAX},
            )
        now = int(time.time())
        at, state, standing = standing_at(
            caller.organization_id, asked.at, now=now, versions=self.versions
        )
        answer = prioritize(state, asked.jobs, at=at, standing=standing, bounds=bounds)
        document = Priorities(
            at=datetime.fromtimestamp(at, UTC),
            algorithm=state.algorithm,
            half_life_days=state.half_life.days,
            versions=state.versions,
            results=_results(asked, answer),
            errors=_errors(asked, answer),
        )
        if explain:
            with scope.reading(caller.organization_id):
                _explain(document.results, caller.organization_id, state, asked, answer, at)
        return self.respond(document)


def _bounds(caller) -> Bounds | None:
    """What the caller may ask about; a machine's scopes are checked without the database."""
    actor = caller.actor
    if actor.kind == ActorKind.PERSON:
        with scope.reading(caller.organization_id):
            accounts = accounts_permitting(actor, Scope.PRIORITY_READ, caller.organization_id)
        return Bounds(accounts=accounts)
    accounts_permitting(actor, Scope.PRIORITY_READ, caller.organization_id)
    return Bounds(pool_ids=actor.pool_ids) if actor.pool_ids is not None else None


def _results(asked: Asked, answer: Answer) -> list[JobPriority]:
    """A struct for each answered job, in the order of the question."""
    result, jobs = answer.result, asked.jobs
    factors = starmap(Factors, zip(*(result.factors[t].tolist() for t in TERMS), strict=True))
    rows = zip(
        [jobs[place].key for place in answer.places],
        result.priority.tolist(),
        result.rank.tolist(),
        [CLASSES[index] for index in result.effective_class.tolist()],
        factors,
        strict=True,
    )
    return list(starmap(JobPriority, rows))


def _errors(asked: Asked, answer: Answer) -> list[JobError]:
    if asked.indexes is None:
        return answer.errors
    moved = [
        JobError(asked.indexes[e.index], e.key, e.field, e.code, e.detail) for e in answer.errors
    ]
    return sorted(asked.errors + moved, key=lambda error: error.index)


def _explain(
    results: list[JobPriority],
    organization_id: UUID,
    state: State,
    asked: Asked,
    answer: Answer,
    at: int,
) -> None:
    """Add each job's explanation. People are looked up once."""
    instant = datetime.fromtimestamp(at, UTC)
    known: dict[tuple[str, str], PersonExplanation] = {}
    for row, place in enumerate(answer.places):
        job = asked.jobs[place]
        who = (job.account, job.person)
        if who not in known:
            known[who] = explain_person(
                organization_id,
                state,
                answer.standing,
                account=job.account,
                person=job.person,
                at=instant,
            )
        terms = priority.explain(answer.result, row)
        results[row].explanation = explanation(terms, known[who])
