"""`penstock restore SRC DIR`: make a project folder of a backup.

In: a backup and a folder without state. Out: a project that `penstock up` starts. Invariant: nothing that is there is
overwritten.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.output import console, print_json
from penstock.cli.session import Session, command
from penstock.cli.storage_program import run_storage_program


@command
def restore(
    session: Session,
    source: Annotated[Path, typer.Argument(metavar="SRC", help="A folder that `penstock backup` made.")],
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The new project's folder.")],
) -> None:
    """Make a project folder of a backup."""
    place = str(folder.absolute())
    made = run_storage_program("restore", "--source", str(source.absolute()), "--project", place)
    if session.as_json:
        print_json(made)
    else:
        page = console()
        page.print(f"the backup of {made['made_at']} is restored: {made['tables']} tables", markup=False)
        page.print(f"`penstock up --project {place}` starts it", markup=False)
