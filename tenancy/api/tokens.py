"""`/api/v1/tokens`: issue (the secret is shown once), rotate, revoke. For operators."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.http import HttpRequest, HttpResponse

from config.api.json_bodies import JSON, read_json
from config.api.operation import Operation
from config.api.schema import IDEMPOTENCY_KEY, describe
from ledger import scope
from ledger.execution import execute
from tenancy import queries, tokens
from tenancy.api import examples, wire
from tenancy.commands.tokens import EXPIRY_DAYS_DEFAULT, IssueToken, RevokeToken, RotateToken
from tenancy.domain.roles import TOKEN_WRITE


class _TokenOperation(Operation):
    def respond_secret(self, caller, token_id: UUID, secret: str, *, status: int) -> HttpResponse:
        """The token with its secret. Nobody may keep this answer."""
        with scope.reading(caller.organization_id):
            row = queries.token(caller.organization_id, token_id)
        shown = wire.TokenSecret(wire.token_out(row), tokens.render(token_id, secret))
        answer = self.respond(shown, status=status)
        answer["Cache-Control"] = "no-store"
        return answer


class TokensOperation(_TokenOperation):
    """Read all tokens; issue one."""

    @describe(
        "listTokens",
        tag="tokens",
        summary="All tokens, without their secrets",
        gives=wire.Tokens,
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        """Up to 500 tokens, newest first."""
        caller = self.caller(request)
        self.require(caller, TOKEN_WRITE)
        with scope.reading(caller.organization_id):
            rows = queries.tokens(caller.organization_id)
        return self.respond(wire.Tokens([wire.token_out(row) for row in rows]))

    @describe(
        "issueToken",
        tag="tokens",
        summary="Issue a token; its secret is shown once",
        takes={JSON: wire.NewToken},
        gives=wire.TokenSecret,
        status=201,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409),
        examples=(examples.NEW_TOKEN,),
    )
    def post(self, request: HttpRequest) -> HttpResponse:
        """A machine's identity. Each secret is new, so a repeat under the same idempotency key is
        refused: there is no second token, and no second look at the first secret."""
        caller = self.caller(request)
        # Before the body is read, as its refusal would tell of a wish that nobody may have.
        self.require(caller, TOKEN_WRITE)
        body = read_json(request, wire.NewToken)
        secret = tokens.new_secret()
        command = IssueToken(
            name=body.name,
            secret_hash=tokens.hash_secret(secret),
            scopes=tuple(body.scopes),
            pool_ids=None if body.pool_ids is None else tuple(body.pool_ids),
            expires_at=body.expires_at or _default_expiry(),
        )
        made = execute(command, self.context(request, caller)).result
        return self.respond_secret(caller, made.token_id, secret, status=201)


class RotateTokenOperation(_TokenOperation):
    """Give a token a new secret."""

    @describe(
        "rotateToken",
        tag="tokens",
        summary="A new secret; the old one stays good for a while",
        takes={JSON: wire.TokenRotation},
        gives=wire.TokenSecret,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409, 422),
        examples=(examples.ROTATION,),
    )
    def post(self, request: HttpRequest, token_id: UUID) -> HttpResponse:
        """Change the secret without a gap. A repeat under the same idempotency key is refused."""
        caller = self.caller(request)
        self.require(caller, TOKEN_WRITE)
        body = read_json(request, wire.TokenRotation)
        secret = tokens.new_secret()
        command = RotateToken(
            token_id=token_id,
            secret_hash=tokens.hash_secret(secret),
            overlap_hours=body.overlap_hours,
            expires_at=body.expires_at or _default_expiry(),
        )
        execute(command, self.context(request, caller))
        return self.respond_secret(caller, token_id, secret, status=200)


class RevokeTokenOperation(_TokenOperation):
    """End a token."""

    @describe(
        "revokeToken",
        tag="tokens",
        summary="End a token at once",
        gives=wire.Token,
        parameters=(IDEMPOTENCY_KEY,),
        problems=(404, 409),
    )
    def post(self, request: HttpRequest, token_id: UUID) -> HttpResponse:
        """Good for nothing from now on. Needs no body."""
        caller = self.caller(request)
        outcome = execute(RevokeToken(token_id=token_id), self.context(request, caller))
        with scope.reading(caller.organization_id):
            row = queries.token(caller.organization_id, token_id)
        return self.respond(wire.token_out(row), replayed=outcome.replayed)


def _default_expiry() -> datetime:
    return datetime.now(UTC) + timedelta(days=EXPIRY_DAYS_DEFAULT)
