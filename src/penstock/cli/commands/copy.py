"""`penstock copy`: run copies.

In: the name of a copy and its parameters. Out: the job that ran it. Invariant: with `--wait` the command returns when
the job has ended, and fails if the job failed or was cancelled.
"""

from __future__ import annotations

import time
from typing import Annotated

import typer

from penstock.cli.client import Json, ServerClient
from penstock.cli.commands.job import print_job
from penstock.cli.errors import ServerRefusal
from penstock.cli.output import print_json
from penstock.cli.session import ParamOption, Session, command, parse_parameters

PAUSE = 0.3
OVER = ("done", "failed", "cancelled")
group = typer.Typer()


@group.command("run")
@command
def run(
    session: Session,
    name: Annotated[str, typer.Argument(help="The copy.")],
    param: ParamOption = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the rows can be queried.")] = True,
) -> None:
    """Run a copy of the live version: append its rows to its data source."""
    client = session.client()
    job = client.post(f"/v0/pipes/{name}/copy", parse_parameters(param))["job"]
    if wait:
        job = _wait_for_job(client, job)
    if session.as_json:
        print_json(job)
    else:
        print_job(job)


def _wait_for_job(client: ServerClient, job: Json) -> Json:
    """The job once it has ended. Raises ServerRefusal with its error if it failed or was cancelled."""
    while job["status"] not in OVER:
        time.sleep(PAUSE)
        job = client.get(f"/v0/jobs/{job['id']}")
    if job["status"] != "done":
        raise ServerRefusal(500, job["error"] or {"error": f"job {job['id']} was cancelled", "code": "conflict"})
    return job
