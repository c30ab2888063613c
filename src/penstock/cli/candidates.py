"""Which candidate a command means that names none.

In: the deployments that the server lists. Out: the reference of one of them. Invariant: with several that would do,
the user says which: at a terminal by answering, elsewhere by naming it on the command line.
"""

from __future__ import annotations

from collections.abc import Sequence

import typer

from penstock.cli.client import ServerClient
from penstock.cli.errors import WrongUsage
from penstock.cli.json_documents import Json
from penstock.cli.output import console
from penstock.cli.session import Session

STAGING = "staging"
"""What the server itself resolves: the newest candidate. Where there is one at most, it answers what is wrong."""
FITTING_STATES = {
    "promote": ("ready",),
    "discard": ("ready", "backfilling", "preparing", "planned", "failed"),
    "pause": ("ready", "backfilling", "preparing", "planned"),
    "resume": ("ready", "backfilling", "preparing", "planned"),
}
"""By command, the states of the deployments that it can be for."""


def choose_candidate(session: Session, client: ServerClient, verb: str) -> str:
    """The deployment to promote, discard, pause or resume. Raises WrongUsage that names the candidates if there are
    several and nobody can be asked."""
    fitting = [each for each in client.get("/v1/deployments")["deployments"] if _is_fitting(each, verb)]
    if len(fitting) < 2:
        return str(fitting[0]["id"]) if fitting else STAGING
    if session.is_interactive:
        return _ask(fitting, verb)
    known = ", ".join(_candidate_text(each) for each in fitting)
    hint = f"name it: `penstock deployment {verb} {fitting[0]['id']}`"
    raise WrongUsage(f"there are several deployments to {verb}: {known}", hint=hint)


def print_other_candidates(client: ServerClient, id: int) -> None:
    """Name the candidates beside a deployment, such as that of a job which was killed: each of them is fed, at a cost,
    until it is promoted or discarded."""
    listed = client.get("/v1/deployments")["deployments"]
    others = [each for each in listed if each["id"] != id and each["state"] in FITTING_STATES["pause"]]
    if others:
        known = "; ".join(_candidate_text(each) for each in others)
        console().print(
            f"fed beside it: {known} (`penstock deployment discard ID` ends one)", style="dim", markup=False
        )


def _is_fitting(each: Json, verb: str) -> bool:
    if verb in ("pause", "resume") and bool(each.get("paused")) != (verb == "resume"):
        return False
    return each["state"] in FITTING_STATES[verb] and not (verb == "promote" and each.get("stale"))


def _ask(fitting: Sequence[Json], verb: str) -> str:
    for each in fitting:
        console().print(f"  {_candidate_text(each)}", markup=False)
    known = {str(each["id"]) for each in fitting}
    while True:
        answer: str = typer.prompt(f"which one to {verb}?")
        if answer.strip() in known:
            return answer.strip()
        console().print(f"one of {', '.join(sorted(known, key=int))}, or Ctrl-C", markup=False)


def _candidate_text(each: Json) -> str:
    name = f" ({each['name']})" if each["name"] else ""
    stale = ", stale" if each.get("stale") else ""
    return f"{each['id']}{name}, {each['state']}{stale}, made {each['created_at'][:16].replace('T', ' ')}"
