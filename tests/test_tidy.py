"""The repository holds its own rules: banned calls, sizes, migrations, imports, generated files.

Each failure says what to do instead.
"""

import ast
import io
import re
import subprocess
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, fields
from fnmatch import fnmatch
from pathlib import Path
from typing import get_type_hints

import pytest
from django.core.management import call_command

from ledger import registry

ROOT = Path(__file__).resolve().parent.parent
APPS = ("ledger", "tenancy", "quota", "accounting", "preemption", "frontend", "demo", "config")
LINES_MAX = 500
LINES_GOOD = 400
FUNCTION_LINES_MAX = 70


@dataclass(frozen=True, slots=True)
class Ban:
    """A name that may be used in few places, and what to do elsewhere."""

    pattern: str
    instead: str
    allowed: tuple[str, ...] = ()


# The clock is read at the edges: where a request, a task or a shell command comes in.
EDGES = (
    "config/*",
    "ledger/execution.py",
    "tenancy/authentication.py",
    "*/management/commands/*",
    "*/api/*",
    "*/api.py",
    "*/tasks.py",
    "frontend/*",
)
BANS = (
    Ban(r"(datetime|timezone)\.(now|utcnow)|date\.today", "take `now` as an argument", EDGES),
    Ban(
        r"(uuid\.)?uuid[14]",
        "take the id as an argument, or ledger.ids.new_id at the edge",
        ("config/*",),
    ),
    Ban(
        r"transaction\.atomic|(?<!\.)atomic",
        "execute a command (ledger.execution) or read in ledger.scope.reading",
        ("ledger/*",),
    ),
    Ban(r".*\.select_for_update", "lock in loading.py", ("*/loading.py",)),
    Ban(
        r".*\bsignals(\.\w+)*\.connect|(.*\.)?receiver|(.*\.)?Signal",
        "call it plainly, from config/wiring.py",
        ("config/*",),  # Celery's own, for logs
    ),
    Ban(r"(.*\.)?(Hyperlinked)?ModelSerializer", "write Input and Output serializers"),
)


def sources() -> list[Path]:
    """Python files of the product."""
    return sorted(path for app in APPS for path in (ROOT / app).rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """(line, dotted name) of every name that is used."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute):
            yield node.lineno, ast.unparse(node)


@pytest.mark.parametrize("ban", BANS, ids=lambda ban: ban.instead)
def test_banned_names_are_not_used(ban):
    pattern = re.compile(ban.pattern)
    found = [
        f"{name_of(path)}:{line}: {name}: {ban.instead}"
        for path in sources()
        if not any(fnmatch(name_of(path), allowed) for allowed in ban.allowed)
        for line, name in names(ast.parse(path.read_text()))
        if pattern.fullmatch(name)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "ban"),
    [
        ("datetime.now(UTC)", 0),
        ("timezone.now()", 0),
        ("uuid4()", 1),
        ("with transaction.atomic(): pass", 2),
        ("x.objects.select_for_update()", 3),
        ("signals.post_save.connect(f)", 4),
        ("@receiver(x)\ndef f(): pass", 4),
        ("class A(serializers.ModelSerializer): pass", 5),
    ],
)
def test_the_bans_would_notice(source, ban):
    pattern = re.compile(BANS[ban].pattern)
    assert any(pattern.fullmatch(name) for _, name in names(ast.parse(source)))


def test_apps_do_not_use_django_signals():
    found = [
        f"{name_of(path)}: {node.module}"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith(("django.dispatch", "django.db.models.signals"))
    ]
    assert found == []


def test_files_and_functions_can_be_read_at_one_sitting():
    too_long, warned, functions = [], [], []
    for path in [*sources(), *sorted((ROOT / "tests").rglob("*.py"))]:
        text = path.read_text()
        lines = text.count("\n")
        if "migrations" in path.parts:
            continue
        if lines > LINES_MAX:
            too_long.append(f"{name_of(path)}: {lines} lines, split it by subject")
        elif lines > LINES_GOOD:
            warned.append(f"{name_of(path)}: {lines}")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef):
                length = (node.end_lineno or 0) - node.lineno + 1
                if length > FUNCTION_LINES_MAX:
                    functions.append(f"{name_of(path)}:{node.lineno}: {node.name}: {length}")
    if warned:
        warnings.warn(f"longer than {LINES_GOOD} lines: {', '.join(warned)}", stacklevel=1)
    assert too_long == []
    assert functions == []


def test_package_files_of_apps_are_empty():
    """Otherwise importing a pure module would run them."""
    empty = [
        path
        for app in APPS
        for path in (ROOT / app / "__init__.py", ROOT / app / "domain" / "__init__.py")
        if path.exists() and path.read_text().strip()
    ]
    assert empty == []


@pytest.mark.django_db(databases=["default", "owner"])
def test_no_migration_is_missing():
    out = io.StringIO()
    call_command("makemigrations", "--check", "--dry-run", stdout=out, stderr=out)
    assert "No changes detected" in out.getvalue()


@pytest.mark.slow
def test_imports_keep_their_contracts():
    program = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([program], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_no_event_holds_a_float():
    """Hashes and money need one way to write a number."""
    found = [
        f"{name}.{field.name}"
        for name, cls in registry._types.items()
        for field in fields(cls)
        if "float" in str(get_type_hints(cls)[field.name])
    ]
    assert found == []


def test_events_are_named_for_what_happened():
    for name, cls in registry._types.items():
        assert re.fullmatch(r"[a-z_]+\.[a-z_]+", name), name
        assert cls.__doc__, name


@pytest.mark.slow
def test_the_catalogue_of_events_is_current():
    """In a process of its own: the tests register events, too."""
    done = subprocess.run(
        [sys.executable, "manage.py", "ledger", "events"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == (ROOT / "docs" / "events.md").read_text(), (
        "run: python manage.py ledger events > docs/events.md"
    )


def test_locks_pin_hashes_and_name_no_address():
    for lock in (ROOT / "requirements").glob("*.lock"):
        text = lock.read_text()
        assert "--hash=sha256:" in text
        assert not re.search(r"://|--(extra-)?index-url|--find-links|@ file", text), lock.name


def test_nothing_unfinished_is_left():
    marks = re.compile(r"\b(FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
    found = [
        f"{name_of(path)}:{number}"
        for path in [*sources(), *(ROOT / "tests").rglob("*.py")]
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if marks.search(line)
    ]
    assert found == []


def test_templates_ask_htmx_to_evaluate_nothing():
    """Conditions of triggers, `hx-on` and `js:` are code, which the content policy forbids: the
    browser would report an error, and the page would do without."""
    evaluated = re.compile(r"""hx-trigger="[^"]*\[|\bhx-on\b|hx-vals=['"]js:""")
    found = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "templates").rglob("*.html"))
        if evaluated.search(path.read_text())
    ]
    assert found == []
