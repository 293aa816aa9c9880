"""A small OpenID Connect provider on a thread: discovery, token with PKCE, userinfo.

The browser's part, `authorize`, is a method: it checks what a browser would bring and gives the
address to send it back to.
"""

import base64
import hashlib
import json
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

CLIENT = "apportion"
SECRET = "the-client-secret"


class IdentityProvider:
    """Knows one person at a time: `claims` are what it says of them."""

    def __init__(self) -> None:
        self.claims: dict[str, Any] = {}
        self.codes: dict[str, dict[str, str]] = {}
        self.access: set[str] = set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def authorize(self, address: str) -> str:
        """What a browser that comes with this address is answered: back, with a code."""
        parts = urlsplit(address)
        asked = {name: values[0] for name, values in parse_qs(parts.query).items()}
        assert parts.path == "/authorize" and asked["client_id"] == CLIENT
        assert asked["response_type"] == "code" and "openid" in asked["scope"].split()
        assert asked["code_challenge_method"] == "S256"
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "token_endpoint": f"{self.issuer}/token",
            "userinfo_endpoint": f"{self.issuer}/userinfo",
            "jwks_uri": f"{self.issuer}/jwks",
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        }

    def token(self, form: dict[str, str]) -> dict[str, Any] | None:
        """An access token for a code, once, to the client whose verifier fits its challenge."""
        asked = self.codes.pop(form.get("code", ""), None)
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if (
            asked is None
            or (form.get("client_id"), form.get("client_secret")) != (CLIENT, SECRET)
            or form.get("redirect_uri") != asked["redirect_uri"]
            or challenge != asked["code_challenge"]
        ):
            return None
        access = secrets.token_urlsafe(16)
        self.access.add(access)
        return {"access_token": access, "token_type": "Bearer", "expires_in": 60}

    def _handler(provider) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - the handler has a self
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                bearer = self.headers.get("Authorization", "").removeprefix("Bearer ")
                if self.path == "/.well-known/openid-configuration":
                    self._answer(provider.discovery())
                elif self.path == "/userinfo" and bearer in provider.access:
                    self._answer(provider.claims)
                else:
                    self._answer(None)

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                form = {name: values[0] for name, values in parse_qs(body).items()}
                self._answer(provider.token(form) if self.path == "/token" else None)

            def _answer(self, content: dict[str, Any] | None) -> None:
                body = json.dumps(content or {"error": "invalid_request"}).encode()
                self.send_response(400 if content is None else 200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        return Handler
