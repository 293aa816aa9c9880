"""Small JSON bodies as typed values, for operations that change one thing."""

from typing import Any, TypeVar

import msgspec
from django.http import HttpRequest

from config.api import bodies
from config.api.faults import fault
from ledger.errors import Invalid

JSON = "application/json"
BYTES_MAX = bodies.MIB

T = TypeVar("T")


def read_json(request: HttpRequest, kind: type[T]) -> T:
    """The body, decoded and checked.

    Raises:
        UnsupportedMediaType: not JSON (415).
        Invalid: empty, larger than BYTES_MAX, no JSON, or not of this kind; names the member.
    """
    _, body = bodies.read(request, (JSON,), bytes_max=BYTES_MAX)
    try:
        return msgspec.json.decode(body, type=kind)
    except msgspec.ValidationError as error:
        found = fault(error)
        raise Invalid(found.code, found.detail, field=found.field or "") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise Invalid("malformed_body", fault(error).detail, field="") from None


def has_body(request: HttpRequest) -> bool:
    """Whether anything was sent, for operations whose body is optional."""
    return request.META.get("CONTENT_LENGTH") not in (None, "", "0")


def given(body: msgspec.Struct) -> dict[str, Any]:
    """The members that the body has; absent ones are left out, null ones are not."""
    return {
        name: value
        for name in body.__struct_fields__
        if (value := getattr(body, name)) is not msgspec.UNSET
    }
