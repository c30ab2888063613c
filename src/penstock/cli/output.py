"""What commands print: tables for people, by Rich, and all that `plain_output` has.

In: values. Out: text on standard output. Invariant: with `--output json` there is exactly one document and nothing
else; control characters of data, names and errors never reach the terminal, which would obey them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Sequence
from typing import Any, Literal

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from penstock.cli.plain_output import format_bytes, format_count, format_number, print_json
from penstock.redaction import escape_controls

__all__ = [
    "answers_console",
    "build_table",
    "console",
    "errors_console",
    "format_bytes",
    "format_count",
    "format_number",
    "print_json",
    "print_plain_table",
    "print_table",
]

COUNTS = ("rows", "bytes", "rows moved")
WIDTH_OF_PAGES = 120
WIDTH_OF_ANSWERS = 100_000
COLUMN_GAP = "   "
"""What stands between two columns."""


class _EscapingConsole(Console):
    """Rich's console; every string that is printed is shown with its control characters as escapes."""

    def render_str(self, text: str, **how: Any) -> Text:
        return super().render_str(escape_controls(text), **how)


def console() -> Console:
    """A console as wide as the terminal, or 120 columns where there is none."""
    return _EscapingConsole(width=_console_width(WIDTH_OF_PAGES), highlight=False, soft_wrap=False)


def errors_console() -> Console:
    return _EscapingConsole(stderr=True, highlight=False, soft_wrap=True)


def print_table(titles: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table; columns of counts are right-aligned."""
    console().print(_build_table(titles, rows, COUNTS))


def answers_console() -> Console:
    """A console as wide as the terminal; where there is none, no value is cut or wrapped."""
    return _EscapingConsole(width=_console_width(WIDTH_OF_ANSWERS), highlight=False)


def build_table(titles: Sequence[str], rows: Sequence[Sequence[object]]) -> Table:
    """A table of values; columns of numbers are right-aligned."""
    return _build_table(titles, rows, ())


def _console_width(page: int) -> int | None:
    """The width of a console; None lets Rich use the terminal's or the variable COLUMNS."""
    return None if sys.stdout.isatty() or "COLUMNS" in os.environ else page


def print_plain_table(titles: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print the same table as text without a terminal. Rich would take a minute for what an answer may have of rows."""
    heads = [escape_controls(title) for title in titles]
    cells = [[escape_controls(_format_cell(value)) for value in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(heads, *cells, strict=True)]
    right = [_is_numeric(rows, position) for position in range(len(titles))]
    sys.stdout.write(_plain_line(heads, widths, right))
    sys.stdout.write("─" * (sum(widths) + len(COLUMN_GAP) * (len(widths) - 1)) + "\n")
    sys.stdout.writelines(_plain_line(row, widths, right) for row in cells)


def _plain_line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    parts = []
    for cell, width, is_right in zip(cells, widths, right, strict=True):
        gap = " " * (width - cell_len(cell))
        parts.append(gap + cell if is_right else cell + gap)
    return COLUMN_GAP.join(parts) + "\n"


def _is_numeric(rows: Sequence[Sequence[object]], position: int) -> bool:
    values = (row[position] for row in rows)
    return bool(rows) and all(isinstance(value, (int, float)) or value is None for value in values)


def _build_table(titles: Sequence[str], rows: Sequence[Sequence[object]], counts: Collection[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
    for position, title in enumerate(titles):
        is_right = title in counts or _is_numeric(rows, position)
        side: Literal["left", "right"] = "right" if is_right else "left"
        table.add_column(Text(escape_controls(title)), justify=side, overflow="fold")
    for row in rows:
        table.add_row(*(Text(escape_controls(_format_cell(value))) for value in row))
    return table


def _format_cell(value: object) -> str:
    match value:
        case None:
            return "—"
        case str():
            return value
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case _:
            return json.dumps(value, ensure_ascii=False)
