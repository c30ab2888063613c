"""`penstock endpoint`: list endpoints and query them.

In: the name of an endpoint and its parameters. Out: its answer, as `GET /v0/pipes/NAME.json` gives it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from penstock.cli.answer_output import print_answer
from penstock.cli.client import ServerClient
from penstock.cli.output import errors_console, print_json, print_table
from penstock.cli.session import ParamOption, Session, command, parse_parameters
from penstock.errors import PenstockError, did_you_mean

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
    _warn_of_unknown(client, path, parameters)


def _warn_of_unknown(client: ServerClient, path: str, given: Mapping[str, str]) -> None:
    """Say of parameters that the endpoint does not declare: the server passes over them, and a misspelt one is easily
    missed in the answer."""
    if len(given) == 1:  # the version
        return
    try:
        call = client.get("/v0/pipes/openapi.json", {"deployment": given["deployment"]})["paths"].get(path)
    except PenstockError:  # the answer is there
        return
    declared = [each["name"] for each in call["get"]["parameters"]] if call is not None else [*given]
    for name in (each for each in given if each not in declared):
        hint = did_you_mean(name, [each for each in declared if each != "deployment"])
        text = f"warning: the endpoint declares no parameter `{name}`{f' ({hint})' if hint else ''}"
        errors_console().print(text, style="yellow", markup=False)
