"""`penstock copy`: run copies.

In: the name of a copy and its parameters. Out: the job that ran it. Invariant: with `--wait` the command returns when
the job has ended, and fails if the job failed or was cancelled.
"""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.commands.job import print_job, wait_for_job
from penstock.cli.output import print_json
from penstock.cli.session import ParamOption, Session, command, parse_parameters

group = typer.Typer()


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
