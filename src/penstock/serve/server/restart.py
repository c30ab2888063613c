"""Restart the server in the same process when Spark's JVM has ended under it.

In: the JVM's process id. Out: a new server with the same process id, arguments and port. Invariant: nothing is closed
first, since every part survives a kill of the server at any moment.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import psutil

RESTARTS = "PENSTOCK_REBIRTHS"
LONGEST_REST = 60.0
QUIET = 300.0
"""After a server ran for this many seconds, the count of crashes starts at 0 again."""
_started = time.monotonic()
log = logging.getLogger("penstock.serve")


def call_when_ended(process: int, then: Callable[[], None]) -> None:
    """Call `then` in a new thread when the process has ended."""

    def wait() -> None:
        with suppress(psutil.NoSuchProcess):
            psutil.Process(process).wait()
        then()

    threading.Thread(target=wait, name="watch spark", daemon=True).start()


def count_restarts() -> int:
    """How often this server was restarted in a row because Spark's process had ended."""
    return int(os.environ.get(RESTARTS, "0"))


def restart_server(port: int) -> None:
    """Replace this process by a new server on the same port; after many crashes in a row, with a pause
    before it. Does not return."""
    deaths = count_restarts() if time.monotonic() - _started < QUIET else 0
    time.sleep(min(2.0**deaths - 1, LONGEST_REST))
    os.environ[RESTARTS] = str(deaths + 1)
    logging.shutdown()
    os.execv(sys.executable, [sys.executable, "-m", "penstock.serve.server.main", *sys.argv[1:], "--port", str(port)])
