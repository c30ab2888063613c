"""Loads a project: all its files to a `Project`, its `Settings` and every problem.

In: a folder, or texts by relative path. Out: `LoadedProject`. Invariant: no content of a file raises; the same files
give the same project from a folder and from an upload.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from posixpath import basename, splitext
from typing import TypeAlias, Union

from penstock.errors import Location, NotFound, Problem
from penstock.model.datasource import DataSource
from penstock.model.external_tables import NamedConnection
from penstock.model.pipe import Dialect, Pipe
from penstock.model.project import Project
from penstock.model.quick_dataclass import dataclass
from penstock.model.settings import Settings
from penstock.parse.connectors.connection import parse_connection
from penstock.parse.connectors.named_connections import check_connections, with_connections
from penstock.parse.cross_checks import check_project
from penstock.parse.datasource import parse_datasource
from penstock.parse.directive_values import invalid_name
from penstock.parse.pipe import parse_pipe
from penstock.parse.project_files import SUFFIXES, decode, is_project_file, normal_path, read_folder
from penstock.parse.settings import SETTINGS_FILE, parse_settings
from penstock.parse.sql_syntax.source_text import NAME

Resource: TypeAlias = Union[DataSource, Pipe]


@dataclass(frozen=True, slots=True)
class LoadedProject:
    """A project as read."""

    project: Project
    """If `problems` holds an error: the part that could be read."""
    settings: Settings
    files: Mapping[str, str]
    """The datafiles and the settings as text, by relative path."""
    problems: tuple[Problem, ...]
    connections: Mapping[str, NamedConnection] = field(default_factory=dict)
    """The .connection files of types that are used here, by name."""

    @property
    def errors(self) -> tuple[Problem, ...]:
        """The problems that forbid a deployment."""
        return tuple(problem for problem in self.problems if problem.level == "error")


def load_folder(
    folder: Path, known: LoadedProject | None = None, made: Mapping[str, str] | None = None
) -> LoadedProject:
    """The project of a folder. A file that `known` has read from the same path with the same text is not read again:
    its resource is the same object. `made` are texts of further datafiles by relative path, which are in no folder.
    Raises NotFound if there is no such folder."""
    if not folder.is_dir():
        raise NotFound(f"there is no folder {folder}", hint="name the project's folder with --project")
    problems: list[Problem] = []
    files: dict[str, str] = {}
    for path, content in read_folder(folder, problems):
        text = decode(content, path, problems)
        if text is not None:
            files[path] = text
    for path, text in (made or {}).items():
        if path in files:
            message = f"a second resource `{splitext(basename(path))[0]}`"
            hint = f"this object and the datafile {path} have one name: remove one of them"
            problems.append(Problem("duplicate-name", message, Location(path), hint))
        else:
            files[path] = text
    return _load_texts(files, problems, known)


def load_files(files: Mapping[str, str]) -> LoadedProject:
    """The project of files by relative path."""
    wanted = {normal_path(path): text for path, text in files.items() if is_project_file(normal_path(path))}
    return _load_texts(wanted, [])


def _load_texts(files: Mapping[str, str], problems: list[Problem], known: LoadedProject | None = None) -> LoadedProject:
    """The project of texts by relative path, all of which are project files."""
    settings = parse_settings(files.get(SETTINGS_FILE, ""), SETTINGS_FILE, problems)
    resources: list[Resource] = []
    read = _already_read(known, files, settings.dialect)
    for path in sorted(files):
        if path in read:
            resources.append(read[path])
        else:
            resources.extend(_parse_file(path, files[path], settings.dialect, problems))
    connections = _parse_connections(files, problems)
    problems.extend(check_connections(resources, connections))
    resources = [with_connections(each, connections) for each in resources]
    names = {splitext(basename(path))[0] for path in files if path.endswith(".datasource")}
    problems.extend(check_project(resources, names))
    first: dict[str, Resource] = {}
    for resource in resources:
        first.setdefault(resource.name, resource)
    project = Project.of(
        (each for each in first.values() if isinstance(each, DataSource)),
        (each for each in first.values() if isinstance(each, Pipe)),
    )
    ordered = sorted(problems, key=lambda problem: (problem.location or Location("", 0, 0), problem.code))
    return LoadedProject(project, settings, dict(sorted(files.items())), tuple(ordered), connections)


def _parse_connections(files: Mapping[str, str], problems: list[Problem]) -> Mapping[str, NamedConnection]:
    found: dict[str, NamedConnection] = {}
    for path in sorted(each for each in files if each.endswith(".connection")):
        connection = parse_connection(files[path], path, splitext(basename(path))[0], problems)
        if connection is not None:
            found.setdefault(connection.name, connection)
    return found


def _already_read(known: LoadedProject | None, files: Mapping[str, str], dialect: Dialect) -> Mapping[str, Resource]:
    """Resources by path that need not be read again. A file with a problem is read again, to report the problem
    again."""
    if known is None or known.settings.dialect != dialect:
        return {}
    again = {problem.location.file for problem in known.problems if problem.location is not None}
    resources: tuple[Resource, ...] = (*known.project.datasources, *known.project.pipes)
    by_path = {each.location.file: each for each in resources}
    return {
        path: by_path[path]
        for path, text in files.items()
        if path in by_path and path not in again and known.files.get(path) == text
    }


def _parse_file(path: str, text: str, dialect: Dialect, problems: list[Problem]) -> Iterator[Resource]:
    name, suffix = splitext(basename(path))
    if suffix not in SUFFIXES or suffix == ".connection":
        return
    if not NAME.fullmatch(name):
        what = "a data source" if suffix == ".datasource" else "a pipe"
        problems.append(invalid_name(name, what, Location(path)))
    if suffix == ".datasource":
        yield parse_datasource(text, path, name, problems)
        return
    pipe = parse_pipe(text, path, name, dialect, problems)
    if pipe is not None:
        yield pipe
