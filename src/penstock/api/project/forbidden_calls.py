"""What a project may not do while it is read: start processes, send signals, use the network, print.

In: a function that runs the project. Out: a problem for each line that did so. Invariants: a process or a connection is
not started, whether or not the project catches the error; what is printed reaches nobody, and is a warning.
"""

from __future__ import annotations

import io
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from types import FrameType
from typing import NoReturn, TextIO, TypeVar

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
    "os.kill": "sends a signal",
    "os.killpg": "sends a signal",
    "socket.connect": "uses the network",
    "socket.bind": "uses the network",
    "socket.getaddrinfo": "uses the network",
    "socket.sendto": "uses the network",
    "socket.sendmsg": "uses the network",
}
"""Audit events of Python (library reference: audit events table) that are refused."""
_FUNCTIONS_OF_C = frozenset(("fork", "vfork", "clone", "clone3", "daemon", "system", "popen", "posix_spawn", "execve"))
"""Functions of C that start processes, which Python does not hear of."""
_LONGEST_PRINT = 60
_LONGEST_WARNING = 300


def forbidden_use(event: str, arguments: Sequence[object]) -> str | None:
    """What an audit event of Python does that is forbidden, as `starts a process (os.fork)`; None if it is allowed.
    What Python does not hear of is not found: this is for mistakes, and no sandbox."""
    if event == "ctypes.dlsym":
        return f"starts a process ({arguments[1]})" if arguments[1] in _FUNCTIONS_OF_C else None
    return f"{_EVENTS[event]} ({event})" if event in _EVENTS else None


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
        sys.stdout, sys.stderr = _page(self._printed), _page(self._printed)
        end_python, os._exit = os._exit, self._refuse_end
        self._is_on = True
        try:
            with warnings.catch_warnings():
                warnings.showwarning = self._warned
                return run()
        finally:
            self._is_on = False
            os._exit = end_python
            sys.stdout, sys.stderr = before

    def nothing_declared(self, module: str) -> Problem:
        """The problem of a module that makes no object."""
        path = getattr(sys.modules.get(module), "__file__", None)
        hint = "import the modules that make tables and views in it"
        return Problem("empty-project", f"{module} declares no table and no view", Location(self._shown(path)), hint)

    def _refuse(self, event: str, arguments: tuple[object, ...]) -> None:
        what = forbidden_use(event, arguments) if self._is_on else None
        if what is None:
            return
        message = f"the project {what} while it is read"
        self._add_problem("forbidden-call", message, "a project only declares: call this where it is used", "error")
        raise ForbiddenWhileRead(message)

    def _refuse_end(self, status: int) -> NoReturn:
        """In the place of `os._exit`, of which Python tells nobody."""
        message = "the project ends Python (os._exit) while it is read"
        self._add_problem("forbidden-call", message, "a module that is imported must not end Python", "error")
        raise ForbiddenWhileRead(message)

    def _warned(  # noqa: PLR0913 the signature that Python calls
        self,
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        """Keep a warning of Python, at the line that it is about."""
        shown = self._sources.shown(filename)
        if shown is not None and "site-packages" in filename:
            shown = None
        place = Location(shown, lineno) if shown is not None else self._caller() or Location(filename, lineno)
        text = f"{category.__name__}: {' '.join(str(message).split())}"
        self.problems.append(Problem("python-warning", text[:_LONGEST_WARNING], place, None, "warning"))

    def _printed(self, given: bytes) -> None:
        text = given.decode("utf-8", "replace").strip()[:_LONGEST_PRINT].splitlines()
        hint = "what a project prints while it is read is shown to nobody"
        message = f"the project prints while it is read{f': {text[0]}' if text else ''}"
        self._add_problem("prints-when-read", message, hint, "warning")

    def _add_problem(self, code: str, message: str, hint: str, level: Level) -> None:
        place = self._caller()
        if (code, place) not in {(each.code, each.location) for each in self.problems}:
            self.problems.append(Problem(code, message, place, hint, level))

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


class _Nothing(io.RawIOBase):
    """A file that keeps nothing."""

    def __init__(self, written: Callable[[bytes], None]):
        self._written = written

    def writable(self) -> bool:
        return True

    def write(self, given: bytes | bytearray | memoryview) -> int:  # type: ignore[override]
        content = bytes(given)
        self._written(content)
        return len(content)


def _page(written: Callable[[bytes], None]) -> io.TextIOWrapper:
    """A stream that hands on what is written, and keeps nothing."""
    return io.TextIOWrapper(_Nothing(written), "utf-8", "backslashreplace", write_through=True)  # type: ignore[arg-type]
