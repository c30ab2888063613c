"""The cases of the planner's benchmark: edits of one fixed project.

In: bench/cases/cases.toml and the project in bench/cases/graph. Out: `Case`s and the files after each. An edit that
does not apply is an error, never a case without a change.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent / "cases"


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit of one file; what cases.toml says of it."""

    file: str
    old: str | None = None
    new: str | None = None
    to: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """A change, what today's best rewrites for it, and the least that anybody has to move."""

    number: int
    title: str
    minimum: int
    why: str
    edits: tuple[Edit, ...]
    rewrites: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    leave: bool = False
    refused: bool = False
    run: Literal["fails", "rollback"] | None = None

    def after(self, files: Mapping[str, str]) -> dict[str, str]:
        """The project with the edits."""
        found = dict(files)
        for edit in self.edits:
            _edit(found, edit)
        return found


def graph() -> dict[str, str]:
    """The files of the fixed project, by path."""
    folder = HERE / "graph"
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def cases() -> tuple[Case, ...]:
    """All cases, in their order."""
    document = tomllib.loads((HERE / "cases.toml").read_text(encoding="utf-8"))
    return tuple(_case(**each) for each in document["case"])


def _case(edit: list[dict[str, str]], **rest: object) -> Case:
    lists = {key: tuple(value) for key, value in rest.items() if isinstance(value, list)}
    return Case(**{**rest, **lists}, edits=tuple(Edit(**each) for each in edit))  # type: ignore[arg-type]


def _edit(files: dict[str, str], edit: Edit) -> None:
    if edit.to is not None:
        files[edit.to] = files.pop(edit.file)
    elif edit.new is None:
        del files[edit.file]
    elif edit.old is None:
        files[edit.file] = edit.new
    elif edit.old not in files[edit.file]:
        raise ValueError(f"{edit.file} does not hold {edit.old!r}")
    else:
        files[edit.file] = files[edit.file].replace(edit.old, edit.new)
