"""The server of a project's folder: where it listens, and the token that the folder has for it.

In: a folder. Out: what its server wrote about itself there, or what its settings say. Invariant: files are only read;
no server is started, stopped or called. The commands and the client of programs go by the same rules.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import NoServer
from penstock.parse.settings import parse_settings

SETTINGS_FILE, HOME = "penstock.toml", ".penstock"
DEFAULT_URL = "http://127.0.0.1:7180"


@dataclass(frozen=True, slots=True)
class RecordedServer:
    """What the server of a project wrote about itself when it started; it may have ended since."""

    pid: int
    started: float
    url: str


def nearest_project(here: Path) -> Path | None:
    """The nearest folder upwards that has a `penstock.toml`; None if none has."""
    return next((folder for folder in (here, *here.parents) if (folder / SETTINGS_FILE).is_file()), None)


def project_url(folder: Path, token: str | None) -> str | None:
    """The address that the project's server recorded, else that of its settings, if these can be read. Raises NoServer
    for a project that had a server, or was restored, and has none now, unless a token was given: the server at the
    address of its settings is another project's, and may take the same token."""
    known = read_server_record(folder)
    if known is None and token is None and read_admin_token(folder) is not None:
        raise NoServer(f"no server of {folder} runs", hint="`penstock up` starts one; --url names another")
    return known.url if known is not None else read_settings_url(folder)


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


def read_admin_token(project: Path) -> str | None:
    """The admin token that the server wrote into the project's folder; None if there is none."""
    try:
        return (project / HOME / "admin_token").read_text(encoding="utf-8").strip()
    except OSError:
        return None
