"""The project that a command is about, and the files that its server wrote into the folder.

In: `--project`, or else the current folder. Out: the project's folder; the address, token and process of its server.
Invariant: only files are read and written: no server is started, stopped or called.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from penstock.api.project.source_project import contains_project
from penstock.cli.errors import WrongUsage
from penstock.parse.settings import parse_settings

SETTINGS_FILE, HOME = "penstock.toml", ".penstock"
_SDK_SETTINGS = "tinybird.config.json"


@dataclass(frozen=True, slots=True)
class RecordedServer:
    """What the server of a project wrote about itself when it started; it may have ended since."""

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


def read_server_record(project: Path) -> RecordedServer | None:
    """The record of the project's server; None if none was started."""
    try:
        record = json.loads((project / HOME / "server.json").read_text(encoding="utf-8"))
        return RecordedServer(record["server"]["id"], record["server"]["started"], record["url"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def read_settings_url(project: Path) -> str | None:
    """The address that the project's settings say; None if they cannot be read. A server that listens everywhere is
    called on this machine."""
    try:
        text = (project / SETTINGS_FILE).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    server = parse_settings(text, SETTINGS_FILE, []).server
    host = "127.0.0.1" if server.host in ("0.0.0.0", "::", "") else server.host
    return f"http://[{host}]:{server.port}" if ":" in host else f"http://{host}:{server.port}"


def write_admin_token(project: Path, secret: str) -> None:
    """Put another secret in the place of the one that is in the project's folder; only its owner can read it."""
    path = project / HOME / "admin_token"
    fresh = path.with_suffix(".new")
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(f"{secret}\n")
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def read_admin_token(project: Path) -> str | None:
    """The admin token that the server wrote into the project's folder; None if there is none."""
    try:
        return (project / HOME / "admin_token").read_text(encoding="utf-8").strip()
    except OSError:
        return None
