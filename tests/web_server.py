"""A web server for tests, which behaves as it is told.

In: what is answered for which path. Out: `WebServer`. It listens on a free port of this machine.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class WebServer:
    """Answers on a free port of this machine. `pages` has what is answered, by path."""

    def __init__(self) -> None:
        self.pages: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}
        self.seen: list[tuple[str, dict[str, str]]] = []
        """The paths that were asked for, with the headers."""
        web = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                web.seen.append((self.path, dict(self.headers)))
                page = web.pages.get(self.path)
                if page is None:
                    self.send_error(404)
                else:
                    page(self)

            def log_message(self, format: str, *args: object) -> None:
                return None

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def page(self, path: str, content: bytes, **headers: str) -> None:
        """Answer a path with a whole file."""

        def answer(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(content)))
            for name, value in headers.items():
                handler.send_header(name.replace("_", "-"), value)
            handler.end_headers()
            handler.wfile.write(content)

        self.pages[path] = answer

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
