"""An exception of a project as a problem with the user's own line.

In: what the import of the module raised. Out: `Problem`. Invariant: the place is the last line on the stack that is in
the project's folder: the line that the user can change.
"""

from __future__ import annotations

import traceback

import penstock.api.objects
from penstock.api.dataframes.refusal import RefusedInView
from penstock.api.project.forbidden_calls import ForbiddenWhileRead
from penstock.api.project.source_files import SourceFiles
from penstock.errors import Location, Problem, did_you_mean

NOT_YET = (
    "Task",
    "Workflow",
)
"""Names of this field's packages that Penstock does not have yet."""
_LONGEST = 500


def problem_of(error: BaseException, sources: SourceFiles, module: str) -> Problem:
    """The problem that an exception is."""
    if isinstance(error, ForbiddenWhileRead):
        return Problem("python-error", str(error), _location(error, sources), "a project only declares")
    if isinstance(error, RefusedInView):
        return Problem("unsupported-in-view", str(error), _location(error, sources), error.hint)
    if isinstance(error, SyntaxError) and error.filename is not None and sources.shown(error.filename) is not None:
        place = Location(sources.shown(error.filename) or "", error.lineno or 1, error.offset or 1)
        return Problem("python-error", f"{type(error).__name__}: {error.msg}", place)
    if isinstance(error, ModuleNotFoundError) and error.name is not None and _is_part(error.name, module):
        message = f"there is no module {error.name}"
        hint = 'name the project\'s module in penstock.toml: [python] module = "app.main"'
        return Problem("python-error", message, _location(error, sources), hint)
    message = f"{type(error).__name__}: {error}".strip(": ")[:_LONGEST]
    return Problem("python-error", message, _location(error, sources), _hint(error))


def _is_part(name: str, module: str) -> bool:
    return module == name or module.startswith(f"{name}.")


def _location(error: BaseException, sources: SourceFiles) -> Location | None:
    """The last line of the project on the stack of an exception, or of what it was raised from."""
    lines = [
        Location(shown, line or 1)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if (shown := sources.shown(frame.f_code.co_filename)) is not None
    ]
    return lines[-1] if lines else None


def _hint(error: BaseException) -> str | None:
    if isinstance(error, SystemExit):
        return "a module that is imported must not end Python"
    if isinstance(error, MemoryError):
        return "the project may use max_bytes of [python] in penstock.toml"
    if isinstance(error, NameError) and error.name in penstock.api.objects.__all__:
        return f"write `from penstock import {error.name}`"
    if isinstance(error, ImportError) and error.name == "penstock":
        name = str(error).partition("cannot import name ")[2].split("'")[1:2]
        if name and name[0] in NOT_YET:
            return f"{name[0]} is not in this version: docs/python-projects.md says what there is"
        return did_you_mean(name[0], penstock.api.objects.__all__) if name else None
    if isinstance(error, ImportError) and "PACKAGE_NOT_INSTALLED" in str(error):
        return "views over DataFrames need: pip install 'penstock[dataframes]'"
    if isinstance(error, ImportError) and "circular import" in str(error):
        return "two modules import each other: move what both need into a third"
    return None
