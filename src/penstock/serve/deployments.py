"""Deployments over HTTP: plan, watch, promote, roll back, discard, retire.

In: a project as files, or a deployment's reference. Out: deployments as JSON. Called by `app`.
Invariant: these handlers decide nothing; what is legal is `deploy`'s to say.
"""

from __future__ import annotations

from collections.abc import Callable

import orjson
from starlette.requests import Request
from starlette.responses import Response

from penstock.deploy.options import DeployOptions
from penstock.model.deployment import Deployment
from penstock.serve.host import Host, in_lane
from penstock.serve.parameters import flag
from penstock.serve.records import record, summary
from penstock.serve.uploads import uploaded_files


async def deploy(host: Host, request: Request) -> Response:
    """`POST /v1/deploy`: answers as soon as the plan is made."""
    pipeline, parameters = host.pipeline, dict(request.query_params)
    options = DeployOptions(
        check=flag(parameters, "check"),
        promote=flag(parameters, "auto_promote", "true"),
        allow_destructive=flag(parameters, "allow_destructive_operations"),
        name=parameters.get("name") or None,
    )
    files = await uploaded_files(request)
    made = await in_lane(host.lanes.control, lambda: pipeline.deploy(files, options))
    return _answer(record(made), 200 if options.check else 201)


async def listed(host: Host, request: Request) -> Response:
    """`GET /v1/deployments`, newest first."""
    found = await in_lane(host.lanes.control, host.pipeline.deployments)
    return _answer({"deployments": [summary(each) for each in found]})


async def shown(host: Host, request: Request) -> Response:
    """`GET /v1/deployments/ID`."""
    return await _one(host, request, host.pipeline.deployment)


async def set_live(host: Host, request: Request) -> Response:
    """`POST /v1/deployments/ID/set-live`."""
    return await _one(host, request, host.pipeline.promote)


async def retire(host: Host, request: Request) -> Response:
    """`POST /v1/deployments/ID/retire`."""
    return await _one(host, request, host.pipeline.retire)


async def pause(host: Host, request: Request) -> Response:
    """`POST /v1/deployments/ID/pause`."""
    return await _one(host, request, host.pipeline.pause)


async def resume(host: Host, request: Request) -> Response:
    """`POST /v1/deployments/ID/resume`."""
    return await _one(host, request, host.pipeline.resume)


async def discard(host: Host, request: Request) -> Response:
    """`DELETE /v1/deployments/ID`."""
    return await _one(host, request, host.pipeline.discard)


async def rollback(host: Host, request: Request) -> Response:
    """`POST /v1/deployments/rollback`."""
    return _answer(record(await in_lane(host.lanes.control, host.pipeline.rollback)))


async def _one(host: Host, request: Request, call: Callable[[str], Deployment]) -> Response:
    """The reference is an id, a name, or live, staging, previous."""
    ref: str = request.path_params["ref"]
    return _answer(record(await in_lane(host.lanes.control, lambda: call(ref))))


def _answer(document: object, status: int = 200) -> Response:
    return Response(orjson.dumps(document), status_code=status, media_type="application/json")
