"""`penstock down`: stop the server of a project.

In: a project folder. Out: the server has ended. Invariant: only the process recorded as the project's server is
ended, never another process that was given the same number later.
"""

from __future__ import annotations

from typing import Annotated

import psutil
import typer

from penstock.cli.output import console, print_json
from penstock.cli.session import Session, command
from penstock.client.project_server import read_server_record
from penstock.errors import Failed, NoServer
from penstock.model.servers.processes import find_process


@command
def down(
    session: Session,
    seconds: Annotated[float, typer.Option("--timeout", help="How long it may take to end in order.")] = 60.0,
) -> None:
    """Stop the server of a project."""
    known = read_server_record(session.project)
    process = find_process(known.pid, known.started) if known else None
    if process is None:
        raise NoServer(f"no server of {session.project} is running")
    process.terminate()
    try:
        process.wait(seconds)
    except psutil.TimeoutExpired as error:
        hint = f"`kill -9 {process.pid}` ends it at once; nothing acknowledged is lost by that"
        raise Failed(f"the server did not end within {seconds:.0f} s", hint=hint) from error
    if session.as_json:
        print_json({"pid": process.pid, "project": str(session.project)})
    else:
        console().print(f"the server of {session.project} has stopped", markup=False)
