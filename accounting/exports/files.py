"""Where the files of exports are: a storage of Django's. A file is offered when it is whole and
nobody can tell half of it from nothing: it is written beside, then renamed.

Its name holds the digest of its content, so that two workers that make the same export at once can
never swap one's bytes for the other's.
"""

import contextlib
import hashlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final
from uuid import UUID

from django.conf import settings
from django.core.files import File
from django.core.files.storage import Storage, storages

from ledger.errors import Refused

PARTIAL: Final = ".part"
DELIVERED: Final = "delivered"


@dataclass(frozen=True, slots=True)
class Written:
    """A file that is whole and not yet offered."""

    path: Path
    size: int
    digest: str


def storage() -> Storage:
    """The storage of exports."""
    return storages["exports"]


def name_of(organization_id: UUID, export_id: UUID, digest: str) -> str:
    """Where an export's file is."""
    return f"{organization_id}/{export_id}-{digest[:32]}"


@contextlib.contextmanager
def writing() -> Iterator[Path]:
    """A path to write to, near where the file will be; what is left there is removed."""
    directory = _workshop()
    handle, path = tempfile.mkstemp(suffix=PARTIAL, dir=directory)
    os.close(handle)
    try:
        yield Path(path)
    finally:
        Path(path).unlink(missing_ok=True)


def seal(path: Path) -> Written:
    """Measure a finished file.

    Raises:
        Refused: `export_too_large`.
    """
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        os.fsync(file.fileno())
    size = path.stat().st_size
    check_size(size)
    return Written(path, size, digest)


def check_size(size: int) -> None:
    """Whether a file may be so large.

    Raises:
        Refused: `export_too_large`.
    """
    limit = settings.EXPORT_BYTES_MAX
    if size > limit:
        raise Refused(
            "export_too_large",
            f"The file is larger than {limit // 2**20:,} MiB. Choose an account further down, or "
            "parquet, which is smaller.",
            field="format",
            facts={"maximum": limit},
        )


def publish(written: Written, name: str) -> None:
    """Put a whole file in its place. Doing it again changes nothing."""
    store = storage()
    if store.exists(name):
        return
    local = _local(store, name)
    if local is None:
        with written.path.open("rb") as file:
            store.save(name, File(file))
        return
    local.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    written.path.chmod(0o600)
    written.path.replace(local)


def deliver(name: str, to: str) -> None:
    """Keep a copy under a name for people, which does not expire. Doing it again changes
    nothing."""
    store = storage()
    if store.exists(to):
        return
    with store.open(name) as source, writing() as path:
        with path.open("wb") as copy:
            for piece in source.chunks():
                copy.write(piece)
        publish(Written(path, path.stat().st_size, ""), to)


def opened(name: str) -> BinaryIO:
    """A file to read.

    Raises:
        FileNotFoundError: it is gone.
    """
    return storage().open(name, "rb")


def remove(name: str) -> None:
    """Take a file away, if it is there."""
    storage().delete(name)


def sweep(organization_id: UUID, kept: frozenset[str], *, before: datetime) -> int:
    """Remove files of an organization that belong to no export and were written before an instant,
    for what a worker has just put there is recorded a moment later; how many there were."""
    store = storage()
    try:
        _, names = store.listdir(str(organization_id))
    except FileNotFoundError:
        return 0
    gone = 0
    for name in (f"{organization_id}/{each}" for each in names):
        # Somebody else may be sweeping or deleting just now.
        with contextlib.suppress(FileNotFoundError):
            if name not in kept and store.get_modified_time(name) < before:
                store.delete(name)
                gone += 1
    return gone


def sweep_halves(before: datetime) -> int:
    """Remove what killed workers have left half written; how many files there were."""
    found = 0
    for path in _workshop().glob(f"*{PARTIAL}"):
        # A worker may finish or give up just now.
        with contextlib.suppress(FileNotFoundError):
            if datetime.fromtimestamp(path.stat().st_mtime, UTC) < before:
                path.unlink()
                found += 1
    return found


def _workshop() -> Path:
    local = _local(storage(), PARTIAL)
    directory = Path(tempfile.gettempdir()) if local is None else local.parent / "making"
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    return directory


def _local(store: Storage, name: str) -> Path | None:
    """The path of a name, where the storage is a file system."""
    try:
        return Path(store.path(name))
    except NotImplementedError:
        return None
