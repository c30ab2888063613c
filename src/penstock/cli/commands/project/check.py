"""`penstock check [DIR]`: all problems of a project, without a server.

In: a project's folder, or any folder of datafiles. Out: every problem with its place and, with `--keep-going`, what
would deploy without the broken files. Invariant: exit code 0 means that a server which has nothing yet would deploy the
project; nothing is written.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from penstock.api.project.source_places import SourcePlaces
from penstock.api.project.source_project import SourceProject, load_source_folder
from penstock.api.source_edits.file_changes import refuse_unfinished_files
from penstock.cli.errors import FAILED, print_problems, report
from penstock.cli.json_documents import Json
from penstock.cli.plain_output import format_number, print_json, print_line, print_rare_table
from penstock.cli.project_folder import say_where_datafiles_are
from penstock.cli.session import Session, command
from penstock.errors import InvalidProject, NotFound
from penstock.plan.project_check import ProjectCheck, ResourceCheck, check_loaded
from penstock.plan.project_warnings import source_warnings


@command
def check(
    session: Session,
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="The project's folder.")] = None,
    keep_going: Annotated[
        bool, typer.Option("--keep-going", help="List what would deploy without the broken files.")
    ] = False,
) -> None:
    """Show all problems of a project; needs no server."""
    refuse_unfinished_files(folder or session.new_project)
    read = load_project(folder or session.new_project)
    found = _with_warnings(_in_sources(check_loaded(read.loaded), read.places), read)
    if session.as_json:
        print_json(_check_to_json(found))
    else:
        _print_check(found)
        if keep_going and found.errors:
            _print_resources(found.resources)
    if found.errors:
        raise typer.Exit(FAILED)


def load_project(folder: Path) -> SourceProject:
    """The project of a folder. Raises NotFound for a folder without datafiles, which would be an empty project."""
    read = load_source_folder(folder)
    if not read.loaded.files and not read.loaded.problems:
        raise NotFound(f"there are no datafiles in {folder}", hint=say_where_datafiles_are(folder))
    return read


def _with_warnings(found: ProjectCheck, read: SourceProject) -> ProjectCheck:
    """A check with what is warned of in Python only."""
    if found.errors:
        return found
    return replace(found, problems=tuple(dict.fromkeys([*found.problems, *source_warnings(read, found.compiled)])))


def _in_sources(found: ProjectCheck, places: SourcePlaces) -> ProjectCheck:
    """A check whose places are those that people wrote: of Python, where a datafile was made from it."""
    resources = tuple(replace(each, file=places.file(each.file)) for each in found.resources)
    return replace(found, problems=places.problems(found.problems), resources=resources)


def _print_check(found: ProjectCheck) -> None:
    if found.errors:
        report(_refusal(found))
        return
    print_problems([problem.as_json() for problem in found.problems])
    sources = sum(each.kind == "datasource" for each in found.resources)
    pipes = len(found.resources) - sources
    counts = f"{format_number(sources, 'data source', 'data sources')}, {format_number(pipes, 'pipe', 'pipes')}"
    print_line(f"{counts}: no problem")


def _refusal(found: ProjectCheck) -> InvalidProject:
    return InvalidProject(f"the project has {format_number(len(found.errors), 'problem', 'problems')}", found.problems)


def _print_resources(resources: tuple[ResourceCheck, ...]) -> None:
    """Print what would deploy, and what would not and why."""
    if not resources:
        print_line("what would deploy is known when the project can be read: nothing of it is until then")
        return
    rows = [(each.name, each.kind, each.outcome, _because_text(each)) for each in resources]
    print_rare_table(("resource", "kind", "without the broken files", "because"), rows)
    deploys = sum(each.outcome == "deploys" for each in resources)
    print_line(f"{deploys:,} of {format_number(len(resources), 'resource', 'resources')} would deploy")


def _because_text(each: ResourceCheck) -> str:
    if each.unfed_by:
        return f"gets no rows from {', '.join(each.unfed_by)}"
    if each.outcome == "broken":
        return each.file
    return f"names {', '.join(each.because)}" if each.because else ""


def _check_to_json(found: ProjectCheck) -> Json:
    """The document of a check; where the project would be refused, it is an error document as well."""
    resources = [
        {
            "name": each.name,
            "kind": each.kind,
            "file": each.file,
            "outcome": each.outcome,
            "because": list(each.because),
            "unfed_by": list(each.unfed_by),
        }
        for each in found.resources
    ]
    document: Json = {"ok": not found.errors, "problems": [problem.as_json() for problem in found.problems]}
    return {**(_refusal(found).as_json() if found.errors else {}), **document, "resources": resources}
