"""The HTTP interface: every call with the scope it needs and its handler, in one table.

In: a `PipelineHost`. Out: an ASGI application. Invariant: only the calls in `CALLS` are served, each through
`_serve`, so that tokens are checked and errors become answers in one place.
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
from penstock.serve.http.access import NameOf, RequiredScope, authorize, authorize_some, hide_names, no_name
from penstock.serve.http.error_response import Unacceptable, error_response, from_bug, from_http_exception
from penstock.serve.http.pipeline_host import PipelineHost

Handler: TypeAlias = Callable[[PipelineHost, Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class ApiCall:
    """A call of the interface."""

    methods: tuple[str, ...]
    path: str
    scope: RequiredScope
    """The scope that a token needs; None if no token is needed."""
    handler: Handler
    name: NameOf | None = no_name
    """Returns the data source or pipe for which the scope is needed. If it is None, the scope for any name is enough,
    and the handler checks each name."""


def _path_name(request: Request) -> str | None:
    return str(request.path_params["name"])


def _endpoint_name(request: Request) -> str | None:
    return str(request.path_params["file"]).rpartition(".")[0]


def _parameter_name(request: Request) -> str | None:
    return request.query_params.get("name", "")


CALLS: tuple[ApiCall, ...] = (
    ApiCall(("GET",), "/health", None, health.show_health),
    ApiCall(("GET",), "/openapi.json", None, openapi.show_openapi),
    ApiCall(("GET",), "/metrics", "read", health.show_metrics),
    ApiCall(("GET",), "/v0/status", "read", health.show_status),
    ApiCall(("POST",), "/v0/events", "append", events.post_events, _parameter_name),
    ApiCall(("GET",), "/v0/datasources", "read", catalog.list_datasources, None),
    ApiCall(("GET",), "/v0/datasources/{name}", "read", catalog.show_datasource, _path_name),
    ApiCall(("GET",), "/v0/pipes", "read", catalog.list_pipes, None),
    ApiCall(("GET",), "/v0/pipes/openapi.json", "read", openapi.show_endpoints, None),
    ApiCall(("GET", "POST"), "/v0/pipes/{file}", "read", queries.query_endpoint, _endpoint_name),
    ApiCall(("POST",), "/v0/pipes/{name}/copy", "deploy", jobs.run_copy),
    ApiCall(("GET",), "/v0/jobs", "deploy", jobs.list_jobs),
    ApiCall(("GET",), "/v0/jobs/{id}", "deploy", jobs.show_job),
    ApiCall(("POST",), "/v0/jobs/{id}/cancel", "deploy", jobs.cancel_job),
    ApiCall(("GET", "POST"), "/v0/sql", "read", queries.query_sql, None),
    ApiCall(("GET",), "/v0/tokens", "admin", tokens.list_tokens),
    ApiCall(("POST",), "/v0/tokens", "admin", tokens.create_token),
    ApiCall(("DELETE",), "/v0/tokens/{name}", "admin", tokens.remove_token),
    ApiCall(("POST",), "/v1/deploy", "deploy", deployments.deploy),
    ApiCall(("GET",), "/v1/deployments", "deploy", deployments.list_deployments),
    ApiCall(("POST",), "/v1/deployments/rollback", "deploy", deployments.rollback),
    ApiCall(("GET",), "/v1/deployments/{ref}", "deploy", deployments.show_deployment),
    ApiCall(("DELETE",), "/v1/deployments/{ref}", "deploy", deployments.discard),
    ApiCall(("GET",), "/v1/deployments/{ref}/events", "deploy", deployments.watch_events),
    ApiCall(("POST",), "/v1/deployments/{ref}/set-live", "deploy", deployments.set_live),
    ApiCall(("POST",), "/v1/deployments/{ref}/retire", "deploy", deployments.retire),
    ApiCall(("POST",), "/v1/deployments/{ref}/pause", "deploy", deployments.pause),
    ApiCall(("POST",), "/v1/deployments/{ref}/resume", "deploy", deployments.resume),
)


def create_app(host: PipelineHost) -> Starlette:
    """The ASGI application; the pipeline of the host may still be opening."""
    routes = [Route(call.path, _endpoint(host, call), methods=list(call.methods)) for call in CALLS]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _refuse_http})
    app.state.calls = CALLS
    return app


def _endpoint(host: PipelineHost, call: ApiCall) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return await _serve(host, call, request)

    return endpoint


async def _serve(host: PipelineHost, call: ApiCall, request: Request) -> Response:
    path = request.url.path
    try:
        _authorize(host, call, request)
        return await call.handler(host, request)
    except PenstockError as error:
        return error_response(hide_names(request, error), path)
    except asyncio.CancelledError:  # Uvicorn stops, and has waited long enough
        return error_response(Unavailable("the server is stopping", hint="try again when it is back"), path)
    except ClientDisconnect:
        return error_response(Unacceptable("the client went away"), path)
    except Exception as fault:  # a bug becomes an answer too, and the server continues
        return error_response(from_bug(fault), path)


def _authorize(host: PipelineHost, call: ApiCall, request: Request) -> None:
    if call.scope is None:
        return
    if call.name is None:
        authorize_some(request, host.pipeline.find_token, call.scope)
    else:
        authorize(request, host.pipeline.find_token, call.scope, call.name(request))


async def _refuse_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException), "the handler is registered for HTTPException only"
    path = request.url.path
    return error_response(from_http_exception(error, path, [call.path for call in CALLS]), path)
