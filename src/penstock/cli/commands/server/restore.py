"""`penstock restore FROM [DIR]`: make a project folder of a backup.

In: a backup and a folder without state. Out: a project that `penstock up` starts. Invariant: nothing that is there is
overwritten.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.commands.server.storage_program import run_storage_program
from penstock.cli.errors import damaged_table, report
from penstock.cli.output import console, print_json
from penstock.cli.session import Session, command


@command
def restore(
    session: Session,
    source: Annotated[Path, typer.Argument(metavar="FROM", help="A folder that `penstock backup` made.")],
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="The new project's folder.")] = None,
) -> None:
    """Make a project folder of a backup: DIR, else --project, else the folder that commands are about."""
    place = str((folder or session.new_project).absolute())
    made = run_storage_program("restore", "--source", str(source.absolute()), "--project", place)
    if session.as_json:
        print_json(made)
        return
    page = console()
    page.print(f"the backup of {made['made_at']} is restored in {place}: {made['tables']} tables", markup=False)
    page.print(f"`penstock up --project {place}` starts it", markup=False)
    for table, why in made["damaged"].items():
        report(damaged_table(table, why))
