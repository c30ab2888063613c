"""Datafiles as a project in Python, as `penstock pull --as python` writes it.

In: the files of a project. Out: the files of the same project, with objects of Python in the place of those datafiles
that Python can say. Invariant: the result was read again, and each of its resources is that of the datafiles: one that
does not come back the same stays a datafile.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from penstock.api.project.project_module import CONVENTION
from penstock.api.project.python_form import PythonModule, is_same, write_module
from penstock.api.project.source_project import SourceProject, load_source_folder
from penstock.model.datasource import DataSource
from penstock.model.pipe import Pipe
from penstock.model.project import Project
from penstock.parse.project_loader import load_files
from penstock.parse.settings import SETTINGS_FILE, parse_settings


def convert_to_python(files: Mapping[str, str]) -> dict[str, str]:
    """The files of the same project in Python. Datafiles with errors are left as they are."""
    project = load_files(files).project
    left_out: set[str] = set()
    while True:  # ends: each round but the last leaves out one more resource
        module = write_module(project, left_out)
        made = _files_beside(files, project, module)
        if not module.names:
            return dict(files)
        differing = _differing(project, module, made)
        if not differing:
            return made
        left_out |= differing


def _files_beside(files: Mapping[str, str], project: Project, module: PythonModule) -> dict[str, str]:
    """The module, and the datafiles of what is not in it."""
    written = {each.location.file for each in _resources(project) if each.name in module.names}
    kept = {path: text for path, text in files.items() if path not in written}
    return {**kept, module_file(files): module.text}


def module_file(files: Mapping[str, str]) -> str:
    """The path of the module that is read of a project with these settings."""
    named = parse_settings(files.get(SETTINGS_FILE, ""), SETTINGS_FILE, []).python.module
    return f"{(named or CONVENTION).replace('.', '/')}.py"


def _differing(project: Project, module: PythonModule, files: Mapping[str, str]) -> set[str]:
    """The resources of a module that do not come back the same."""
    with tempfile.TemporaryDirectory(prefix="penstock-python-") as scratch:
        for path, text in files.items():
            target = Path(scratch) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        read = load_source_folder(Path(scratch))
    if read.loaded.errors:
        return _named_by_errors(read, module, module_file(files)) or set(module.names)
    back = read.loaded.project
    found = {each.name for each in _resources(project) if each.name in module.names and not _came_back(each, back)}
    return found & module.names


def _came_back(wanted: DataSource | Pipe, back: Project) -> bool:
    return is_same(back.datasource(wanted.name) if isinstance(wanted, DataSource) else back.pipe(wanted.name), wanted)


def _named_by_errors(read: SourceProject, module: PythonModule, path: str) -> set[str]:
    """The resources in whose lines of the module something is wrong."""
    places = [each.location for each in read.places.problems(read.loaded.errors) if each.location is not None]
    return {name for each in places if each.file == path and (name := module.resource_at(each.line))}


def _resources(project: Project) -> tuple[DataSource | Pipe, ...]:
    return (*project.datasources, *project.pipes)
