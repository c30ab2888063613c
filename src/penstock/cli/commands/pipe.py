"""`penstock pipe`: list the pipes of a deployment.

In: a kind of pipes. Out: their names, kinds, targets and descriptions. Invariant: nothing is computed here.
"""

from __future__ import annotations

from enum import Enum
from typing import Annotated

import typer

from penstock.cli.output import print_json, print_table
from penstock.cli.session import Session, command

group = typer.Typer()


class PipeKind(str, Enum):
    """What a pipe is for."""

    any = "any"
    endpoint = "endpoint"
    materialized = "materialized"
    copy = "copy"
    sink = "sink"
    pipe = "pipe"


@group.command("ls")
@command
def ls(
    session: Session,
    kind: Annotated[
        PipeKind, typer.Option("--kind", help="Only those; `pipe` are those that others read.")
    ] = PipeKind.any,
    deployment: Annotated[str, typer.Option("--deployment", help="live, staging, previous, an id or a name.")] = "live",
) -> None:
    """List the pipes with their kinds."""
    found = session.client().get("/v0/pipes", {"kind": kind.value, "deployment": deployment})
    if session.as_json:
        print_json(found)
        return
    rows = [(each["name"], each["kind"], each["target"] or "", each["description"]) for each in found["pipes"]]
    print_table(("pipe", "kind", "writes into", "description"), rows)
