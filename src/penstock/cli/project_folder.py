"""The project that a command is about.

In: `--project`, or else the current folder. Out: the project's folder. Invariant: only files are read and written: no
server is started, stopped or called.
"""

from __future__ import annotations

import os
from pathlib import Path

from penstock.api.project.project_module import contains_project
from penstock.cli.errors import WrongUsage
from penstock.client.project_server import HOME, SETTINGS_FILE, nearest_project

_SDK_SETTINGS = "tinybird.config.json"


def find_project(given: Path | None) -> Path | None:
    """The folder given, else the nearest upwards that has a `penstock.toml`; None if none has.

    Raises WrongUsage for a given folder that does not exist.
    """
    if given is not None:
        if not given.is_dir():
            raise WrongUsage(f"there is no folder {given}")
        return given.resolve()
    return nearest_project(Path.cwd())


def require_project(folder: Path | None) -> Path:
    """The folder. Raises WrongUsage if there is none."""
    if folder is None:
        if contains_project(Path.cwd()):
            message = f"this folder has files of a project, but no {SETTINGS_FILE}"
            raise WrongUsage(message, hint="`penstock init` adds what makes it a project, and changes nothing else")
        hint = "go to a project's folder or name it with --project; `penstock init` creates one"
        raise WrongUsage(f"no {SETTINGS_FILE} here or in a folder above", hint=hint)
    return folder


def say_where_datafiles_are(folder: Path) -> str:
    """What to do in a folder without datafiles."""
    if (folder / _SDK_SETTINGS).is_file():
        return (
            f"it has a {_SDK_SETTINGS}: what its SDK defines in TypeScript or Python is not read here, write it as "
            ".datasource and .pipe files"
        )
    return "name the project's folder, or go to it"


def write_admin_token(project: Path, secret: str) -> None:
    """Put another secret in the place of the one that is in the project's folder; only its owner can read it."""
    path = project / HOME / "admin_token"
    fresh = path.with_suffix(".new")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(f"{secret}\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
