"""A server that is for one command only ends with it.

In: standard input, whose other end the command holds open. Out: SIGTERM for this process once that is closed, however
the command ended. Invariant: after a while nothing of the server runs any more, Spark's Java neither.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress

END_SECONDS = 30.0
"""How long the server has to end by itself."""


def end_with_caller() -> None:
    """Begin to watch. What comes in is not looked at."""
    threading.Thread(target=_watch, name="caller watch", daemon=True).start()


def _watch() -> None:
    with suppress(OSError):
        while os.read(0, 4096):
            pass
    if signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:  # otherwise it has only begun to start
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(END_SECONDS)
    if os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGKILL)  # what it started, such as Java, too
    os.kill(os.getpid(), signal.SIGKILL)
