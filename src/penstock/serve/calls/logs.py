"""The server's log over HTTP.

In: how many lines, or the position up to which the caller has read. Out: whole lines, and the next position.
Invariants: lines are as the log has them: without secrets and control characters; whoever goes on at a position misses
no line, except where the log was rotated twice meanwhile.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from starlette.requests import Request
from starlette.responses import Response

from penstock.errors import NotFound
from penstock.parse.sql_syntax.integer_parsing import parse_whole_number
from penstock.serve.http.json_response import json_response
from penstock.serve.http.pipeline_host import PipelineHost
from penstock.serve.http.request_parameters import invalid_request_parameter

MOST_LINES = 10_000
MOST_BYTES = 2**20
"""So much of the log is read in one call."""
LEVELS = ("INFO", "WARNING", "ERROR")
_HEAD = re.compile(rb'(?:\S+Z |\{"timestamp": "[^"]*", "level": ")(DEBUG|INFO|WARNING|ERROR|CRITICAL)[ "]')
"""The beginning of a record; the lines of its traceback follow without it."""


@dataclass(frozen=True, slots=True)
class LogPosition:
    """A place in a log that may be rotated: the file, as its device numbers it, and how much of it was read."""

    file: int
    offset: int

    def __str__(self) -> str:
        return f"{self.file}-{self.offset}"


def list_lines(host: PipelineHost, request: Request) -> Response:
    """`GET /v0/logs?lines=100&level=WARNING`: the latest lines; `GET /v0/logs?after=POSITION`: those after these."""
    if host.log_file is None or not host.log_file.exists():
        raise NotFound("this server writes no log file", hint="its log is where its output goes")
    parameters = request.query_params
    limit = parse_whole_number(parameters.get("lines", "100"))
    if limit is None or not 0 < limit <= MOST_LINES:
        raise invalid_request_parameter("lines", f"a whole number from 1 to {MOST_LINES:,}")
    level = parameters.get("level", LEVELS[0]).upper()
    if level not in LEVELS:
        raise invalid_request_parameter("level", f"one of {', '.join(LEVELS)}")
    after = parameters.get("after")
    if after is None:
        lines, position = _read_latest(host.log_file)
        lines = list(_select(lines, level))[-limit:]
    else:
        lines, position = _read_after(host.log_file, _parse_position(after))
        lines = list(_select(lines, level))
    texts = [line.decode("utf-8", "replace") for line in lines]
    return json_response({"lines": texts, "position": str(position)})


def _read_latest(path: Path) -> tuple[list[bytes], LogPosition]:
    """The last whole lines, from the rotated file too where the log is short."""
    lines, position = _read_part(path, None)
    if position.offset < MOST_BYTES:
        older = path.with_name(f"{path.name}.1")
        lines = [*(_read_part(older, None)[0] if older.exists() else []), *lines]
    return lines, position


def _read_after(path: Path, after: LogPosition) -> tuple[list[bytes], LogPosition]:
    if _number(path) == after.file:
        return _read_part(path, after.offset)
    rotated = path.with_name(f"{path.name}.1")
    if rotated.exists() and _number(rotated) == after.file:
        rest, there = _read_part(rotated, after.offset)
        if rest:
            return rest, there
    return _read_part(path, 0)


def _read_part(path: Path, offset: int | None) -> tuple[list[bytes], LogPosition]:
    """The whole lines from an offset on, and where they end; those at the end of the file if no offset is given."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        start = max(0, size - MOST_BYTES) if offset is None else min(offset, size)
        file.seek(start)
        text = file.read(MOST_BYTES)
        number = os.fstat(file.fileno()).st_ino
    end = text.rfind(b"\n") + 1
    begin = text.find(b"\n") + 1 if offset is None and start else 0
    if not end and len(text) == MOST_BYTES:
        end = len(text)  # a line that is longer than what is read at once
    return text[begin:end].splitlines(), LogPosition(number, start + end)


def _select(lines: Sequence[bytes], level: str) -> Iterator[bytes]:
    """The lines of records of at least this level, each with its traceback."""
    wanted = (*LEVELS[LEVELS.index(level) :], "CRITICAL", *(("DEBUG",) if level == LEVELS[0] else ()))
    shown = True
    for line in lines:
        head = _HEAD.match(line)
        shown = head[1].decode() in wanted if head is not None else shown
        if shown:
            yield line


def _parse_position(text: str) -> LogPosition:
    parts = [parse_whole_number(part) for part in text.split("-")]
    if len(parts) != 2 or parts[0] is None or parts[1] is None:
        raise invalid_request_parameter("after", "the `position` of an earlier answer")
    return LogPosition(parts[0], parts[1])


def _number(path: Path) -> int:
    return path.stat().st_ino
