"""`penstock logs`: the lines of the server's log.

In: how many lines, from which level on. Out: the lines, and with `--follow` every new one until the command is
interrupted. Invariant: while no server answers, or it is starting, the log is read from the project's folder, if it is
on this machine.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from enum import Enum
from typing import Annotated

import typer

from penstock.cli.errors import NO_SERVER, ServerRefusal, WrongUsage, exit_code, print_note
from penstock.cli.output import print_json
from penstock.cli.session import Session, command
from penstock.client.project_server import HOME
from penstock.errors import NoServer, PenstockError
from penstock.redaction import escape_controls

LOG_FILE = "server.log"
PAUSE = 0.5


class LogLevel(str, Enum):
    """The least level of the lines that are shown."""

    info = "info"
    warning = "warning"
    error = "error"


@command
def logs(
    session: Session,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with new lines.")] = False,
    lines: Annotated[int, typer.Option("--lines", min=1, max=10_000, help="How many of the latest lines.")] = 100,
    level: Annotated[LogLevel, typer.Option("--level", help="From this level on.")] = LogLevel.info,
) -> None:
    """Show the server's log."""
    if follow and session.as_json:
        raise WrongUsage("--follow has no end, and so no one document", hint="leave --follow or --output json out")
    try:
        found = session.client().get("/v0/logs", {"lines": str(lines), "level": level.value})
    except (NoServer, ServerRefusal) as away:
        if exit_code(away) != NO_SERVER:
            raise
        found = {"lines": _read_file(session, lines, away), "position": None}
        state = "no server answers" if isinstance(away, NoServer) else "the server is not ready"
        print_note(f"{state}; these are the last lines of its log")
    if session.as_json:
        print_json(found)
        return
    _print_lines(found["lines"])
    while follow and found["position"] is not None:
        if not found["lines"]:
            time.sleep(PAUSE)
        found = session.client().get("/v0/logs", {"after": found["position"], "level": level.value})
        _print_lines(found["lines"])


def _read_file(session: Session, count: int, away: PenstockError) -> list[str]:
    """The last lines of the log in the project's folder. Raises the error given if there is none."""
    path = session.new_project / HOME / LOG_FILE
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return [line.rstrip("\n") for line in deque(file, count)]
    except OSError:
        raise away from None


def _print_lines(lines: list[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{escape_controls(line)}\n")
    sys.stdout.flush()
