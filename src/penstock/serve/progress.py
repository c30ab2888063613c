"""`GET /v1/deployments/ID/events`: what a deployment does, as server-sent events.

In: a deployment's reference. Out: a stream of `state`, `progress` and `lag` events, until it comes
to rest. Called by `app`. Invariant: a watcher costs a thread only while it waits for the next event.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import anyio
import orjson
from anyio import CapacityLimiter
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from penstock.serve.host import Host, in_lane

if TYPE_CHECKING:
    from penstock.deploy.events import Event


async def watch(host: Host, request: Request) -> Response:
    """Raises NotFound before the stream begins."""
    pipeline, ref = host.pipeline, request.path_params["ref"]
    found = await in_lane(host.lanes.control, lambda: pipeline.deployment(ref))
    events = await in_lane(host.lanes.control, lambda: pipeline.events(found.id))
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_stream(host, events), headers=headers, media_type="text/event-stream")


async def _stream(host: Host, events: Iterator[Event]) -> AsyncIterator[bytes]:
    lane = CapacityLimiter(1)
    while not host.stopping:
        # A watcher that goes away leaves its thread, which ends with the event it waits for.
        event = await anyio.to_thread.run_sync(next, events, None, abandon_on_cancel=True, limiter=lane)
        if event is None:
            return
        data = orjson.dumps({"at": event.at, **event.data})
        yield b"event: " + event.kind.encode() + b"\ndata: " + data + b"\n\n"
