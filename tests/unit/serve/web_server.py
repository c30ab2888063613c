"""A whole server without a JVM: Uvicorn in a thread, with a pipeline in memory."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.serve.http.pipeline_host import PipelineHost
from penstock.serve.server.process import WebServer
from waiting import wait_until


@contextmanager
def web_server(host: PipelineHost, most_connections: int = 1_000) -> Iterator[tuple[str, int]]:
    """Serve on a free port; gives the address."""
    with serving(WebServer(host, most_connections)) as address:
        yield address


@contextmanager
def serving(server: WebServer) -> Iterator[tuple[str, int]]:
    """Let a server serve on a free port; gives the address."""
    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started)
        yield listener.getsockname()
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()
