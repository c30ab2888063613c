"""`penstock endpoint`: list endpoints and ask them.

In: an endpoint's name and parameters. Out: its answer. Called by `main`. Invariant: what is shown is
what `GET /v0/pipes/NAME.json` gives.
"""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.output import print_answer, print_json, print_table
from penstock.cli.session import Param, Session, command, parse_parameters

group = typer.Typer()
Asked = Annotated[str, typer.Option("--deployment", help="live, staging, previous, an id or a name.")]


@group.command("ls")
@command
def ls(session: Session, deployment: Asked = "live") -> None:
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
    param: Param = None,
    deployment: Asked = "live",
) -> None:
    """Ask an endpoint."""
    answer = session.client().get(f"/v0/pipes/{name}.json", {**parse_parameters(param), "deployment": deployment})
    if session.as_json:
        print_json(answer)
    else:
        print_answer(answer)
