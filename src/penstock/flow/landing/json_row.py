"""Decode one line of NDJSON, with the same limit of nesting wherever rows are read.

In: a line as bytes. Out: a JSON object. Invariant: whether a line is accepted depends on nothing but its bytes: the
server that counts the rows of a POST and Spark's Python workers, whose stacks differ in depth, decide alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TypeAlias

from penstock.model.json_documents.json_syntax import decode_object
from penstock.model.json_documents.numbers import JsonNumber

MAX_DEPTH = 100
"""The most objects and arrays within each other. Python gives up somewhere below 500, depending on the stack of the
caller, and every function that walks a value has a multiple of this left."""


_RECORD = " but a text; of CSV: a record that has too many or too few values, or is not UTF-8"
"""Such a record comes here as the text that it is (`unreadable_row`)."""


class InvalidRow(ValueError):
    """A line that is not a JSON object."""


def _reject_constant(constant: str) -> object:
    raise InvalidRow(f"{constant} is not JSON")


_decode = json.JSONDecoder(parse_float=JsonNumber, parse_constant=_reject_constant).decode
_decode_pairs = json.JSONDecoder(
    parse_float=JsonNumber, parse_constant=_reject_constant, object_pairs_hook=decode_object
).decode
"""For rows of a table with a JSON column: an object in which a key stands twice is marked."""
_decode_long = json.JSONDecoder(
    parse_int=JsonNumber, parse_float=JsonNumber, parse_constant=_reject_constant, object_pairs_hook=decode_object
).decode
"""For lines with an integer of more digits than Python converts (sys.get_int_max_str_digits)."""


Decode: TypeAlias = Callable[[str], object]


def decode_row(line: bytes) -> dict[str, object]:
    """The JSON object on a line; a number with a point or an exponent becomes a `JsonNumber`. Raises InvalidRow."""
    return _object_of(decode_json(line))


def decode_row_with_documents(line: bytes) -> dict[str, object]:
    """As `decode_row`; an object in which a key stands twice is `RepeatedKeys`. Raises InvalidRow."""
    return _object_of(_decode_value(line, _decode_pairs))


def _object_of(value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise InvalidRow(f"not a JSON object{_RECORD if isinstance(value, str) else ''}")
    return value


def decode_json(line: bytes) -> object:
    """The JSON value on a line. Raises InvalidRow if there is none, or one that is nested too deeply."""
    return _decode_value(line, _decode)


def _decode_value(line: bytes, decode: Decode) -> object:
    try:
        value = decode(line.decode())
    except UnicodeDecodeError:
        raise InvalidRow("not UTF-8 text") from None
    except (json.JSONDecodeError, InvalidRow) as error:
        raise InvalidRow(f"not JSON: {error}") from None
    except ValueError:  # an integer of thousands of digits
        value = _decode_long_numbers(line.decode())
    except RecursionError:
        raise _too_deep() from None
    if line.count(b"[") + line.count(b"{") > MAX_DEPTH and _is_too_deep(value):
        raise _too_deep()
    return value


def _decode_long_numbers(text: str) -> object:
    try:
        return _decode_long(text)
    except ValueError as error:
        raise InvalidRow(f"not JSON: {error}") from None
    except RecursionError:
        raise _too_deep() from None


def _is_too_deep(value: object) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _parts(outer) if isinstance(inner, (dict, list))]
        if not level:
            return False
    return True


def _parts(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _too_deep() -> InvalidRow:
    return InvalidRow(f"objects and arrays are nested more than {MAX_DEPTH} deep")
