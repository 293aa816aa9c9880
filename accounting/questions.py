"""The body of a priority request into jobs: decoded in one go, or job by job when one is wrong."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from accounting.priorities import JobError
from accounting.wire import JOBS_MAX, Job, LooseQuestion, Question
from config.api.faults import fault
from ledger.errors import Invalid

_FAILURES = (msgspec.DecodeError, RecursionError)
_strict = msgspec.json.Decoder(Question)
_loose = msgspec.json.Decoder(LooseQuestion)
_job = msgspec.json.Decoder(Job)


class _KeyOnly(msgspec.Struct):
    key: str = ""


_key_only = msgspec.json.Decoder(_KeyOnly)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked. `indexes[i]` is the place of `jobs[i]` in the body; None: the same."""

    jobs: Sequence[Job]
    at: datetime | None
    indexes: Sequence[int] | None
    errors: list[JobError]


def read_question(body: bytes) -> Asked:
    """Jobs that can be understood, and an error for each that cannot.

    Raises:
        Invalid: too many jobs, or a body that is no question at all.
    """
    try:
        question = _strict.decode(body)
    except msgspec.ValidationError:
        return _read_loosely(body)
    except _FAILURES as error:
        raise Invalid("malformed_body", fault(error).detail, field="") from None
    _check_count(len(question.jobs))
    return Asked(jobs=question.jobs, at=question.at, indexes=None, errors=[])


def _read_loosely(body: bytes) -> Asked:
    try:
        question = _loose.decode(body)
    except msgspec.ValidationError as error:
        found = fault(error)
        raise Invalid(found.code, found.detail, field=found.field or "") from None
    except _FAILURES as error:
        raise Invalid("malformed_body", fault(error).detail, field="") from None
    _check_count(len(question.jobs))
    jobs: list[Job] = []
    indexes: list[int] = []
    errors: list[JobError] = []
    for index, text in enumerate(question.jobs):
        try:
            jobs.append(_job.decode(text))
            indexes.append(index)
        except _FAILURES as error:
            found = fault(error)
            errors.append(
                JobError(index, _key_of(text), found.field or "", found.code, found.detail)
            )
    return Asked(jobs=jobs, at=question.at, indexes=indexes, errors=errors)


def _key_of(text: msgspec.Raw) -> str:
    try:
        return _key_only.decode(text).key[:255]
    except _FAILURES:
        return ""


def _check_count(count: int) -> None:
    if count > JOBS_MAX:
        raise Invalid(
            "too_many_jobs",
            f"One request takes at most {JOBS_MAX} jobs. Ask for the rest in further ones.",
            field="jobs",
            facts={"limit": JOBS_MAX},
        )
