"""`penstock endpoint`: list endpoints and ask them.

In: an endpoint's name and parameters. Out: its answer. Called by `main`. Invariant: what is shown is
what `GET /v0/pipes/NAME.json` gives.
"""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.problems import WrongUsage
from penstock.cli.session import Session, command
from penstock.cli.show import print_answer, print_json, print_table

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
    param: Annotated[list[str] | None, typer.Option("--param", metavar="NAME=VALUE", help="Repeatable.")] = None,
    deployment: Asked = "live",
) -> None:
    """Ask an endpoint."""
    answer = session.client().get(f"/v0/pipes/{name}.json", {**_parameters(param or []), "deployment": deployment})
    if session.as_json:
        print_json(answer)
    else:
        print_answer(answer)


def _parameters(given: list[str]) -> dict[str, str]:
    wrong = next((pair for pair in given if "=" not in pair), None)
    if wrong is not None:
        raise WrongUsage(f"--param takes NAME=VALUE, not `{wrong}`")
    return {name: value for name, _, value in (pair.partition("=") for pair in given)}
