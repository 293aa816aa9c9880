"""Files of a request: added as Base64 or as a form, always given out as a download."""

from typing import Final
from urllib.parse import quote
from uuid import UUID

import msgspec
from django.http import HttpRequest, HttpResponse
from rest_framework.exceptions import UnsupportedMediaType

from config.api import bodies
from config.api.faults import fault
from config.api.schema import IDEMPOTENCY_KEY, describe
from ledger import scope
from ledger.errors import DomainError, Invalid
from ledger.execution import execute
from quota.api import requests_examples as examples
from quota.api import requests_wire as wire
from quota.api.requests_reading import RequestOperation, clock
from quota.commands.requests import Attach
from quota.domain.attachments import SIZE_MAX
from quota.queries.requests import attachment_content

JSON: Final = "application/json"
FORM: Final = "multipart/form-data"
ANY: Final = "application/octet-stream"
BYTES_MAX: Final = 2 * bodies.MIB
"""Of a body: a file of SIZE_MAX in Base64 has 4/3 of its bytes."""


class AttachmentsOperation(RequestOperation):
    """Add a file."""

    @describe(
        "attachToRequest",
        tag="requests",
        summary="Add a small file",
        takes={JSON: wire.NewAttachment, FORM: wire.UploadedFile},
        gives=wire.AttachedFile,
        status=201,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.FILE, examples.ATTACHED),
    )
    def post(self, request: HttpRequest, request_id: UUID) -> HttpResponse:
        """PDF, PNG, JPEG, text or CSV, told by its bytes, at most 1 MiB and ten of them. To a draft
        its author adds, to an open request whoever sees it."""
        caller = self.caller(request)
        self.person(caller)
        name, content = _file(request)
        with scope.reading(caller.organization_id):
            self.seen(caller, request_id, now=clock())
        command = Attach(request_id=request_id, name=name, content=content)
        try:
            outcome = execute(command, self.context(request, caller))
        except DomainError as error:
            if error.field == "file" and request.content_type != FORM:
                error.field = "name" if error.code == "file_name_malformed" else "content"
            raise
        made = outcome.result
        return self.respond(
            wire.AttachedFile(
                request=made.request_id,
                attachment=made.attachment_id,
                media_type=made.media_type,
                digest=made.digest,
            ),
            status=201,
            replayed=outcome.replayed,
        )


class AttachmentOperation(RequestOperation):
    """Download a file."""

    offers = (ANY, JSON)

    @describe(
        "downloadAttachment",
        tag="requests",
        summary="A file of a request",
        gives=bytes,
        also_gives={ANY: "The bytes, as they were added."},
        problems=(404,),
    )
    def get(self, request: HttpRequest, request_id: UUID, attachment_id: UUID) -> HttpResponse:
        """For whoever sees the request; no token. Always as a download under its own name and never
        as a page of this site. With `Accept: application/json` the same as a Base64 string."""
        caller = self.caller(request)
        self.person(caller)
        here = caller.organization_id
        with scope.reading(here):
            self.seen(caller, request_id, now=clock())
            row, content = attachment_content(here, request_id, attachment_id)
        if request.get_preferred_type(self.offers) == JSON:
            return self.respond(content)
        response = self.respond_bytes(content, content_type=ANY)
        response["Content-Disposition"] = f"attachment; filename*=UTF-8''{quote(row.name, safe='')}"
        response["X-Content-Type-Options"] = "nosniff"
        return response


def _file(request: HttpRequest) -> tuple[str, bytes]:
    """Name and bytes, from either kind of body.

    Raises:
        UnsupportedMediaType: another content type (415).
        Invalid: no such member, no Base64, too large.
    """
    if (request.content_type or "").lower() == FORM:
        return _of_form(request)
    _, body = bodies.read(request, (JSON, FORM), bytes_max=BYTES_MAX)
    try:
        found = msgspec.json.decode(body, type=wire.NewAttachment)
    except msgspec.ValidationError as error:
        wrong = fault(error)
        raise Invalid(wrong.code, wrong.detail, field=wrong.field or "") from None
    except (msgspec.DecodeError, RecursionError) as error:
        raise Invalid("malformed_body", fault(error).detail, field="") from None
    return found.name, found.content


def _of_form(request: HttpRequest) -> tuple[str, bytes]:
    if request.META.get("HTTP_CONTENT_ENCODING", "").strip().lower() not in ("", "identity"):
        raise UnsupportedMediaType("gzip", "A form is sent as it is, without Content-Encoding.")
    if int(request.META.get("CONTENT_LENGTH") or 0) > BYTES_MAX:
        raise bodies.TooLarge(
            "body_too_large",
            f"The body is larger than {BYTES_MAX // bodies.MIB} MiB.",
            facts={"limit_bytes": BYTES_MAX},
        )
    files = request.FILES.getlist("file")
    if len(files) != 1 or len(request.FILES) != 1:
        raise Invalid("field_missing", "Send one part `file` with its file name.", field="file")
    # One byte more than is taken: the command then says that it is too large.
    return files[0].name, files[0].read(SIZE_MAX + 1)
