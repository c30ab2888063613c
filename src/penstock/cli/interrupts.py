"""Signals that end a command become KeyboardInterrupt, so that it can say what goes on without it.

In: Ctrl-C, the SIGTERM of a CI job that is cancelled, the SIGHUP of a terminal that is closed. Out: KeyboardInterrupt.
Invariants: a signal that the command was started to ignore, as by `nohup`, stays ignored; after the block the signals
do what they did before.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Raise KeyboardInterrupt within the block when a signal would end the process. Only the main thread gets any."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard = [number for number in ENDING if signal.getsignal(number) not in (signal.SIG_IGN, None)]
    before = {number: signal.signal(number, signal.default_int_handler) for number in heard}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
