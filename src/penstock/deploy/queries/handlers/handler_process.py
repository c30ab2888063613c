"""The process in which functions of endpoints run: each call in a copy of it, which ends with the call.

In: over the connection of file descriptor FD, a call: `{"call", "source", "name", "parameters"}`. Out: messages in
JSON, each with the id of its call: any number of queries, each answered by the server with its rows, then the rows of
the answer or what went wrong with the line of the source. Invariants: this process runs nothing of a call itself, so
nothing of one reaches another; a function starts no process and uses no network.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime, timezone
from decimal import Decimal
from enum import Enum
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any
from uuid import UUID

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import to_json

from penstock.api.project.forbidden_calls import forbidden_use

Handler = Callable[..., object]
_SOURCE = "<handler>"


class QueryRefused(RuntimeError):
    """A query of a handler that the server refused; the function may catch it."""


class HandlerQuery:
    """What `client.query` is."""

    def __init__(self, connection: Connection, call: str):
        self._connection, self._call = connection, call
        self._guard = threading.Lock()

    def end(self) -> None:
        """Wait for a query of another thread, and let none begin any more."""
        self._guard.acquire()

    def execute(
        self, query: str, variables: Mapping[str, object] | None = None, row_type: type[BaseModel] | None = None
    ) -> list[Any]:
        """The rows of a SELECT, as dicts or as models. `{name}` in it is a variable, which is bound as a value; a table
        is bound as its name. Raises QueryRefused, and TypeError for a variable that SQL cannot be given."""
        bound = {name: written_value(value, name) for name, value in (variables or {}).items()}
        with self._guard:
            message = {"call": self._call, "query": str(query), "variables": bound}
            self._connection.send_bytes(json.dumps(message).encode())
            answer = self._connection.recv()
        if "error" in answer:
            raise QueryRefused(answer["error"])
        rows: list[dict[str, object]] = answer["rows"]
        return rows if row_type is None else TypeAdapter(list[row_type]).validate_python(rows)  # type: ignore[valid-type]

    __call__ = execute


class HandlerClient:
    """What the first parameter of a handler is: it asks the deployment of the endpoint."""

    def __init__(self, connection: Connection, call: str):
        self.query = HandlerQuery(connection, call)


class TableName(str):
    """The name of a table in a handler's source."""

    @property
    def ref(self) -> str:
        """The name, as of the object in the project."""
        return str(self)


def written_value(value: object, name: str) -> list[object]:
    """A variable as its kind and text. Raises TypeError."""
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, (list, tuple)):
        return ["list", [written_value(each, name) for each in value]]
    for kind, (types, written) in _KINDS.items():
        if isinstance(value, types):
            return [kind, written(value)]
    if isinstance(value, datetime):
        return _written_time(value)
    if isinstance(value, date):
        return ["date", value.isoformat()]
    raise TypeError(f"the variable {name!r} is a {type(value).__name__}, which SQL cannot be given")


_KINDS: Mapping[str, tuple[tuple[type, ...], Callable[[Any], str]]] = {
    "name": ((TableName,), str),
    "null": ((type(None),), lambda _: ""),
    "bool": ((bool,), lambda value: "true" if value else "false"),
    "int": ((int,), lambda value: str(int(value))),
    "float": ((float,), lambda value: repr(float(value))),
    "decimal": ((Decimal,), lambda value: format(value, "f")),
    "text": ((str, UUID), str),
}
"""By kind, the types that it is of and how a value is written; the first that fits counts: a bool is an int, too."""


def _written_time(value: datetime) -> list[object]:
    if value.tzinfo is None:
        return ["time", value.isoformat(" ", "microseconds")]
    return ["moment", value.astimezone(timezone.utc).replace(tzinfo=None).isoformat(" ", "microseconds")]


def _load_handler(source: str, name: str) -> tuple[Handler, type[BaseModel] | None]:
    """The function of a source, and the model of its parameters."""
    module = ModuleType(_SOURCE)
    module.__dict__["TableName"] = TableName
    sys.modules[_SOURCE] = module  # where Pydantic looks for what annotations name
    exec(compile(source, _SOURCE, "exec", dont_inherit=True), module.__dict__)
    found, model = module.__dict__[name], module.__dict__.get("PARAMETERS")
    if not callable(found):
        raise TypeError(f"{name} is no function")
    return found, model if isinstance(model, type) and issubclass(model, BaseModel) else None


def run_call(call: Mapping[str, object], connection: Connection) -> bytes:
    """The message of what came of a call."""
    id = str(call["call"])
    client = HandlerClient(connection, id)
    try:
        handler, model = _load_handler(str(call["source"]), str(call["name"]))
        # The values have the types of SQL, and come as JSON: a strict model takes no date that is a text.
        given = [model.model_validate(call["parameters"], strict=False)] if model is not None else []
    except ValidationError as error:
        return _failure(id, "invalid-parameter", _first_fault(error), None)
    except BaseException as error:
        return _failure(id, "handler-failed", _text(error), _line(error))
    try:
        rows = [_with_zones(each) for each in _listed(handler(client, *given))]
        return to_json({"call": id, "rows": rows}, inf_nan_mode="strings", by_alias=False)
    except BaseException as error:  # SystemExit and KeyboardInterrupt of a function are its errors, too
        return _failure(id, "handler-failed", _text(error), _line(error))
    finally:
        client.query.end()


def _listed(rows: object) -> Sequence[object]:
    """The rows of what a handler returned: one row, or several."""
    if isinstance(rows, (Mapping, BaseModel)):
        return [rows]
    if isinstance(rows, (str, bytes)) or not hasattr(rows, "__iter__"):
        raise TypeError(f"the function returned {type(rows).__name__}: expected rows, as dicts or models")
    return list(rows)


def _with_zones(value: object) -> object:
    """A value of an answer; its times without a zone are in UTC, as those of queries are."""
    match value:
        case datetime() if value.tzinfo is None:
            return value.replace(tzinfo=timezone.utc)
        case BaseModel():
            return {name: _with_zones(getattr(value, name)) for name in type(value).model_fields}
        case Mapping():
            return {key: _with_zones(each) for key, each in value.items()}
        case list() | tuple():
            return [_with_zones(each) for each in value]
    return value


def _first_fault(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    return f"parameter `{'.'.join(map(str, first['loc']))}`: {first['msg']}"


def _failure(call: str, code: str, message: str, line: int | None) -> bytes:
    return json.dumps({"call": call, "failure": {"code": code, "message": message, "line": line}}).encode()


def _text(error: BaseException) -> str:
    try:
        return f"{type(error).__name__}: {error}"[:1000]
    except Exception:
        return type(error).__name__


def _line(error: BaseException) -> int | None:
    """The innermost line of the source."""
    lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == _SOURCE]
    if not lines and isinstance(error, SyntaxError):
        return error.lineno
    return lines[-1] if lines else None


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    what = forbidden_use(event, arguments)
    if what is not None:
        raise PermissionError(f"the function of an endpoint {what}, which it may not")


def main(arguments: Sequence[str]) -> None:
    """Answer calls until the connection is closed, or a call ends its process without an answer."""
    descriptor, size = map(int, arguments)
    connection = Connection(descriptor)
    while True:
        try:
            call = connection.recv()
        except EOFError:
            os._exit(0)
        if "source" not in call:
            continue  # an answer that its call did not read
        if not _is_answered(call, connection, size):
            os._exit(1)


def _is_answered(call: Mapping[str, object], connection: Connection, size: int) -> bool:
    """Whether a process of its own answered a call. A function may end it with any status, also with 0: it is the byte
    in the pipe that says that the answer was sent."""
    heard, said = os.pipe()
    child = os.fork()
    if child == 0:
        _limit(size)
        connection.send_bytes(run_call(call, connection))
        os.write(said, b"1")
        os._exit(0)
    os.close(said)
    os.waitpid(child, 0)
    with os.fdopen(heard, "rb") as pipe:
        return bool(pipe.read(1))


def _limit(size: int) -> None:
    """What a call may take: so many bytes of memory, no process and no network."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if sys.platform == "linux":
        most = size if hard == resource.RLIM_INFINITY else min(size, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    sys.addaudithook(_refuse)


if __name__ == "__main__":
    main(sys.argv[1:])
