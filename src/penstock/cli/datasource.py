"""`penstock datasource`: list and show data sources, append rows to them.

In: a data source's name, rows as NDJSON or JSON. Out: what is there; how many rows fit. Called by
`main`. Invariant: a row is sent once, however often a call has to be tried again.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.append import append_file
from penstock.cli.session import Session, command
from penstock.cli.show import console, print_json, print_table

group = typer.Typer()
Asked = Annotated[str, typer.Option("--deployment", help="live, staging, previous, an id or a name.")]
Name = Annotated[str, typer.Argument(help="The data source.")]


@group.command("ls")
@command
def ls(session: Session, deployment: Asked = "live") -> None:
    """List the data sources with their rows."""
    found = session.client().get("/v0/datasources", {"deployment": deployment})
    if session.as_json:
        print_json(found)
        return
    rows = [(each["name"], each["table"], each["rows"]) for each in found["datasources"]]
    print_table(("data source", "table", "rows"), rows)


@group.command("show")
@command
def show(session: Session, name: Name, deployment: Asked = "live") -> None:
    """Show the columns of a data source."""
    found = session.client().get(f"/v0/datasources/{name}", {"deployment": deployment})
    if session.as_json:
        print_json(found)
        return
    print_table(("column", "type"), [(each["name"], each["type"]) for each in found["columns"]])


@group.command("append")
@command
def append(
    session: Session,
    name: Name,
    file: Annotated[Path | None, typer.Option("--file", help="NDJSON, or JSON (.json); else standard input.")] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Return when the rows can be queried.")] = True,
) -> None:
    """Append rows."""
    told = append_file(session.client(), name, file, wait)
    if session.as_json:
        print_json(told)
        return
    page = console()
    page.print(f"{told['successful_rows']:,} rows appended to {name}", markup=False)
    if told["quarantined_rows"]:
        rows = f"{told['quarantined_rows']:,} rows do not fit"
        page.print(f"{rows}: penstock sql 'SELECT * FROM {name}_quarantine' shows why", style="yellow", markup=False)
