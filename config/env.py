"""Read values from the environment, fail loudly, and name the variable.

Every setting that an operator can change goes through here, so a wrong value is one sentence
with the variable's name in it and never a surprise three layers down.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

TRUE_WORDS: Final = frozenset({"1", "true", "yes", "on"})
FALSE_WORDS: Final = frozenset({"0", "false", "no", "off", ""})
SECRET_LENGTH_MIN: Final = 32

_REQUIRED: Final[Any] = object()


class BadEnvironment(ImproperlyConfigured):
    """A variable is missing or has a value that cannot be used; the text names it."""


def env_str(name: str, default: Any = _REQUIRED, *, environ: Mapping[str, str] = os.environ) -> Any:
    """The text of variable `name`, or `default` where it is absent or empty."""
    value = environ.get(name, "").strip()
    if value:
        return value
    if default is _REQUIRED:
        raise BadEnvironment(f"Set {name}: it has no default.")
    return default


def env_bool(name: str, default: bool = False, *, environ: Mapping[str, str] = os.environ) -> bool:
    """A switch: 1, true, yes, on against 0, false, no, off. Anything else is refused."""
    raw = environ.get(name)
    if raw is None:
        return default
    word = raw.strip().lower()
    if word in TRUE_WORDS:
        return True
    if word in FALSE_WORDS:
        return False
    raise BadEnvironment(f"{name}={raw!r} is neither yes nor no; use 1 or 0.")


def env_int(
    name: str,
    default: int,
    *,
    minimum: int = 0,
    maximum: int = 2**31 - 1,
    environ: Mapping[str, str] = os.environ,
) -> int:
    """A whole number within [minimum, maximum]."""
    raw = environ.get(name, "").strip()
    if not raw:
        return default
    try:
        value = int(raw)
    except ValueError:
        raise BadEnvironment(f"{name}={raw!r} is not a whole number.") from None
    if not minimum <= value <= maximum:
        raise BadEnvironment(f"{name}={value} must lie between {minimum} and {maximum}.")
    return value


def env_list(
    name: str, default: Sequence[str] = (), *, environ: Mapping[str, str] = os.environ
) -> list[str]:
    """Words separated by commas, blanks around them dropped."""
    raw = environ.get(name, "").strip()
    if not raw:
        return list(default)
    return [word for part in raw.split(",") if (word := part.strip())]


def env_choice(
    name: str, default: str, *, choices: Sequence[str], environ: Mapping[str, str] = os.environ
) -> str:
    """One of `choices`."""
    value = env_str(name, default, environ=environ)
    if value not in choices:
        raise BadEnvironment(f"{name}={value!r} must be one of {', '.join(choices)}.")
    return value


def env_url(name: str, default: str, *, environ: Mapping[str, str] = os.environ) -> str:
    """The address of a site: http or https and a host, nothing behind it."""
    value = env_str(name, default, environ=environ)
    parts = urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
        raise BadEnvironment(f"{name}={value!r} must be an address like https://quota.example.org.")
    return f"{parts.scheme}://{parts.netloc}/"


def env_path(name: str, default: Path, *, environ: Mapping[str, str] = os.environ) -> Path:
    """An absolute path; a relative value counts from the working directory."""
    return Path(env_str(name, str(default), environ=environ)).expanduser().absolute()


def env_secret(
    name: str, default: str | None = None, *, environ: Mapping[str, str] = os.environ
) -> str:
    """A secret of at least 32 characters, from `name` or from the file named by `name`_FILE.

    The file form is for container secrets, which should not show in a process's environment.
    """
    value = env_str(name, "", environ=environ)
    file = env_str(f"{name}_FILE", "", environ=environ)
    if value and file:
        raise BadEnvironment(f"Set {name} or {name}_FILE, not both.")
    if file:
        try:
            value = Path(file).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise BadEnvironment(f"{name}_FILE={file}: {error.strerror}.") from error
    value = value or default or ""
    if not value:
        raise BadEnvironment(
            f"Set {name} to a random secret of {SECRET_LENGTH_MIN} characters or more "
            f'(python -c "import secrets; print(secrets.token_urlsafe(50))"), '
            f"or {name}_FILE to a file that holds it."
        )
    if len(value) < SECRET_LENGTH_MIN:
        raise BadEnvironment(f"{name} is too short: {SECRET_LENGTH_MIN} characters at least.")
    return value
