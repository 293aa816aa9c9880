"""Generated requests against our own document: no failure of ours, no undocumented answer."""

import schemathesis
from django.core.wsgi import get_wsgi_application
from django.test import TransactionTestCase
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from tenancy.domain.roles import Scope
from tests import world
from tests.api.conftest import fresh_token

# Rules across fields (an end before its start) are not in a JSON Schema, so a body may fit the
# schema and still be refused.
EXCLUDED = [positive_data_acceptance]
EXAMPLES = 15


class Contract(TransactionTestCase):
    """One tenant, a machine with every scope, some requests of each kind."""

    def test_generated_requests_are_answered_as_documented(self):
        token = fresh_token(world.acme(), *Scope)
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
                case.call_and_validate(
                    headers={"Authorization": f"Bearer {token}"}, excluded_checks=EXCLUDED
                )

            with self.subTest(operation.label):
                check()
