"""The pool of processes that run functions of endpoints.

In: a call, and a function that answers the queries which it asks. Out: its rows, or an error at the line of its source.
Invariants: a call that is over its time or memory ends with its process, and no other call notices; no process outlives
the server, since it ends when its connection does.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import TypeAlias

from penstock.errors import InvalidRequest, Overloaded, PenstockError, Problem, Timeout, TooLarge, Unavailable
from penstock.parse.sql_syntax.source_text import FUNCTION

Json: TypeAlias = Mapping[str, object]
AnswerQuery: TypeAlias = Callable[[str, Json], Sequence[Mapping[str, object]]]
"""From the text of a query and its variables to its rows."""
MODULE = "penstock.deploy.queries.handlers.handler_process"
_KEPT_VARIABLES = ("PATH", "LANG", "LC_", "TZ", "PYTHON", "LD_LIBRARY_PATH", "TMPDIR")
"""What a function sees of the server's environment, which may have passwords."""
MOST_WAITING_SECONDS = 10.0
"""How long a call waits for a process."""


@dataclass(frozen=True, slots=True)
class HandlerLimits:
    """The limits of the pool, and of each call."""

    processes: int
    seconds: float
    memory: int
    """In bytes, of each process."""
    result: int
    """The most bytes of a message, such as the rows of an answer."""


@dataclass(frozen=True, slots=True)
class HandlerCall:
    """A call of a function of an endpoint."""

    source: str
    name: str
    """The endpoint's."""
    parameters: Json


class HandlerFailed(PenstockError):
    """The function of an endpoint failed; `line` is that of its source, if it is known."""

    status, code = 500, "handler-failed"

    def __init__(self, message: str, line: int | None = None, hint: str | None = None):
        super().__init__(message, [Problem(self.code, message, hint=hint)])
        self.line = line


class _Process:
    """One process and the connection to it."""

    def __init__(self, limits: HandlerLimits):
        ours, theirs = socket.socketpair()
        # A process that stops in the middle of a message must not hold the thread that reads or sends it.
        for option in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
            ours.setsockopt(socket.SOL_SOCKET, option, struct.pack("ll", math.ceil(limits.seconds), 0))
        with theirs, tempfile.TemporaryDirectory(prefix="penstock-handler-") as nowhere:
            self._process = subprocess.Popen(
                [sys.executable, "-m", MODULE, str(theirs.fileno()), str(limits.memory)],
                cwd=nowhere,  # so that no file beside the server hides a module of Python
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env={name: value for name, value in os.environ.items() if name.startswith(_KEPT_VARIABLES)},
                start_new_session=True,
            )
        self.connection = Connection(ours.detach())

    def end(self) -> None:
        """Kill it with all that it started."""
        with suppress(OSError):
            self.connection.close()
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class HandlerPool:
    """Runs calls, each in a process that runs no other at the time. Thread-safe."""

    def __init__(self, limits: HandlerLimits):
        self._limits = limits
        self._free: list[_Process] = []
        self._guard = threading.Lock()
        self._places = threading.BoundedSemaphore(limits.processes)
        self._is_closed = False

    def run(self, call: HandlerCall, answer: AnswerQuery) -> Sequence[object]:
        """The rows of a call. Raises HandlerFailed, InvalidRequest for its parameters, Timeout, TooLarge, and
        Overloaded if no process is free for long."""
        if not self._places.acquire(timeout=MOST_WAITING_SECONDS):
            raise Overloaded("all processes for functions of endpoints are busy", hint="try again in a moment")
        try:
            process = self._take()
            try:
                message = self._converse(process, call, answer)
            except BaseException:
                process.end()
                raise
            self._give_back(process)
        finally:
            self._places.release()
        return _rows_in(message)

    def close(self) -> None:
        """End the processes that are free; those of running calls end with their calls."""
        with self._guard:
            self._is_closed, ended, self._free = True, self._free, []
        for each in ended:
            each.end()

    def _take(self) -> _Process:
        with self._guard:
            if self._is_closed:
                raise Unavailable("the server is stopping")
            if self._free:
                return self._free.pop()
        return _Process(self._limits)

    def _give_back(self, process: _Process) -> None:
        with self._guard:
            if not self._is_closed:
                self._free.append(process)
                return
        process.end()

    def _converse(self, process: _Process, call: HandlerCall, answer: AnswerQuery) -> Json:
        """The last message of a call; its queries are answered."""
        deadline = time.monotonic() + self._limits.seconds
        id = secrets.token_hex(8)
        asked = {"call": id, "source": call.source, "name": FUNCTION, "parameters": call.parameters}
        try:
            process.connection.send(asked)
            while True:
                message = self._receive(process, deadline)
                if message.get("call") != id:
                    continue  # what an earlier call sent behind its answer
                if "query" not in message:
                    return message
                process.connection.send(_answered(message, answer))
        except (EOFError, BrokenPipeError, ConnectionResetError) as error:
            limit = f"more than {self._limits.memory:,} bytes (handler_bytes in [python])"
            hint = f"it may have needed {limit}, or have ended itself, as os._exit does"
            raise HandlerFailed(f"the process of `{call.name}` ended", hint=hint) from error
        except BlockingIOError as error:
            raise HandlerFailed("the function stopped in the middle of a message") from error

    def _receive(self, process: _Process, deadline: float) -> Json:
        left = deadline - time.monotonic()
        if left <= 0 or not process.connection.poll(left):
            hint = "handler_seconds in [python] of penstock.toml allows more"
            raise Timeout(f"the function took longer than {self._limits.seconds:g} s and was ended", hint=hint)
        try:
            written = process.connection.recv_bytes(self._limits.result)
        except (EOFError, BlockingIOError, ConnectionError):
            raise
        except OSError as error:  # what it raises for a longer message, which it has not read
            raise TooLarge(f"the function's answer has more than {self._limits.result:,} bytes") from error
        try:
            message = json.loads(written)
        except (ValueError, RecursionError) as error:
            raise HandlerFailed("the function's answer cannot be read") from error
        if not isinstance(message, dict) or not ({"query", "rows", "failure"} & message.keys()):
            raise HandlerFailed("the function's answer is none")
        return message


def _answered(message: Json, answer: AnswerQuery) -> Json:
    """The rows of a query, or why there are none: the function may go on without them."""
    variables = message.get("variables")
    try:
        return {"rows": answer(str(message["query"]), variables if isinstance(variables, Mapping) else {})}
    except PenstockError as error:
        more = [each.message for each in error.problems if each.message != error.message]
        return {"error": "; ".join([error.message, *more])}


def _rows_in(message: Json) -> Sequence[object]:
    """The rows of an answer. Raises what a failure says."""
    failure = message.get("failure")
    if not isinstance(failure, Mapping):
        rows = message.get("rows")
        return rows if isinstance(rows, list) else []
    text = str(failure["message"])
    if failure["code"] == "invalid-parameter":
        raise InvalidRequest(text, [Problem("invalid-parameter", text)])
    line = failure["line"]
    raise HandlerFailed(text, int(str(line)) if line is not None else None)
