"""`penstock pull [DIR]`: the files of a version, from the server, byte for byte as they were deployed.

In: a deployment and a folder. Out: its datafiles and settings in that folder. Invariants: without `--overwrite` no file
is changed, and none is written if one would have to be; files that the version does not have are left alone; nothing is
written outside the folder, or beside objects in Python that would then be declared twice.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from penstock.api.project.converted_project import convert_to_python
from penstock.api.project.project_module import contains_project, find_module
from penstock.api.project.source_project import load_source_folder
from penstock.cli.errors import FAILED, WrongUsage
from penstock.cli.json_documents import Json
from penstock.cli.output import console, format_number, print_json
from penstock.cli.session import Session, command
from penstock.errors import Conflict, Failed, Location, Problem
from penstock.model.quick_dataclass import dataclass
from penstock.parse.project_files import is_project_file, read_folder


class ProjectForm(str, Enum):
    """The form in which a project is written."""

    datafiles = "datafiles"
    python = "python"


@dataclass(frozen=True, slots=True)
class FolderDifference:
    """How a folder differs from the files of a version, by path."""

    new: tuple[str, ...]
    """Not in the folder yet."""
    changed: tuple[str, ...]
    same: tuple[str, ...]
    extra: tuple[str, ...]
    """Only in the folder."""


@command
def pull(
    session: Session,
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="The folder; created if missing.")] = None,
    deployment: Annotated[str, typer.Option("--deployment", help="live, staging, previous, an id or a name.")] = "live",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that differ.")] = False,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit code 1 if the folder differs.")] = False,
    form: Annotated[ProjectForm, typer.Option("--as", help="The form of the files.")] = ProjectForm.datafiles,
) -> None:
    """Get the files of a version as they were deployed."""
    place = folder or session.project
    if form is ProjectForm.python and (check or contains_project(place)):
        hint = "name a folder without datafiles and without objects in Python: `penstock pull DIR --as python`"
        raise WrongUsage("--as python only writes a new project", hint=hint)
    found = session.client().get(f"/v1/deployments/{deployment}/files")
    files = {path: text.encode() for path, text in found["files"].items() if _is_inside(place, path)}
    if form is ProjectForm.python:
        files = {path: text.encode() for path, text in convert_to_python(found["files"]).items()}
    module = find_module(place)
    made = load_source_folder(place).loaded.files if module is not None else {}
    difference = compare_folder(place, files, found["withheld"], made)
    if module is not None and not check and (difference.new or difference.changed):
        message = f"{place} is a project in Python, which datafiles beside it would declare a second time"
        raise Conflict(message, hint="name another folder: `penstock pull DIR`; `--check` only compares")
    if difference.changed and not overwrite and not check:
        raise _refusal(place, found, difference)
    if not check:
        _write_files(place, {path: files[path] for path in (*difference.new, *difference.changed)})
    if session.as_json:
        print_json(_to_json(place, found, difference))
    else:
        _print_difference(place, found, difference, check=check)
    if check and (difference.new or difference.changed or difference.extra):
        raise typer.Exit(FAILED)


def compare_folder(
    folder: Path, files: Mapping[str, bytes], withheld: Collection[str] = (), made: Mapping[str, str] | None = None
) -> FolderDifference:
    """How the project files of a folder, which may not exist, differ from these; `withheld` ones are not known. `made`
    are files that objects in Python stand for."""
    there = {path: text.encode() for path, text in (made or {}).items()}
    there |= dict(read_folder(folder, [])) if folder.is_dir() else {}
    both = [path for path in sorted(files) if path in there]
    return FolderDifference(
        tuple(path for path in sorted(files) if path not in there),
        tuple(path for path in both if files[path] != there[path]),
        tuple(path for path in both if files[path] == there[path]),
        tuple(path for path in sorted(there) if path not in files and path not in withheld),
    )


def _is_inside(folder: Path, path: str) -> bool:
    """Whether a file is one of a project, and its place is below the folder: a link may lead elsewhere."""
    return is_project_file(path) and (folder / path).resolve().is_relative_to(folder.resolve())


def _refusal(folder: Path, found: Json, difference: FolderDifference) -> Conflict:
    message = f"the file is not the same as in deployment {found['id']}"
    problems = [Problem("conflict", message, Location(path)) for path in difference.changed]
    count = format_number(len(problems), "file", "files")
    hint = "`--overwrite` replaces them; commit them first"
    problems[-1:] = [Problem("conflict", message, problems[-1].location, hint)]
    return Conflict(f"{count} in {folder} would be overwritten; nothing was written", problems)


def _write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    try:
        for path, content in files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    except OSError as error:
        raise Failed(f"{error.filename} cannot be written: {error.strerror}") from error


def _to_json(folder: Path, found: Json, difference: FolderDifference) -> Json:
    return {
        "project": str(folder.resolve()),
        "deployment": found["id"],
        "new": list(difference.new),
        "changed": list(difference.changed),
        "same": list(difference.same),
        "extra": list(difference.extra),
        "withheld": found["withheld"],
    }


def _print_difference(folder: Path, found: Json, difference: FolderDifference, *, check: bool) -> None:
    page = console()
    kinds = {"new": difference.new, "changed": difference.changed, "only here": difference.extra}
    kinds["withheld, as it holds a password and the token has no scope admin"] = tuple(found["withheld"])
    for kind, paths in kinds.items():
        for path in paths:
            page.print(f"  {kind}: {path}", markup=False, soft_wrap=True)
    written = format_number(len(difference.new) + len(difference.changed), "file", "files")
    what = f"{written} of {folder} would be written" if check else f"{written} written into {folder}"
    same = f", {len(difference.same):,} the same" if difference.same else ""
    page.print(f"deployment {found['id']} ({found['state']}): {what}{same}", markup=False, soft_wrap=True)
