"""`penstock migrate [DIR]`: convert files of the classic format.

In: a folder of datafiles, `.incl` files among them. Out: the difference that the conversion makes; with `--write` the
converted files. Invariant: nothing is written without `--write`, and no file is removed.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.errors import FAILED, print_problems
from penstock.cli.output import console, format_number, print_json
from penstock.cli.session import Session, command
from penstock.errors import NotFound, Problem
from penstock.model.quick_dataclass import dataclass
from penstock.parse.classic.conversion import ConvertedFiles, convert_files
from penstock.parse.classic.includes import INCLUDE_SUFFIX
from penstock.parse.project_files import decode, read_folder
from penstock.parse.settings import SETTINGS_FILE
from penstock.plan.classic_targets import write_missing_targets
from penstock.redaction import escape_controls


@dataclass(frozen=True, slots=True)
class FileChange:
    """A file that the conversion makes or changes."""

    path: str
    before: str
    after: str

    @property
    def diff(self) -> str:
        """The difference as `diff -u` writes it."""
        before, after = (text.splitlines(keepends=True) for text in (self.before, self.after))
        lines = difflib.unified_diff(before, after, self.path if self.before else "/dev/null", self.path)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


@command
def migrate(
    session: Session,
    folder: Annotated[Path | None, typer.Argument(metavar="[DIR]", help="The folder with the datafiles.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the converted files.")] = False,
) -> None:
    """Convert files of the classic format; shows the difference, and needs no server."""
    place = folder or session.new_project
    problems: list[Problem] = []
    texts = read_texts(place, problems)
    settings = {path: text for path, text in texts.items() if path == SETTINGS_FILE}
    conversion = write_missing_targets(convert_files(texts, os.environ), settings)
    changes = tuple(find_changes(texts, conversion))
    if write:
        for each in changes:
            target = place / each.path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(each.after.encode())
    _print_result(session, changes, (*problems, *conversion.problems), "changed" if write else "would change")
    if any(problem.level == "error" for problem in (*problems, *conversion.problems)):
        raise typer.Exit(FAILED)


def read_texts(place: Path, problems: list[Problem]) -> Mapping[str, str]:
    """The datafiles, settings and included files of a folder, by path."""
    if not place.is_dir():
        raise NotFound(f"there is no folder {place}", hint="name the folder with the datafiles")
    texts: dict[str, str] = {}
    for path, content in read_folder(place, problems, (INCLUDE_SUFFIX,)):
        text = decode(content, path, problems)
        if text is not None:
            texts[path] = text
    if not texts:
        raise NotFound(f"there are no datafiles in {place}", hint="name the folder with the datafiles, or go to it")
    return texts


def find_changes(texts: Mapping[str, str], conversion: ConvertedFiles) -> Iterator[FileChange]:
    for path, after in sorted(conversion.files.items()):
        before = texts.get(path, "")
        if before != after:
            yield FileChange(path, before, after)


def _print_result(session: Session, changes: tuple[FileChange, ...], problems: tuple[Problem, ...], what: str) -> None:
    found = [problem.as_json() for problem in problems]
    if session.as_json:
        print_json({"files": [{"path": each.path, "diff": each.diff} for each in changes], "problems": found})
        return
    page = console()
    if what == "would change":
        for each in changes:
            page.print(escape_controls(each.diff), markup=False, soft_wrap=True, end="")
    print_problems(found)
    count = format_number(len(changes), "file", "files")
    again = "; `penstock migrate --write` writes them" if changes and what == "would change" else ""
    page.print(f"{count} {what}{again}" if changes else "nothing to convert", markup=False)
