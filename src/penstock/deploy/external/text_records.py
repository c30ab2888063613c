"""Records of text files: CSV, TSV and JSON, cut out of a stream as ClickHouse cuts them.

In: the text of a file in parts of any size. Out: the values of each record as texts, or the text of each JSON object.
Invariants: no more than two records and one part are in memory; a file that ends within a record or value is an error.
Source: ClickHouse's documentation of the formats CSV, TabSeparated and JSONEachRow (tests compare with it).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeAlias

Record: TypeAlias = "list[str | None]"
"""The values of a record. None: NULL, or nothing between two commas; an empty text stood in quotes, or in TSV."""
NULL = "\\N"
LONGEST_RECORD = 8 * 2**20
"""The most characters of a record, as many as a posted row has bytes."""


class BrokenFile(ValueError):
    """A text that is not of its format."""


class _Incomplete(Exception):
    """A record goes on after the end of what was read."""


Cut: TypeAlias = "Callable[[str, int, bool], tuple[Record, int]]"
"""The record at an offset of a text and the offset after it; the flag says that the text is all that is left. Raises
_Incomplete, BrokenFile."""


def csv_records(parts: Iterator[str]) -> Iterator[Record]:
    """The records of a CSV file. Raises BrokenFile."""
    return _records(parts, _csv_record)


def tsv_records(parts: Iterator[str]) -> Iterator[Record]:
    """The records of a file with values between tabs. Raises BrokenFile."""
    return _records(parts, _tsv_record)


def _records(parts: Iterator[str], cut: Cut) -> Iterator[Record]:
    text, at, ended = "", 0, False
    while True:
        try:
            if at == len(text):
                raise _Incomplete
            record, at = cut(text, at, ended)
            yield record
        except _Incomplete:
            if ended:
                return
            text, at, ended = _read_on(text, at, parts)


def _read_on(text: str, at: int, parts: Iterator[str]) -> tuple[str, int, bool]:
    """The text from an offset on with at least as much again, its offset, and whether that is all. So of a long record
    not more is read twice than the record has."""
    found = [text[at:]]
    size = least = len(found[0])
    if size > LONGEST_RECORD:
        raise BrokenFile(f"a record has more than {LONGEST_RECORD} characters; is a quote missing?")
    while size <= 2 * least:
        more = next(parts, None)
        if more is None:
            return "".join(found), 0, True
        found.append(more)
        size += len(more)
    return "".join(found), 0, False


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    """The offset after what a pattern, which may match nothing, matches at an offset."""
    found = pattern.match(text, at)
    return found.end() if found is not None else at


_QUOTED = re.compile(r'[ \t]*"([^"]*(?:""[^"]*)*)("?)[ \t]*(,|\r?\n|)')
_UNQUOTED = re.compile(r"[^,\n]*")


def _csv_record(text: str, at: int, ended: bool) -> tuple[Record, int]:  # noqa: FBT001 - of Cut
    record: Record = []
    while True:
        quoted = _QUOTED.match(text, at)
        if quoted is not None:
            record.append(quoted[1].replace('""', '"'))
            end, separator = quoted.end(), quoted[3]
            _check_quoted(quoted, text, ended)
        else:
            value, end, separator = _unquoted_value(text, at, ended)
            record.append(value)
        if separator != ",":
            return record, end
        at = end


def _check_quoted(quoted: re.Match[str], text: str, ended: bool) -> None:  # noqa: FBT001 - of Cut
    """Raises _Incomplete or BrokenFile for a value in quotes that nothing separates from what follows."""
    rest = text[quoted.end() : quoted.end() + 2]
    if quoted[2] and (quoted[3] or (ended and not rest)):
        return
    if not ended and rest in ("", "\r"):
        raise _Incomplete
    raise BrokenFile("text stands behind a value in quotes" if quoted[2] else "a quote is not closed")


def _unquoted_value(text: str, at: int, ended: bool) -> tuple[str | None, int, str]:  # noqa: FBT001 - of Cut
    end = _end_of(_UNQUOTED, text, at)
    if end == len(text) and not ended:
        raise _Incomplete
    value, separator = text[at:end], text[end : end + 1]
    if separator != ",":
        value = value.removesuffix("\r")
    value = value.lstrip(" \t")
    return (value.rstrip(" \t") or None) if value != NULL else None, end + len(separator), separator


_TSV_VALUE = re.compile(r"((?:[^\t\n\\]+|\\.)*)", re.DOTALL)
_ESCAPE = re.compile(r"\\(x[0-9A-Fa-f]{2}|.)", re.DOTALL)
_ESCAPED = {"a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_ESCAPED |= {each: each for each in "\\\"'`/=\n\t\r"}


def _tsv_record(text: str, at: int, ended: bool) -> tuple[Record, int]:  # noqa: FBT001 - of Cut
    record: Record = []
    while True:
        end = _end_of(_TSV_VALUE, text, at)
        separator = text[end : end + 1]
        if not ended and separator in ("", "\\"):
            raise _Incomplete
        if separator == "\\":
            raise BrokenFile("the file ends with a backslash")
        value = text[at:end]
        if separator != "\t" and value.endswith("\r"):
            raise BrokenFile("the line ends with CR LF, which this format does not have; is the file CSV?")
        record.append(None if value == NULL else _ESCAPE.sub(_unescape, value) if "\\" in value else value)
        at = end + len(separator)
        if separator != "\t":
            return record, at


def _unescape(found: re.Match[str]) -> str:
    escaped = found[1]
    if len(escaped) > 1:
        if int(escaped[1:], 16) > 127:
            raise BrokenFile(f"`{found[0]}` is a byte that is no text")
        return chr(int(escaped[1:], 16))
    if escaped in ("N", "x"):
        raise BrokenFile(f"`{found[0]}` stands inside of a value")
    return _ESCAPED.get(escaped, found[0])


_BETWEEN = re.compile(r"[ \t\r\n,]*")
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*("?)|[{}]', re.DOTALL)


def json_objects(parts: Iterator[str]) -> Iterator[str]:
    """The texts of the objects of a file: one after the other, or in one array. Raises BrokenFile."""
    text, at, ended, brackets = "", 0, False, ""
    while True:
        at = _end_of(_BETWEEN, text, at)
        try:
            if at == len(text):
                raise _Incomplete
            if text[at] == {"": "[", "[": "]"}.get(brackets):
                at, brackets = at + 1, brackets + text[at]
                continue
            if text[at] != "{" or brackets == "[]":
                raise BrokenFile(f"an object is expected, and not {text[at : at + 20]!r}")
            end = _object_end(text, at)
            brackets = brackets or "no"
            yield text[at:end]
            at = end
        except _Incomplete:
            if ended:
                break
            text, at, ended = _read_on(text, at, parts)
    if at < len(text) or brackets == "[":
        raise BrokenFile(f"the file ends within an {'object' if at < len(text) else 'array'}")


def _object_end(text: str, at: int) -> int:
    """The offset after the object that begins at an offset. Raises _Incomplete."""
    depth = 0
    for token in _TOKEN.finditer(text, at):
        if token[0] == "{":
            depth += 1
        elif token[0] == "}":
            depth -= 1
            if depth == 0:
                return token.end()
        elif not token[1]:
            raise _Incomplete
    raise _Incomplete
