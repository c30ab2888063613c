"""What a project may not do while it is read: start processes, use the network, print.

In: a function that runs the project. Out: a problem for each line that did so. Invariants: a process or a connection is
not started, whether or not the project catches the error; what is printed reaches nobody, and is a warning.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from types import FrameType
from typing import TypeVar

from penstock.api.project.source_files import SourceFiles
from penstock.errors import Level, Location, Problem

Result = TypeVar("Result")
_EVENTS = {
    "os.fork": "starts a process",
    "os.forkpty": "starts a process",
    "os.exec": "starts a process",
    "os.posix_spawn": "starts a process",
    "os.spawn": "starts a process",
    "os.system": "starts a process",
    "subprocess.Popen": "starts a process",
    "pty.spawn": "starts a process",
    "socket.connect": "uses the network",
    "socket.bind": "uses the network",
    "socket.getaddrinfo": "uses the network",
    "socket.sendto": "uses the network",
}
"""Audit events of Python (library reference: audit events table) that are refused."""


class ForbiddenWhileRead(RuntimeError):
    """Raised in the project's code by what it may not do."""


class CallWatch:
    """Watches the code of a project; `problems` has what it found, each line once."""

    def __init__(self, sources: SourceFiles):
        self.problems: list[Problem] = []
        self._sources = sources
        self._is_on = False

    @property
    def errors(self) -> list[Problem]:
        return [each for each in self.problems if each.level == "error"]

    def during(self, run: Callable[[], Result]) -> Result:
        """The function's result. An audit hook cannot be removed; it does nothing afterwards."""
        sys.addaudithook(self._refuse)
        before = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = _Page(self._printed), _Page(self._printed)
        self._is_on = True
        try:
            return run()
        finally:
            self._is_on = False
            sys.stdout, sys.stderr = before

    def nothing_declared(self, module: str) -> Problem:
        """The problem of a module that makes no object."""
        path = getattr(sys.modules.get(module), "__file__", None)
        hint = "import the modules that make tables and views in it"
        return Problem("empty-project", f"{module} declares no table and no view", Location(self._shown(path)), hint)

    def _refuse(self, event: str, arguments: tuple[object, ...]) -> None:
        if not self._is_on or event not in _EVENTS:
            return
        message = f"the project {_EVENTS[event]} ({event}) while it is read"
        self._add_problem("forbidden-call", message, "a project only declares: call this where it is used", "error")
        raise ForbiddenWhileRead(message)

    def _printed(self) -> None:
        hint = "what a project prints while it is read is shown to nobody"
        self._add_problem("prints-when-read", "the project prints while it is read", hint, "warning")

    def _add_problem(self, code: str, message: str, hint: str, level: Level) -> None:
        problem = Problem(code, message, self._caller(), hint, level)
        if problem not in self.problems:
            self.problems.append(problem)

    def _caller(self) -> Location | None:
        """The nearest line on the stack that is the project's."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            shown = self._sources.shown(frame.f_code.co_filename)
            if shown is not None:
                return Location(shown, frame.f_lineno)
            frame = frame.f_back
        return None

    def _shown(self, path: str | None) -> str:
        return (self._sources.shown(path) or path) if path else ""


class _Page(io.TextIOBase):
    """A stream that keeps nothing."""

    def __init__(self, written: Callable[[], None]):
        self._written = written

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._written()
        return len(text)
