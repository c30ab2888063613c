"""Messages of a topic among raw rows: how one is written on a line of NDJSON, and read from it.

In: a message, or a line. Out: a line, or a `Message`. Invariant: a line is a message if it begins with MARK, in
whatever table it lands, so that a segment means the same for every version; the fields of a value stay apart from what
the message says about itself.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass

from penstock.flow.landing.json_row import InvalidRow, decode_json

MARK = b'{"__penstock_message":'
"""How the line of a message begins. No posted row has such a key."""
_HIDDEN = "__binary"
_PROBLEM = "__problem"


@dataclass(frozen=True, slots=True)
class Message:
    """A message as a row."""

    columns: Mapping[str, object]
    """By name, the columns that it fills besides its fields."""
    value: bytes | None
    """Its value as text, which is to be JSON where a version reads fields of it."""
    problem: str | None
    """Why no version may read its value."""

    @property
    def refused(self) -> str | None:
        """Why it has no fields."""
        if self.problem is not None:
            return self.problem
        return None if self.value is not None else "the message has no value"


def write_message(columns: Mapping[str, object], value: bytes | None, problem: str | None = None) -> bytes:
    """The line of a message: `columns` without `__value`, which is `value` if that is text. A value that cannot be read
    is kept with the `problem`."""
    found = dict(columns)
    text = _as_text(value)
    if text is not None:
        found["__value"] = text
    elif value is not None:
        found[_HIDDEN] = base64.b64encode(value).decode("ascii")
        problem = problem or "the value is not UTF-8 text"
    if problem is not None:
        found[_PROBLEM] = problem
    return MARK + json.dumps(found, ensure_ascii=False).encode("utf-8", "backslashreplace") + b"}"


def read_message(line: bytes) -> Message | None:
    """The message of a line; None if the line is none. Raises InvalidRow for a line that only begins as one."""
    if not line.startswith(MARK):
        return None
    whole = decode_json(line)
    found = whole.get("__penstock_message") if isinstance(whole, dict) and len(whole) == 1 else None
    if not isinstance(found, dict):
        raise InvalidRow("not a message of a topic")
    value, problem = found.get("__value"), found.get(_PROBLEM)
    columns = {name: each for name, each in found.items() if name not in (_HIDDEN, _PROBLEM)}
    return Message(
        columns,
        value.encode() if isinstance(value, str) else None,
        problem if isinstance(problem, str) else None,
    )


def _as_text(value: bytes | None) -> str | None:
    try:
        return value.decode() if value is not None else None
    except UnicodeDecodeError:
        return None
