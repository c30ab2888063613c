"""The folders of this machine that the settings of the server let data sources read, and sinks write.

In: paths, and the folders that whoever runs the server has named. Out: whether a path is in one of these; warnings for
a project that names others. Invariant: a link counts as the place that it leads to.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from penstock.deploy.external.paths.path_patterns import fixed_beginning
from penstock.errors import Location, Problem
from penstock.model.pipe import Exported, FileTarget
from penstock.model.settings import Settings
from penstock.parse.project_loader import LoadedProject

_SCHEME, _TEMPLATE = "file:", "{{"


class AllowedFolders:
    """Folders, and what is below them."""

    def __init__(self, folders: tuple[str, ...]):
        self._roots = [os.path.realpath(each) for each in folders]

    def hold(self, path: str | os.PathLike[str]) -> bool:
        """Whether a path is one of the folders, or below one."""
        real = os.path.realpath(path)
        return any(real == root or real.startswith(f"{root.rstrip('/')}/") for root in self._roots)


@dataclass(frozen=True, slots=True)
class _Named:
    """A folder that a datafile names."""

    folder: str
    location: Location
    effect: str
    section: str


def pattern_of(address: str) -> str:
    """The path of an address `file:///…`, which may be a pattern; one that ends with `/` means all files below it."""
    pattern = os.path.normpath(unquote(address.removeprefix("file://").removeprefix("localhost")))
    return f"{pattern.rstrip('/')}/**" if address.endswith("/") else pattern


def fixed_folder(pattern: str) -> str:
    """The folder below which all paths are that a pattern stands for."""
    return fixed_beginning(pattern).rpartition("/")[0] or "/"


def folder_warnings(loaded: LoadedProject, settings: Settings) -> Iterator[Problem]:
    """A warning for each data source and sink whose folder the settings do not name: it would fail when it runs. One
    whose address is a secret is left out."""
    allowed = {"imports": AllowedFolders(settings.imports.folders), "sinks": AllowedFolders(settings.sinks.folders)}
    for each in _named_folders(loaded):
        if _TEMPLATE not in each.folder and not allowed[each.section].hold(each.folder):
            message = f"{each.effect}: the settings of the server do not name {each.folder}"
            hint = f"whoever runs the server may name it in `[{each.section}] folders` of penstock.toml"
            yield Problem("folder-not-allowed", message, each.location, hint, "warning")


def _named_folders(loaded: LoadedProject) -> Iterator[_Named]:
    for source in loaded.project.datasources:
        files = source.files
        if files is not None and files.place.startswith(_SCHEME) and _is_folder(loaded, files.connection):
            folder = fixed_folder(pattern_of(files.place))
            yield _Named(folder, files.location, f"`{source.name}` takes no files", "imports")
    for pipe in loaded.project.pipes:
        kind = pipe.exported.kind if pipe.exported is not None else None
        if not isinstance(kind, Exported) or not isinstance(kind.target, FileTarget):
            continue
        if kind.target.place.startswith(_SCHEME) and _is_folder(loaded, kind.connection):
            folder = unquote(urlsplit(kind.target.place).path)
            yield _Named(folder, kind.location, f"the sink `{pipe.name}` writes no files", "sinks")


def _is_folder(loaded: LoadedProject, connection: str) -> bool:
    found = loaded.connections.get(connection)
    return found is not None and found.kind == "file"
