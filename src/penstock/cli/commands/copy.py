"""`penstock copy`: run a copy.

In: a copy's name and parameters. Out: its job. Called by `main`. Invariant: with `--wait` the command ends when the
job does, and fails if the job did not do what it was for.
"""

from __future__ import annotations

import time
from typing import Annotated

import typer

from penstock.cli.client import Client, Json
from penstock.cli.commands.job import print_job
from penstock.cli.errors import Refused
from penstock.cli.output import print_json
from penstock.cli.session import Param, Session, command, parse_parameters

PAUSE = 0.3
OVER = ("done", "failed", "cancelled")
group = typer.Typer()


@group.command("run")
@command
def run(
    session: Session,
    name: Annotated[str, typer.Argument(help="The copy.")],
    param: Param = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the rows are there.")] = True,
) -> None:
    """Run a copy of the live version: append its rows to its data source."""
    client = session.client()
    job = client.post(f"/v0/pipes/{name}/copy", parse_parameters(param))["job"]
    if wait:
        job = _over(client, job)
    if session.as_json:
        print_json(job)
    else:
        print_job(job)


def _over(client: Client, job: Json) -> Json:
    """The job when it is over. Raises Refused with its error if it did not come to its end."""
    while job["status"] not in OVER:
        time.sleep(PAUSE)
        job = client.get(f"/v0/jobs/{job['id']}")
    if job["status"] != "done":
        raise Refused(500, job["error"] or {"error": f"job {job['id']} was cancelled", "code": "conflict"})
    return job
