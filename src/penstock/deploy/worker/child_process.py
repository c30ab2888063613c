"""A process of our own beside the server: a Python module with pipes to it.

In: the command, and the folder of its log (`apart.log`). Out: its two pipes. Invariant: it never outlives the server,
because it ends when its standard input does; if it hangs, it is killed GRACE seconds after it was told to end.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO

GRACE = 10.0
LOG = "apart.log"


def module_command(module: str) -> Sequence[str]:
    """The command that runs a module in the same Python."""
    return (sys.executable, "-m", module)


class ChildProcess:
    """Starts with the object."""

    def __init__(self, command: Sequence[str], home: Path):
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with open(os.open(home / LOG, flags, 0o600), "ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "PENSTOCK_FAULT": ""},
            )

    @property
    def id(self) -> int:
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    @property
    def input(self) -> IO[bytes]:
        """Its standard input. Writing raises OSError or ValueError once it has ended."""
        assert self._process.stdin is not None, "Popen was given a pipe"
        return self._process.stdin

    @property
    def output(self) -> IO[bytes]:
        """Its standard output."""
        assert self._process.stdout is not None, "Popen was given a pipe"
        return self._process.stdout

    def wait(self) -> int:
        """Wait until it has ended; returns the exit code."""
        return self._process.wait()

    def end(self) -> None:
        """Ask it to end by closing its input, and kill it if it does not. Returns at once."""
        with suppress(OSError):  # it has ended already
            self.input.close()
        threading.Thread(target=self._kill_if_alive, name="child end", daemon=True).start()

    def kill(self) -> None:
        """End it at once."""
        self._process.kill()

    def _kill_if_alive(self) -> None:
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
