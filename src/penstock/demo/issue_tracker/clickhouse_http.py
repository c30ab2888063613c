"""`python -m penstock.demo.issue_tracker.clickhouse_http FOLDER PORT`: chDB behind ClickHouse's HTTP interface.

In: statements as bodies of POST. Out: what ClickHouse answers. Invariant: one statement at a time, since chDB has one
session a process.
"""

from __future__ import annotations

import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from chdb.session import Session

LOCK = threading.Lock()


class StatementHandler(BaseHTTPRequestHandler):
    """Answers with what the session of its server says."""

    protocol_version = "HTTP/1.1"
    session: Session

    def do_POST(self) -> None:
        statement = self.rfile.read(int(self.headers["Content-Length"])).decode()
        try:
            with LOCK:
                self._answer(200, self.session.query(statement, "TabSeparated").bytes() or b"")
        except RuntimeError as error:
            self._answer(500, str(error).encode())

    def _answer(self, code: int, body: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *values: object) -> None:
        """Nothing is logged."""


def serve(folder: str, port: int) -> None:
    """Answer until the process ends."""
    StatementHandler.session = Session(folder)
    StatementHandler.session.query("SET output_format_json_quote_64bit_integers = 0")
    ThreadingHTTPServer(("127.0.0.1", port), StatementHandler).serve_forever()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
