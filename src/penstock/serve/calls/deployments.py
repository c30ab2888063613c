"""Deployments over HTTP: plan, watch, promote, roll back, discard, retire, pause and resume.

In: a project as a multipart body (one part a file), or a reference to a deployment. Out: deployments as JSON, or their
events as server-sent events. Invariant: these handlers decide nothing; each part of an upload becomes a file or a
problem; a watcher costs a thread only while it waits for the next event.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from pathlib import PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

import anyio
import orjson
from anyio import CapacityLimiter
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.errors import InvalidProject, InvalidRequest, Location, Problem
from penstock.model.deployment import CANDIDATES, Deployment, DeploymentRecord
from penstock.model.settings import secret_values
from penstock.parse.project_files import decode, normal_path
from penstock.parse.settings import SETTINGS_FILE, parse_settings
from penstock.serve.calls.parity import requested_scope
from penstock.serve.http.audited_call import CHECKED, name_target
from penstock.serve.http.json_response import json_response
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.serve.http.request_body import MOST_BYTES, body_of
from penstock.serve.http.request_parameters import flag_parameter
from penstock.state.tokens import ApiToken

if TYPE_CHECKING:
    from penstock.deploy.lifecycle.deployment_events import DeploymentEvent


def deploy(host: PipelineHost, request: Request) -> Response:
    """`POST /v1/deploy`: answers as soon as the plan is made. With `continue_candidate` it goes on with the candidate
    that the same call made before, if there is one."""
    pipeline, parameters = host.pipeline, dict(request.query_params)
    options = DeployOptions(
        check=flag_parameter(parameters, "check"),
        promote=flag_parameter(parameters, "auto_promote", "true"),
        allow_destructive=flag_parameter(parameters, "allow_destructive_operations"),
        name=parameters.get("name") or None,
        check_rows=flag_parameter(parameters, "check_rows", "true"),
    )
    files = uploaded_files(request)
    repeats = flag_parameter(parameters, "continue_candidate") and not options.check
    found = pipeline.deployer.find_repeated(files, options) if repeats else None
    made = found or pipeline.deployer.deploy(files, options)
    name_target(request, str(made.id) if made.id else CHECKED if options.check else "nothing to deploy")
    if found is not None:
        return json_response({**_shown(host, found), "continued": True})
    return json_response(_shown(host, made), 201 if made.id else 200)


def list_deployments(host: PipelineHost, request: Request) -> Response:
    """`GET /v1/deployments`, newest first."""
    store = host.pipeline.store
    found, live = store.deployments.list(), store.pointer.read().live
    return json_response({"deployments": [deployment_summary(each, live) for each in found]})


def show_deployment(host: PipelineHost, request: Request) -> Response:
    """`GET /v1/deployments/ID`; with `unlanded`, also how many batches of each data source it has not landed yet."""
    if not flag_parameter(dict(request.query_params), "unlanded"):
        return _change_one(host, request, host.pipeline.store.find)
    found = host.pipeline.store.find(request.path_params["ref"])
    return json_response({**_shown(host, found), "unlanded": host.pipeline.ingestion.unlanded(found)})


def show_files(host: PipelineHost, request: Request) -> Response:
    """`GET /v1/deployments/ID/files`: the project as it was sent. Settings with a password are for the scope admin:
    who may deploy need not be who runs the server."""
    found = host.pipeline.store.find(request.path_params["ref"])
    token: ApiToken = request.state.token
    withheld = (
        [] if token.allows("admin") else [path for path in found.files if _holds_secrets(path, found.files[path])]
    )
    files = {path: text for path, text in sorted(found.files.items()) if path not in withheld}
    return json_response(
        {"id": found.id, "name": found.name, "state": found.state, "files": files, "withheld": sorted(withheld)}
    )


def _holds_secrets(path: str, text: str) -> bool:
    return path == SETTINGS_FILE and bool(secret_values(parse_settings(text, path, [])))


def set_live(host: PipelineHost, request: Request) -> Response:
    """`POST /v1/deployments/ID/set-live`; with `require_parity`, only if it is the same as live (`parity`)."""
    if not flag_parameter(dict(request.query_params), "require_parity"):
        return _change_one(host, request, host.pipeline.deployer.promote)
    host.require_spark()
    scope = requested_scope(request)
    return _change_one(host, request, lambda ref: host.pipeline.comparison.promote(ref, scope))


def retire(host: PipelineHost, request: Request) -> Response:
    """`POST /v1/deployments/ID/retire`."""
    return _change_one(host, request, host.pipeline.deployer.retire)


def pause(host: PipelineHost, request: Request) -> Response:
    """`POST /v1/deployments/ID/pause`."""
    return _change_one(host, request, host.pipeline.deployer.pause)


def resume(host: PipelineHost, request: Request) -> Response:
    """`POST /v1/deployments/ID/resume`."""
    return _change_one(host, request, host.pipeline.deployer.resume)


def discard(host: PipelineHost, request: Request) -> Response:
    """`DELETE /v1/deployments/ID`."""
    return _change_one(host, request, host.pipeline.deployer.discard)


def rollback(host: PipelineHost, request: Request) -> Response:
    """`POST /v1/deployments/rollback`."""
    back = host.pipeline.deployer.rollback()
    name_target(request, str(back.id))
    return json_response(_shown(host, back))


def _change_one(host: PipelineHost, request: Request, call: Callable[[str], Deployment]) -> Response:
    """Call a method of the deployer with the reference in the path: an id, a name, live, staging or previous."""
    ref: str = request.path_params["ref"]
    found = call(ref)
    name_target(request, str(found.id))
    return json_response(_shown(host, found))


def _shown(host: PipelineHost, deployment: Deployment) -> dict[str, object]:
    return deployment_to_json(deployment, host.pipeline.store.pointer.read().live)


def watch_events(host: PipelineHost, request: Request) -> Response:
    """`GET /v1/deployments/ID/events`. Raises NotFound before the stream begins."""
    pipeline, ref = host.pipeline, request.path_params["ref"]
    found = pipeline.store.find(ref)
    events = pipeline.deployer.events(found.id)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_event_stream(host, events), headers=headers, media_type="text/event-stream")


KEEP_ALIVE_SECONDS = 10.0
KEEP_ALIVE = b": still here\n\n"
"""A comment of the protocol. It tells the watcher that the connection lives, and lets the server notice one that is
gone."""


async def _event_stream(host: PipelineHost, events: Iterator[DeploymentEvent]) -> AsyncIterator[bytes]:
    limit = CapacityLimiter(1)
    while not host.stopping:
        # A watcher that goes away leaves its thread, which ends with the event it waits for.
        waiting = asyncio.ensure_future(
            anyio.to_thread.run_sync(_next_event, events, abandon_on_cancel=True, limiter=limit)
        )
        try:
            while not (await asyncio.wait({waiting}, timeout=KEEP_ALIVE_SECONDS))[0]:
                yield KEEP_ALIVE
            lines = await waiting
        finally:
            waiting.cancel()
        if lines is None:
            return
        yield lines


def _next_event(events: Iterator[DeploymentEvent]) -> bytes | None:
    """The next event as lines; None after the last one."""
    event = next(events, None)
    if event is None:
        return None
    data = orjson.dumps({"at": event.at, **event.data})
    return b"event: " + event.kind.encode() + b"\ndata: " + data + b"\n\n"


def deployment_summary(deployment: Deployment | DeploymentRecord, live: int | None) -> dict[str, object]:
    """A deployment as the list shows it; `live` is the id of the live one, None before the first promotion. A
    candidate that was planned against another version is stale: it cannot be promoted any more."""
    return {
        "id": deployment.id,
        "name": deployment.name,
        "state": deployment.state,
        "paused": deployment.paused,
        "stale": bool(deployment.id) and deployment.state in CANDIDATES and deployment.base != live,
        "base": deployment.base,
        "created_at": deployment.created_at.isoformat(),
        "updated_at": deployment.updated_at.isoformat(),
        "rows_moved": deployment.rows_moved,
        "bytes_moved": deployment.bytes_moved,
        "error": deployment.error,
    }


def deployment_to_json(deployment: Deployment, live: int | None) -> dict[str, object]:
    """A deployment with its plan and problems; `live` as in `deployment_summary`."""
    problems = deployment.plan.get("problems", [])
    return {
        **deployment_summary(deployment, live),
        "plan": deployment.plan,
        "problems": problems,
        "files": sorted(deployment.files),
    }


MOST_FILES = 10_000
LONGEST_PATH = 1000


def uploaded_files(request: Request) -> dict[str, str]:
    """The files of a multipart body as text by path. Raises InvalidRequest, InvalidProject for a wrong file."""
    kind = request.headers.get("content-type", "")
    if not kind.lower().startswith("multipart/form-data"):
        raise InvalidRequest("the project is sent as multipart/form-data, one part a file")
    return asyncio.run(_read_files(request))  # Starlette's parser is a coroutine; this thread is not the event loop's


async def _read_files(request: Request) -> dict[str, str]:
    parser = MultiPartParser(
        request.headers, _file_parts(body_of(request).content), max_files=MOST_FILES, max_fields=MOST_FILES
    )
    parser.spool_max_size = MOST_BYTES  # the whole body is in memory already: no part of it goes to a file
    try:
        form = await parser.parse()
    except (MultiPartException, ValueError) as error:
        raise InvalidRequest(f"the body is not multipart/form-data: {error}") from error
    return await _texts(form)


async def _file_parts(body: bytes) -> AsyncGenerator[bytes, None]:
    yield body


async def _texts(form: FormData) -> dict[str, str]:
    files: dict[str, str] = {}
    problems: list[Problem] = []
    for name, part in form.multi_items():
        if not isinstance(part, UploadFile) or not part.filename:
            message = f"the part `{name}` has no file name"
            problems.append(Problem("nameless-file", message, hint="filename=RELATIVE/PATH"))
            continue
        path = normal_path(part.filename)
        wrong = _path_problems(part.filename, path, files)
        if wrong:
            problems += wrong
            continue
        text = decode(await part.read(), path, problems)
        if text is not None:
            files[path] = text
    await form.close()
    if problems:
        raise InvalidProject("the upload has problems", problems)
    return files


def _path_problems(sent: str, path: str, files: dict[str, str]) -> list[Problem]:
    if len(sent) > LONGEST_PATH:
        shown = f"{path[:60]}…"
        return [Problem("path-too-long", f"`{shown}` has more than {LONGEST_PATH} characters", Location(shown))]
    if not sent.isprintable() or path in (".", ""):
        shown = ascii(sent)[1:-1]
        return [Problem("invalid-path", f"`{shown}` cannot be the name of a file", Location(shown))]
    if path.startswith("/") or ".." in PurePosixPath(path).parts or PureWindowsPath(path).drive:
        return [Problem("path-outside", f"`{path}` is not below the project's folder", Location(path))]
    if path in files:
        return [Problem("file-twice", f"`{path}` is sent twice", Location(path))]
    return []
