"""The HTTP interface: every call with the scope it needs and its handler, in one table.

In: a `PipelineHost`. Out: an ASGI application. Invariants: only the calls in `CALLS` are served, each through
`_serve`, so that tokens are checked and errors become answers in one place; the event loop only moves bytes:
handlers are plain functions, and they, tokens and errors run in threads.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, Union

import anyio
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from penstock.errors import Forbidden, PenstockError, Unavailable
from penstock.model.service_sources import QUERY_API
from penstock.serve.calls import (
    audit,
    backups,
    catalog,
    deployments,
    events,
    health,
    iceberg,
    imports,
    jobs,
    logs,
    openapi,
    page,
    parity,
    quarantines,
    queries,
    rows,
    tokens,
    topics,
)
from penstock.serve.calls.openapi_schemas import known_parameters, takes_form
from penstock.serve.http import request_body, request_parameters
from penstock.serve.http.access import NameOf, RequiredScope, authorize, authorize_some, hide_names, no_name
from penstock.serve.http.audited_call import describe_action, record_refusal, run_audited
from penstock.serve.http.error_response import Unacceptable, error_response, from_bug, from_http_exception
from penstock.serve.http.iceberg_error import READS, ReadOnly, iceberg_error_response, is_iceberg
from penstock.serve.http.pipeline_host import Continued, PipelineHost, ThreadKind, run_in_thread
from penstock.serve.http.recorded_call import CallStart, note_error, record_call
from penstock.serve.http.request_body import receiving_body
from penstock.serve.http.request_ids import CALL, RequestObserver

log = logging.getLogger("penstock.audit")
Handler: TypeAlias = Callable[[PipelineHost, Request], Union[Response, Continued]]
"""Answers a call, in a thread."""
POSTS = "/v0/events"
DATASOURCES = "/v0/datasources"
QUARANTINE = "/v0/datasources/{name}/quarantine"
TABLES = "/namespaces/{ref}/tables"
FORM = request_parameters.MOST_BYTES
ROWS = FILES = request_body.MOST_BYTES
_HEADERS_OF_SCRIPTS = ("Authorization", "Content-Encoding", "Content-Type", "Idempotency-Key", "X-Request-Id")
_HEADERS_FOR_SCRIPTS = ("Age", "Penstock-Deployment", "Retry-After", "X-Request-Id")


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
    threads: ThreadKind = "control"
    """The threads that the handler runs in."""
    most_body: int = 0
    """The most bytes of its body; 0: it takes none."""
    action: str = ""
    """What the audit log calls it; empty for a call that is not recorded there."""
    recorded_as: NameOf = no_name
    """Returns the name under which the call log has it; None for a call that is not recorded there."""


def _path_name(request: Request) -> str | None:
    return str(request.path_params["name"])


def _endpoint_name(request: Request) -> str | None:
    """The name before the format; the whole where a call forgets that, so that it is refused and recorded by a name."""
    file = str(request.path_params["file"])
    return file.rpartition(".")[0] or file


def _query_api(request: Request) -> str | None:
    return QUERY_API


def _parameter_name(request: Request) -> str | None:
    return request.query_params.get("name", "")


CALLS: tuple[ApiCall, ...] = (
    ApiCall(("GET",), "/", None, page.show_page, threads="quick"),
    ApiCall(("GET",), "/page/{file}", None, page.show_page_file, threads="quick"),
    ApiCall(("GET",), "/health", None, health.show_health, threads="quick"),
    ApiCall(("GET",), "/health/live", None, health.show_liveness, threads="quick"),
    ApiCall(("GET",), "/health/ready", None, health.show_readiness, threads="quick"),
    ApiCall(("GET",), "/openapi.json", None, openapi.show_openapi),
    ApiCall(("GET",), "/metrics", "read", health.show_metrics, threads="status"),
    ApiCall(("GET",), "/v0/status", "read", health.show_status, threads="status"),
    ApiCall(("POST",), POSTS, "append", events.post_events, _parameter_name, "appends", ROWS),
    ApiCall(("GET",), DATASOURCES, "read", catalog.list_datasources, None),
    ApiCall(("POST",), DATASOURCES, "append", rows.post_rows, _parameter_name, "appends", ROWS, "post rows"),
    ApiCall(("GET",), "/v0/datasources/{name}", "read", catalog.show_datasource, _path_name),
    ApiCall(("GET",), f"{DATASOURCES}/{{name}}/positions", "append", events.show_positions, _path_name),
    ApiCall(("POST",), f"{DATASOURCES}/{{name}}/truncate", "deploy", rows.truncate_datasource, action="truncate"),
    ApiCall(
        ("POST",), f"{DATASOURCES}/{{name}}/delete", "deploy", rows.delete_rows, most_body=FORM, action="delete rows"
    ),
    ApiCall(("GET",), f"{DATASOURCES}/{{name}}/files", "deploy", imports.show_files),
    ApiCall(
        ("POST",),
        f"{DATASOURCES}/{{name}}/sync",
        "deploy",
        imports.look_for_files,
        most_body=FORM,
        action="look for files",
    ),
    ApiCall(("GET",), QUARANTINE, "read", quarantines.show_quarantine, no_name, "queries"),
    ApiCall(("POST",), f"{QUARANTINE}/replay", "deploy", quarantines.replay_quarantine, action="replay quarantine"),
    ApiCall(("POST",), f"{QUARANTINE}/clear", "deploy", quarantines.clear_quarantine, action="clear quarantine"),
    ApiCall(("GET",), "/v0/pipes", "read", catalog.list_pipes, None),
    ApiCall(("GET",), "/v0/pipes/openapi.json", "read", openapi.show_endpoints, None),
    ApiCall(
        ("GET", "POST"),
        "/v0/pipes/{file}",
        "read",
        queries.query_endpoint,
        _endpoint_name,
        "queries",
        FORM,
        recorded_as=_endpoint_name,
    ),
    ApiCall(("POST",), "/v0/pipes/{name}/copy", "deploy", jobs.run_copy, most_body=FORM, action="run copy"),
    ApiCall(("POST",), "/v0/pipes/{name}/ranges", "deploy", jobs.run_range, most_body=FORM, action="run copy"),
    ApiCall(("GET",), "/v0/pipes/{name}/ranges", "deploy", jobs.list_ranges),
    ApiCall(("POST",), "/v0/pipes/{name}/sink", "deploy", jobs.run_sink, most_body=FORM, action="run sink"),
    ApiCall(("GET",), "/v0/topics", "read", topics.list_topics, threads="status"),
    ApiCall(("POST",), "/v0/topics/{name}/skip", "deploy", topics.skip_missing, action="skip lost messages"),
    ApiCall(("GET",), "/v0/jobs", "deploy", jobs.list_jobs),
    ApiCall(("GET",), "/v0/jobs/{id}", "deploy", jobs.show_job),
    ApiCall(("POST",), "/v0/jobs/{id}/cancel", "deploy", jobs.cancel_job, action="cancel job"),
    ApiCall(("GET", "POST"), "/v0/sql", "read", queries.query_sql, None, "queries", FORM, recorded_as=_query_api),
    ApiCall(("GET", "POST"), "/v0/diff", "deploy", parity.compare_versions, threads="queries", most_body=FORM),
    ApiCall(("GET",), "/v0/diff/tables", "deploy", parity.compare_tables, threads="queries"),
    ApiCall(("GET",), "/v0/audit", "admin", audit.list_audit_log),
    ApiCall(("GET",), "/v0/logs", "admin", logs.list_lines, threads="status"),
    ApiCall(("GET",), "/v0/tokens", "admin", tokens.list_tokens),
    ApiCall(("POST",), "/v0/tokens", "admin", tokens.create_token, most_body=FORM, action="create token"),
    ApiCall(("POST",), "/v0/tokens/{name}/rotate", "admin", tokens.rotate_token, action="rotate token"),
    ApiCall(("DELETE",), "/v0/tokens/{name}", "admin", tokens.remove_token, action="remove token"),
    ApiCall(("POST",), "/v0/backups", "admin", backups.create_backup, most_body=FORM, action="back up"),
    ApiCall(("GET",), "/iceberg/v1/config", "read", iceberg.show_config, None),
    *(
        call
        for base in ("/iceberg/v1", "/iceberg/v1/{warehouse}")
        for call in (
            ApiCall(("GET",), f"{base}/namespaces", "read", iceberg.list_namespaces, None),
            ApiCall(("GET",), f"{base}/namespaces/{{ref}}", "read", iceberg.show_namespace, None),
            ApiCall(("GET",), f"{base}{TABLES}", "read", iceberg.list_tables, None),
            ApiCall(("GET",), f"{base}{TABLES}/{{name}}", "read", iceberg.load_table, _path_name, "tables"),
        )
    ),
    ApiCall(("POST",), "/v1/deploy", "deploy", deployments.deploy, most_body=FILES, action="deploy"),
    ApiCall(("GET",), "/v1/deployments", "deploy", deployments.list_deployments),
    ApiCall(("POST",), "/v1/deployments/rollback", "deploy", deployments.rollback, action="roll back"),
    ApiCall(("GET",), "/v1/deployments/{ref}", "deploy", deployments.show_deployment),
    ApiCall(("DELETE",), "/v1/deployments/{ref}", "deploy", deployments.discard, action="discard"),
    ApiCall(("GET",), "/v1/deployments/{ref}/events", "deploy", deployments.watch_events),
    ApiCall(("GET",), "/v1/deployments/{ref}/files", "deploy", deployments.show_files),
    ApiCall(
        ("POST",), "/v1/deployments/{ref}/set-live", "deploy", deployments.set_live, most_body=FORM, action="promote"
    ),
    ApiCall(("POST",), "/v1/deployments/{ref}/retire", "deploy", deployments.retire, action="retire"),
    ApiCall(("POST",), "/v1/deployments/{ref}/pause", "deploy", deployments.pause, action="pause"),
    ApiCall(("POST",), "/v1/deployments/{ref}/resume", "deploy", deployments.resume, action="resume"),
)


def create_app(host: PipelineHost) -> Starlette:
    """The ASGI application; the pipeline of the host may still be opening."""
    routes = [Route(call.path, _endpoint(host, call), methods=list(call.methods)) for call in CALLS]
    app = Starlette(
        routes=routes,
        exception_handlers={HTTPException: _refuser(host)},
        middleware=[Middleware(RequestObserver, host.metrics), *_for_browsers(host.allowed_origins)],
    )
    app.state.calls = CALLS
    return app


def _for_browsers(origins: Sequence[str]) -> list[Middleware]:
    """What lets scripts of other pages read answers. No cookies are meant: a call has its token in a header."""
    if not origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=("GET", "POST"),
            allow_headers=_HEADERS_OF_SCRIPTS,
            expose_headers=_HEADERS_FOR_SCRIPTS,
        )
    ]


def _endpoint(host: PipelineHost, call: ApiCall) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        start = CallStart()
        answer = await _serve(host, call, request)
        record_call(host, request, start, call.recorded_as(request), answer.status_code)
        return answer

    return endpoint


def _refuser(host: PipelineHost) -> Callable[[Request, Exception], Awaitable[Response]]:
    """Answers what Starlette refuses: an unknown address, a wrong method."""

    async def refuse(request: Request, error: Exception) -> Response:
        return await _respond_to(host, request, error)

    return refuse


async def _serve(host: PipelineHost, call: ApiCall, request: Request) -> Response:
    request.scope[CALL] = call.path
    try:
        if call.scope is not None:
            await run_in_thread(host.threads.quick, lambda: _authorize(host, call, request))
        async with receiving_body(request, host.bodies, call.most_body):
            answer = await run_in_thread(host.threads.of(call.threads), lambda: _run(host, call, request))
        while isinstance(answer, Continued):
            answer = await run_in_thread(host.threads.of(answer.threads), answer.run)
        return answer
    except asyncio.CancelledError:  # Uvicorn stops, and has waited long enough
        return _STOPPING
    except Forbidden as refusal:
        if call.action:
            await _record_refusal(host, call, request)
        return await _respond_to(host, request, refusal)
    except Exception as fault:
        return await _respond_to(host, request, fault)


def _run(host: PipelineHost, call: ApiCall, request: Request) -> Response | Continued:
    def answer() -> Response | Continued:
        _check_parameters(call, request)
        return call.handler(host, request)

    return run_audited(host.pipeline.audit, call.action, request, answer) if call.action else answer()


def _check_parameters(call: ApiCall, request: Request) -> None:
    """Raises InvalidRequest for a parameter that the call does not take, wherever it stands."""
    method = "GET" if request.method == "HEAD" else request.method
    known = known_parameters(method, call.path)
    if known is None:
        return
    has_form = call.most_body == FORM and takes_form(method, call.path)
    sent = request_parameters.all_parameters(request) if has_form else request.query_params
    request_parameters.refuse_unknown_parameters(sent, known)


async def _record_refusal(host: PipelineHost, call: ApiCall, request: Request) -> None:
    def record() -> None:
        entry = describe_action(call.action, request)
        record_refusal(host.pipeline.audit, host.refusals, entry, Forbidden.code)

    try:
        await run_in_thread(host.threads.control, record)
    except PenstockError as error:  # the server stops, or too many calls wait; the call is refused all the same
        log.error("the audit log does not have a refused call: %s", error.message)


_STOPPING = error_response(Unavailable("the server is stopping", hint="try again when it is back"), "")


async def _respond_to(host: PipelineHost, request: Request, fault: Exception) -> Response:
    """The answer for an error. It is made in a thread without a limit of waiting calls: every call gets an answer."""
    answer = await anyio.to_thread.run_sync(lambda: _error_answer(request, fault), limiter=host.threads.quick)
    if request.scope.get(CALL) == POSTS:
        host.metrics.refused.labels(getattr(fault, "code", "internal")).inc()
    return answer


def _error_answer(request: Request, fault: Exception) -> Response:
    path = request.scope["path"]
    error = _shown_error(request, fault)
    note_error(request, error)
    return iceberg_error_response(error, path) if is_iceberg(path) else error_response(error, path)


def _shown_error(request: Request, fault: Exception) -> PenstockError:
    """What the caller is told of an exception."""
    path = request.scope["path"]
    if isinstance(fault, HTTPException):
        if is_iceberg(path) and request.method not in READS:
            return ReadOnly()
        return from_http_exception(fault, path, _methods_by_path())
    if isinstance(fault, ClientDisconnect):
        return Unacceptable("the client went away")
    if isinstance(fault, PenstockError):
        return hide_names(request, fault)
    return from_bug(fault)  # a bug becomes an answer too, and the server continues


def _methods_by_path() -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for call in CALLS:
        found.setdefault(call.path, []).extend(call.methods)
    return found


def _authorize(host: PipelineHost, call: ApiCall, request: Request) -> None:
    assert call.scope is not None, "a call without a scope needs no token"
    try:
        if call.name is None:
            authorize_some(request, host.find_token, call.scope)
        else:
            authorize(request, host.find_token, call.scope, call.name(request))
    finally:  # calls that are refused count too
        host.signed_tokens.count(request)
