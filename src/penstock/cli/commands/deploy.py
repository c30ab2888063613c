"""`penstock deploy`: plan a project against what is live, and carry the plan out.

In: the project's folder. Out: the plan, then the progress of the deployment (bars on a terminal, lines elsewhere,
nothing with `--output json`). Invariant: exit code 0 means that the deployment reached the requested state: planned
(`--check`), started (`--no-wait`), ready (`--no-promote`) or live.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated, TypeAlias

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from penstock.cli.client import Json, ServerClient, query_parameters
from penstock.cli.errors import ServerRefusal
from penstock.cli.output import console, format_bytes, format_count, print_json
from penstock.cli.plan_output import print_plan
from penstock.cli.session import Session, command
from penstock.errors import InvalidProject, NoServer
from penstock.parse.project_loader import load_folder
from penstock.plan.project_check import check_loaded
from penstock.redaction import escape_controls

UNDER_WAY = ("planned", "preparing", "backfilling")


@command
def deploy(
    session: Session,
    check: Annotated[bool, typer.Option("--check", help="Only plan.")] = False,
    promote: Annotated[bool, typer.Option("--promote/--no-promote", help="Make it live when it is ready.")] = True,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Watch until it is ready or live.")] = True,
    allow_destructive_operations: Annotated[
        bool, typer.Option("--allow-destructive-operations", help="Accept what loses rows or resources.")
    ] = False,
    name: Annotated[str | None, typer.Option("--name", help="A name for the deployment.")] = None,
) -> None:
    """Plan a project against what is live, and carry the plan out."""
    loaded = load_folder(session.project)
    if loaded.errors:
        found = check_loaded(loaded)
        count, problems = len(found.errors), found.problems
        raise InvalidProject(f"the project has {count} problem{'s' if count > 1 else ''}", problems)
    parameters = query_parameters(
        check=check, auto_promote=promote, allow_destructive_operations=allow_destructive_operations, name=name
    )
    client = session.client()
    made = client.deploy(loaded.files, parameters)
    if not session.as_json:
        print_plan(made["plan"])
    if wait and not check:
        made = _wait_for_deployment(session, client, made)
    if session.as_json:
        print_json(made)
    else:
        console().print(_outcome_text(made, check=check), markup=False)


def _wait_for_deployment(session: Session, client: ServerClient, made: Json) -> Json:
    """The deployment once it is at rest. Raises ServerRefusal with its error if it failed or could not be promoted,
    NoServer if the server stopped before."""
    show_progress(client.events(made["id"]), silent=session.as_json)
    rested = client.get(f"/v1/deployments/{made['id']}")
    state = rested["state"]
    if state in UNDER_WAY:
        hint = "it continues when the server runs again; `penstock status` shows its progress"
        raise NoServer(f"the server stops while deployment {made['id']} is {state}", hint=hint)
    if state in ("failed", "discarded") or (state == "ready" and rested["error"]):
        raise ServerRefusal(
            500, rested["error"] or {"error": f"deployment {made['id']} was discarded", "code": "conflict"}
        )
    return rested


def _outcome_text(made: Json, *, check: bool) -> str:
    if check:
        return "checked; nothing was done"
    name = f" ({made['name']})" if made["name"] else ""
    after = {"ready": "; `penstock deployment promote` makes it live"}.get(made["state"], "")
    return f"deployment {made['id']}{name} is {made['state']}{after}"


Events: TypeAlias = Iterator[tuple[str, Json]]
SECONDS_BETWEEN_LINES = 5.0


def show_progress(events: Events, *, silent: bool) -> None:
    """Show the events of a deployment until their stream ends."""
    page = console()
    if silent:
        for _ in events:
            continue
    elif page.is_terminal:
        _show_bars(events, page)
    else:
        _print_lines(events, page)


def _show_bars(events: Events, page: Console) -> None:
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[text]}", markup=False),
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
                    tasks[flow] = bars.add_task(escape_controls(data["name"]), text="")
                bars.update(tasks[flow], completed=data["rows"], total=data["of"] or None, text=_progress_text(data))


def _print_lines(events: Events, page: Console) -> None:
    shown: dict[str, float] = {}
    for kind, data in events:
        if kind == "state":
            page.print(f"  {data['state']}", markup=False)
        elif kind == "progress" and _is_line_due(data, shown):
            page.print(f"  {data['name']}: {_progress_text(data)}{_remaining_time_text(data)}", markup=False)


def _is_line_due(data: Json, shown: dict[str, float]) -> bool:
    """Whether to print the event: the first and the last one of each flow, and one every few seconds in between."""
    flow, now = data["flow"], time.monotonic()
    last = shown.get(flow, 0.0)
    if last == float("inf") or (now - last < SECONDS_BETWEEN_LINES and not data["done"]):
        return False
    shown[flow] = float("inf") if data["done"] else now
    return True


def _progress_text(data: Json) -> str:
    rows = f"{format_count(data['rows'])} of {format_count(data['of'])} rows"
    progress = f"{rows}, {format_bytes(data['bytes'])}, {data['rate']:,.0f} rows/s"
    return f"{progress} ({data['waits']})" if data.get("waits") and not data["done"] else progress


def _remaining_time_text(data: Json) -> str:
    return f", {data['eta']:.0f} s left" if data.get("eta") and not data["done"] else ""
