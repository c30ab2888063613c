"""Which module of a folder declares a project in Python.

In: a folder. Out: the module with its limits, or None; and what is said of Python that is not taken. Invariants:
nothing of it is run; only its settings and what its Python imports are read, so that any command may ask; a file that
cannot be parsed and has the word penstock counts as one that imports it, so that what is wrong with it is said.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from penstock.errors import Location, Problem
from penstock.model.quick_dataclass import dataclass
from penstock.model.settings import PythonSettings
from penstock.parse.project_files import contains_datafiles, decode, python_files, read_project_file
from penstock.parse.settings import SETTINGS_FILE, find_locations, parse_settings
from penstock.template.python_syntax import parse_module

CONVENTION = "app.main"
"""The module of a project whose settings name none."""
MAIN_FILE = "app/main.py"
_PACKAGE = "penstock"
_CLIENT = "penstock.client"
"""What programs import that are no project."""
_HINT = 'the project is app/main.py and what it imports, or what penstock.toml says: [python] module = "app.main"'


@dataclass(frozen=True, slots=True)
class ProjectModule:
    """The module of a project, with the limits under which it runs."""

    name: str
    settings: PythonSettings
    location: Location
    """Where it is named, or its file."""


def find_module(folder: Path) -> ProjectModule | None:
    """The module that the settings name, or else `app/main.py` if it, a file in `app` or one that it imports imports
    penstock: another program may be there, which must not be run. A link to nothing is no program."""
    text = b""
    if (folder / SETTINGS_FILE).is_file():
        text = read_project_file(folder, SETTINGS_FILE, []) or b""
    shown = decode(text, SETTINGS_FILE, []) or ""
    settings = parse_settings(shown, SETTINGS_FILE, []).python
    if settings.module is not None:
        place = find_locations(shown, SETTINGS_FILE).value(("python", "module"))
        return ProjectModule(settings.module, settings, place)
    main = folder / MAIN_FILE
    if not main.is_file():
        return ProjectModule(CONVENTION, settings, Location(MAIN_FILE)) if main.is_symlink() else None
    if any(_is_of_project(path) for path in sorted((folder / "app").rglob("*.py"))) or any(
        _is_of_project(path) for path in reached_files(folder, CONVENTION)
    ):
        return ProjectModule(CONVENTION, settings, Location(MAIN_FILE))
    return None


def untaken_python(folder: Path) -> Problem | None:
    """What is to be said of a folder of which no module is taken: Python that imports penstock, and of no datafiles
    also `app/main.py`, might be meant to be its project. With datafiles it is only a warning, and only if `app/main.py`
    is there: the Python may be programs around them."""
    has_datafiles, has_main = contains_datafiles(folder), (folder / MAIN_FILE).is_file()
    if has_datafiles and not has_main:
        return None
    found = next((path for path in sorted(python_files(folder)) if _is_of_project(folder / path)), None)
    if found is not None:
        message = f"{found} imports penstock, and is no part of the project"
        return Problem("not-in-project", message, Location(found), _HINT, "warning" if has_datafiles else "error")
    if has_datafiles or not has_main:
        return None
    message = (
        f"neither {MAIN_FILE} nor what it imports imports penstock, and there are no datafiles: this is no project"
    )
    return Problem("not-in-project", message, Location(MAIN_FILE), _HINT)


def _is_of_project(path: Path) -> bool:
    """Whether a file imports penstock; one that cannot be read may."""
    if not path.is_file():
        return False
    try:
        return imports_penstock(path.read_bytes())
    except OSError:
        return True


def contains_project(folder: Path) -> bool:
    """Whether datafiles or a module of a project are in a folder; no module is run."""
    return contains_datafiles(folder) or find_module(folder) is not None


def imports_penstock(content: bytes) -> bool:
    """Whether a file imports penstock, more than its client."""
    # A file in UTF-16 has a zero beside each letter.
    if _PACKAGE.encode() not in content.replace(b"\0", b""):
        return False
    tree = _parsed(content)
    if tree is None:
        return True
    return any(_is_of_penstock(each) for each in _imports(tree, ""))


def _is_of_penstock(module: str) -> bool:
    of_client = module == _CLIENT or module.startswith(f"{_CLIENT}.")
    return module.split(".")[0] == _PACKAGE and not of_client


def reached_files(folder: Path, first: str) -> Iterator[Path]:
    """The files of a folder that its module `first` imports, and that these import, as far as their text says so."""
    waiting, seen = [first], {first}
    while waiting:
        module = waiting.pop()
        found = _file_of(folder, module)
        if found is None:
            continue
        yield found
        tree = _parsed(found.read_bytes())
        package = module if found.name == "__init__.py" else module.rpartition(".")[0]
        for name in _imports(tree, package) if tree is not None else ():
            parts = name.split(".")
            outer = {".".join(parts[:count]) for count in range(1, len(parts) + 1)}
            waiting += sorted(outer - seen)
            seen |= outer


def _file_of(folder: Path, module: str) -> Path | None:
    place = folder.joinpath(*module.split("."))
    for path in (place.with_name(f"{place.name}.py"), place / "__init__.py"):
        if path.is_file():
            return path
    return None


def _imports(tree: ast.Module, package: str) -> Iterator[str]:
    """The full names of what is imported; a name that is taken from a module may be a module itself."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{each.name}" for each in node.names if each.name != "*")


def _parsed(content: bytes) -> ast.Module | None:
    try:
        return parse_module(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
