"""Every code an operation can answer is explained, on the page and in the guide."""

import ast
import re
from pathlib import Path

import pytest

from config.problem_codes import ITEMS, REQUESTS

ROOT = Path(__file__).resolve().parents[2]
RAISED = {"Invalid", "Denied", "NotFound", "Conflict", "Refused", "TooLarge", "LengthRequired"}
REQUEST_FILES = [
    *sorted((ROOT / "config" / "api").glob("*.py")),
    *sorted((ROOT / "accounting" / "api").glob("*.py")),
    *(ROOT / "accounting" / name for name in ("questions.py", "usage_bodies.py")),
    ROOT / "accounting" / "exports" / "download.py",
    *sorted((ROOT / "accounting" / "queries").glob("*.py")),
    *(ROOT / "ledger" / name for name in ("api.py", "execution.py", "queries.py")),
    *(
        ROOT / "tenancy" / name
        for name in ("callers.py", "policy.py", "queries.py", "loading.py", "domain/tree.py")
    ),
    *sorted((ROOT / "tenancy" / "api").glob("*.py")),
    *(ROOT / "tenancy" / "commands" / f"{name}.py" for name in ("accounts", "people", "tokens")),
    *sorted((ROOT / "quota" / "api").glob("*.py")),
    *(
        ROOT / "quota" / "commands" / f"{name}.py"
        for name in ("admissions", "allocations", "snapshots", "pools", "quotas", "plans")
    ),
    *(ROOT / "quota" / name for name in ("recording.py", "loading/quotas.py", "tree_guard.py")),
    *(ROOT / "quota" / "domain" / name for name in ("changes.py", "promise.py")),
    *(
        ROOT / "quota" / "commands" / f"{name}.py"
        for name in ("requests", "reviews", "request_policy")
    ),
    *(ROOT / "quota" / name for name in ("requesting.py", "loading/requests.py")),
    *sorted((ROOT / "quota" / "commands").glob("cycle*.py")),
    *(ROOT / "quota" / name for name in ("domain/cycles.py", "loading/cycles.py")),
    *(
        ROOT / "quota" / "domain" / f"{name}.py"
        for name in ("requests", "routing", "provisioning", "attachments")
    ),
    *sorted((ROOT / "preemption" / "commands").glob("*.py")),
    *sorted((ROOT / "preemption" / "api").glob("*.py")),
    *(ROOT / "preemption" / "domain" / name for name in ("budgets.py", "values.py")),
    *(
        ROOT / "accounting" / "commands" / f"{name}.py"
        for name in ("budgets", "rates", "statements", "taggings")
    ),
    *(
        ROOT / "accounting" / "domain" / f"{name}.py"
        for name in ("budgets", "lines", "money", "rate_cards", "statements", "tagging")
    ),
]
ITEM_FILES = [
    *(ROOT / "accounting" / name for name in ("staging.py", "priorities.py", "commands/usage.py")),
    ROOT / "config" / "api" / "faults.py",
]
NOT_CODES = {"bytes", "max"}


def raised(path: Path) -> set[str]:
    """First arguments of the errors a file raises."""
    calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    return {
        call.args[0].value
        for call in calls
        if isinstance(call.func, ast.Name)
        and call.func.id in RAISED
        and call.args
        and isinstance(call.args[0], ast.Constant)
    }


def test_codes_of_refusals_are_explained():
    found = set().union(*(raised(path) for path in REQUEST_FILES))
    problems = (ROOT / "config" / "problems.py").read_text()
    found |= set(re.findall(r'code(?:=| = )"(\w+)"', problems))
    authentication = (ROOT / "tenancy" / "authentication.py").read_text()
    found |= set(re.findall(r'"(token_\w+)"', authentication))
    assert found - {"internal_error"} <= set(REQUESTS)
    assert len(found) > 30


@pytest.mark.parametrize("path", ITEM_FILES, ids=lambda path: path.name)
def test_codes_of_verdicts_are_explained(path):
    tree = ast.parse(path.read_text())
    words = {
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    # What looks like a code and stands where codes stand: in pairs and calls of few words.
    known = set(ITEMS)
    suspects = {word for word in words if re.fullmatch(r"[a-z]+(_[a-z]+)+", word)}
    fields = {"compute_util", "productive_util", "memory_gb", "submitted_at", "organization_id"}
    assert suspects - known - fields == set()


def test_the_page_has_an_anchor_for_each(client, db):
    page = client.get("/api/problems")
    assert page.status_code == 200
    text = page.content.decode()
    for code in REQUESTS:
        assert f'id="{code}"' in text
    for code in ITEMS:
        assert f"<code>{code}</code>" in text


def test_the_guide_lists_the_same():
    guide = (ROOT / "docs" / "api" / "errors.md").read_text()
    for code, (status, meaning) in REQUESTS.items():
        assert f"| `{code}` | {status} | {meaning} |" in guide
    for code, meaning in ITEMS.items():
        assert f"| `{code}` | {meaning} |" in guide
