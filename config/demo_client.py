"""What the demo tells about itself (var/demo.json), and the one question `--check` asks."""

import json
import re
import shlex
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from config.processes import ServiceError

ANSWER_SECONDS_MAX: Final = 30
_ADDRESS: Final = re.compile(r"https?://[^/\s'\"]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Login:
    email: str
    password: str
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoFile:
    """Logins of the sample organization and a ready curl line for one priority."""

    logins: tuple[Login, ...]
    curl: str

    @classmethod
    def read(cls, path: Path, *, base_url: str) -> "DemoFile | None":
        """The file as `manage.py load_demo` wrote it, its address replaced by ours."""
        try:
            content = json.loads(path.read_text())
        except FileNotFoundError:
            return None
        logins = tuple(
            Login(email=entry["email"], password=entry["password"], role=entry["role"])
            for entry in content["logins"]
        )
        return cls(logins=logins, curl=_ADDRESS.sub(base_url, content["curl"], count=1))


def wait_until_ready(base_url: str, *, seconds: float, give_up: Callable[[], bool]) -> bool:
    """Poll /readyz until it says yes, time is up, or `give_up` says so."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not give_up():
        try:
            with urllib.request.urlopen(f"{base_url}/readyz", timeout=5) as response:
                if response.status == 200:
                    return True
        except OSError:
            pass
        time.sleep(0.1)
    return False


def ask(demo: DemoFile | None, *, base_url: str) -> str:
    """Do what the demo's curl line does and return the body of the answer.

    Raises ServiceError when the answer is not a success.
    """
    request = urllib.request.Request(f"{base_url}/readyz")
    if demo is not None:
        request = request_of_curl(demo.curl)
    try:
        with urllib.request.urlopen(request, timeout=ANSWER_SECONDS_MAX) as response:
            return response.read().decode()
    except urllib.error.HTTPError as error:
        body = error.read().decode(errors="replace")
        raise ServiceError(f"{request.full_url} answered {error.code}: {body}") from error
    except OSError as error:
        raise ServiceError(f"{request.full_url} did not answer: {error}") from error


def request_of_curl(line: str) -> urllib.request.Request:
    """A curl line of the simple kind (-X, -H, -d, -s, an address) as a request."""
    words = iter(shlex.split(line)[1:])
    method, address, headers, body = None, None, {}, None
    for word in words:
        if word in {"-X", "--request"}:
            method = next(words)
        elif word in {"-H", "--header"}:
            name, _, value = next(words).partition(":")
            headers[name.strip()] = value.strip()
        elif word in {"-d", "--data", "--json", "--data-binary"}:
            body = next(words).encode()
            if word == "--json":
                headers |= {"Content-Type": "application/json", "Accept": "application/json"}
        elif not word.startswith("-"):
            address = word
    if address is None:
        raise ServiceError(f"No address in {line!r}.")
    return urllib.request.Request(address, data=body, headers=headers, method=method)
