"""`penstock init`: make a folder a project.

In: a folder and, for a new project, the name of an example. Out: the example's files in that folder; in a folder that
has datafiles or Python of its own, only what makes it a project. Invariant: an existing file is never overwritten.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from penstock.api.project.project_module import contains_project, untaken_python
from penstock.cli.new_project import make_project
from penstock.cli.output import console, print_json
from penstock.cli.session import Session, command
from penstock.errors import Conflict, NotFound, did_you_mean

PLAIN = "minimal"


@command
def init(
    session: Session,
    folder: Annotated[Path, typer.Argument(help="The folder; created if missing.")] = Path(),
    example: Annotated[str | None, typer.Option("--example", help="Which example to start from.")] = None,
) -> None:
    """Create a project to start from, or make a folder of datafiles or Python one."""
    adopted = contains_project(folder)
    if adopted and example is not None:
        raise Conflict(f"{folder} has files of a project already", hint="leave out --example, or choose another folder")
    stray = None if adopted or example is not None else untaken_python(folder)
    example = None if adopted or stray is not None else example or PLAIN
    written = make_project(folder, {} if example is None else dict(_example_files(_example_folder(example))))
    if session.as_json:
        print_json({"project": str(folder.resolve()), "example": example, "files": written})
        return
    page = console()
    if example is None:
        page.print(f"its files stay as they are; new: {', '.join(written)}", markup=False)
    else:
        page.print(f"{len(written)} files in {folder}: example `{example}`", markup=False)
    if stray is not None:
        page.print(f"{stray.message}: {stray.hint}", markup=False)
        return
    go = "" if folder.resolve() == Path.cwd() else f"cd {folder} && "
    page.print(f"next: {go}penstock up --detach && penstock deploy", markup=False)


def _example_folder(name: str) -> Path:
    examples = Path(str(files("penstock") / "examples"))
    known = sorted(each.name for each in examples.iterdir() if (each / "penstock.toml").is_file())
    if name not in known:
        raise NotFound(f"there is no example `{name}`", hint=did_you_mean(name, known))
    return examples / name


def _example_files(folder: Path) -> Iterator[tuple[str, bytes]]:
    for each in sorted(folder.rglob("*")):
        if each.is_file() and "__pycache__" not in each.parts:
            yield each.relative_to(folder).as_posix(), each.read_bytes()
