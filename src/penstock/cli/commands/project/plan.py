"""`penstock plan BEFORE AFTER`: the plan from one project folder to another, without a server.

In: two project folders. Out: the plan. Invariant: only files are read; rows and bytes, which only a server knows, are
shown as unknown.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from penstock.api.project.source_project import SourceProject, load_source_folder
from penstock.cli.errors import FAILED
from penstock.cli.output import print_json
from penstock.cli.plans.plan_output import AllOption, WhyOption, plan_view, print_plan
from penstock.cli.session import Session, command
from penstock.errors import InvalidProject, Location
from penstock.plan.diff.changes import Change, ResourceRemoved
from penstock.plan.offline import NEXT_OPTIONS, plan_loaded
from penstock.plan.plan_json import plan_to_json
from penstock.plan.project_warnings import source_warnings


@command
def plan(
    session: Session,
    before: Annotated[Path, typer.Argument(help="The project that is live.")],
    after: Annotated[Path, typer.Argument(help="The new project.")],
    allow_destructive_operations: Annotated[
        bool, typer.Option("--allow-destructive-operations", help="Accept what loses rows or resources.")
    ] = False,
    everything: AllOption = False,
    why: WhyOption = None,
) -> None:
    """Show the plan from one project folder to another; needs no server."""
    options = replace(NEXT_OPTIONS, allow_destructive=allow_destructive_operations)
    old = load_source_folder(before)
    new = load_source_folder(after, old.loaded)
    _check_project(before, old)
    _check_project(after, new)
    made = plan_loaded(old.loaded, new.loaded, options)
    made = replace(made, places={change: _locate(change, place, old, new) for change, place in made.places.items()})
    problems = [*new.places.problems(made.problems), *source_warnings(new)]
    made = replace(made, problems=tuple(dict.fromkeys(problems)))
    document = plan_to_json(made)
    if session.as_json:
        print_json(document)
    elif made.errors:
        raise InvalidProject(f"{after} cannot follow {before}", made.problems)
    else:
        print_plan(document, plan_view(why, everything=everything))
    if made.errors:
        raise typer.Exit(FAILED)


def _locate(change: Change, place: Location, old: SourceProject, new: SourceProject) -> Location:
    """The place that people wrote; a removed resource has one in the old project only."""
    return (old if isinstance(change, ResourceRemoved) else new).places.locate(place)


def _check_project(folder: Path, read: SourceProject) -> None:
    if read.loaded.errors:
        raise InvalidProject(f"{folder} has problems", read.places.problems(read.loaded.problems))
