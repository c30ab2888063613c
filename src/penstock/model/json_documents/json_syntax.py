"""JSON texts: decoded as ClickHouse's JSON type reads them, and strings as ClickHouse writes them.

In: a text. Out: decoded values, numbers with a point as `JsonNumber` and objects with a key twice as `RepeatedKeys`; or
a string in quotes. Raises `InvalidDocument`. Invariant: digits and texts are kept as they were written.
"""

from __future__ import annotations

import json
import re

from penstock.model.json_documents.numbers import JsonNumber

DEEPEST = 100
"""The most objects and arrays within each other, as in the rows of a POST."""
_ESCAPES = {"\u2028": "\\u2028", "\u2029": "\\u2029", "/": "\\/"}
_ESCAPED = re.compile("[/\u2028\u2029]")


class InvalidDocument(ValueError):
    """A text or value that is no document of the JSON type; the message says why."""


class RepeatedKeys(dict[str, object]):
    """A decoded object in which a key stood twice; it keeps the last value."""


def decode_object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object of its pairs, for `json.JSONDecoder(object_pairs_hook=…)`."""
    found = dict(pairs)
    return found if len(found) == len(pairs) else RepeatedKeys(found)


def _reject_constant(constant: str) -> object:
    raise InvalidDocument(f"{constant} is not JSON")


_NUMBERS_WITH_POINT = json.JSONDecoder(
    parse_float=JsonNumber, parse_constant=_reject_constant, object_pairs_hook=decode_object
)
_ALL_NUMBERS = json.JSONDecoder(
    parse_float=JsonNumber, parse_int=JsonNumber, parse_constant=_reject_constant, object_pairs_hook=decode_object
)
"""For texts with an integer of more digits than Python converts."""


def decode_text(text: str) -> object:
    """The JSON value of a text. Raises InvalidDocument."""
    try:
        return _decode_with(_NUMBERS_WITH_POINT, text)
    except InvalidDocument:
        raise
    except ValueError:  # an integer of thousands of digits
        return _decode_with(_ALL_NUMBERS, text)


def _decode_with(decoder: json.JSONDecoder, text: str) -> object:
    try:
        return decoder.decode(text)
    except json.JSONDecodeError as error:
        raise InvalidDocument(f"not JSON: {error}") from None
    except RecursionError:
        raise too_deep() from None


def encodable(text: str) -> str:
    """The text itself. Raises InvalidDocument if it has half of a surrogate pair."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidDocument("the text has half of a surrogate pair") from None
    return text


def json_string(text: str) -> str:
    """A text in quotes as ClickHouse writes it in JSON."""
    quoted = json.dumps(text, ensure_ascii=False)
    return _ESCAPED.sub(lambda found: _ESCAPES[found[0]], quoted)


def too_deep() -> InvalidDocument:
    """The error for too many objects and arrays within each other."""
    return InvalidDocument(f"objects and arrays are nested more than {DEEPEST} deep")
