"""`GET /api/v1/me`: who is asking, and what they may do."""

from django.http import HttpRequest, HttpResponse

from config.api.operation import Operation
from config.api.schema import describe
from ledger import scope
from ledger.types import ActorKind
from tenancy import queries
from tenancy.api import examples, wire
from tenancy.domain.roles import Role, Scope


class MeOperation(Operation):
    """Read the caller."""

    @describe(
        "readMe",
        tag="me",
        summary="Who is asking",
        gives=wire.Me,
        examples=(examples.ME,),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """The caller, its organization, and its scopes or roles. Needs no scope: a token can
        find out what it is good for and when it ends."""
        caller = self.caller(request)
        here, actor = caller.organization_id, caller.actor
        with scope.reading(here):
            facts = queries.organization(here)
            organization = wire.OrganizationFacts(
                id=facts.id,
                slug=facts.slug,
                name=facts.name,
                currency=facts.currency,
                time_zone=facts.time_zone,
            )
            me = wire.Me(kind=actor.kind, id=actor.id, name=actor.label, organization=organization)
            if actor.kind == ActorKind.TOKEN:
                me.scopes = sorted(Scope(scope) for scope in actor.scopes)
                me.pool_ids = None if actor.pool_ids is None else sorted(actor.pool_ids)
                me.expires_at = queries.token(here, actor.id).expires_at
            else:
                held = queries.roles_of(here, actor.id)
                me.roles = [wire.RoleHeld(account, Role(role)) for account, role in held]
        return self.respond(me)
