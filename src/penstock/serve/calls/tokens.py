"""Tokens over HTTP: list, create, remove.

In: names and scopes. Out: tokens without their secrets; a new one's secret once. Called by `app`.
Invariant: only a token with the scope admin gets here.
"""

from __future__ import annotations

import orjson
from starlette.requests import Request
from starlette.responses import Response

from penstock.errors import Conflict, InvalidRequest, Problem
from penstock.serve.http.access import TOKEN_NAME, scopes_of
from penstock.serve.http.pipeline_host import Host, in_lane
from penstock.serve.http.request_parameters import all_parameters, required

ADMIN = "admin"
"""The token of the project's owner; its secret is in `.penstock/admin_token`."""


async def listed(host: Host, request: Request) -> Response:
    """`GET /v0/tokens`."""
    return _answer({"tokens": [{"name": each.name, "scopes": each.scopes} for each in host.pipeline.tokens.list()]})


async def create(host: Host, request: Request) -> Response:
    """`POST /v0/tokens?name=…&scopes=read:NAME,append`."""
    tokens = host.pipeline.tokens
    parameters = await all_parameters(request)
    name, scopes = _name(required(parameters, "name")), scopes_of(required(parameters, "scopes"))
    secret = await in_lane(host.lanes.control, lambda: tokens.create(name, scopes))
    return _answer({"name": name, "scopes": scopes, "token": secret}, 201)


async def remove(host: Host, request: Request) -> Response:
    """`DELETE /v0/tokens/NAME`."""
    tokens, name = host.pipeline.tokens, request.path_params["name"]
    if name == ADMIN:
        raise Conflict("the admin token stays", hint="delete .penstock/admin_token and restart the server to renew it")
    await in_lane(host.lanes.control, lambda: tokens.remove(name))
    return _answer({"name": name})


def _name(text: str) -> str:
    if not TOKEN_NAME.fullmatch(text):
        message = "a token's name is 1 to 100 letters, digits, `_`, `.`, `@` and `-`"
        raise InvalidRequest(message, [Problem("invalid-name", message)])
    return text


def _answer(document: object, status: int = 200) -> Response:
    return Response(orjson.dumps(document), status_code=status, media_type="application/json")
