"""An exception of a project as a problem with the user's own line.

In: what the import of the module raised. Out: `Problem`. Invariant: the place is the last line on the stack that is in
the project's folder: the line that the user can change.
"""

from __future__ import annotations

import traceback

import penstock.api.objects
from penstock.api.dataframes.refusal import RefusedInView
from penstock.api.objects.declarations import TooManyObjects
from penstock.api.project.forbidden_calls import ForbiddenWhileRead
from penstock.api.project.source_files import SourceFiles
from penstock.errors import Location, Problem, did_you_mean

NOT_YET = (
    "Task",
    "Workflow",
)
"""Names of this field's packages that Penstock does not have yet."""
_HINTS: dict[type[BaseException], str] = {
    SystemExit: "a module that is imported must not end Python",
    EOFError: "nobody is at a keyboard while a project is read",
    RecursionError: "a function calls itself without end, or an expression is too deep: break it up",
    MemoryError: "the project may use max_bytes of [python] in penstock.toml",
}
_LONGEST = 500


def problem_of(error: BaseException, sources: SourceFiles, module: str) -> Problem:
    """The problem that an exception is."""
    if isinstance(error, ForbiddenWhileRead):
        return Problem("python-error", str(error), _location(error, sources), "a project only declares")
    if isinstance(error, TooManyObjects):
        return Problem("too-many-objects", str(error), _location(error, sources), "make several projects of it")
    if isinstance(error, RefusedInView):
        return Problem("unsupported-in-view", str(error), _location(error, sources), error.hint)
    if isinstance(error, SyntaxError) and error.filename is not None and sources.shown(error.filename) is not None:
        place = Location(sources.shown(error.filename) or "", error.lineno or 1, error.offset or 1)
        return Problem("python-error", f"{type(error).__name__}: {error.msg}", place)
    if isinstance(error, (SyntaxError, ValueError)) and "null bytes" in str(error.args[:1]):
        found = _nul_location(sources) or _location(error, sources)
        return Problem("python-error", "a NUL byte is in the file", found, "save it as text, in UTF-8")
    if isinstance(error, ModuleNotFoundError) and error.name is not None and _is_part(error.name, module):
        message = f"there is no module {error.name}"
        hint = 'name the project\'s module in penstock.toml: [python] module = "app.main"'
        return Problem("python-error", message, _location(error, sources), hint)
    message = f"{type(error).__name__}: {_text_of(error)}".strip(": ")[:_LONGEST]
    return Problem("python-error", message, _location(error, sources), _hint(error))


def _nul_location(sources: SourceFiles) -> Location | None:
    """The first NUL byte of the project's files: the error of Python does not say in which one it is."""
    for path in sorted(sources.folder.rglob("*.py")):
        content = path.read_bytes() if path.is_file() else b""
        if b"\0" in content:
            before = content[: content.index(b"\0")]
            column = len(before) - before.rfind(b"\n")
            return Location(path.relative_to(sources.folder).as_posix(), before.count(b"\n") + 1, column)
    return None


def _text_of(error: BaseException) -> str:
    """The text of an exception; that of a project may have none, or one that no output takes."""
    try:
        return str(error).encode("utf-8", "backslashreplace").decode("utf-8")
    except Exception as fault:  # whatever the project's own __str__ raises
        return f"its text cannot be read, since that raises {type(fault).__name__}"


def _is_part(name: str, module: str) -> bool:
    return module == name or module.startswith(f"{name}.")


def _location(error: BaseException, sources: SourceFiles) -> Location | None:
    """The last line of the project on the stack of an exception, or of what it was raised from."""
    lines = [
        Location(shown, line or 1)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if (shown := sources.shown(frame.f_code.co_filename)) is not None
    ]
    return lines[-1] if lines else _compiled_file(error, sources)


def _compiled_file(error: BaseException, sources: SourceFiles) -> Location | None:
    """The file that Python could not compile, where it is too deep for it: its import has the path."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        path = frame.f_locals.get("path") if frame.f_code.co_name == "source_to_code" else None
        shown = sources.shown(path) if isinstance(path, str) else None
        if shown is not None:
            return Location(shown)
    return None


def _hint(error: BaseException) -> str | None:
    for kind, hint in _HINTS.items():
        if isinstance(error, kind):
            return hint
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
