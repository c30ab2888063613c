"""Set up the server's log files.

In: the folder of the embedded state. Out: `server.log`, at most KEPT + 1 files of MOST_BYTES bytes. Invariant: nothing
is written to the terminal, and no secret to the log.
"""

from __future__ import annotations

import logging
import logging.handlers
import time
from pathlib import Path

from penstock.redaction import redact

MOST_BYTES = 16 * 2**20
KEPT = 3


class RedactingFormatter(logging.Formatter):
    """Formats lines and tracebacks without secrets, times in UTC."""

    @staticmethod
    def converter(seconds: float | None) -> time.struct_time:
        return time.gmtime(seconds)

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))


def set_up_logging(home: Path) -> None:
    """Write all log records to `server.log`: those of Penstock and Uvicorn from INFO on, others from WARNING on."""
    handler = logging.handlers.RotatingFileHandler(
        home / "server.log", maxBytes=MOST_BYTES, backupCount=KEPT, encoding="utf-8"
    )
    formatter = RedactingFormatter("%(asctime)s.%(msecs)03dZ %(levelname)s %(name)s %(message)s", "%Y-%m-%dT%H:%M:%S")
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(logging.WARNING)
    for name in ("penstock", "uvicorn.error"):
        logging.getLogger(name).setLevel(logging.INFO)
