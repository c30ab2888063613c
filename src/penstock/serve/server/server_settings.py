"""The settings that a server starts with.

In: a project folder. Out: `Settings`. Invariant: wrong datafiles do not prevent a start, since the live version is in
the state store; they are not even read.
"""

from __future__ import annotations

from pathlib import Path

from penstock.errors import InvalidProject, NotFound, Problem
from penstock.model.settings import Settings
from penstock.parse.project_files import decode, read_project_file
from penstock.parse.settings import SETTINGS_FILE, parse_settings

HOME = ".penstock"
"""The folder of the embedded state, in the project's folder."""


def load_settings(project: Path) -> Settings:
    """The settings of a project. Raises InvalidProject for a wrong penstock.toml, NotFound without a folder."""
    if not project.is_dir():
        raise NotFound(f"there is no folder {project}", hint="name the project's folder with --project")
    problems: list[Problem] = []
    exists = (project / SETTINGS_FILE).exists()
    content = read_project_file(project, SETTINGS_FILE, problems) if exists else b""
    text = decode(content or b"", SETTINGS_FILE, problems)
    settings = parse_settings(text or "", SETTINGS_FILE, problems)
    wrong = [each for each in problems if each.level == "error"]
    if wrong:
        raise InvalidProject(f"{SETTINGS_FILE} has problems", wrong)
    return settings
