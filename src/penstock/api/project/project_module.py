"""Which module of a folder declares a project in Python.

In: a folder. Out: the module with its limits, or None. Invariants: nothing of it is run; only its settings and the
beginnings of lines of its Python are read, so that any command may ask.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from penstock.model.quick_dataclass import dataclass
from penstock.model.settings import PythonSettings
from penstock.parse.project_files import contains_datafiles, decode, read_project_file
from penstock.parse.settings import SETTINGS_FILE, parse_settings

CONVENTION = "app.main"
"""The module of a project whose settings name none."""
_USES_PENSTOCK = re.compile(r"^[ \t]*(?:from|import)[ \t]+penstock\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ProjectModule:
    """The module of a project, with the limits under which it runs."""

    name: str
    settings: PythonSettings


def find_module(folder: Path) -> ProjectModule | None:
    """The module that the settings name, or else `app/main.py` if some file in `app` imports penstock: another program
    may be there, which must not be run."""
    text = b""
    if (folder / SETTINGS_FILE).is_file():
        text = read_project_file(folder, SETTINGS_FILE, []) or b""
    settings = parse_settings(decode(text, SETTINGS_FILE, []) or "", SETTINGS_FILE, []).python
    if settings.module is not None:
        return ProjectModule(settings.module, settings)
    app = folder / "app"
    if not (app / "main.py").is_file():
        return None
    with suppress(OSError):
        for path in sorted(app.rglob("*.py")):
            if path.is_file() and _USES_PENSTOCK.search(path.read_text(encoding="utf-8", errors="replace")):
                return ProjectModule(CONVENTION, settings)
    return None


def contains_project(folder: Path) -> bool:
    """Whether datafiles or a module of a project are in a folder; no module is run."""
    return contains_datafiles(folder) or find_module(folder) is not None
