"""Remember what was done for which input, so that a second start does not do it again."""

import hashlib
from pathlib import Path
from typing import Final

from config.services import BASE_DIR

STATIC_STAMP: Final = "static.stamp"


def static_digest() -> str:
    """Changes with our static files, the installed packages (theirs) and the settings."""
    digest = hashlib.sha256()
    for path in sorted((BASE_DIR / "static").rglob("*")):
        if path.is_file():
            facts = path.stat()
            digest.update(f"{path} {facts.st_size} {facts.st_mtime_ns}\n".encode())
    for path in (BASE_DIR / "requirements" / "base.lock", BASE_DIR / "config" / "settings.py"):
        digest.update(path.read_bytes() if path.exists() else b"")
    return digest.hexdigest()


def static_files_changed(directory: Path) -> bool:
    """Whether collectstatic must run: another input than at the stamp, or its output is gone."""
    stamp = directory / STATIC_STAMP
    if not (directory / "static" / "staticfiles.json").exists() or not stamp.exists():
        return True
    return stamp.read_text() != static_digest()


def static_files_done(directory: Path) -> None:
    (directory / STATIC_STAMP).write_text(static_digest())
