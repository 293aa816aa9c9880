"""Every address of the product, asked by another tenant with acme's own ids and names.

The addresses come from the URL configuration, so a new one is tested the day it is mounted. What
acme keeps to itself (descriptions, display names, labels, names of tokens) holds one secret word;
no answer to Charlie of globex may contain it, and nothing he sends may change acme.
"""

import json
import re
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from accounting.commands.exports import RequestExport
from ledger import scope, store
from ledger.sql import server_cursor
from quota.commands.cycles import OpenCycle
from quota.commands.quotas import SetQuota
from quota.commands.request_policy import SetDelegate
from quota.commands.requests import Attach, Comment, Submit
from quota.domain.requests import Terms
from tenancy.commands.accounts import RenameAccount
from tenancy.commands.people import AddPerson, SetAssociation
from tenancy.domain.roles import Scope
from tests.preemption import sample_detections, sample_plans
from tests.world import NOW, Tenant, record

SECRET = "tenantsecret"
PARAMETER = re.compile(r"<(?:(?P<kind>\w+):)?(?P<name>\w+)>")


def addresses() -> list[str]:
    """Every mounted route, with its parameters."""

    def walk(patterns, prefix: str):
        for pattern in patterns:
            route = prefix + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                yield from walk(pattern.url_patterns, route)
            elif isinstance(pattern, URLPattern) and "(?P" not in route and "^" not in route:
                yield f"/{route}"

    return sorted(set(walk(get_resolver().url_patterns, "")))


@pytest.fixture
def secrets_of_acme(acme: Tenant) -> dict[str, str]:
    """acme with the word all over it, and the values that its addresses take."""
    acme.run(RenameAccount(account_id=acme.accounts["vision"], name="vision", description=SECRET))
    person = acme.run(AddPerson(name="eve", display_name=SECRET, email=f"{SECRET}@example.org"))
    acme.run(
        SetAssociation(
            account_id=acme.accounts["vision"], person_id=person.result.person_id, shares=3
        )
    )
    stored = acme.use(
        record("k", account="vision", person="eve", labels={"job": SECRET}, source=SECRET)
    )
    asked = request_of_acme(acme, acme.accounts["vision"])
    place = {"account_id": acme.accounts["vision"], "pool_id": acme.pools["h100"]}
    acme.run(SetQuota(**place, guaranteed=3), reason=SECRET)
    review = OpenCycle(account_id=acme.root, name=SECRET, deadline=NOW + timedelta(days=7))
    opened = acme.run(review, by=acme.actor("otto"), reason=SECRET).result
    wish = RequestExport(
        account_id=acme.accounts["vision"], month=NOW.date().replace(day=1), what="records",
        format="csv",
    )  # fmt: skip
    exported = acme.run(wish).result
    acme.token(Scope.PRIORITY_READ, now=datetime.now(UTC))
    with scope.reading(acme.id), server_cursor() as cursor:
        token_id = cursor.execute("SELECT id FROM tenancy_apitoken").fetchone()[0]
        event_id = cursor.execute(
            "SELECT id FROM ledger_event WHERE type = 'person.added' ORDER BY position DESC"
        ).fetchone()[0]
    return {
        "name": "vision",
        "account": "vision",
        "person": "eve",
        "key": "k",
        "pool": "h100",
        "token_id": str(token_id),
        "event_id": str(event_id),
        "batch_id": str(stored.batch_id),
        "cycle_id": str(opened.cycle_id),
        "account_id": str(acme.accounts["vision"]),
        "export_id": str(exported.export_id),
        "person_id": str(person.result.person_id),
        "pool_id": str(acme.pools["h100"]),
        "detection_id": sample_detections.found(acme, key=f"{SECRET}-idle"),
        "plan_id": sample_plans.planned(acme, key=SECRET),
        **asked,
    }


def request_of_acme(acme: Tenant, account_id: UUID) -> dict[str, str]:
    """A request that waits, with its words, file and a delegation of its reviewer."""
    otto = acme.actor("otto")
    acme.person("petra")
    acme.role("petra", "approver")
    terms = Terms(
        account_id=account_id,
        pool_id=acme.pools["h100"],
        kind="raise",
        units=60,
        purpose=SECRET,
    )
    it = acme.run(Submit(terms=terms), by=otto).result
    acme.run(Comment(request_id=it.request_id, text=SECRET), by=otto)
    file = Attach(request_id=it.request_id, name=f"{SECRET}.txt", content=SECRET.encode())
    attached = acme.run(file, by=otto).result
    delegate = SetDelegate(
        delegate_id=acme.people["bob"], starts_at=NOW, ends_at=NOW + timedelta(days=7)
    )
    made = acme.run(delegate, by=acme.actor("petra")).result
    return {
        "request_id": str(it.request_id),
        "attachment_id": str(attached.attachment_id),
        "delegation_id": str(made.delegation_id),
    }


def filled(address: str, values: dict[str, str]) -> str:
    return PARAMETER.sub(lambda found: values.get(found["name"], values["event_id"]), address)


def heads(tenant: Tenant) -> dict:
    with scope.reading(tenant.id):
        return store.heads(tenant.id)


@pytest.fixture
def charlie(globex: Tenant) -> list[Client]:
    """Charlie in his browser, and his machine with every scope."""
    globex.login("charlie")
    browser = Client(raise_request_exception=False)
    assert browser.login(email="charlie@example.org", password="secret-of-charlie")
    token = globex.token(*Scope, now=datetime.now(UTC))
    machine = Client(raise_request_exception=False, headers={"Authorization": f"Bearer {token}"})
    return [browser, machine]


def test_no_address_tells_another_tenant_anything(acme, globex, secrets_of_acme, charlie):
    found = addresses()
    assert len(found) > 30
    queries = [
        {},
        {"account": "vision", "subject": secrets_of_acme["account_id"], "q": "eve"},
        {"subject": secrets_of_acme["person_id"]},
        {"open": "vision", "person": "eve"},
    ]
    for client in charlie:
        for address in found:
            for query in queries:
                answer = client.get(filled(address, secrets_of_acme), query)
                told = b"".join(answer) if answer.streaming else answer.content
                assert answer.status_code < 500, (address, query, told[:500])
                assert SECRET not in told.decode(errors="replace"), (address, query)


def test_nothing_another_tenant_sends_changes_anything(acme, globex, secrets_of_acme, charlie):
    before = heads(acme)
    bodies = [
        secrets_of_acme | {"role": "operator", "shares": 7, "parent": "root", "confirm": "x"},
        {"organization": str(acme.id), "organization_id": str(acme.id)},
    ]
    for client in charlie:
        for address in addresses():
            if address.startswith("/accounts/"):
                continue  # sign-in and sign-out: they know no tenant
            for body in bodies:
                path = filled(address, secrets_of_acme)
                for answer in (
                    client.post(path, body),
                    client.post(path, json.dumps(body), content_type="application/json"),
                    client.patch(path, json.dumps(body), content_type="application/json"),
                    client.delete(path),
                ):
                    assert answer.status_code < 500, (address, answer.content[:500])
                    assert SECRET not in answer.content.decode(errors="replace"), address
    assert heads(acme) == before


def test_nobody_without_a_login_or_token_is_told_anything(acme, secrets_of_acme):
    stranger = Client(raise_request_exception=False)
    for address in addresses():
        answer = stranger.get(filled(address, secrets_of_acme))
        assert answer.status_code < 500, address
        assert SECRET not in answer.content.decode(errors="replace"), address
