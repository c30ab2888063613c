"""Loads a project that may have a part in Python.

In: a folder. Out: `SourceProject`: the project as read from datafiles, those in the folder and those made from Python,
and the places in Python. Invariants: the module runs in a process of its own with limits of time and memory, and no
process of it is left; a folder without such a module starts none.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from penstock.api.project.project_module import ProjectModule, find_module, untaken_python
from penstock.api.project.source_places import PLACES_OF_DATAFILES, SourcePlaces
from penstock.errors import Location, Problem
from penstock.model.project import Project
from penstock.model.quick_dataclass import dataclass
from penstock.parse.project_loader import LoadedProject, load_folder
from penstock.parse.settings import SETTINGS_FILE

_STACK_LINE = re.compile(r'^  File "(?P<file>.+)", line (?P<line>\d+) in ', re.MULTILINE)
_GRACE_SECONDS = 5.0
"""How much longer than the project's own limit its process may take to start and to write its result."""
_LONGEST_ERROR = 300
_ENVIRONMENT = {
    "PYTHONHASHSEED": "0",  # so that sets have one order, and the SQL of them one text
    "PYDANTIC_DISABLE_PLUGINS": "1",  # they watch programs that run, and looking for them takes a while
}


@dataclass(frozen=True, slots=True)
class SourceProject:
    """A project as read, and where the datafiles that were made come from."""

    loaded: LoadedProject
    places: SourcePlaces = PLACES_OF_DATAFILES
    has_failed: bool = False
    """Whether its Python has errors, or is not taken: then the project has no resources at all."""


@dataclass(frozen=True, slots=True)
class RenderedModule:
    """What a module gave: datafiles, places and problems."""

    files: Mapping[str, str]
    places: SourcePlaces
    problems: tuple[Problem, ...]


def load_source_folder(folder: Path, known: LoadedProject | None = None) -> SourceProject:
    """The project of a folder; the problems of its Python part have their places in Python. `known` is as in
    `load_folder`. Raises NotFound if there is no such folder."""
    module = find_module(folder)
    if module is None:
        loaded, untaken = load_folder(folder, known), untaken_python(folder)
        found = replace(loaded, problems=(*loaded.problems, *([untaken] if untaken else [])))
        return SourceProject(found, has_failed=untaken is not None and untaken.level == "error")
    rendered = run_module(folder.resolve(), module)
    if any(each.level == "error" for each in rendered.problems):
        # What reads the tables that are missing now would be told so, which is no news.
        loaded = load_folder(folder)
        own = tuple(each for each in loaded.problems if each.location and each.location.file == SETTINGS_FILE)
        failed = replace(loaded, project=Project.of((), ()), problems=(*rendered.problems, *own))
        return SourceProject(failed, rendered.places, has_failed=True)
    loaded = load_folder(folder, known, rendered.files)
    main = f"{module.name.replace('.', '/')}.py"
    places = replace(rendered.places, main=main if (folder / main).is_file() else "", files=frozenset(loaded.files))
    return SourceProject(replace(loaded, problems=(*rendered.problems, *loaded.problems)), places)


def run_module(folder: Path, module: ProjectModule) -> RenderedModule:
    """Run a module in a process of its own, which is ended with all that it started."""
    with tempfile.TemporaryDirectory(prefix="penstock-python-") as scratch:
        result = Path(scratch) / "result.json"
        limits = [str(module.settings.max_seconds), str(module.settings.max_bytes)]
        command = [sys.executable, "-m", "penstock.api.project.project_run"]
        with open(Path(scratch) / "errors", "wb") as errors:
            process = subprocess.Popen(
                [*command, str(folder), module.name, str(result), *limits],
                cwd=scratch,  # so that no file of the project hides a module of Python
                env={**os.environ, **_ENVIRONMENT},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
            try:
                code = process.wait(module.settings.max_seconds + _GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                _end_group(process)
        return _read_result(folder, module, result, code)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _read_result(folder: Path, module: ProjectModule, result: Path, code: int | None) -> RenderedModule:
    with suppress(OSError, ValueError, KeyError):
        document = json.loads(result.read_text(encoding="utf-8"))
        found = (_problem_from_json(each) for each in document["problems"])
        problems = tuple(each if each.location else replace(each, location=module.location) for each in found)
        return RenderedModule(document["files"], SourcePlaces(document["places"]), problems)
    stack = result.with_name(f"{result.name}.stack")
    text = stack.read_text(encoding="utf-8", errors="replace") if stack.exists() else ""
    place = _place_in_stack(text, folder) or module.location
    if text or code is None:
        message = f"the project was not read within {module.settings.max_seconds} s: it was here"
        hint = "a project only declares; [python] max_seconds in penstock.toml allows more"
        return _failure_problem("python-timeout", message, place, hint)
    crash = result.with_name(f"{result.name}.crash")
    crashed = crash.read_text(encoding="utf-8", errors="replace") if crash.exists() else ""
    place = _place_in_stack(crashed, folder) or place
    last = (result.with_name("errors").read_text(encoding="utf-8", errors="replace").strip().splitlines() or [""])[-1]
    message = f"the project ended Python while it was read (exit code {code})"
    return _failure_problem("python-error", message, place, last[:_LONGEST_ERROR] or None)


def _failure_problem(code: str, message: str, place: Location, hint: str | None) -> RenderedModule:
    return RenderedModule({}, PLACES_OF_DATAFILES, (Problem(code, message, place, hint),))


def _place_in_stack(text: str, folder: Path) -> Location | None:
    """The innermost line of the project in the stack of the thread that crashed, or else of the main thread, which is
    the last one written."""
    crashed = text.find("Current thread")
    main = text[crashed if crashed >= 0 else text.rfind("Thread ") :]
    for found in _STACK_LINE.finditer(main):
        if found["file"].startswith("<"):
            continue  # code of no file, such as <frozen posixpath>
        with suppress(ValueError):
            return Location(Path(found["file"]).resolve().relative_to(folder).as_posix(), int(found["line"]))
    return None


def _problem_from_json(each: Mapping[str, object]) -> Problem:
    file, line, column = each["file"], each["line"], each["column"]
    place = Location(str(file), int(str(line)), int(str(column))) if file else None
    hint = str(each["hint"]) if each["hint"] else None
    return Problem(
        str(each["code"]), str(each["message"]), place, hint, "warning" if each["level"] == "warning" else "error"
    )
