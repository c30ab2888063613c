"""Notices that a project asks the clock or chance while it is read: then each reading gives another project.

In: the code of a project as it runs. Out: the lines that ask, with what they ask. Invariants: nothing runs twice, and
nothing of the project is called: a line that runs is looked up in the text of its file, and the names that it calls in
the frame; code of packages is not looked at, nor are functions that only run on the server.
"""

from __future__ import annotations

import ast
import datetime
import os
import random
import sys
import time
import types
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TypeVar

from penstock.api.project.source_files import SourceFiles
from penstock.errors import Location
from penstock.model.quick_dataclass import dataclass

Result = TypeVar("Result")
_CLOCKS = frozenset(
    (
        *(time.time, time.time_ns, time.monotonic, time.monotonic_ns, time.perf_counter, time.perf_counter_ns),
        *(time.process_time, time.process_time_ns, uuid.uuid1),
    )
)
_CHANCE = frozenset((uuid.uuid4, os.urandom))
_SHARED_RANDOM = getattr(random.random, "__self__", None)
_CLOCK_METHODS = frozenset(("now", "utcnow", "today"))
_OF_NOW: Mapping[object, int] = {time.strftime: 1, time.ctime: 0, time.localtime: 0, time.gmtime: 0, time.asctime: 0}
"""Functions that ask the clock if they have no more arguments than these."""
_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")


@dataclass(frozen=True, slots=True)
class WatchedCall:
    """A call in the text of a file."""

    names: tuple[str, ...]
    """`datetime.now` as its parts."""
    arguments: int
    line: int
    column: int


class ChanceWatch:
    """Watches the lines that run; `found` has what they ask, by place."""

    def __init__(self, sources: SourceFiles):
        self.found: dict[Location, str] = {}
        self._sources = sources
        self._calls: dict[str, Mapping[int, Sequence[WatchedCall]]] = {}
        self._is_seeded = False

    def during(self, run: Callable[[], Result]) -> Result:
        """The function's result."""
        before = sys.gettrace()
        sys.settrace(self._enter)  # type: ignore[arg-type]
        try:
            return run()
        finally:
            sys.settrace(before)

    def _enter(self, frame: types.FrameType, event: str, argument: object) -> Callable[..., object] | None:
        """Look at the lines of a frame if its file has calls that may ask."""
        path = frame.f_code.co_filename
        if path not in self._calls:
            is_own = self._sources.shown(path) is not None and "site-packages" not in path
            self._calls[path] = _calls_by_line(self._sources.file(path).tree) if is_own else {}
        if not self._calls[path]:
            return None
        return self._look

    def _look(self, frame: types.FrameType, event: str, argument: object) -> Callable[..., object]:
        if event == "line":
            path = frame.f_code.co_filename
            for call in self._calls[path].get(frame.f_lineno, ()):
                asked = self._asks(_called(call.names, frame), call)
                if asked:
                    shown = self._sources.file(path).shown
                    self.found.setdefault(Location(shown, call.line, call.column), f"{asked} ({'.'.join(call.names)})")
        return self._look

    def _asks(self, called: object, call: WatchedCall) -> str:
        """What a function asks; empty for one that asks neither."""
        if not isinstance(called, (types.FunctionType, types.MethodType, types.BuiltinFunctionType)):
            return ""
        owner = getattr(called, "__self__", None)
        if called == random.seed:
            self._is_seeded = call.arguments > 0
        elif owner is _SHARED_RANDOM:
            return "" if self._is_seeded else "chance"
        elif isinstance(owner, random.SystemRandom) or getattr(called, "__module__", "") == "secrets":
            return "chance"
        elif isinstance(owner, type) and issubclass(owner, datetime.date):
            return "the clock" if getattr(called, "__name__", "") in _CLOCK_METHODS else ""
        return _asks_of_module(called, call)


def _asks_of_module(called: object, call: WatchedCall) -> str:
    if called in _CHANCE:
        return "chance"
    return "the clock" if called in _CLOCKS or call.arguments <= _OF_NOW.get(called, -1) else ""


def _called(names: Sequence[str], frame: types.FrameType) -> object:
    """What is called; None for what is not in a module or a class, so that no code of the project runs."""
    scopes = (frame.f_locals, frame.f_globals)
    value: object = next((scope[names[0]] for scope in scopes if names[0] in scope), None)
    for name in names[1:]:
        if not isinstance(value, (types.ModuleType, type, random.Random)):
            return None
        with suppress(Exception):
            value = getattr(value, name)
            continue
        return None
    return value


def _calls_by_line(tree: ast.Module) -> Mapping[int, Sequence[WatchedCall]]:
    """The calls of names, by each line of the statement that has them: it runs as one."""
    found: dict[int, list[WatchedCall]] = defaultdict(list)
    for statement in ast.walk(tree):
        if not isinstance(statement, ast.stmt):
            continue
        for call in _own_calls(statement):
            for line in range(statement.lineno, _last_line(statement) + 1):
                found[line].append(call)
    return found


def _own_calls(statement: ast.stmt) -> list[WatchedCall]:
    """The calls of a statement without those of the statements in it, and of functions in it."""
    found: list[WatchedCall] = []
    waiting = [value for name, value in ast.iter_fields(statement) if name not in _BODIES]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting += node
        elif isinstance(node, ast.AST) and not isinstance(node, (ast.stmt, ast.Lambda)):
            waiting += [value for _, value in ast.iter_fields(node)]
            names = _dotted(node.func) if isinstance(node, ast.Call) else ()
            if isinstance(node, ast.Call) and names:
                # Within an f-string, Python before 3.12 does not know the line.
                line = node.lineno if statement.lineno <= node.lineno <= _last_line(statement) else statement.lineno
                found.append(WatchedCall(names, len(node.args) + len(node.keywords), line, node.col_offset + 1))
    return found


def _last_line(statement: ast.stmt) -> int:
    """The last line of a statement before those in it."""
    body = getattr(statement, "body", None)
    first = body[0].lineno - 1 if isinstance(body, list) and body else statement.end_lineno
    return max(first or statement.lineno, statement.lineno)


def _dotted(node: ast.expr) -> tuple[str, ...]:
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return (node.id, *reversed(names)) if isinstance(node, ast.Name) else ()
