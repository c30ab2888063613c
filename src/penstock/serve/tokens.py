"""Tokens over HTTP: list, create, remove.

In: names and scopes. Out: tokens without their secrets; a new one's secret once. Called by `app`.
Invariant: only a token with the scope admin gets here.
"""

from __future__ import annotations

import orjson
from starlette.requests import Request
from starlette.responses import Response

from penstock.errors import Conflict, InvalidRequest, Problem, did_you_mean
from penstock.serve.access import SCOPES
from penstock.serve.host import Host, in_lane
from penstock.serve.parameters import all_parameters, required

ADMIN = "admin"
"""The token of the project's owner; its secret is in `.penstock/admin_token`."""


async def listed(host: Host, request: Request) -> Response:
    """`GET /v0/tokens`."""
    return _answer({"tokens": [{"name": each.name, "scopes": each.scopes} for each in host.pipeline.tokens.list()]})


async def create(host: Host, request: Request) -> Response:
    """`POST /v0/tokens?name=…&scopes=read,append`."""
    tokens = host.pipeline.tokens
    parameters = await all_parameters(request)
    name, scopes = required(parameters, "name"), _scopes(required(parameters, "scopes"))
    secret = await in_lane(host.lanes.control, lambda: tokens.create(name, scopes))
    return _answer({"name": name, "scopes": scopes, "token": secret}, 201)


async def remove(host: Host, request: Request) -> Response:
    """`DELETE /v0/tokens/NAME`."""
    tokens, name = host.pipeline.tokens, request.path_params["name"]
    if name == ADMIN:
        raise Conflict("the admin token stays", hint="delete .penstock/admin_token and restart the server to renew it")
    await in_lane(host.lanes.control, lambda: tokens.remove(name))
    return _answer({"name": name})


def _scopes(text: str) -> tuple[str, ...]:
    scopes = tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    unknown = [scope for scope in scopes if scope not in SCOPES]
    if unknown or not scopes:
        problems = [
            Problem("unknown-scope", f"there is no scope `{scope}`", hint=did_you_mean(scope, SCOPES))
            for scope in unknown
        ]
        raise InvalidRequest(f"scopes are some of {', '.join(SCOPES)}, with commas between them", problems)
    return scopes


def _answer(document: object, status: int = 200) -> Response:
    return Response(orjson.dumps(document), status_code=status, media_type="application/json")
