"""Which files make a project, and their text.

In: a folder, or paths. Out: contents by relative path. Invariant: a path has `/` between its parts and is relative to
the project's folder, on every system.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from penstock.errors import Location, Problem
from penstock.parse.settings import SETTINGS_FILE

MOST_BYTES = 2**26
"""The most bytes of a file of a project."""
SUFFIXES = (".datasource", ".pipe", ".connection")
_IGNORED_FOLDERS = ("node_modules", "__pycache__", "site-packages")
VIRTUAL_ENVIRONMENT = "pyvenv.cfg"
"""The file by which a folder is one of Python's packages, whatever its name is."""


def normal_path(path: str) -> str:
    """A relative path with `/` as separator, on every system."""
    return str(PurePosixPath(path.replace("\\", "/")))


def is_project_file(path: str) -> bool:
    """Whether a file belongs to a project: a datafile in no hidden folder, or the settings."""
    *folders, name = PurePosixPath(path).parts or ("",)
    if path == SETTINGS_FILE:
        return True
    return _is_datafile(name) and not any(_is_ignored(folder) for folder in folders)


def read_folder(folder: Path, problems: list[Problem], more: tuple[str, ...] = ()) -> Iterator[tuple[str, bytes]]:
    """The files of a project by relative path, in the order of their paths; `more` are endings of further files."""
    for path in sorted(_walk_folder(folder, (*SUFFIXES, *more))):
        content = read_project_file(folder, path, problems)
        if content is not None:
            yield path, content


def read_project_file(folder: Path, path: str, problems: list[Problem]) -> bytes | None:
    """The content of a file by its relative path; None with a problem added if it cannot be read."""
    try:
        content = _read_at_most(os.path.join(folder, path), MOST_BYTES + 1)
    except OSError as error:
        message = f"the file cannot be read: {error.strerror or 'unknown cause'}"
        problems.append(Problem("unreadable-file", message, Location(path)))
        return None
    if content is None:
        message, hint = "this is no file: it has no end, or it waits for a writer", "remove it, or write a file there"
        problems.append(Problem("unreadable-file", message, Location(path), hint))
    elif len(content) > MOST_BYTES:
        message = f"the file has more than {MOST_BYTES:,} bytes"
        problems.append(Problem("unreadable-file", message, Location(path), "a datafile has SQL and columns, no rows"))
        return None
    return content


def _read_at_most(path: str, size: int) -> bytes | None:
    """The first bytes of a file; None for a pipe, a device or a socket, for which opening may wait for ever."""
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        return file.read(size) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None


def contains_datafiles(folder: Path) -> bool:
    """Whether a data source or a pipe is in the folder or below it; no file is read."""
    return next(_walk_folder(folder, SUFFIXES[:2], named=()), None) is not None


def python_files(folder: Path) -> Iterator[str]:
    """The files of Python in a folder that are its own: those of packages and of hidden folders are not."""
    return _walk_folder(folder, (".py",), named=())


def decode(content: bytes, path: str, problems: list[Problem]) -> str | None:
    """The text of a file; None with a problem added if it is not UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        hint = "save the file as UTF-8"
        problems.append(Problem("not-utf-8", "the file is not UTF-8", Location(path, line, column), hint))
        return None


def _walk_folder(folder: Path, suffixes: tuple[str, ...], named: tuple[str, ...] = (SETTINGS_FILE,)) -> Iterator[str]:
    """The files with these endings, and those of the folder itself with these names."""
    for here, folders, names in os.walk(folder):
        inside = Path(here).relative_to(folder).as_posix()
        if inside != "." and VIRTUAL_ENVIRONMENT in names:
            folders[:] = []
            continue
        folders[:] = [name for name in folders if not _is_ignored(name)]
        if inside == ".":
            yield from (name for name in names if name in named or _is_datafile(name, suffixes))
        else:
            yield from (f"{inside}/{name}" for name in names if _is_datafile(name, suffixes))


def _is_datafile(name: str, suffixes: tuple[str, ...] = SUFFIXES) -> bool:
    return name.endswith(suffixes) and not name.startswith(".")


def _is_ignored(folder: str) -> bool:
    return folder.startswith(".") or folder in _IGNORED_FOLDERS
