"""A process that makes an export and dies in the middle of it: `python -m
tests.accounting.exports.killed`. Reads organization, export and where it dies."""

import os
import signal
from typing import Any

from tests.killing import serve


def work(organization_id: str, export_id: str, where: str) -> None:
    """Make the export up to `begun` (rows are written, none is offered), `whole` (the file is
    sealed) or `placed` (the file is in its place, nothing is recorded)."""
    from uuid import UUID

    from accounting.domain.exports import Format
    from accounting.exports import files, making

    def die(*args: Any, **kwargs: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    if where == "begun":
        write = making.WRITERS[Format.CSV]
        making.WRITERS[Format.CSV] = lambda table, path, done: write(table, path, die)
    elif where == "whole":
        files.publish = die  # type: ignore[assignment]
    elif where == "placed":
        making._record = die  # type: ignore[assignment]
    making.make(UUID(organization_id), UUID(export_id))


if __name__ == "__main__":
    serve(work)
