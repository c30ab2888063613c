"""A command in a terminal of its own: what it shows, and keys that are pressed."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import termios
import time
from pathlib import Path

import psutil

_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class TerminalCommand:
    """`penstock …` with a terminal, from its start to `close`."""

    def __init__(self, folder: Path, *arguments: str):
        self.shown = ""
        self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execve(sys.executable, [sys.executable, "-m", "penstock.cli", *arguments], _environment())
        self.before = termios.tcgetattr(self._terminal)
        self._read_until = 0

    def press(self, keys: str) -> None:
        os.write(self._terminal, keys.encode())

    def signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def wait_for(self, text: str, seconds: float = 30.0) -> str:
        """Wait until a text is shown behind the one that was waited for before; what was shown up to it."""
        end = time.monotonic() + seconds
        while (at := self.shown.find(text, self._read_until)) < 0:
            assert time.monotonic() < end, f"no {text!r} in {self.shown[self._read_until :]!r}"
            assert self._read(0.2), f"ended without {text!r}: {self.shown!r}"
        start, self._read_until = self._read_until, at + len(text)
        return self.shown[start : self._read_until]

    def wait_for_end(self, seconds: float = 30.0) -> int:
        """The exit code."""
        end = time.monotonic() + seconds
        while self._read(0.2):
            assert time.monotonic() < end, f"did not end: {self.shown!r}"
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    @property
    def modes(self) -> list[object]:
        """How the terminal treats keys."""
        return termios.tcgetattr(self._terminal)

    @property
    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.pid).children(recursive=True)

    def close(self) -> None:
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self._terminal)

    def _read(self, seconds: float) -> bool:
        """Take in what is shown; False once the command has ended."""
        if not select.select([self._terminal], [], [], seconds)[0]:
            return True
        try:
            given = os.read(self._terminal, 65_536)
        except OSError:  # what Linux answers when nobody has the terminal any more
            return False
        self.shown += _CONTROL.sub("", given.decode("utf-8", "replace"))
        return bool(given)


def _environment() -> dict[str, str]:
    return {**os.environ, "TERM": "xterm", "COLUMNS": "160", "LINES": "40"}
