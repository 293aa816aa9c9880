"""Which files a request takes: small, and of a few kinds, told by their bytes. Pure."""

from dataclasses import dataclass
from typing import Final

from ledger.errors import Invalid

SIZE_MAX: Final = 1_048_576
FILES_MAX: Final = 10
NAME_LENGTH_MAX: Final = 120

MAGIC: Final = {
    "application/pdf": (b"%PDF-", ("pdf",)),
    "image/png": (b"\x89PNG\r\n\x1a\n", ("png",)),
    "image/jpeg": (b"\xff\xd8\xff", ("jpg", "jpeg")),
}
TEXTS: Final = {"text/plain": ("txt",), "text/csv": ("csv",)}


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file as it will be served: the name without a path, the media type that its bytes say."""

    name: str
    media_type: str


def check(*, name: str, content: bytes) -> File:
    """The file, if it is one that we take.

    Raises:
        Invalid: `file_empty`, `file_too_large`, `file_name_malformed`, `file_type_unsupported`,
            `file_type_mismatch` where name and bytes disagree.
    """
    if not content:
        raise Invalid("file_empty", "The file is empty.", field="file")
    if len(content) > SIZE_MAX:
        raise Invalid(
            "file_too_large",
            f"A file has at most {SIZE_MAX:,} bytes.",
            field="file",
            facts={"maximum": SIZE_MAX},
        )
    plain = name.replace("\\", "/").rsplit("/", 1)[-1].strip()
    stem, dot, ending = plain.rpartition(".")
    if not (stem and dot) or len(plain) > NAME_LENGTH_MAX or not plain.isprintable():
        raise Invalid(
            "file_name_malformed",
            f"A file has a name with an ending, of at most {NAME_LENGTH_MAX} characters.",
            field="file",
        )
    return File(name=plain, media_type=_media_type(ending.casefold(), content))


def _media_type(ending: str, content: bytes) -> str:
    for media_type, (magic, endings) in MAGIC.items():
        if content.startswith(magic):
            if ending not in endings:
                raise _mismatch(media_type, ending)
            return media_type
    for media_type, endings in TEXTS.items():
        if ending in endings and _is_text(content):
            return media_type
    if ending in {known for _, endings in MAGIC.values() for known in endings} | {"txt", "csv"}:
        raise _mismatch(None, ending)
    raise Invalid(
        "file_type_unsupported", "Attach a PDF, PNG, JPEG, text or CSV file.", field="file"
    )


def _is_text(content: bytes) -> bool:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    return not any(ord(char) < 32 and char not in "\t\n\r\f" for char in text)


def _mismatch(found: str | None, ending: str) -> Invalid:
    return Invalid(
        "file_type_mismatch",
        f"The bytes are not those of a .{ending} file" + (f", but {found}." if found else "."),
        field="file",
        facts={"found": found},
    )
