"""`penstock deploy`: plan a project against what is live, and carry the plan out.

In: the project's folder. Out: the plan, then progress until the deployment is at rest. Called by
`main`. Invariant: exit code 0 says that the deployment came where it should: planned (--check),
started (--no-wait), ready (--no-promote) or live.
"""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.client import Client, Json, flags
from penstock.cli.plans import print_plan
from penstock.cli.problems import Refused
from penstock.cli.session import Session, command
from penstock.cli.show import console, print_json
from penstock.cli.watch import watch
from penstock.errors import InvalidProject, NoServer
from penstock.parse.load import load_folder

UNDER_WAY = ("planned", "preparing", "backfilling")


@command
def deploy(
    session: Session,
    check: Annotated[bool, typer.Option("--check", help="Only plan.")] = False,
    promote: Annotated[bool, typer.Option("--promote/--no-promote", help="Make it live when it is ready.")] = True,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Watch until it is ready or live.")] = True,
    allow_destructive_operations: Annotated[
        bool, typer.Option("--allow-destructive-operations", help="Accept what loses rows or resources.")
    ] = False,
    name: Annotated[str | None, typer.Option("--name", help="A name to speak of it.")] = None,
) -> None:
    """Plan a project against what is live, and carry the plan out."""
    loaded = load_folder(session.project)
    if loaded.errors:
        count = len(loaded.errors)
        raise InvalidProject(f"the project has {count} problem{'s' if count > 1 else ''}", loaded.problems)
    parameters = flags(
        check=check, auto_promote=promote, allow_destructive_operations=allow_destructive_operations, name=name
    )
    client = session.client()
    made = client.deploy(loaded.files, parameters)
    if not session.as_json:
        print_plan(made["plan"])
    if wait and not check:
        made = _watched(session, client, made)
    if session.as_json:
        print_json(made)
    else:
        console().print(_told(made, check=check), markup=False)


def _watched(session: Session, client: Client, made: Json) -> Json:
    """The deployment when it has come to rest. Raises Refused with its error if it failed or could
    not be promoted, NoServer if the server stopped on the way."""
    watch(client.events(made["id"]), silent=session.as_json)
    rested = client.get(f"/v1/deployments/{made['id']}")
    state = rested["state"]
    if state in UNDER_WAY:
        hint = "it goes on when the server is up again; `penstock deployment show` says how far it is"
        raise NoServer(f"the server stops while deployment {made['id']} is {state}", hint=hint)
    if state in ("failed", "discarded") or (state == "ready" and rested["error"]):
        raise Refused(500, rested["error"] or {"error": f"deployment {made['id']} was discarded", "code": "conflict"})
    return rested


def _told(made: Json, *, check: bool) -> str:
    if check:
        return "checked; nothing was done"
    name = f" ({made['name']})" if made["name"] else ""
    after = {"ready": "; `penstock deployment promote` makes it live"}.get(made["state"], "")
    return f"deployment {made['id']}{name} is {made['state']}{after}"
