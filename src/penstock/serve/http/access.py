"""Check the token of a call: who it is, and what it may do.

In: a request and the scope that its call needs. Out: nothing, or Unauthorized or Forbidden. Invariant: a call without a
valid token reaches only handlers that need none; names that a token may not read are not shown to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, TypeAlias, Union

from starlette.requests import Request

from penstock.errors import Forbidden, InvalidRequest, PenstockError, Problem, Unauthorized, did_you_mean
from penstock.model.service_sources import SERVICE_SOURCES
from penstock.state.tokens import DECLARED, ApiToken

Scope: TypeAlias = Literal["admin", "deploy", "append", "read"]
SCOPES = ("admin", "deploy", "append", "read", DECLARED)
"""The scopes that a token can have; `declared` stands for what TOKEN lines of the live version grant its name."""
PER_NAME = ("append", "read")
"""Scopes that may be for one data source or pipe: `read:NAME`."""
RequiredScope: TypeAlias = Union[Scope, None]
FindToken: TypeAlias = Callable[[str], Union[ApiToken, None]]
"""Returns the token of a secret."""
NameOf: TypeAlias = Callable[[Request], Union[str, None]]
"""Returns the data source or pipe that a request is about; None if it is about all of them."""
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,254}")
TOKEN_NAME = re.compile(r"[A-Za-z0-9_.@-]{1,100}")


def no_name(request: Request) -> str | None:
    """The name of a call that is not about one data source or pipe: None."""
    return None


def authorize(request: Request, find: FindToken, scope: Scope, name: str | None) -> None:
    """Check the call's token. Raises Unauthorized if it is not valid, Forbidden if it lacks the scope for the name."""
    token = identify(request, find)
    if not token.allows(scope, name):
        what = scope if name is None or not token.allows_any(scope) else f"{scope} `{name[:100]}`"
        raise Forbidden(f"the token `{token.name}` may not {what}", hint=f"it may: {', '.join(token.scopes)}")


def require_also(request: Request, scope: Scope, action: str) -> None:
    """Check that the call's token has another scope too, for what this call does. Raises Forbidden."""
    token: ApiToken = request.state.token
    if not token.allows(scope):
        raise Forbidden(f"the token `{token.name}` may not {action}", hint=f"that needs the scope `{scope}` too")


def authorize_some(request: Request, find: FindToken, scope: Scope) -> None:
    """Check that the token has the scope for some name; the handler then asks `may_read` for each name."""
    token = identify(request, find)
    if not token.allows_any(scope):
        raise Forbidden(f"the token `{token.name}` may not {scope}", hint=f"it may: {', '.join(token.scopes)}")


def identify(request: Request, find: FindToken) -> ApiToken:
    """Find the call's token and keep it with the request. Raises Unauthorized."""
    secret = _sent_secret(request)
    if not secret:
        raise Unauthorized("a token is needed", hint="send `Authorization: Bearer TOKEN` or ?token=TOKEN")
    token = find(secret)
    if token is None:
        raise Unauthorized("the token is not valid")
    request.state.token = token
    return token


def may_read(request: Request) -> Callable[[str], bool]:
    """A function that says whether the call's token may read a data source, a pipe, or records of the server."""
    token: ApiToken = request.state.token
    return lambda name: _token_reads(token, name)


def _token_reads(token: ApiToken, name: str) -> bool:
    """Records of the server are not read by the scope `read` alone if the call that shows the same needs another one:
    who did what from where is for the admin."""
    source = SERVICE_SOURCES.get(name)
    if source is None or source.scope == "read":
        return token.allows("read", name)
    return token.allows(source.scope) or f"read:{name}" in token.scopes


def hide_names(request: Request, error: PenstockError) -> PenstockError:
    """The error without its hints, unless the token may read every name: hints suggest existing names."""
    token: ApiToken | None = getattr(request.state, "token", None)
    if token is None or isinstance(error, (Unauthorized, Forbidden)):
        return error
    if all(token.allows(scope) for scope in PER_NAME if token.allows_any(scope)):
        return error
    kept = [Problem(each.code, each.message, each.location, None, each.level) for each in error.problems]
    hidden = type(error)(error.message, kept)
    hidden.__cause__ = error.__cause__
    return hidden


def parse_scopes(text: str) -> tuple[str, ...]:
    """Parse scopes separated by commas. Raises InvalidRequest. Names need not exist yet."""
    scopes = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    problems = [problem for scope in scopes if (problem := _scope_problem(scope)) is not None]
    if problems or not scopes:
        shown = ", ".join((*SCOPES, *(f"{each}:NAME" for each in PER_NAME)))
        raise InvalidRequest(f"scopes are some of {shown}, with commas between them", problems)
    return scopes


def _scope_problem(scope: str) -> Problem | None:
    kind, colon, name = scope.partition(":")
    if kind not in SCOPES:
        return Problem("unknown-scope", f"there is no scope `{scope[:100]}`", hint=did_you_mean(kind, SCOPES))
    if colon and kind not in PER_NAME:
        return Problem("invalid-scope", f"`{kind}` is for everything: it takes no name", hint=f"`{kind}`")
    if colon and not NAME.fullmatch(name):
        hint = f"such as `{kind}:flights`: a letter or `_`, then letters, digits and `_`"
        return Problem("invalid-scope", f"`{name[:100]}` cannot be the name of a data source or pipe", hint=hint)
    return None


def _sent_secret(request: Request) -> str:
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() == "bearer":
        return value.strip()
    return request.query_params.get("token", "")
