"""The rows of a query for people: as a table, or one value a line.

In: an answer of the server as JSON, whose inf and nan are texts. Out: text on standard output, in a pager if a terminal
is too small for it. Invariants: every value is shown as what it is: NULL, inf and nan are none of each other, and a
state of an aggregate is named, not printed as bytes; no value begins a line, which would look like another value.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.rule import Rule
from rich.text import Text

from penstock.cli.output import answers_console, build_table, print_plain_table
from penstock.redaction import escape_controls

_STATE = re.compile(r"AggregateFunction\((\w+)")
_NUMBER = re.compile(r"(?:U?Int|Float|Decimal)")
_NON_FINITE = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}


@dataclass(frozen=True, slots=True)
class AnswerView:
    """How an answer is shown."""

    vertical: bool = False
    """One value a line, for rows that are too wide for a table."""
    paged: bool = True
    """With a pager, if the terminal is too small."""


def print_answer(answer: Mapping[str, Any], view: AnswerView | None = None) -> None:
    """Print a query's rows."""
    shown, page = view or AnswerView(), answers_console()
    names = [column["name"] for column in answer["meta"]]
    types = [column.get("type", "") for column in answer["meta"]]
    rows = [[show_value(row[name], of) for name, of in zip(names, types, strict=True)] for row in answer["data"]]
    if not page.is_terminal and not shown.vertical:
        print_plain_table(names, rows)
    else:
        body = _vertical(names, rows) if shown.vertical else build_table(names, rows)
        lines = len(rows) * (len(names) + 1 if shown.vertical else 1)
        with _pager(page, lines) if shown.paged else nullcontext():
            page.print(body)
    page.print(_count_text(answer, len(rows)), style="dim", markup=False)


def show_value(value: object, of: str) -> object:
    """A value of a ClickHouse type for people; a number stays one, so that its column is right-aligned."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        if (state := _STATE.match(of)) is not None:
            return f"<state of {state[1]}, {_size_of(value):,} bytes>"
        return _NON_FINITE.get(value, value) if _NUMBER.match(_bare_type(of)) else _on_one_line(value)
    return value


def _on_one_line(text: str) -> str:
    return text.replace("\n", "\\n").replace("\t", "\\t")


def _bare_type(of: str) -> str:
    """The type without Nullable and LowCardinality."""
    while (inner := re.fullmatch(r"(?:Nullable|LowCardinality)\((.*)\)", of)) is not None:
        of = inner[1]
    return of


def _size_of(state: str) -> int:
    try:
        return len(base64.b64decode(state, validate=True))
    except (binascii.Error, ValueError):
        return len(state)


def _vertical(names: Sequence[str], rows: Sequence[Sequence[object]]) -> RenderableType:
    width = max(map(len, names), default=0)
    return Group(*_vertical_lines(names, rows, width))


def _vertical_lines(names: Sequence[str], rows: Sequence[Sequence[object]], width: int) -> Iterator[RenderableType]:
    for number, row in enumerate(rows, 1):
        yield Rule(f"row {number:,}", align="left", style="dim") if sys.stdout.isatty() else Text(f"row {number:,}")
        for name, value in zip(names, row, strict=True):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False).replace("Infinity", "inf")
            shown = "nan" if text == "NaN" else text
            yield Text(f"{escape_controls(name)}:{' ' * (width - len(name))} {escape_controls(shown)}")


def _pager(page: Console, lines: int) -> AbstractContextManager[Any]:
    """A pager, if the output is a terminal with fewer lines."""
    return page.pager() if page.is_terminal and lines + 4 > page.height else nullcontext()


def _count_text(answer: Mapping[str, Any], rows: int) -> str:
    seconds = answer["statistics"]["elapsed"]
    counted = f"{rows:,} row{'s' if rows != 1 else ''} in {seconds:.2f} s"
    read = answer["statistics"].get("rows_read")
    counted += f", {read:,} rows read" if read else ""
    more = answer.get("rows_before_limit_at_least", rows) > rows
    return f"{counted}; there are more: --limit N shows N of them, --limit 0 all" if more else counted
