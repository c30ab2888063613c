"""ClickHouse's HTTP interface over chDB: what the store sends to a server is run by ClickHouse itself."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from clickhouse_session import ClickHouseSession
from penstock.errors import Failed

PASSWORD = "click-secret"


@contextmanager
def serve(session: ClickHouseSession, port: int = 0) -> Iterator[str]:
    """The address at which the session's statements can be sent, with a password; at a port of its own if none is
    given."""
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            statement = self.rfile.read(int(self.headers["Content-Length"])).decode()
            if self.headers.get("X-ClickHouse-Key") != PASSWORD:
                self._answer(403, "Code: 516. DB::Exception: Authentication failed")
                return
            try:
                with lock:
                    self._answer(200, session.text(statement))
            except Failed as error:
                self._answer(500, error.message)

        def _answer(self, code: int, text: str) -> None:
            body = text.encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *values: object) -> None:
            """Nothing is logged."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
