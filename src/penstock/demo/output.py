"""What the demo prints: headings, tables and progress.

In: values of the other modules. Out: text on a console. Invariant: progress is shown as bars on a terminal and as a
line every few seconds elsewhere, so that a log file shows it too.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from penstock.demo.checks import ResultCheck
from penstock.demo.client import Answer, Json

LINE_EVERY = 5.0


class Meters:
    """Named progress meters. `meter` may be called from any thread."""

    def __init__(self, console: Console):
        self._console = console
        self._values: dict[str, tuple[int, int]] = {}
        self._tasks: dict[str, TaskID] = {}
        self._halt = threading.Event()
        self._bars = Progress(
            TextColumn("{task.description:<28}"),
            BarColumn(bar_width=36),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._lines = threading.Thread(target=self._print_lines, name="progress", daemon=True)

    def __enter__(self) -> Meters:
        if self._console.is_terminal:
            self._bars.start()
        else:
            self._lines.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._halt.set()
        if self._console.is_terminal:
            self._bars.stop()
        else:
            self._lines.join()

    def meter(self, name: str, done: int, of: int) -> None:
        self._values[name] = (done, of)
        if not self._console.is_terminal:
            return
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(name, total=of)
        self._bars.update(self._tasks[name], completed=done, total=of)

    def _print_lines(self) -> None:
        shown: dict[str, tuple[int, int]] = {}
        while not self._halt.wait(LINE_EVERY):
            for name, (done, of) in list(self._values.items()):
                if shown.get(name) != (done, of):
                    self._console.print(f"  {name}: {done:,} of {of:,} ({100 * done // max(1, of)} %)", highlight=False)
            shown = dict(self._values)


def print_heading(console: Console, text: str) -> None:
    console.print(f"\n[bold]{text}[/bold]", highlight=False)


def print_plan(console: Console, found: Json) -> None:
    """The plan of a deployment: what happens to each resource, why, and how much it moves."""
    table = Table(title_justify="left", header_style="bold")
    for name in ("resource", "strategy", "rows", "bytes"):
        table.add_column(name, justify="right" if name in ("rows", "bytes") else "left", no_wrap=True)
    table.add_column("reason", overflow="fold")
    for each in found["resources"]:
        table.add_row(
            each["name"], each["strategy"], _format_count(each["rows"]), _format_bytes(each["bytes"]), each["reason"]
        )
    console.print(table)
    console.print(
        f"{_format_count(found['rows_moved'])} rows, {_format_bytes(found['bytes_moved'])} to move", highlight=False
    )


def print_side_by_side(console: Console, name: str, live: Answer, staging: Answer) -> None:
    """One endpoint's answers, live beside staging, row by row."""
    columns = list(dict.fromkeys([*(live[0] if live else ()), *(staging[0] if staging else ())]))
    table = Table(title=f"{name}.json · live | staging", title_justify="left", header_style="bold")
    for column in columns:
        table.add_column(column, justify="right" if _is_number(column, staging or live) else "left", no_wrap=True)
    for index in range(min(5, max(len(live), len(staging)))):
        table.add_row(*(_cell_pair(column, live[index : index + 1], staging[index : index + 1]) for column in columns))
    console.print(table)


def print_results(console: Console, checks: Sequence[ResultCheck]) -> None:
    """Every table and endpoint of both versions against the truth."""
    table = Table(header_style="bold")
    for name in ("version", "table or endpoint", "rows", "of", "lost", "doubled", "different", ""):
        table.add_column(name, justify="left" if name in ("table or endpoint", "") else "right", no_wrap=True)
    for check in checks:
        found = check.difference
        mark = "[green]equal[/green]" if found.equal else "[red]WRONG[/red]"
        counts = (found.rows, found.expected, found.lost, found.doubled, found.differing)
        table.add_row(str(check.version), check.name, *(f"{count:,}" for count in counts), mark)
    console.print(table)


def _cell_pair(column: str, live: Answer, staging: Answer) -> str:
    here, there = (_format_cell(rows[0].get(column, "–")) if rows else "–" for rows in (live, staging))
    return here if here == there else f"{here} | {there}"


def _format_cell(value: Any) -> str:
    return f"{value:,}" if isinstance(value, (int, float)) else str(value)


def _is_number(column: str, rows: Answer) -> bool:
    return bool(rows) and isinstance(rows[0].get(column), (int, float))


def _format_count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _format_bytes(value: int | None) -> str:
    if value is None:
        return ""
    return f"{value:,} B" if value < 10_000 else f"{value / 1e6:,.1f} MB"
