"""`penstock deployment`: list, show, promote, roll back, pause, resume, discard and retire deployments.

In: a deployment's id or name, or `live`, `staging`, `previous`. Out: its state afterwards. Invariant: each command
makes one request.
"""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.client import Json
from penstock.cli.output import console, format_count, print_json, print_table
from penstock.cli.plan_output import print_plan
from penstock.cli.session import Session, command

group = typer.Typer()
DeploymentArgument = Annotated[str, typer.Argument(metavar="ID", help="An id, a name, or live, staging, previous.")]


@group.command("ls")
@command
def ls(session: Session) -> None:
    """List the deployments, newest first."""
    found = session.client().get("/v1/deployments")
    if session.as_json:
        print_json(found)
        return
    rows = [
        (each["id"], each["name"], each["state"], each["created_at"][:19], format_count(each["rows_moved"]))
        for each in found["deployments"]
    ]
    print_table(("id", "name", "state", "created at (UTC)", "rows moved"), rows)


@group.command("show")
@command
def show(session: Session, which: DeploymentArgument = "live") -> None:
    """Show a deployment with its plan."""
    found = session.client().get(f"/v1/deployments/{which}")
    if session.as_json:
        print_json(found)
        return
    _print_deployment(session, found)
    print_plan(found["plan"])
    if found["error"]:
        console().print(f"error: {found['error'].get('error')}", style="red", markup=False)


@group.command("promote")
@command
def promote(session: Session, which: DeploymentArgument = "staging") -> None:
    """Make a ready deployment live."""
    _print_deployment(session, session.client().post(f"/v1/deployments/{which}/set-live"))


@group.command("rollback")
@command
def rollback(session: Session) -> None:
    """Make the previous deployment live again."""
    _print_deployment(session, session.client().post("/v1/deployments/rollback"))


@group.command("discard")
@command
def discard(session: Session, which: DeploymentArgument = "staging") -> None:
    """Discard a deployment that is not live, and undo what it did."""
    _print_deployment(session, session.client().delete(f"/v1/deployments/{which}"))


@group.command("pause")
@command
def pause(session: Session, which: DeploymentArgument = "staging") -> None:
    """Stop filling a deployment that is not live; it can be resumed."""
    _print_deployment(session, session.client().post(f"/v1/deployments/{which}/pause"))


@group.command("resume")
@command
def resume(session: Session, which: DeploymentArgument = "staging") -> None:
    """Continue a paused deployment where it stopped."""
    _print_deployment(session, session.client().post(f"/v1/deployments/{which}/resume"))


@group.command("retire")
@command
def retire(session: Session, which: DeploymentArgument = "previous") -> None:
    """Stop feeding the previous deployment: it cannot be rolled back to any more."""
    _print_deployment(session, session.client().post(f"/v1/deployments/{which}/retire"))


def _print_deployment(session: Session, found: Json) -> None:
    if session.as_json:
        print_json(found)
        return
    name = f" ({found['name']})" if found["name"] else ""
    paused = ", paused" if found.get("paused") else ""
    console().print(f"deployment {found['id']}{name} is {found['state']}{paused}", markup=False)
