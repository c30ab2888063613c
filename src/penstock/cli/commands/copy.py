"""`penstock copy`: list and run copies.

In: the name of a copy and its parameters. Out: the copies with their latest jobs; the job that ran one. Invariant:
with `--wait` the command returns when the job has ended, and fails if the job failed or was cancelled.
"""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.client import ServerClient
from penstock.cli.commands.job import print_job, wait_for_job
from penstock.cli.errors import ServerRefusal
from penstock.cli.json_documents import Json
from penstock.cli.output import print_json, print_table
from penstock.cli.session import ParamOption, Session, command, parse_parameters
from penstock.errors import Forbidden

group = typer.Typer()


@group.command("ls")
@command
def ls(
    session: Session,
    deployment: Annotated[str, typer.Option("--deployment", help="live, staging, previous, an id or a name.")] = "live",
) -> None:
    """List the copies with their schedules and latest jobs."""
    client = session.client()
    found = client.get("/v0/pipes", {"kind": "copy", "deployment": deployment})["pipes"]
    latest = _latest_jobs(client)
    copies = [{**each, "job": latest.get(each["name"])} for each in found]
    if session.as_json:
        print_json({"copies": copies})
        return
    rows = [
        (each["name"], each["target"], each["mode"], each["schedule"] or "", _job_text(each["job"])) for each in copies
    ]
    print_table(("copy", "data source", "mode", "schedule (UTC)", "latest job"), rows)


def _latest_jobs(client: ServerClient) -> dict[str, Json]:
    """The latest job of each copy among the newest ones; none for a token that may not see jobs."""
    try:
        jobs = client.get("/v0/jobs")["jobs"]
    except ServerRefusal as refusal:
        if refusal.status == Forbidden.status:
            return {}
        raise
    return {job["pipe"]: job for job in reversed(jobs)}


def _job_text(job: Json | None) -> str:
    return f"{job['id']}: {job['status']}, {job['created_at'][:19]}" if job else ""


@group.command("run")
@command
def run(
    session: Session,
    name: Annotated[str, typer.Argument(help="The copy.")],
    param: ParamOption = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the rows can be queried.")] = True,
) -> None:
    """Run a copy of the live version: its rows are appended to its data source, or replace that's rows."""
    client = session.client()
    job = client.post(f"/v0/pipes/{name}/copy", parse_parameters(param))["job"]
    if wait:
        job = wait_for_job(client, job)
    if session.as_json:
        print_json(job)
    else:
        print_job(job)
