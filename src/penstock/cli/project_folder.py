"""The project a command is about, and what the server left in its folder.

In: `--project`, else the current folder. Out: the folder; the server's address, token and process.
Called by `session`, `up` and `down`. Invariant: nothing here starts, stops or asks a server.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from penstock.cli.errors import WrongUsage

SETTINGS_FILE, HOME = "penstock.toml", ".penstock"


@dataclass(frozen=True, slots=True)
class RunningServer:
    """The server that owns a project, as it wrote itself down; it may have ended since."""

    pid: int
    started: float
    url: str


def find_project(given: Path | None) -> Path | None:
    """The folder given, else the nearest upwards that has a `penstock.toml`; None if none has.

    Raises WrongUsage for a given folder that does not exist.
    """
    if given is not None:
        if not given.is_dir():
            raise WrongUsage(f"there is no folder {given}")
        return given.resolve()
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / SETTINGS_FILE).is_file()), None)


def need_project(folder: Path | None) -> Path:
    """Raises WrongUsage where there is no project."""
    if folder is None:
        hint = "go to a project's folder or name it with --project; `penstock init` makes one"
        raise WrongUsage(f"no {SETTINGS_FILE} here or in a folder above", hint=hint)
    return folder


def running(project: Path) -> RunningServer | None:
    """What the server of the project says of itself, if one was started."""
    try:
        record = json.loads((project / HOME / "server.json").read_text(encoding="utf-8"))
        return RunningServer(record["server"]["id"], record["server"]["started"], record["url"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def admin_token(project: Path) -> str | None:
    """The token that the server keeps for the project's owner."""
    try:
        return (project / HOME / "admin_token").read_text(encoding="utf-8").strip()
    except OSError:
        return None
