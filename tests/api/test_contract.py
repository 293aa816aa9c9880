"""Generated requests against our own document: no failure of ours, no undocumented answer."""

from datetime import UTC, datetime, timedelta
from typing import Any

import schemathesis
from django.core.wsgi import get_wsgi_application
from django.test import Client, TransactionTestCase
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import ignored_auth, positive_data_acceptance

from quota.commands.cycles import OpenCycle
from quota.commands.quotas import SetQuota
from quota.commands.requests import Submit
from quota.domain.requests import Terms
from tenancy.domain.roles import Scope
from tests import world
from tests.api.conftest import fresh_token

# Rules across fields (an end before its start) are not in a JSON Schema, so a body may fit the
# schema and still be refused.
EXCLUDED = [positive_data_acceptance]
EXAMPLES = 15
# Names in addresses that exist: generated ones never do.
KNOWN = {"name": "vision", "account": "vision", "person": "bob"}


def waiting(acme: world.Tenant) -> dict[str, str]:
    """A request of Alice's that waits for somebody."""
    acme.person("petra")
    acme.role("petra", "approver")
    terms = Terms(
        account_id=acme.accounts["nlp"],
        pool_id=acme.pools["h100"],
        kind="raise",
        units=60,
        purpose="train",
    )
    made = acme.run(Submit(terms=terms), by=acme.actor("alice")).result
    return {"request_id": str(made.request_id)}


def reviewed(acme: world.Tenant) -> dict[str, str]:
    """An open review of one quota."""
    place = {"account_id": acme.accounts["vision"], "pool_id": acme.pools["h100"]}
    acme.run(SetQuota(**place, guaranteed=3), reason="test")
    deadline = datetime.now(UTC) + timedelta(days=14)
    review = OpenCycle(account_id=acme.root, name="Autumn", deadline=deadline)
    made = acme.run(review, by=acme.actor("otto"), now=datetime.now(UTC)).result
    return {"cycle_id": str(made.cycle_id)}


class Contract(TransactionTestCase):
    """One tenant, some requests of each kind, by a machine and by an operator."""

    def test_a_machine_with_every_scope_is_answered_as_documented(self):
        acme = world.acme()
        token = fresh_token(acme, *Scope)
        self.check_all(
            KNOWN | waiting(acme) | reviewed(acme),
            headers={"Authorization": f"Bearer {token}"},
            excluded_checks=EXCLUDED,
        )

    def test_an_operator_with_a_session_is_answered_as_documented(self):
        """Machines may not change the tree, so only a person gets past the permission there."""
        acme = world.acme()
        asked = waiting(acme) | reviewed(acme)
        client = Client()
        client.force_login(acme.login("otto"))
        secret = "a" * 32
        self.check_all(
            KNOWN | asked,
            headers={"X-CSRFToken": secret},
            cookies={"sessionid": client.cookies["sessionid"].value, "csrftoken": secret},
            # Whoever leaves out the cookie on purpose gets ours all the same.
            excluded_checks=[*EXCLUDED, ignored_auth],
        )

    def check_all(self, known: dict[str, str], **how: Any) -> None:
        """Some requests of every operation."""
        document = schemathesis.openapi.from_wsgi(
            "/api/v1/schema?format=json", get_wsgi_application()
        )
        for found in document.get_all_operations():
            operation = found.ok()

            @settings(
                max_examples=EXAMPLES,
                deadline=None,
                database=None,
                phases=[Phase.generate],
                suppress_health_check=list(HealthCheck),
                derandomize=True,
            )
            @given(case=operation.as_strategy())
            def check(case):
                for name in known.keys() & (case.path_parameters or {}).keys():
                    case.path_parameters[name] = known[name]
                case.call_and_validate(**how)

            with self.subTest(operation.label):
                check()
