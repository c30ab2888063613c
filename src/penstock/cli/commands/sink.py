"""`penstock sink`: list and run sinks.

In: the name of a sink and its parameters. Out: the sinks with their latest jobs; the job that ran one. Invariant: with
`--wait` the command returns when the job has ended, and fails if the job failed or was cancelled.
"""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.commands.job import job_text, pipes_with_jobs, print_job, wait_for_job
from penstock.cli.output import print_json, print_plain_table
from penstock.cli.session import ParamOption, Session, command, parse_parameters

group = typer.Typer()


@group.command("ls")
@command
def ls(
    session: Session,
    deployment: Annotated[str, typer.Option("--deployment", help="live, staging, previous, an id or a name.")] = "live",
) -> None:
    """List the sinks with where they write, their schedules and latest jobs."""
    sinks = pipes_with_jobs(session.client(), "sink", deployment)
    if session.as_json:
        print_json({"sinks": sinks})
        return
    rows = [(each["name"], each["schedule"] or "", job_text(each["job"]), each["target"] or "") for each in sinks]
    # Addresses are copied: no line is wrapped but by the terminal.
    print_plain_table(("sink", "schedule (UTC)", "latest job", "writes to"), rows)


@group.command("run")
@command
def run(
    session: Session,
    name: Annotated[str, typer.Argument(help="The sink.")],
    param: ParamOption = None,
    deployment: Annotated[
        str,
        typer.Option(
            "--deployment", help="Another version whose rows are written: staging, previous, an id or a name."
        ),
    ] = "live",
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until the rows are written.")] = True,
) -> None:
    """Run a sink: the rows of the live version, or of one that is named, are written to its files or its topic."""
    client = session.client()
    parameters = parse_parameters(param)
    if deployment != "live":
        parameters = {**parameters, "deployment": deployment}
    job = client.post(f"/v0/pipes/{name}/sink", parameters)["job"]
    if wait:
        job = wait_for_job(client, job)
    if session.as_json:
        print_json(job)
    else:
        print_job(job)
