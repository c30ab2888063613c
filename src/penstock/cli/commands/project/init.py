"""`penstock init`: create a project from an example.

In: a folder and the name of an example. Out: the example's files in that folder. Invariant: an existing file is never
overwritten.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.output import console, print_json
from penstock.cli.session import Session, command
from penstock.errors import Conflict, NotFound, did_you_mean

PLAIN = "minimal"
IGNORED = ".penstock/\n"


@command
def init(
    session: Session,
    folder: Annotated[Path, typer.Argument(help="The folder; created if missing.")] = Path(),
    example: Annotated[str, typer.Option("--example", help="Which example to start from.")] = PLAIN,
) -> None:
    """Create a project to start from."""
    found = dict(_example_files(_example_folder(example)))
    written = _write_files(folder, found | {".gitignore": IGNORED.encode()})
    if session.as_json:
        print_json({"project": str(folder.resolve()), "example": example, "files": written})
        return
    page = console()
    page.print(f"{len(written)} files in {folder}", markup=False)
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


def _write_files(folder: Path, found: dict[str, bytes]) -> list[str]:
    taken = sorted(path for path in found if (folder / path).exists() and path != ".gitignore")
    if taken:
        raise Conflict(f"{folder / taken[0]} exists already", hint="choose a folder without a project")
    try:
        for path, content in found.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                target.write_bytes(content)
    except OSError as error:
        raise Conflict(f"{error.filename} cannot be written: {error.strerror}") from error
    return sorted(found)
