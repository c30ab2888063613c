"""The server of Penstock without what it does: each body is received and answered with 202, and nothing else happens.

In: a folder to write the port into. Out: nothing; it ends with a signal. What the real server takes longer is its own.
"""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import uvicorn
from starlette.types import Receive, Scope, Send

from penstock.serve.server.connection_limits import limited_connection

ANSWER = b'{"successful_rows":500,"quarantined_rows":0}'
HEADERS = [(b"content-length", b"%d" % len(ANSWER)), (b"content-type", b"application/json")]


async def answer(scope: Scope, receive: Receive, send: Send) -> None:
    """Take a body."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 202, "headers": HEADERS})
    await send({"type": "http.response.body", "body": ANSWER})


def main() -> None:
    """Serve on a free port."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=1_024)
    (Path(sys.argv[1]) / "port").write_text(str(listener.getsockname()[1]))
    connection = limited_connection(1_000)
    config = uvicorn.Config(answer, http=connection, log_config=None, access_log=False, lifespan="off", ws="none")
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
