"""`penstock job`: list, show and cancel jobs.

In: the number of a job. Out: its status, rows and error. Invariant: each command makes one request.
"""

from __future__ import annotations

import time
from typing import Annotated

import typer

from penstock.cli.client import Json, ServerClient
from penstock.cli.errors import ServerRefusal
from penstock.cli.output import console, format_count, print_json, print_table
from penstock.cli.session import Session, command

PAUSE = 0.3
OVER = ("done", "failed", "cancelled")
group = typer.Typer()
JobArgument = Annotated[int, typer.Argument(metavar="ID", help="Its number.", min=1)]


@group.command("ls")
@command
def ls(session: Session) -> None:
    """List the newest jobs."""
    found = session.client().get("/v0/jobs")
    if session.as_json:
        print_json(found)
        return
    rows = [
        (
            each["id"],
            each["pipe"],
            each["datasource"],
            each["status"],
            each["created_at"][:19],
            format_count(each["rows"]),
        )
        for each in found["jobs"]
    ]
    print_table(("id", "copy", "data source", "status", "created at (UTC)", "rows"), rows)


@group.command("show")
@command
def show(session: Session, which: JobArgument) -> None:
    """Show a job."""
    _output_job(session, session.client().get(f"/v0/jobs/{which}"))


@group.command("cancel")
@command
def cancel(session: Session, which: JobArgument) -> None:
    """Cancel a job before its rows are appended."""
    _output_job(session, session.client().post(f"/v0/jobs/{which}/cancel"))


def wait_for_job(client: ServerClient, job: Json) -> Json:
    """The job once it has ended. Raises ServerRefusal with its error if it failed or was cancelled."""
    while job["status"] not in OVER:
        time.sleep(PAUSE)
        job = client.get(f"/v0/jobs/{job['id']}")
    if job["status"] != "done":
        raise ServerRefusal(500, job["error"] or {"error": f"job {job['id']} was cancelled", "code": "conflict"})
    return job


def print_job(job: Json) -> None:
    """Print a job for people: one line, and one more for its error."""
    rows = f", {format_count(job['rows'])} rows" if job["rows"] is not None else ""
    text = f"job {job['id']}: {job['pipe']} to {job['datasource']} is {job['status']}{rows}"
    console().print(text, markup=False)
    if job["error"]:
        console().print(f"error: {job['error'].get('error')}", style="red", markup=False)


def _output_job(session: Session, job: Json) -> None:
    if session.as_json:
        print_json(job)
    else:
        print_job(job)
