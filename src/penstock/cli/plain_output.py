"""What commands print without a table: lines, some of them with a style, and JSON for programs.

In: values. Out: text on standard output or standard error. Invariant: control characters of data, names and errors
never reach the terminal, which would obey them. Rich is not loaded here: it takes a tenth of the time of a check.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Literal, TypeAlias, cast

import typer

from penstock.redaction import CONTROL, escape_controls

Style = Literal["", "bold", "dim", "yellow", "yellow bold", "red bold"]
_PrintTable: TypeAlias = Callable[[Sequence[str], Sequence[Sequence[object]]], None]


def print_json(document: object) -> None:
    """Print a document. JSON escapes the control characters below 32 itself, and lets the others through."""
    text = json.dumps(document, ensure_ascii=False, indent=2)
    sys.stdout.write(CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def print_line(text: str) -> None:
    """Print a line on standard output."""
    sys.stdout.write(escape_controls(text) + "\n")


def print_error_line(*parts: tuple[str, Style]) -> None:
    """Print a line on standard error, of texts with styles; a terminal that has no colours gets none."""
    typer.echo(
        "".join(_styled(escape_controls(text), style) for text, style in parts), err=True, color=_wants_colours()
    )


def _styled(text: str, style: Style) -> str:
    if not text or not style:
        return text
    colour = style.partition(" ")[0] if style.startswith(("red", "yellow")) else None
    return typer.style(text, fg=colour, bold=True if "bold" in style else None, dim=True if style == "dim" else None)


def _wants_colours() -> bool | None:
    """What the environment says; None where only a terminal gets colours."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") in ("dumb", "unknown"):
        return False
    return True if os.environ.get("FORCE_COLOR") else None


def print_rare_table(titles: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print a table of a command that seldom has one: Rich is loaded only now."""
    cast(_PrintTable, import_module("penstock.cli.output").print_table)(titles, rows)


def format_bytes(count: object) -> str:
    """A number of bytes with its unit; `?` if it is unknown."""
    if not isinstance(count, (int, float)):
        return "?"
    amount = float(count)
    for unit in ("B", "KB", "MB", "GB", "TB"):
        if abs(amount) < 1000 or unit == "TB":
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return ""


def format_count(count: object) -> str:
    """A count with thousands separators; `?` if it is unknown."""
    return f"{count:,}" if isinstance(count, int) else "?"


def format_number(count: int, thing: str, things: str) -> str:
    """A count with its noun: `1 row`, `1,000 rows`."""
    return f"{count:,} {thing if count == 1 else things}"
