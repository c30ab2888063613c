"""`penstock deploy`: plan a project against what is live, and carry the plan out.

In: the project's folder. Out: the plan, then the progress of the deployment (bars on a terminal, lines elsewhere,
nothing with `--output json`). Invariants: exit code 0 means that the deployment reached the requested state: planned
(`--check`), started (`--no-wait`), ready (`--no-promote`) or live, or that there was nothing to do; without
`--no-wait` it is this command that promotes, so nothing goes live behind the back of a caller who has gone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import typer

from penstock.api.project.source_project import SourceProject, load_source_folder
from penstock.api.source_edits.file_changes import refuse_unfinished_files
from penstock.cli.candidates import print_other_candidates
from penstock.cli.client import ServerClient
from penstock.cli.deployment_progress import WatchedDeployment, promote_when_caught_up, watch_deployment
from penstock.cli.errors import Interrupted, ServerRefusal, WrongUsage, parse_problem
from penstock.cli.interrupts import interrupted_by_signals
from penstock.cli.json_documents import Json, query_parameters
from penstock.cli.output import console, print_json
from penstock.cli.parity import ExpectOption, ParamsOption, ParityGate, RequireParityOption, parity_gate
from penstock.cli.plans.plan_output import AllOption, WhyOption, plan_view, print_plan
from penstock.cli.session import Session, command
from penstock.errors import Conflict, InvalidProject, Location
from penstock.plan.project_check import check_loaded
from penstock.plan.project_warnings import source_warnings


@command
def deploy(
    session: Session,
    check: Annotated[bool, typer.Option("--check", help="Only plan.")] = False,
    promote: Annotated[bool, typer.Option("--promote/--no-promote", help="Make it live when it is ready.")] = True,
    wait: Annotated[
        bool,
        typer.Option("--wait/--no-wait", help="Watch until it is ready or live; else the server does all of it alone."),
    ] = True,
    allow_destructive_operations: Annotated[
        bool, typer.Option("--allow-destructive-operations", help="Accept what loses rows or resources.")
    ] = False,
    check_rows: Annotated[
        bool, typer.Option("--check-rows/--no-check-rows", help="First see whether all existing rows convert.")
    ] = True,
    name: Annotated[str | None, typer.Option("--name", help="A name for the deployment.")] = None,
    require_parity: RequireParityOption = False,
    params: ParamsOption = None,
    expect: ExpectOption = None,
    everything: AllOption = False,
    why: WhyOption = None,
) -> None:
    """Plan a project against what is live, and carry the plan out."""
    gate = parity_gate(params, expect, required=require_parity)
    if gate is not None and not (promote and wait):
        raise WrongUsage("--require-parity is for a deploy that waits and promotes", hint=PROMOTE_LATER)
    if why and not check:
        raise WrongUsage("--why is for a plan", hint="add --check, which only plans")
    read = load_sound_project(session)
    parameters = query_parameters(
        check=check,
        # A caller who waits promotes by a call of its own, which a caller who has gone does not make.
        auto_promote=promote and not wait,
        allow_destructive_operations=allow_destructive_operations,
        check_rows=check_rows,
        continue_candidate=True,
        name=name,
    )
    client = session.client()
    made = send_project(client, read, parameters)
    if not session.as_json:
        print_plan(made["plan"], plan_view(why, everything=everything))
        _print_continuation(made)
    if made["id"] and wait:
        made = wait_for_deployment(session, client, made, Promotion(gate) if promote else None)
    if session.as_json:
        print_json(made)
    else:
        console().print(_outcome_text(made, check=check), markup=False)
        print_other_candidates(client, made["id"])


def load_sound_project(session: Session) -> SourceProject:
    """The project of the folder. Raises InvalidProject if it cannot be read whole, and Conflict where edits of its
    files are not finished."""
    refuse_unfinished_files(session.project)
    read = load_source_folder(session.project)
    refuse_unfinished_files(session.project)  # they may have begun meanwhile
    if read.loaded.errors:
        found = check_loaded(read.loaded)
        count, problems = len(found.errors), read.places.problems(found.problems)
        raise InvalidProject(f"the project has {count} problem{'s' if count > 1 else ''}", problems)
    return read


def _print_continuation(made: Json) -> None:
    """Say so if the server goes on with a candidate, such as that of a job which was killed."""
    if made.get("continued"):
        text = f"deployment {made['id']} has the same files, and was asked for in the same way: it goes on"
        console().print(text, markup=False)


def ask_for_deployment(client: ServerClient, read: SourceProject, parameters: Mapping[str, str]) -> Json:
    """The deployment that the server made; its places are those that people wrote."""
    try:
        made = client.deploy(read.loaded.files, parameters)
    except ServerRefusal as refusal:
        refusal.problems = read.places.problems(refusal.problems)
        raise
    plan = made["plan"]
    problems = [*_relocate(plan["problems"], read), *(each.as_json() for each in source_warnings(read))]
    changes = [_relocate_change(each, read) for each in plan["changes"]]
    return {**made, "plan": {**plan, "changes": changes, "problems": _without_repetition(problems)}}


def _relocate_change(change: Json, read: SourceProject) -> Json:
    """The change at the place that people wrote it."""
    if not change.get("file"):
        return change
    place = read.places.locate(Location(change["file"], change["line"]))
    return {**change, "file": place.file, "line": place.line}


def _without_repetition(problems: Sequence[Json]) -> list[Json]:
    return [each for at, each in enumerate(problems) if each not in problems[:at]]


def send_project(client: ServerClient, read: SourceProject, parameters: Mapping[str, str]) -> Json:
    """The deployment that the server made. Raises Interrupted if the user does not wait for the answer."""
    try:
        with interrupted_by_signals():
            return ask_for_deployment(client, read, parameters)
    except KeyboardInterrupt:
        message = "interrupted while the server was planning: it may have begun a deployment, which does not go live"
        raise Interrupted(
            message, "`penstock deployment ls` shows it, `penstock deployment discard ID` ends it"
        ) from None


def _relocate(problems: Sequence[Json], read: SourceProject) -> list[Json]:
    return [each.as_json() for each in read.places.problems(parse_problem(each) for each in problems)]


PROMOTE_LATER = "`penstock deployment promote --require-parity` compares the versions later"


@dataclass(frozen=True, slots=True)
class Promotion:
    """That a deployment is to go live, and what is asked of it before."""

    gate: ParityGate | None = None


def wait_for_deployment(session: Session, client: ServerClient, made: Json, promotion: Promotion | None) -> Json:
    """The deployment once it is ready, or live if it is to be promoted.

    Raises ServerRefusal with its error if it failed or could not be promoted, NoServer if the server did not come back,
    Interrupted if the user stopped watching.
    """
    try:
        with interrupted_by_signals():
            watched = watch_deployment(client, made["id"], silent=session.as_json)
            _raise_failure(watched.deployment)
            if promotion is None or watched.deployment["state"] != "ready":
                return watched.deployment
            _refuse_after_absence(watched)
            promoted = promote_when_caught_up(client, made["id"], promotion.gate)
    except KeyboardInterrupt:
        raise _interruption(made, promote=promotion is not None) from None
    if not session.as_json:
        console().print(f"  {promoted['state']}", markup=False)
    return promoted


def _raise_failure(rested: Json) -> None:
    if rested["state"] in ("failed", "discarded"):
        gone = {"error": f"deployment {rested['id']} was discarded", "code": "conflict"}
        raise ServerRefusal(500, rested["error"] or gone)


def _refuse_after_absence(watched: WatchedDeployment) -> None:
    """Raises Conflict if this machine did not hear from the server for long: whoever asked may be elsewhere by now."""
    if watched.was_away:
        id = watched.deployment["id"]
        raise Conflict(
            f"deployment {id} is ready and was not made live: this machine slept, or was cut off, for a long time",
            hint=f"`penstock deployment promote {id}` makes it live, `penstock deployment discard {id}` gives it up",
        )


def _interruption(made: Json, *, promote: bool) -> Interrupted:
    id = made["id"]
    live = "it does not go live by itself" if promote else "it will be ready, not live"
    return Interrupted(
        f"nobody watches any more: the server goes on with deployment {id}; {live}",
        f"`penstock status` shows how far it is; `penstock deployment promote {id}` makes it live once it is ready;"
        f" `penstock deployment discard {id}` stops it and undoes what it did",
    )


def _outcome_text(made: Json, *, check: bool) -> str:
    if check:
        return "checked; nothing was done"
    if not made["id"]:
        live = f"deployment {made['base']} is live and has all of it" if made["base"] else "the project has no resource"
        return f"nothing to deploy: {live}"
    name = f" ({made['name']})" if made["name"] else ""
    after = {"ready": "; `penstock deployment promote` makes it live"}.get(made["state"], "")
    return f"deployment {made['id']}{name} is {made['state']}{after}"
