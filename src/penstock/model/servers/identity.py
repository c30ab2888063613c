"""What tells the servers of two projects apart, without naming a folder, a machine or a process.

In: the folder of a project, the name of the machine, the server's process. Out: `ServerIdentity`. Invariant: equal
values give equal digests in every process, so that a client can compare them with what it sees itself.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from penstock.model.quick_dataclass import dataclass

LENGTH = 16


@dataclass(frozen=True, slots=True)
class ServerIdentity:
    """Digests of what a server is."""

    process: str
    """Of its process id and start time."""
    host: str
    """Of the name of its machine."""
    project: str
    """Of the folder of its project."""

    @staticmethod
    def of(project: Path, host: str, process: tuple[int, float]) -> ServerIdentity:
        """The identity of the server that runs as `process` (its id, and when it started) in a folder."""
        return ServerIdentity(_digest(*process), _digest(host), _digest(project))

    def as_json(self) -> dict[str, str]:
        return {"process": self.process, "host": self.host, "project": self.project}


def _digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:LENGTH]
