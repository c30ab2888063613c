"""`penstock deployment`: list, show, promote, roll back, pause, resume, discard and retire deployments.

In: a deployment's id or name, or `live`, `staging`, `previous`. Out: its state afterwards. Invariant: a command that
changes a deployment never chooses among several: it asks, or names them and ends.
"""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.candidates import choose_candidate
from penstock.cli.json_documents import Json
from penstock.cli.output import console, format_count, print_json, print_table
from penstock.cli.parity import ExpectOption, ParamsOption, RequireParityOption, parity_gate
from penstock.cli.plans.plan_output import AllOption, WhyOption, plan_view, print_plan
from penstock.cli.session import Session, command

group = typer.Typer()
DeploymentArgument = Annotated[str, typer.Argument(metavar="ID", help="An id, a name, or live, staging, previous.")]
CandidateArgument = Annotated[
    str | None, typer.Argument(metavar="ID", help="An id, a name, or staging; needed if there are several candidates.")
]


@group.command("ls")
@command
def ls(session: Session) -> None:
    """List the deployments, newest first."""
    found = session.client().get("/v1/deployments")
    if session.as_json:
        print_json(found)
        return
    rows = [
        (each["id"], each["name"], _state_text(each), each["created_at"][:19], format_count(each["rows_moved"]))
        for each in found["deployments"]
    ]
    print_table(("id", "name", "state", "created at (UTC)", "rows moved"), rows)


@group.command("show")
@command
def show(
    session: Session, which: DeploymentArgument = "live", everything: AllOption = False, why: WhyOption = None
) -> None:
    """Show a deployment with its plan."""
    found = session.client().get(f"/v1/deployments/{which}")
    if session.as_json:
        print_json(found)
        return
    _print_deployment(session, found)
    print_plan(found["plan"], plan_view(why, everything=everything))
    if found["error"]:
        console().print(f"error: {found['error'].get('error')}", style="red", markup=False)


@group.command("promote")
@command
def promote(
    session: Session,
    which: CandidateArgument = None,
    require_parity: RequireParityOption = False,
    params: ParamsOption = None,
    expect: ExpectOption = None,
) -> None:
    """Make a ready deployment live."""
    gate = parity_gate(params, expect, required=require_parity)
    client = session.client()
    ref = which or choose_candidate(session, client, "promote")
    if gate is not None:
        _print_deployment(session, client.promote_if_same(ref, gate.parameters, gate.calls))
    else:
        _print_deployment(session, client.post(f"/v1/deployments/{ref}/set-live"))


@group.command("rollback")
@command
def rollback(session: Session) -> None:
    """Make the previous deployment live again."""
    _print_deployment(session, session.client().post("/v1/deployments/rollback"))


@group.command("discard")
@command
def discard(
    session: Session,
    which: CandidateArgument = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Discard a deployment that is not live, and undo what it did."""
    client = session.client()
    ref = which or choose_candidate(session, client, "discard")
    if which is None and not yes and session.is_interactive:
        typer.confirm(f"discard deployment {ref} and undo what it did?", abort=True)
    _print_deployment(session, client.delete(f"/v1/deployments/{ref}"))


@group.command("pause")
@command
def pause(session: Session, which: CandidateArgument = None) -> None:
    """Stop filling a deployment that is not live; it can be resumed."""
    client = session.client()
    ref = which or choose_candidate(session, client, "pause")
    _print_deployment(session, client.post(f"/v1/deployments/{ref}/pause"))


@group.command("resume")
@command
def resume(session: Session, which: CandidateArgument = None) -> None:
    """Continue a paused deployment where it stopped."""
    client = session.client()
    ref = which or choose_candidate(session, client, "resume")
    _print_deployment(session, client.post(f"/v1/deployments/{ref}/resume"))


@group.command("retire")
@command
def retire(session: Session, which: DeploymentArgument = "previous") -> None:
    """Stop feeding the previous deployment: it cannot be rolled back to any more."""
    _print_deployment(session, session.client().post(f"/v1/deployments/{which}/retire"))


def _print_deployment(session: Session, found: Json) -> None:
    if session.as_json:
        print_json(found)
        return
    page = console()
    name = f" ({found['name']})" if found["name"] else ""
    page.print(f"deployment {found['id']}{name} is {_state_text(found)}", markup=False)
    if found.get("stale"):
        page.print(f"  {STALE_HINT}", style="dim", markup=False)


STALE_HINT = "another version went live since it was planned: discard it and deploy again"


def _state_text(found: Json) -> str:
    """The state, with what keeps the deployment from going on in it."""
    stale = f", stale (planned against {found['base'] or 'nothing'})" if found.get("stale") else ""
    return f"{found['state']}{', paused' if found.get('paused') else ''}{stale}"
