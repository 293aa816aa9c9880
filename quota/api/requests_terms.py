"""From the members of a body to the terms of a request. Runs inside `scope.reading`."""

from dataclasses import replace

from msgspec import UNSET

from quota.api import requests_wire as wire
from quota.api.reading import fields_of
from quota.api.requests_reading import RequestOperation
from quota.domain.requests import Terms
from tenancy.api.reading import account_named

_PLAIN = ("kind", "units", "starts_at", "ends_at", "workload", "tier", "purpose", "budget")


class TermsOperation(RequestOperation):
    """Operations that take terms."""

    def terms(self, caller, body: wire.NewRequest | wire.RequestTrial) -> Terms:
        """What a body asks.

        Raises:
            NotFound: an account or the pool does not exist; names the member.
        """
        here = caller.organization_id
        to_account = body.to_account
        return Terms(
            account_id=account_named(here, body.account).id,
            pool_id=self.pool(caller, body.pool).id,
            to_account_id=to_account and account_named(here, to_account, field="to_account").id,
            **fields_of(body, _PLAIN),
        )

    def changed(self, caller, terms: Terms, body: wire.RequestChange) -> Terms:
        """Terms with what a body wants otherwise.

        Raises:
            NotFound: as `terms`.
        """
        here = caller.organization_id
        given = {name: value for name in _PLAIN if (value := getattr(body, name)) is not UNSET}
        if body.account is not UNSET:
            given["account_id"] = account_named(here, body.account).id
        if body.pool is not UNSET:
            given["pool_id"] = self.pool(caller, body.pool).id
        if body.to_account is not UNSET:
            given["to_account_id"] = (
                account_named(here, body.to_account, field="to_account").id
                if body.to_account
                else None
            )
        return replace(terms, **given)
