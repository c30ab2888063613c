"""Tokens over HTTP: list, create, rotate, remove.

In: names and scopes. Out: tokens without their secrets; a new token's secret once. Invariant: only calls with a
token of the scope admin get here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from starlette.requests import Request
from starlette.responses import Response

from penstock.errors import Conflict, InvalidRequest, NotFound, Problem, did_you_mean
from penstock.serve.http.access import TOKEN_NAME, parse_scopes
from penstock.serve.http.audited_call import name_target
from penstock.serve.http.json_response import json_response
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.serve.http.request_parameters import all_parameters, required_parameter
from penstock.state.tokens import ApiToken

ADMIN = "admin"
"""The name of the token that the server creates; its secret is in `.penstock/admin_token`."""


def list_tokens(host: PipelineHost, request: Request) -> Response:
    """`GET /v0/tokens`: every token, and every name that TOKEN lines of the live version grant something, also one for
    which no token was created. `grants` are in effect for tokens with the scope `declared`."""
    grants, made = host.pipeline.grants, {each.name: each for each in host.pipeline.tokens.list()}
    shown = [_describe_token(name, made.get(name), grants.get(name, ())) for name in sorted({*made, *grants})]
    return json_response({"tokens": shown})


def _describe_token(name: str, token: ApiToken | None, grants: tuple[str, ...]) -> dict[str, object]:
    return {"name": name, "created": token is not None, "scopes": token.scopes if token else (), "grants": grants}


def create_token(host: PipelineHost, request: Request) -> Response:
    """`POST /v0/tokens?name=…&scopes=read:NAME,append`."""
    tokens = host.pipeline.tokens
    parameters = all_parameters(request)
    name, scopes = (
        _token_name(required_parameter(parameters, "name")),
        parse_scopes(required_parameter(parameters, "scopes")),
    )
    name_target(request, f"{name} ({', '.join(scopes)})")
    secret = tokens.create(name, scopes)
    problems = [each.as_json() for each in _unknown_names(host, scopes)]
    return json_response({"name": name, "scopes": scopes, "token": secret, "problems": problems}, 201)


def rotate_token(host: PipelineHost, request: Request) -> Response:
    """`POST /v0/tokens/NAME/rotate`: a new secret. `own` says whether it is the caller's token."""
    caller: ApiToken = request.state.token
    name = request.path_params["name"]
    rotated, secret = host.pipeline.tokens.rotate(name)
    own = caller.name == name
    return json_response({"name": name, "scopes": rotated.scopes, "token": secret, "own": own})


def _unknown_names(host: PipelineHost, scopes: Iterable[str]) -> Iterator[Problem]:
    """Warnings for names that live has not: they may be deployed later, or be spelt wrong."""
    try:
        live = host.pipeline.store.find("live")
    except NotFound:
        return
    project = host.pipeline.projects.load(live).project
    known = [*project.names, *(binding.name for binding in live.manifest.quarantines)]
    for kind, _, name in (scope.partition(":") for scope in scopes):
        if name and name not in known:
            message = f"there is no data source or pipe `{name}` in the live version"
            yield Problem("unknown-name", f"{kind}:{name}: {message}", hint=did_you_mean(name, known), level="warning")


def remove_token(host: PipelineHost, request: Request) -> Response:
    """`DELETE /v0/tokens/NAME`."""
    tokens, name = host.pipeline.tokens, request.path_params["name"]
    admins = [each.name for each in tokens.list() if ADMIN in each.scopes]
    if admins == [name]:
        raise Conflict(
            "the last admin token cannot be removed",
            hint=f"`penstock token rotate {name}` gives it a new secret",
        )
    tokens.remove(name)
    return json_response({"name": name})


def _token_name(text: str) -> str:
    if not TOKEN_NAME.fullmatch(text):
        message = "a token's name is 1 to 100 letters, digits, `_`, `.`, `@` and `-`"
        raise InvalidRequest(message, [Problem("invalid-name", message)])
    return text
