"""A deployment's progress as it goes.

In: its events. Out: bars on a terminal, lines elsewhere, or nothing. Called by `deploy`. Invariant:
returns when the stream ends, having shown the last state.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TypeAlias

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from penstock.cli.client import Json
from penstock.cli.show import console, number, size

Events: TypeAlias = Iterator[tuple[str, Json]]
SECONDS_BETWEEN_LINES = 5.0


def watch(events: Events, *, silent: bool) -> None:
    """Show the events until they end."""
    page = console()
    if silent:
        for _ in events:
            continue
    elif page.is_terminal:
        _bars(events, page)
    else:
        _lines(events, page)


def _bars(events: Events, page: Console) -> None:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[told]}"),
        TimeRemainingColumn(),
    )
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=page) as bars:
        for kind, data in events:
            if kind == "state":
                bars.console.print(f"  {data['state']}", style="dim", markup=False)
            elif kind == "progress":
                flow = data["flow"]
                if flow not in tasks:
                    tasks[flow] = bars.add_task(data["name"], told="")
                bars.update(tasks[flow], completed=data["rows"], total=data["of"] or None, told=_told(data))


def _lines(events: Events, page: Console) -> None:
    shown: dict[str, float] = {}
    for kind, data in events:
        if kind == "state":
            page.print(f"  {data['state']}", markup=False)
        elif kind == "progress" and _due(data, shown):
            page.print(f"  {data['name']}: {_told(data)}{_eta(data)}", markup=False)


def _due(data: Json, shown: dict[str, float]) -> bool:
    """The first and the last of each flow, and one every few seconds between."""
    flow, now = data["flow"], time.monotonic()
    last = shown.get(flow, 0.0)
    if last == float("inf") or (now - last < SECONDS_BETWEEN_LINES and not data["done"]):
        return False
    shown[flow] = float("inf") if data["done"] else now
    return True


def _told(data: Json) -> str:
    done = f"{number(data['rows'])} of {number(data['of'])} rows, {size(data['bytes'])}, {data['rate']:,.0f} rows/s"
    return f"{done} ({data['waits']})" if data.get("waits") and not data["done"] else done


def _eta(data: Json) -> str:
    return f", {data['eta']:.0f} s left" if data.get("eta") and not data["done"] else ""
