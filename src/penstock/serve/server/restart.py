"""Restart the server in the same process when Spark's JVM has ended under it.

In: the JVM's process id. Out: a new server with the same process id, arguments and port. Invariant: nothing is closed
first, since every part survives a kill of the server at any moment.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress

import psutil

RESTARTS = "PENSTOCK_REBIRTHS"
LONGEST_REST = 60.0
CALLS_SECONDS = 3.0
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


def restart_server(listener: socket.socket, running_calls: Callable[[], int]) -> None:
    """Replace this process by a new server on the same socket; after many crashes in a row, with a pause before it. The
    socket stays open, so callers wait for the new server instead of being refused; those that this one still serves
    have CALLS_SECONDS to get their answer. Does not return."""
    deaths = count_restarts() if time.monotonic() - _started < QUIET else 0
    time.sleep(min(2.0**deaths - 1, LONGEST_REST))
    wait_for_calls(running_calls, CALLS_SECONDS)
    os.environ[RESTARTS] = str(deaths + 1)
    logging.shutdown()
    listener.set_inheritable(True)
    port, number = listener.getsockname()[1], listener.fileno()
    arguments = [*sys.argv[1:], "--port", str(port), "--listener", str(number)]
    os.execv(sys.executable, [sys.executable, "-m", "penstock.serve.server.main", *arguments])


def wait_for_calls(running_calls: Callable[[], int], seconds: float) -> None:
    """Wait until no call runs, at most so long."""
    end = time.monotonic() + seconds
    while running_calls() and time.monotonic() < end:
        time.sleep(0.02)
