"""`penstock job`: list, show and cancel jobs.

In: the number of a job. Out: its status, rows and error. Invariant: each command makes one request.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated

import typer

from penstock.cli.client import ServerClient
from penstock.cli.errors import Interrupted, ServerRefusal
from penstock.cli.interrupts import interrupted_by_signals
from penstock.cli.json_documents import Json
from penstock.cli.output import console, format_count, format_number, print_json, print_table
from penstock.cli.session import Session, command
from penstock.errors import Forbidden, NoServer, Timeout

PAUSE = 0.3
STUCK_SECONDS = 60.0
"""A command stops waiting for a job that could not go on for so long."""
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
            each["kind"],
            each["pipe"] if each["pipe"] != each["datasource"] else "",
            each["datasource"],
            each["status"],
            each["created_at"][:19],
            format_count(each["rows"]),
            _error_text(each["error"]),
        )
        for each in found["jobs"]
    ]
    print_table(("id", "kind", "pipe", "data source", "status", "created at (UTC)", "rows", "last error"), rows)


@group.command("show")
@command
def show(session: Session, which: JobArgument) -> None:
    """Show a job."""
    _output_job(session, session.client().get(f"/v0/jobs/{which}"))


@group.command("cancel")
@command
def cancel(session: Session, which: JobArgument) -> None:
    """Cancel a job. Rows of it that were appended or written before stay."""
    _output_job(session, session.client().post(f"/v0/jobs/{which}/cancel"))


def pipes_with_jobs(client: ServerClient, kind: str, deployment: str) -> list[Json]:
    """The copies or the sinks of a version, each with its latest job."""
    found = client.get("/v0/pipes", {"kind": kind, "deployment": deployment})["pipes"]
    latest = _latest_jobs(client)
    return [{**each, "job": latest.get(each["name"])} for each in found]


def _latest_jobs(client: ServerClient) -> dict[str, Json]:
    """The latest job of each pipe among the newest ones; none for a token that may not see jobs."""
    try:
        jobs = client.get("/v0/jobs")["jobs"]
    except ServerRefusal as refusal:
        if refusal.status == Forbidden.status:
            return {}
        raise
    return {job["pipe"]: job for job in reversed(jobs)}


def job_text(job: Json | None) -> str:
    """A job in a table."""
    return f"{job['id']}: {job['status']}, {job['created_at'][:19]}" if job else ""


def wait_for_job(client: ServerClient, job: Json) -> Json:
    """The job once it has ended. Raises what `watch_job` raises, and Timeout if it could not go on for
    STUCK_SECONDS."""
    went_on = time.monotonic()

    def look(now: Json) -> None:
        nonlocal went_on
        if not now["error"]:
            went_on = time.monotonic()
        elif time.monotonic() - went_on >= STUCK_SECONDS:
            raise _stuck(now)

    return _ended_job(client, job, look)


def watch_job(client: ServerClient, job: Json, *, silent: bool) -> Json:
    """The job once it has ended, however long that takes; meanwhile it is said why it waits. Raises ServerRefusal with
    its error if it failed or was cancelled, NoServer if the server went away, Interrupted if the user did."""
    said = ""

    def look(now: Json) -> None:
        nonlocal said
        reason = _error_text(now["error"])
        if reason not in (said, "") and not silent:
            console().print(f"  job {now['id']} waits: {reason}", markup=False)
        said = reason

    return _ended_job(client, job, look)


def _ended_job(client: ServerClient, job: Json, look: Callable[[Json], None]) -> Json:
    """The job once it is done; `look` is called with each of its states before."""
    id = job["id"]
    try:
        with interrupted_by_signals():
            while job["status"] not in OVER:
                look(job)
                time.sleep(PAUSE)
                job = _job_now(client, id)
    except KeyboardInterrupt:
        hint = f"`penstock job show {id}` shows it, `penstock job cancel {id}` ends it"
        raise Interrupted(f"nobody watches any more: the server goes on with job {id}", hint) from None
    _raise_unless_done(job)
    return job


def _job_now(client: ServerClient, id: int) -> Json:
    """Raises NoServer that says what becomes of the job."""
    try:
        return client.get(f"/v0/jobs/{id}")
    except NoServer as error:
        hint = f"job {id} goes on when the server runs again (`penstock up`): `penstock job show {id}` shows it"
        raise NoServer(error.message, hint=hint) from error


def _raise_unless_done(job: Json) -> None:
    if job["status"] != "done":
        raise ServerRefusal(500, job["error"] or {"error": f"job {job['id']} was cancelled", "code": "conflict"})


def _stuck(job: Json) -> Timeout:
    id = job["id"]
    goes_on = f"nothing is lost: it is tried again and again; `penstock job show {id}` shows it"
    return Timeout(
        f"job {id} is {job['status']} and cannot go on: {_error_text(job['error'])}",
        hint=f"{goes_on}, `penstock job cancel {id}` ends it",
    )


def _error_text(error: Json | None) -> str:
    """The error of a job with its attempts in a row, if it is tried again."""
    if not error:
        return ""
    attempts = f" ({format_number(error['attempts'], 'attempt', 'attempts')})" if "attempts" in error else ""
    return f"{error.get('error')}{attempts}"


def print_job(job: Json) -> None:
    """Print a job for people: one line, and one more for its error."""
    rows = f", {format_number(job['rows'], 'row', 'rows')}" if job["rows"] is not None else ""
    what = f"{job['kind']} of" if job["pipe"] == job["datasource"] else f"{job['pipe']} to"
    text = f"job {job['id']}: {what} {job['datasource']} is {job['status']}{rows}"
    console().print(text, markup=False)
    if job["error"]:
        console().print(f"error: {_error_text(job['error'])}", style="red", markup=False)


def _output_job(session: Session, job: Json) -> None:
    if session.as_json:
        print_json(job)
    else:
        print_job(job)
