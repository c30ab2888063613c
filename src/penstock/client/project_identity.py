"""Whether the server that answers is that of the project's folder.

In: the folder, the record that its server wrote, and the address that was found by these, not given by the user. Out:
an error if another project's server answers there. Invariant: nothing is refused on a guess: a server that says
nothing about itself, or that runs on another machine, is taken for the right one.
"""

from __future__ import annotations

import socket
from pathlib import Path

import httpx

from penstock.client.project_server import RecordedServer
from penstock.errors import PenstockError
from penstock.model.servers.identity import ServerIdentity

SECONDS = 5.0


class OtherProject(PenstockError):
    """The server that answers belongs to another project's folder."""

    status, code = 409, "other-project"


def require_same_project(url: str, folder: Path, recorded: RecordedServer | None) -> None:
    """Raises OtherProject if the server at the address is another project's."""
    found = _read_identity(url)
    if found is None:
        return
    process = (recorded.pid, recorded.started) if recorded is not None else (0, 0.0)
    ours = ServerIdentity.of(folder, socket.gethostname(), process)
    if found.process == ours.process or found.project == ours.project or found.host != ours.host:
        return
    raise OtherProject(
        f"the server at {url} belongs to another project, not to {folder}",
        hint=f"`penstock up --port N` starts a server of this project; `--url {url}` if the other one is meant",
    )


def _read_identity(url: str) -> ServerIdentity | None:
    """What the server says about itself; None if it says nothing, or does not answer."""
    try:
        told = httpx.get(f"{url}/health", timeout=SECONDS, trust_env=False).json()["identity"]
        return ServerIdentity(str(told["process"]), str(told["host"]), str(told["project"]))
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, KeyError, TypeError):
        return None
