"""`penstock backup TO`: save everything of a project.

In: a folder that does not exist or is empty. Out: state store, catalog, raw rows, files of the tables and the project's
files as of one moment; exit code 1 if a table is damaged, and the others are saved. Invariant: a server that runs makes
the backup itself; no second process touches its files.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.commands.server.storage_program import run_storage_program
from penstock.cli.errors import FAILED, damaged_table, report
from penstock.cli.json_documents import Json
from penstock.cli.output import console, format_number, print_json
from penstock.cli.session import Session, command
from penstock.errors import NoServer


@command
def backup(
    session: Session,
    destination: Annotated[Path, typer.Argument(metavar="TO", help="A new folder, on the server's machine.")],
) -> None:
    """Save everything of a project while its server runs, or is stopped."""
    place = str(destination.absolute())
    try:
        made = session.client().back_up(place)
    except NoServer:
        made = run_storage_program("backup", "--project", str(session.project), "--destination", place)
    if session.as_json:
        print_json(made)
    else:
        _print_backup(place, made)
        for table, why in made["damaged"].items():
            report(damaged_table(table, f"its backup is as damaged as it is: {why}"))
    if made["damaged"]:
        raise typer.Exit(FAILED)


def _print_backup(place: str, made: Json) -> None:
    tables, files = format_number(made["tables"], "table", "tables"), format_number(made["files"], "file", "files")
    batches = format_number(made["batches"], "raw batch", "raw batches")
    console().print(f"backup in {place}: {tables} ({files}, {made['bytes']:,} bytes), {batches}", markup=False)
