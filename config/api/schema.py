"""The OpenAPI document: the types that decode and encode also describe, so neither can drift.

    @describe("recordUsage", takes={JSON: UsageBatch | list[Usage]}, gives=UsageRecorded, ...)
    def post(self, request): ...

The document is at /api/v1/schema and, for reviews, in openapi.yaml; a test compares.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from drf_spectacular.utils import (
    OpenApiExample,
    OpenApiParameter,
    OpenApiResponse,
    extend_schema,
)

from config.problems import CONTENT_TYPE as PROBLEM

JSON = "application/json"
_REF = "#/components/schemas/{name}"
# Of every operation: bad input, who are you, you may not, wrong method or Accept, our fault.
_COMMON = {
    400: "Something in the request cannot be used; `errors` names the place.",
    401: "No token, or one that is malformed, unknown, expired or revoked.",
    403: "The scope or role is missing; the answer names it.",
    405: "Another method is meant.",
    406: "No media type of `Accept` can be given.",
    429: "Too many requests in this minute; `Retry-After` says how long to wait.",
    500: "Our fault; logged under the `request_id`.",
}
_BODY = {
    411: "The body came without its length.",
    413: "The body is too large.",
    415: "Another content type or encoding.",
}
_MEANINGS = {
    404: "There is no such thing, or not in your organization.",
    409: "The state has moved, or the idempotency key was used for another request.",
    422: "A rule of the domain says no.",
}
_components: dict[str, Any] = {}
_optional_bodies: set[str] = set()


class Place(msgspec.Struct, omit_defaults=True):
    """One fault and where it is: in the body (a JSON pointer), a query parameter or a header."""

    code: str
    detail: str
    pointer: str | None = None
    parameter: str | None = None
    header: str | None = None


class Problem(msgspec.Struct):
    """RFC 9457. What else a refusal knows (`limit`, `permission`) stands beside these members."""

    type: str
    title: str
    status: int
    detail: str
    instance: str
    code: str
    request_id: str | None
    errors: list[Place]


def schema_of(kind: Any) -> dict[str, Any]:
    """The JSON Schema of a type; its parts become components of the document."""
    (schema,), components = msgspec.json.schema_components([kind], ref_template=_REF)
    for name, component in components.items():
        known = _components.setdefault(name, component)
        if known != component:
            raise AssertionError(f"two types of the API are called {name}")
    return schema


def describe(
    operation_id: str,
    *,
    tag: str,
    summary: str,
    gives: Any,
    status: int = 200,
    takes: Mapping[str, Any] | None = None,
    body_optional: bool = False,
    also_gives: Mapping[str, Any] | None = None,
    parameters: Sequence[OpenApiParameter] = (),
    problems: Sequence[int] = (),
    examples: Sequence[OpenApiExample] = (),
) -> Callable[[Any], Any]:
    """Put a handler method into the document.

    Args:
        gives: the type of the usual answer, as JSON.
        status: of the usual answer.
        takes: types of the body by media type; a string stands for text of that description.
        body_optional: it may be left out.
        also_gives: further media types of the answer.
        problems: statuses beyond those every operation has.
    """
    meanings = _COMMON | (_BODY if takes else {}) | {s: _MEANINGS[s] for s in problems}
    answers: dict[Any, Any] = {(status, JSON): OpenApiResponse(schema_of(gives), "Done.")}
    for media_type, kind in (also_gives or {}).items():
        answers[status, media_type] = OpenApiResponse(_schema_or_text(kind), "Done.")
    if body_optional:
        _optional_bodies.add(operation_id)
    problem = schema_of(Problem)
    for status in sorted(meanings):
        answers[status, PROBLEM] = OpenApiResponse(problem, meanings[status])
    return extend_schema(
        operation_id=operation_id,
        tags=[tag],
        summary=summary,
        parameters=list(parameters),
        request={m: _schema_or_text(kind) for m, kind in takes.items()} if takes else None,
        responses=answers,
        examples=list(examples),
    )


def query(name: str, description: str, **schema: Any) -> OpenApiParameter:
    """An optional query parameter; text unless `schema` says otherwise."""
    return OpenApiParameter(
        name, {"type": "string"} | schema, OpenApiParameter.QUERY, description=description
    )


def paging(
    maximum: int, default: int, *, entries: str = "Entries"
) -> tuple[OpenApiParameter, OpenApiParameter]:
    """What turns the pages of a list. `entries` is what they hold, for readers."""
    return (
        query("cursor", "From `next` of the page before."),
        query(
            "limit",
            f"{entries} of a page.",
            type="integer",
            minimum=1,
            maximum=maximum,
            default=default,
        ),
    )


IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    {"type": "string", "minLength": 1, "maxLength": 200},
    OpenApiParameter.HEADER,
    description="Repeat a request under the same key and the first answer comes again, with "
    "`Idempotency-Replayed: true`. Another body under the same key is refused with 409.",
)
INSTANT = {"type": "string", "format": "date-time"}


def request_example(name: str, value: Any, *, media_type: str = JSON) -> OpenApiExample:
    """An example of a body."""
    return OpenApiExample(name, value=value, media_type=media_type, request_only=True)


def answer_example(name: str, value: Any, *, media_type: str = JSON) -> OpenApiExample:
    """An example of an answer."""
    return OpenApiExample(
        name, value=value, media_type=media_type, response_only=True, status_codes=["200"]
    )


def _schema_or_text(kind: Any) -> dict[str, Any]:
    if isinstance(kind, str):
        return {"type": "string", "description": kind}
    return schema_of(kind)


def add_components(result: dict[str, Any], **_: Any) -> dict[str, Any]:
    """Hook of drf-spectacular: the components that `describe` has gathered; bodies are a must
    where `describe` does not say otherwise."""
    for operations in result["paths"].values():
        for operation in operations.values():
            if "requestBody" in operation:
                must = operation["operationId"] not in _optional_bodies
                operation["requestBody"]["required"] = must
    schemas = result.setdefault("components", {}).setdefault("schemas", {})
    schemas |= _components
    result["components"]["schemas"] = dict(sorted(schemas.items()))
    return result
