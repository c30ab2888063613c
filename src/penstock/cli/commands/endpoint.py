"""`penstock endpoint`: list endpoints and query them.

In: the name of an endpoint and its parameters. Out: its answer, as `GET /v0/pipes/NAME.json` gives it.
"""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.answer_output import print_answer
from penstock.cli.output import print_json, print_table
from penstock.cli.session import ParamOption, Session, command, parse_parameters

group = typer.Typer()
DeploymentOption = Annotated[str, typer.Option("--deployment", help="live, staging, previous, an id or a name.")]


@group.command("ls")
@command
def ls(session: Session, deployment: DeploymentOption = "live") -> None:
    """List the endpoints."""
    found = session.client().get("/v0/pipes", {"deployment": deployment})
    if session.as_json:
        print_json(found)
        return
    print_table(("endpoint", "description"), [(each["name"], each["description"]) for each in found["pipes"]])


@group.command("data")
@command
def data(
    session: Session,
    name: Annotated[str, typer.Argument(help="The endpoint.")],
    param: ParamOption = None,
    deployment: DeploymentOption = "live",
) -> None:
    """Query an endpoint."""
    parameters = {**parse_parameters(param), "deployment": deployment}
    client, path = session.client(), f"/v0/pipes/{name}.json"
    if session.as_json:
        print_json(client.get(path, parameters))
    else:
        print_answer(client.get(path, {**parameters, "output_format_json_quote_denormals": "true"}))
