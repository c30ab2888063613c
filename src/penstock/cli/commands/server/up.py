"""`penstock up`: start the server of a project.

In: a project folder. Out: a server process, in the foreground until it ends or detached once it is ready. Invariant:
errors of the server before it is ready are shown as text, never as a traceback.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from contextlib import nullcontext, suppress
from pathlib import Path
from types import FrameType
from typing import Annotated

import httpx
import typer

from penstock.cli.commands.server.starting_server import StartingServer, server_failure, start_server
from penstock.cli.errors import ServerRefusal, report
from penstock.cli.new_project import make_project
from penstock.cli.output import console, print_json
from penstock.cli.session import Session, command
from penstock.client.project_server import HOME, SETTINGS_FILE, read_server_record
from penstock.errors import Conflict
from penstock.model.servers.processes import find_process
from penstock.parse.project_files import contains_datafiles
from penstock.redaction import escape_controls

SERVER_OUTPUT = "server.err"
LOOK_SECONDS = 5.0


@command
def up(
    session: Session,
    port: Annotated[int | None, typer.Option("--port", min=0, max=65535, help="The port; 0 for a free one.")] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Return when the server is ready.")] = False,
    wait: Annotated[
        bool | None,
        typer.Option(
            "--wait/--no-wait", help="Stand by while another server owns the project; not in a terminal, nor detached."
        ),
    ] = None,
    adopt_storage: Annotated[
        bool, typer.Option("--adopt-storage", help="Take warehouse and inbox whatever state store they belong to.")
    ] = False,
) -> None:
    """Start the server of a project."""
    project = _project_to_start(session)
    if wait is None and (detach or session.is_interactive):
        _refuse_second_server(project)
    if not (project / HOME).is_dir():
        (project / HOME).mkdir(mode=0o700)
    arguments = ["--project", str(project)]
    arguments += ["--port", str(port)] if port is not None else []
    arguments += ["--no-wait"] if wait is False else []
    arguments += ["--adopt-storage"] if adopt_storage else []
    output = project / HOME / SERVER_OUTPUT
    process = start_server(arguments, output)
    # A detached server outlives us; one in the foreground gets the signals that we get.
    _forward_signals(process)
    url = _wait_until_ready(session, StartingServer(process, project, output))
    _print_server(session, project, url, process.pid)
    if not detach:
        code = process.wait()
        if code:
            raise server_failure(code, output)


def _project_to_start(session: Session) -> Path:
    """The project's folder; a person at the terminal may make a folder of datafiles one. Raises WrongUsage."""
    here = session.new_project
    if session.is_interactive and not (here / SETTINGS_FILE).exists() and contains_datafiles(here):
        question = f"{here} has datafiles and no {SETTINGS_FILE}. Add it and a .gitignore, and start?"
        if typer.confirm(question, default=True):
            make_project(here)
            return here.resolve()
    return session.project


def _refuse_second_server(project: Path) -> None:
    """Raises Conflict if a server of the project answers; one that hangs, or has just died, is waited for."""
    known = read_server_record(project)
    if known is None or find_process(known.pid, known.started) is None:
        return
    with suppress(httpx.TransportError, httpx.InvalidURL):
        httpx.get(f"{known.url}/health", timeout=LOOK_SECONDS, trust_env=False)
        raise Conflict(
            f"a server of this project runs already, at {known.url} (process {known.pid})",
            hint="`penstock down` stops it; `penstock up --wait` stands by, and takes over when it ends",
        )


def _forward_signals(process: subprocess.Popen[bytes]) -> None:
    def forward(number: int, frame: FrameType | None) -> None:
        process.send_signal(signal.SIGTERM)

    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, forward)


def _wait_until_ready(session: Session, starting: StartingServer) -> str:
    page = console()
    shown = page.status("starting") if page.is_terminal and not session.as_json else nullcontext()
    with shown as status:
        for phase in starting.phases():
            if status is not None:
                status.update(escape_controls(phase))
            for notice in starting.notices():
                report(ServerRefusal(409, notice))
                starting.waits = True
    if starting.url is None:
        raise server_failure(starting.process.wait(), starting.output)
    return starting.url


def _print_server(session: Session, project: Path, url: str, pid: int) -> None:
    if session.as_json:
        print_json({"url": url, "pid": pid, "project": str(project)})
    else:
        console().print(f"penstock is ready at {url} (process {pid}, project {project})", markup=False)
    sys.stdout.flush()
