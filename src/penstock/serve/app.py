"""The HTTP interface: every call, the scope it needs and its handler, in one table.

In: a `Host`. Out: an ASGI application. Called by `main` and the tests. Invariant: no call is served
that is not in `CALLS`; each goes through `_serve`, so tokens and errors are treated in one place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.errors import PenstockError, Unavailable
from penstock.serve.calls import catalog, deployments, events, health, jobs, openapi, queries, tokens
from penstock.serve.http.access import NameOf, Needed, authorize, authorize_some, discreet, for_all
from penstock.serve.http.error_response import Unacceptable, from_fault, from_http, refuse
from penstock.serve.http.pipeline_host import Host

Handler: TypeAlias = Callable[[Host, Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the interface. `scope` None: no token is needed. `name` says for which data source or pipe
    the scope is needed; where it is None, some name will do and the handler asks for each."""

    methods: tuple[str, ...]
    path: str
    scope: Needed
    handler: Handler
    name: NameOf | None = for_all


def _path_name(request: Request) -> str | None:
    return str(request.path_params["name"])


def _endpoint_name(request: Request) -> str | None:
    return str(request.path_params["file"]).rpartition(".")[0]


def _asked_name(request: Request) -> str | None:
    return request.query_params.get("name", "")


CALLS: tuple[Call, ...] = (
    Call(("GET",), "/health", None, health.health),
    Call(("GET",), "/openapi.json", None, openapi.shown),
    Call(("GET",), "/metrics", "read", health.metrics),
    Call(("GET",), "/v0/status", "read", health.status),
    Call(("POST",), "/v0/events", "append", events.post_events, _asked_name),
    Call(("GET",), "/v0/datasources", "read", catalog.datasources, None),
    Call(("GET",), "/v0/datasources/{name}", "read", catalog.datasource, _path_name),
    Call(("GET",), "/v0/pipes", "read", catalog.pipes, None),
    Call(("GET",), "/v0/pipes/openapi.json", "read", openapi.endpoints, None),
    Call(("GET", "POST"), "/v0/pipes/{file}", "read", queries.pipe, _endpoint_name),
    Call(("POST",), "/v0/pipes/{name}/copy", "deploy", jobs.copy),
    Call(("GET",), "/v0/jobs", "deploy", jobs.listed),
    Call(("GET",), "/v0/jobs/{id}", "deploy", jobs.shown),
    Call(("POST",), "/v0/jobs/{id}/cancel", "deploy", jobs.cancel),
    Call(("GET", "POST"), "/v0/sql", "read", queries.sql, None),
    Call(("GET",), "/v0/tokens", "admin", tokens.listed),
    Call(("POST",), "/v0/tokens", "admin", tokens.create),
    Call(("DELETE",), "/v0/tokens/{name}", "admin", tokens.remove),
    Call(("POST",), "/v1/deploy", "deploy", deployments.deploy),
    Call(("GET",), "/v1/deployments", "deploy", deployments.listed),
    Call(("POST",), "/v1/deployments/rollback", "deploy", deployments.rollback),
    Call(("GET",), "/v1/deployments/{ref}", "deploy", deployments.shown),
    Call(("DELETE",), "/v1/deployments/{ref}", "deploy", deployments.discard),
    Call(("GET",), "/v1/deployments/{ref}/events", "deploy", deployments.watch),
    Call(("POST",), "/v1/deployments/{ref}/set-live", "deploy", deployments.set_live),
    Call(("POST",), "/v1/deployments/{ref}/retire", "deploy", deployments.retire),
    Call(("POST",), "/v1/deployments/{ref}/pause", "deploy", deployments.pause),
    Call(("POST",), "/v1/deployments/{ref}/resume", "deploy", deployments.resume),
)


def create_app(host: Host) -> Starlette:
    """The application over a host, whose pipeline may still be opening."""
    routes = [Route(call.path, _endpoint(host, call), methods=list(call.methods)) for call in CALLS]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _refuse_http})
    app.state.calls = CALLS
    return app


def _endpoint(host: Host, call: Call) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return await _serve(host, call, request)

    return endpoint


async def _serve(host: Host, call: Call, request: Request) -> Response:
    path = request.url.path
    try:
        _authorize(host, call, request)
        return await call.handler(host, request)
    except PenstockError as error:
        return refuse(discreet(request, error), path)
    except asyncio.CancelledError:  # Uvicorn stops, and has waited long enough
        return refuse(Unavailable("the server is stopping", hint="ask again when it is back"), path)
    except ClientDisconnect:
        return refuse(Unacceptable("the client went away"), path)
    except Exception as fault:  # a fault of ours is an answer too, and the server goes on
        return refuse(from_fault(fault), path)


def _authorize(host: Host, call: Call, request: Request) -> None:
    if call.scope is None:
        return
    if call.name is None:
        authorize_some(request, host.pipeline.token, call.scope)
    else:
        authorize(request, host.pipeline.token, call.scope, call.name(request))


async def _refuse_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException), "it is registered for no other"
    path = request.url.path
    return refuse(from_http(error, path, [call.path for call in CALLS]), path)
