"""Who may make a call.

In: a request and the scope that its call needs. Out: nothing, or a refusal. Called by `app` before
each handler. Invariant: a call without a valid token reaches no handler, but /health.
"""

from __future__ import annotations

from typing import Literal, TypeAlias, Union

from starlette.requests import Request

from penstock.errors import Forbidden, Unauthorized
from penstock.state.tokens import Tokens

Scope: TypeAlias = Literal["admin", "deploy", "append", "read"]
SCOPES: tuple[Scope, ...] = ("admin", "deploy", "append", "read")
Needed: TypeAlias = Union[Scope, None]


def authorize(request: Request, tokens: Tokens, scope: Scope) -> None:
    """Raises Unauthorized without a valid token, Forbidden if it lacks the scope."""
    secret = _secret(request)
    if not secret:
        raise Unauthorized("a token is needed", hint="send `Authorization: Bearer TOKEN` or ?token=TOKEN")
    token = tokens.find(secret)
    if token is None:
        raise Unauthorized("the token is not valid")
    if scope not in token.scopes and "admin" not in token.scopes:
        raise Forbidden(f"the token `{token.name}` may not {scope}", hint=f"it may: {', '.join(token.scopes)}")


def _secret(request: Request) -> str:
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip()
    return request.query_params.get("token", "")
