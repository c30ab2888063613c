"""Rows of a call's body as lines, one JSON value a line.

In: an unpacked body and its format. Out: NDJSON. Called by `ingest`. Invariant: the text of a value
is kept as it was sent, but for the line breaks between its tokens: no digit is lost on the way.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping

from penstock.errors import InvalidRequest, Problem, did_you_mean

BLANK = " \t\r\n"
_decoder = json.JSONDecoder()


def as_lines(body: bytes, form: str) -> bytes:
    """The body as NDJSON. Raises InvalidRequest for an unknown format and for what is no JSON."""
    reader = READERS.get(form.lower())
    if reader is None:
        message = f"there is no format `{form}`"
        raise InvalidRequest(message, [Problem("unknown-format", message, hint=did_you_mean(form, READERS))])
    return reader(body)


def _ndjson(body: bytes) -> bytes:
    return body


def _json(body: bytes) -> bytes:
    """One value, several, or arrays of them: each row on a line of its own."""
    try:
        text = body.decode("utf-8-sig")
        rows = list(_rows(text))
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"the body is not UTF-8: byte {error.start} is wrong") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise InvalidRequest(f"the body is not JSON: {error.msg} at {place}") from error
    except RecursionError as error:
        raise InvalidRequest("the body is nested too deeply") from error
    # Inside a JSON string a line break is always escaped, so a bare one only stands between tokens.
    return "\n".join(row.replace("\r", " ").replace("\n", " ") for row in rows).encode()


def _rows(text: str) -> Iterator[str]:
    at = _skip(text, 0)
    while at < len(text):
        if text[at] == "[":
            at = yield from _elements(text, at)
        else:
            _, end = _decoder.raw_decode(text, at)
            yield text[at:end]
            at = end
        at = _skip(text, at)


def _elements(text: str, start: int) -> Generator[str, None, int]:
    """The elements of the array that opens at `start`; returns where it ends."""
    at = _skip(text, start + 1)
    if text[at : at + 1] == "]":
        return at + 1
    while True:
        _, end = _decoder.raw_decode(text, at)
        yield text[at:end]
        at = _skip(text, end)
        if text[at : at + 1] == "]":
            return at + 1
        if text[at : at + 1] != ",":
            raise json.JSONDecodeError("expected `,` or `]`", text, at)
        at = _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    while at < len(text) and text[at] in BLANK:
        at += 1
    return at


READERS: Mapping[str, Callable[[bytes], bytes]] = {"ndjson": _ndjson, "json": _json}
