"""`manage.py load_demo`: the demo's organizations, once, and var/demo.json with ways in."""

import json
import secrets
import shlex
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from rest_framework.exceptions import AuthenticationFailed

from demo import loading, organization, steps
from demo.generator import generate
from demo.tenant import Tenant
from demo.values import Demo
from ledger.errors import DomainError
from tenancy.authentication import authenticate_token
from tenancy.models import User

SEED = 7
ADDRESS = "http://localhost:8000"
FILE = "demo.json"

# (person, who that is). The operator's login belongs to both organizations.
LOGINS = (
    ("jholm", "operator of both organizations"),
    ("aokonkwo", "lead of pretraining: asks for quota"),
    ("hlindqvist", "approver of foundation: reviews what pretraining asks for"),
    ("vpopescu", "lead of protein-design: was offered less than asked for"),
    ("gnunez", "lead of translation: a temporary quota ends in three days"),
    ("eyilmaz", "lead of robotics"),
    ("dbauer", "approver of science"),
    ("ztran", "member of pretraining"),
    ("nrahmani", "finance"),
    ("ihorvat", "auditor"),
    ("ana", "lead of nlp in Slurm Lab"),
)
# A team on a hard quota asks for more than is left of it: the answer names the limit. A dry run.
DENIED = {
    "dry_run": True,
    "requests": [
        {
            "key": "north/hard-quota",
            "account": "assistant",
            "person": "cdubois",
            "pool": organization.H100,
            "units": 64,
            "class": "P1",
        }
    ],
}
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "inlet", "juniper")


class Command(BaseCommand):
    """Loads what is not there yet; a second run takes a moment and changes nothing."""

    help = "Load the demo's organizations (once) and write how to sign in to var/demo.json."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--seed", type=int, default=SEED, help="of the generated history")
        parser.add_argument(
            "--now", type=time_with_zone, help="pretend that it is this ISO time (with zone)"
        )
        parser.add_argument("--address", default=ADDRESS, help="of the web server, for curl lines")
        parser.add_argument("--password", help="of all demo logins; made up if left out")

    def handle(self, *args: Any, **options: Any) -> None:
        started = time.monotonic()
        try:
            changed = self._load(**options)
        except DomainError as error:
            raise CommandError(error.detail) from error
        if changed:
            self._say(f"Demo loaded in {time.monotonic() - started:.1f} s.")
        else:
            self._say("The demo is there already; nothing was changed.")

    def _say(self, text: str) -> None:
        self.stdout.write(text)

    def _load(
        self, *, seed: int, now: datetime | None, address: str, password: str | None, **_: Any
    ) -> bool:
        """Load what is missing; whether anything was."""
        clock = now or datetime.now(UTC)
        path = Path(settings.VAR_DIR) / FILE
        known = _read(path)
        begun_at = loading.began(organization.SLUG, name=organization.NAME)
        ids = [_complete(organization.SLUG, organization.NAME)]
        ids.append(_complete(loading.LAB_SLUG, loading.LAB_NAME))
        if ids[0] is not None and steps.wake(Tenant(id=ids[0], at=clock), now=clock):
            self._say("The clusters gave signs of life again.")
        if all(ids) and password is None and self._is_good(known, ids, now=clock):
            return False
        demo = generate(now=begun_at or clock, seed=seed)
        password = password or known.get("password") or _made_up()
        users = loading.make_users(_emails(), password=password)
        by_person = {email.partition("@")[0]: user for email, user in users.items()}
        if ids[0] is None:
            ids[0] = loading.load_generated(
                demo, now=begun_at or clock, users=by_person, say=self._say
            ).id
        if ids[1] is None:
            lab = loading.found(loading.LAB_SLUG, name=loading.LAB_NAME)
            at = lab.created_at if lab else clock
            ids[1] = loading.load_sample(now=at, users=by_person, say=self._say).id
        tokens = [
            _kept_token(known, index, organization_id, now=clock)
            or loading.scheduler_token(organization_id, now=clock)
            for index, organization_id in enumerate(ids)
        ]
        _write(path, _ways_in(demo, password=password, tokens=tokens, address=address))
        self._say(f"Sign in as {LOGINS[0][0]}@example.org with the password {password}")
        self._say(f"All logins, tokens and curl lines: {path}")
        return True

    def _is_good(self, known: dict[str, Any], ids: list[UUID | None], *, now: datetime) -> bool:
        """Whether what the file says still holds."""
        if not all(
            _kept_token(known, index, organization_id, now=now)
            for index, organization_id in enumerate(ids)
        ):
            return False
        user = User.objects.filter(email=f"{LOGINS[0][0]}@example.org").first()
        return user is not None and user.check_password(known.get("password", ""))


def _complete(slug: str, name: str) -> UUID | None:
    """The organization's id if it is loaded whole."""
    found = loading.found(slug, name=name)
    return found.id if found and loading.is_complete(found.id) else None


def _emails() -> list[str]:
    """Everybody with a role has a login, and those that are printed."""
    people = {role.person for role in (*organization.ROLES, *loading.LAB_ROLES)}
    return [f"{name}@example.org" for name in sorted(people | {name for name, _ in LOGINS})]


def _kept_token(
    known: dict[str, Any], index: int, organization_id: UUID | None, *, now: datetime
) -> str | None:
    """The file's token for an organization while it is good."""
    try:
        token = known["organizations"][index]["token"]
        machine = authenticate_token(token, now=now)
    except (KeyError, IndexError, TypeError, AuthenticationFailed):
        return None
    return token if machine.organization_id == organization_id else None


def _ways_in(demo: Demo, *, password: str, tokens: list[str], address: str) -> dict[str, Any]:
    """The content of the file; config/demo_client.py reads `logins` and `curl`."""
    job = next(job for job in demo.pending if job.pool == organization.H100)
    jobs = (
        {
            "key": job.key,
            "account": job.account,
            "person": job.person,
            "pool": job.pool,
            "units": job.units,
            "class": job.job_class,
            "submitted_at": _written(job.submitted_at),
        },
        {
            "key": "lab/100",
            "account": "nlp",
            "person": "bo",
            "pool": loading.LAB_POOL.name,
            "units": 8,
            "class": "P2",
            "submitted_at": "2026-11-29T16:00:00Z",
        },
    )
    curls = [
        _curl(address, "priorities", token, {"jobs": [one]})
        for token, one in zip(tokens, jobs, strict=True)
    ]
    names = ((demo.slug, demo.name), (loading.LAB_SLUG, loading.LAB_NAME))
    return {
        "address": address,
        "password": password,
        "logins": [
            {"email": f"{person}@example.org", "password": password, "role": role}
            for person, role in LOGINS
        ],
        "token": tokens[0],
        "curl": curls[0],
        "curl_denied": _curl(address, "admissions", tokens[0], DENIED),
        "organizations": [
            {"slug": slug, "name": name, "token": token, "curl": curl}
            for (slug, name), token, curl in zip(names, tokens, curls, strict=True)
        ],
    }


def _curl(address: str, path: str, token: str, content: dict[str, Any]) -> str:
    words = ["-H", f"Authorization: Bearer {token}", "-H", "Content-Type: application/json"]
    words += ["-d", json.dumps(content)]
    # In quotes though nothing needs them yet: whoever adds `?explain=1` is inside them.
    return f"curl -s '{address}/api/v1/{path}' {shlex.join(words)}"


def _read(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text())
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def _write(path: Path, content: dict[str, Any]) -> None:
    """Readable by its owner alone, and whole at every instant."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    new.touch(mode=0o600)
    new.chmod(0o600)
    new.write_text(json.dumps(content, indent=2) + "\n")
    new.replace(path)


def _made_up() -> str:
    words = "-".join(secrets.choice(WORDS) for _ in range(3))
    return f"{words}-{secrets.randbelow(9000) + 1000}"


def time_with_zone(text: str) -> datetime:
    """An instant of the command line."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time needs its zone")
    return moment.astimezone(UTC)


def _written(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
