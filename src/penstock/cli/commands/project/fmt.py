"""`penstock fmt [DIR]`: write datafiles in their canonical layout.

In: a project's folder, or one file. Out: the files, laid out; with `--check` only their names, and exit code 1 if there
are any. Invariant: a file with errors is left as it is and its problems are shown; a file is replaced as a whole.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.errors import FAILED, report
from penstock.cli.output import console, format_number, print_json
from penstock.cli.session import Session, command
from penstock.errors import InvalidProject, NotFound, PenstockError, Problem
from penstock.model.pipe import Dialect
from penstock.model.quick_dataclass import dataclass
from penstock.parse.layout.datafile_layout import lay_out
from penstock.parse.project_files import decode, read_folder
from penstock.parse.settings import SETTINGS_FILE, parse_settings

SUFFIXES = (".datasource", ".pipe")


@dataclass(frozen=True, slots=True)
class LaidOutFile:
    """A file as it is and in canonical layout."""

    path: str
    before: str
    after: str


@command
def fmt(
    session: Session,
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="A project's folder, or one file.")] = None,
    check: Annotated[bool, typer.Option("--check", help="Write nothing; exit code 1 if a file would change.")] = False,
) -> None:
    """Write datafiles in their canonical layout, with their comments; needs no server."""
    place = folder or session.new_project
    problems: list[Problem] = []
    files = tuple(_lay_out_files(place, problems))
    changed = [each for each in files if each.before != each.after]
    if not check:
        for each in changed:
            _replace_file(place / each.path if place.is_dir() else place, each.after)
    if session.as_json:
        names = [each.path for each in changed]
        print_json({"changed": names, "files": len(files), "problems": [problem.as_json() for problem in problems]})
    else:
        of = f"of {format_number(len(files), 'file', 'files')}"
        _print_result(changed, f"{of} would change" if check else f"{of} changed", problems)
    if problems or (check and changed):
        raise typer.Exit(FAILED)


def _lay_out_files(place: Path, problems: list[Problem]) -> Iterator[LaidOutFile]:
    """The datafiles of a folder that have no errors; the errors of the others are added to `problems`."""
    contents = dict(_read_files(place, problems))
    settings = contents.get(SETTINGS_FILE, b"").decode(errors="replace")
    dialect = parse_settings(settings, SETTINGS_FILE, []).dialect
    for path, content in contents.items():
        if not path.endswith(SUFFIXES):
            continue
        text = decode(content, path, problems)
        after = _lay_out_file(text, path, dialect, problems) if text is not None else None
        if text is not None and after is not None:
            yield LaidOutFile(path, text, after)


def _read_files(place: Path, problems: list[Problem]) -> Iterator[tuple[str, bytes]]:
    if place.is_file() and place.suffix in SUFFIXES:
        yield place.name, place.read_bytes()
    elif place.is_dir():
        yield from read_folder(place, problems)
    else:
        raise NotFound(f"there is no folder or datafile {place}", hint="name the project's folder, or one of its files")


def _lay_out_file(text: str, path: str, dialect: Dialect, problems: list[Problem]) -> str | None:
    try:
        return lay_out(text, path, Path(path).stem, dialect)
    except PenstockError as error:
        problems.extend(error.problems or [Problem(error.code, error.message, hint=error.hint)])
        return None


def _replace_file(path: Path, text: str) -> None:
    target = path.resolve()
    beside = target.with_name(f".{target.name}.new")
    beside.write_bytes(text.encode())
    shutil.copymode(target, beside)
    os.replace(beside, target)


def _print_result(changed: Sequence[LaidOutFile], of: str, problems: Sequence[Problem]) -> None:
    page = console()
    for each in changed:
        page.print(each.path, markup=False)
    if problems:
        report(InvalidProject("files with problems are left as they are", problems))
    page.print(f"{len(changed):,} {of}", markup=False)
